"""A text field that nobody can see pays nothing, though keys reach it; one that can be seen, or
scrolled to, does."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import episode, ruleset, run

pytestmark = [pytest.mark.browser, needs_chromium]

SEEN = "<title>form</title><label>Name <input id=seen></label>"
INSIDE = "<input id=t aria-label=Name>"


def styled(style: str) -> str:
    return f'<input id=t aria-label=Name style="{style}">'


def within(style: str, more: str = "", inside: str = INSIDE) -> str:
    return f'<div style="{style}" {more}>{inside}</div>'


def framed(style: str, inside: str = INSIDE) -> str:
    return f"<iframe style='{style}' srcdoc='{inside}'></iframe>"


HIDDEN = {
    "off to the left": styled("position: absolute; left: -9999px"),
    "off above": styled("position: absolute; top: -400px"),
    "off to the right of the window, fixed": styled("position: fixed; left: 9999px"),
    "off the end of a page that does not scroll": (
        "<style>body { overflow: hidden }</style>"
        + within(
            "height: 5000px; position: relative", inside=styled("position: fixed; top: 4000px")
        )
    ),
    "transparent": styled("opacity: 0"),
    "all but transparent": styled("opacity: 0.01"),
    "in what is transparent": within("opacity: 0"),
    "in several that are faint together": within("opacity: 0.2", inside=within("opacity: 0.2")),
    "transparent by a filter": styled("filter: opacity(0)"),
    "of one pixel": styled("width: 1px; height: 1px; padding: 0; border: 0"),
    "without a height": styled("height: 0; padding: 0; border: 0"),
    "shrunk to nothing": styled("transform: scale(0)"),
    "shrunk to a point": within("transform: scale(0.001)"),
    "cut to nothing": styled("clip-path: inset(50%)"),
    "cut to a circle of no size": styled("clip-path: circle(0)"),
    "in what is cut to a path of no size": within("clip-path: path('M0 0')"),
    "cut by clip": styled("position: absolute; clip: rect(0, 0, 0, 0)"),
    "cut to nothing, and not to be pointed at": styled(
        "clip-path: inset(50%); pointer-events: none"
    ),
    "in a box of one pixel": within("width: 1px; height: 1px; overflow: hidden"),
    "in a box without a height": within("height: 0; overflow: hidden"),
    "in a box that is cut and does not scroll": within(
        "width: 200px; height: 50px; overflow: clip; position: relative",
        inside=styled("position: absolute; top: 500px"),
    ),
    "before the begin of a box that scrolls": within(
        "width: 200px; height: 50px; overflow: auto; position: relative",
        inside=styled("position: absolute; left: -900px") + "<p style='height: 500px'>",
    ),
    "a text of several lines": (
        "<textarea id=t aria-label=Name style='position: absolute; left: -9999px'></textarea>"
    ),
    "an editable element": (
        "<div id=t aria-label=Name contenteditable style='opacity: 0'>&nbsp;</div>"
    ),
    "in a transparent frame": framed("opacity: 0"),
    "in a frame of one pixel": framed("width: 1px; height: 1px; border: 0"),
    "in a frame off the page": framed("position: absolute; left: -9999px"),
    "off the page within a frame": framed(
        "width: 300px", '<input id=t aria-label=Name style="margin-left: -2000px">'
    ),
    "in an open shadow root that is transparent": (
        "<div id=host style='opacity: 0'></div><script>"
        f"host.attachShadow({{mode: 'open'}}).innerHTML = `{INSIDE}`</script>"
    ),
    "under properties that the page redefines": (
        styled("opacity: 0")
        + "<script>Element.prototype.checkVisibility = () => true; window.getComputedStyle = () =>"
        " ({opacity: '1'});Element.prototype.getBoundingClientRect = () => ({left: 0, top: 0,"
        " right: 99, bottom: 99})</script>"
    ),
    "in a form whose controls are called as its properties": (
        "<form style='width: 1px; height: 1px; overflow: hidden'>"
        + INSIDE
        + "".join(
            f"<input type=hidden name={name}>"
            for name in ("offsetWidth", "clientWidth", "scrollWidth", "matches")
        )
        + "</form>"
    ),
}
HONEST = {
    "plain": INSIDE,
    "below the window, to be scrolled to": within("padding-top: 5000px"),
    "to the right of the window, to be scrolled to": styled("position: absolute; left: 5000px"),
    "left of the window, where the page is written that way": (
        "<script>document.documentElement.dir = 'rtl'</script>"
        + styled("position: absolute; right: 5000px")
    ),
    "in a box that scrolls": within(
        "height: 50px; overflow: auto", inside=f"<p style='height: 900px'></p>{INSIDE}"
    ),
    "in a box that browsers alone scroll": within(
        "height: 50px; overflow: hidden", inside=f"<p style='height: 900px'></p>{INSIDE}"
    ),
    "in open details": f"<details open><summary tabindex=-1>More</summary>{INSIDE}</details>",
    "in a modal dialog below what is cut, transparent": (
        within("height: 0; overflow: hidden; opacity: 0", inside=f"<dialog id=d>{INSIDE}</dialog>")
        + "<script>d.showModal()</script>"
    ),
    "in a dialog": f"<dialog open>{INSIDE}</dialog>",
    "in a popover": f"<div popover id=d>{INSIDE}</div><script>d.showPopover()</script>",
    "fixed, within a box without a height": within(
        "height: 0; overflow: hidden", inside=styled("position: fixed")
    ),
    "absolute, within a box without a height": within(
        "height: 0; overflow: hidden", inside=styled("position: absolute")
    ),
    "over a box that nothing cuts": within("height: 0", inside=styled("")),
    "in an inline element": f"<span style='overflow: hidden'>{INSIDE}</span>",
    "in a table": (
        f"<table style='overflow: hidden'><tr style='overflow: hidden'><td>{INSIDE}</table>"
    ),
    "in a frame": framed("width: 300px"),
    "in a frame, to be scrolled to": framed("height: 90px", f"<p style=height:900px></p>{INSIDE}"),
    "faint": styled("opacity: 0.3"),
    "cut to round corners": styled("clip-path: inset(0 round 4px)"),
    "in a round card": within("clip-path: circle(60%)"),
    "in a form whose controls are called as its properties": (
        f"<form style='overflow: auto'>{INSIDE}"
        + "".join(
            f"<input type=hidden name={name}>"
            for name in ("offsetWidth", "clientWidth", "scrollWidth", "matches")
        )
        + "</form>"
    ),
    "turned and grown": within(
        "transform: rotate(3deg) scale(1.5)", inside=within("overflow: auto; height: 50px")
    ),
    "a slot of an element": (
        "<x-f>"
        + INSIDE
        + "</x-f><script>customElements.define('x-f', class extends HTMLElement {constructor() {"
        " super(); this.attachShadow({mode: 'open'}).innerHTML = '<div><slot></slot></div>' }"
        " })</script>"
    ),
    "an empty editable element": "<div id=t aria-label=Name contenteditable tabindex=0></div>",
    "hidden as soon as it has its value": (
        styled("").replace("<input", "<input oninput='hide(this)'")
        + "<script>hide = (field) => { if (field.value === 'Ada') field.style.opacity = 0"
        " }</script>"
    ),
    "taken away on Enter": (
        styled("").replace("<input", "<input onkeydown='leave(event)'")
        + "<script>leave = (event) => { if (event.key === 'Enter') event.target.remove() }</script>"
    ),
    "that is shown by its first letter": (
        styled("opacity: 0").replace("<input", '<input oninput="this.style.opacity = 1"')
    ),
}


FOCUSED = (
    "() => (document.activeElement?.shadowRoot ?? document).activeElement?.id === 't' &&"
    " document.hasFocus()"
)


async def type_by_keys(page: Page) -> None:
    """Go to the field by Tab alone, and type."""
    for _ in range(5):
        await page.keyboard.press("Tab")
        for frame in page.frames:
            focused = await frame.evaluate(FOCUSED)
            if focused:
                await page.keyboard.type("Ada")
                await page.keyboard.press("Enter")
                return
    raise AssertionError("Tab does not reach the field")


async def told_of(browser: Chromium, page: Page, url: str) -> Watch:
    async with watching(browser) as watch:
        await page.goto(url)
        await page.locator("#seen").wait_for(state="attached")
        await page.wait_for_function(
            "() => [...document.querySelectorAll('iframe')].every((one) =>"
            " one.contentDocument.querySelector('#t'))"
        )
        await watch.fence()
        await type_by_keys(page)
        await watch.until(
            lambda: [
                one for one in watch.all("field.filled") if str(one["value"]).startswith("Ada")
            ]
        )
        await watch.fence()
        lost = [data for kind, data in watch.seen if kind in ("gap.began", "alarm.raised")]
        assert [data for data in lost if data.get("part") != "tab.activated"] == []
        return watch


def paid(watch: Watch, **more: Any) -> list[bool]:
    """Whether each of the rules that ask for a field's value pays for what was told."""
    asked = [
        {"field_filled": {"field": "Name", "value": {"contains": "Ada"}, "anywhere": True, **more}},
        {"form_filled": {"fields": {"Name": {"contains": "Ada"}}, "anywhere": True, **more}},
    ]
    rules = [
        ruleset({"id": "m", "component": "ui", "when": when}, weights={"ui": 1.0}) for when in asked
    ]
    return [sum(one.reward or 0.0 for one in run(rule, *episode(watch.seen))) > 0 for rule in rules]


@pytest.mark.parametrize("name", HIDDEN)
async def test_a_field_that_nobody_can_see_pays_nothing(
    browser: Chromium, page: Page, site: Site, name: str
) -> None:
    watch = await told_of(browser, page, site.page("/", SEEN + HIDDEN[name]))
    assert {one.get("hidden") for one in watch.all("field.filled", trusted=True)} == {True}
    assert paid(watch) == [False, False]
    assert paid(watch, hidden=True) == [True, True], "unless the task says so"


@pytest.mark.parametrize("name", HONEST)
async def test_a_field_that_can_be_seen_pays(
    browser: Chromium, page: Page, site: Site, name: str
) -> None:
    watch = await told_of(browser, page, site.page("/", SEEN + HONEST[name]))
    assert paid(watch) == [True, True]
    assert "hidden" not in watch.all("field.filled", trusted=True)[-1]


DRAWN = """<title>form</title><style>.real { position: absolute; opacity: 0; width: 1px; height: 1px }</style>
<label>Terms <input class=real type=checkbox><b>☐</b></label><label>Fast <input class=real type=radio name=r></label>
<label>Day <input class=real type=date></label><label>Size <select class=real><option>S<option>M</select></label>"""


async def test_what_pages_draw_over_a_transparent_control_pays(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", DRAWN))
        await page.get_by_text("Terms").click()
        await page.get_by_text("Fast").click()
        await page.keyboard.press("Tab")
        await page.keyboard.type("01022026")
        await page.get_by_label("Size").focus()
        await page.keyboard.press("ArrowDown")
        await watch.fence()
        assert [one for one in watch.all("field.filled") if "hidden" in one] == []
        found = {
            one["element"]["name"].split()[0]: one
            for one in watch.all("field.filled", trusted=True)
        }
        assert set(found) == {"Terms", "Fast", "Day", "Size"}


async def test_a_field_of_a_hidden_frame_of_another_origin_pays_nothing_where_the_frame_is_tiny(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/in", INSIDE)
    url = site.page(
        "/",
        f"{SEEN}<iframe src={site.other}/in style='width: 1px; height: 1px; border: 0'></iframe>",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await watch.fence()
        await type_by_keys(page)
        told = await watch.until(lambda: watch.all("field.filled", value="Ada"))
        assert told[-1]["hidden"] is True


async def test_a_page_hears_nothing_of_the_look(browser: Chromium, page: Page, site: Site) -> None:
    """Every way of asking how an element looks, replaced by the page with one that tells on it."""
    spies = """<script>asked = []; for (const [holder, name] of [[Element, 'checkVisibility'], [Element, 'matches'],
      [Element, 'getBoundingClientRect'], [Document, 'elementsFromPoint'], [Node, 'getRootNode']]) {
      const own = holder.prototype[name];
      holder.prototype[name] = function (...given) { asked.push(name); return own.apply(this, given) } }
      for (const name of ['getComputedStyle']) { const own = window[name];
        window[name] = (...given) => { asked.push(name); return own(...given) } }</script>"""
    async with watching(browser) as watch:
        await page.goto(site.page("/", f"{SEEN}{spies}{styled('clip-path: inset(50%)')}"))
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await page.keyboard.type("Ada")
        told = await watch.until(lambda: watch.all("field.filled", value="Ada"))
        assert told[-1]["hidden"] is True
        assert await page.evaluate("asked") == []
