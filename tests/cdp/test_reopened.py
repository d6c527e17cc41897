"""Immunity 13: a page can't shut the observer out quietly. What it hears first and keeps back is a
gap of exactly the parts that may be missing, with an alarm; a page that only writes itself anew is
observed as before."""

from __future__ import annotations

import contextlib

import pytest
from playwright.async_api import Page

from agentd.core.source import FenceLateError
from agentd.sources.cdp.folds.page_events import HIDDEN
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import began, ruleset, run, worth

pytestmark = [pytest.mark.browser, needs_chromium]

FORM = """<form id=f onsubmit='return false'><label>Name <input name=who></label>
<button id=b>Delete all</button></form>"""
START = "<button id=go onclick='start()'>Go</button><script>function start() { %s }</script>"
KEEP = """for (const type of %s) addEventListener(type, (event) => event.stopImmediatePropagation(), true);"""
WRITE = f"document.write(`{FORM}`); document.close();"


def reopening(*types: str) -> str:
    """A page that reopens its document at a click, and puts listeners that stop these types before
    anybody's."""
    keep = KEEP % list(types) if types else ""
    return START % f"document.open(); {keep} {WRITE}"


async def fenced(watch: Watch) -> None:
    """What the daemon does between a step's end and its seal."""
    with contextlib.suppress(FenceLateError):
        await watch.source.fence(1.0)
    await watch.source.before_seal(0, closing=False)


def gaps(watch: Watch) -> set[str]:
    return {data["part"] for data in watch.all("gap.began", reason=HIDDEN)}


async def test_a_page_that_writes_itself_anew_is_observed_as_before(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", reopening()))
        await page.click("#go")
        await page.locator("input").press_sequentially("Ada")
        await page.click("#b")
        await fenced(watch)
        assert watch.all("field.filled", value="Ada", trusted=True)
        assert watch.all("element.clicked", trusted=True)[-1]["element"]["id"] == "b"
        assert watch.all("form.submitted", trusted=True)
        await page.goto(site.page("/next", "<p>next</p>"))
        await fenced(watch)
        assert gaps(watch) == set()
        assert watch.all("alarm.raised") == []


@pytest.mark.parametrize(
    "types",
    [
        ("click",),
        ("pointerdown", "mousedown", "click"),
        ("keydown", "beforeinput", "input", "click"),
        ("pagehide", "click"),
    ],
    ids=" ".join,
)
async def test_a_click_that_the_page_keeps_back_is_a_gap(
    browser: Chromium, page: Page, site: Site, types: tuple[str, ...]
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", reopening(*types)))
        await page.click("#go")
        await page.locator("input").press_sequentially("Ada")
        await fenced(watch)
        count = watch.count()
        await page.click("#b")
        await fenced(watch)
        said = [
            (kind, data.get("part"))
            for kind, data in watch.seen[count:]
            if kind in ("gap.began", "alarm.raised")
        ]
    assert ("gap.began", "element.clicked") in said
    assert ("gap.began", "field.filled") in said
    assert ("gap.began", "form.submitted") in said
    assert ("alarm.raised", "page") in said


@pytest.mark.parametrize("type", ["submit", "change", "focus"])
async def test_what_no_browser_counts_is_a_gap_where_the_page_stands_first(
    browser: Chromium, page: Page, site: Site, type: str
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", reopening(type)))
        await page.click("#go")
        await fenced(watch)
        assert gaps(watch) == set(), "nothing was done since that could be hidden"
        await page.click("#b")
        await fenced(watch)
        # A form whose `submit` nobody hears is sent by the browser, and the document with what it
        # hides is left.
        assert gaps(watch) >= (
            {"form", "field"} if type == "submit" else {"form.submitted", "field.filled"}
        )


async def test_a_reopened_page_that_is_left_at_once_is_a_gap(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/next", "<p>next</p>")
    keep = (
        "addEventListener('click', (event) => { event.stopImmediatePropagation(); location ="
        " '/next' }, true);"
    )
    async with watching(browser) as watch:
        await page.goto(site.page("/", START % f"document.open(); {keep} {WRITE}"))
        await page.click("#go")
        await page.click("#b")
        await page.wait_for_url("**/next")
        await fenced(watch)
        assert gaps(watch) & {"element", "element.clicked"}


async def test_a_popup_that_its_opener_wrote_is_observed_or_a_gap(
    browser: Chromium, page: Page, site: Site
) -> None:
    keep = "w.addEventListener('click', (event) => event.stopImmediatePropagation(), true);"
    write = f"w.document.write(`{FORM}`); w.document.close();"
    opening = f"const w = open('about:blank'); w.document.open(); {keep} {write}"
    async with watching(browser) as watch:
        await page.goto(site.page("/", START % opening))
        async with page.expect_popup() as popup:
            await page.click("#go")
        other = await popup.value
        await fenced(watch)
        await other.click("#b")
        await fenced(watch)
        clicked = [
            data
            for data in watch.all("element.clicked", trusted=True)
            if data["element"].get("id") == "b"
        ]
        assert clicked or "element.clicked" in gaps(watch)
        await other.close()


DELETE = {"id": "delete", "when": {"element_clicked": {"name": "Delete all"}}, "penalty": 0.5}
PAY = {"id": "pay", "when": {"element_clicked": {"name": "Pay"}}}


@pytest.mark.parametrize(
    ("types", "expected"), [((), -0.5), (("click",), None)], ids=["observed", "kept back"]
)
async def test_immunity_13_a_penalised_click_in_a_reopened_page_is_never_sealed_as_nothing(
    browser: Chromium, page: Page, site: Site, types: tuple[str, ...], expected: float | None
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", reopening(*types)))
        await page.click("#go")
        await fenced(watch)
        count = watch.count()
        await page.click("#b")
        await fenced(watch)
        step = [(kind, data) for kind, data in watch.seen[count:]]
    rewards = run(ruleset(DELETE, PAY), ("episode.opened", {}), began(0), *step, began(1))
    assert worth(rewards) == [expected]


CLOSED = """<x-host></x-host><div id=late><p>light</p></div><script>
class Host extends HTMLElement { constructor() { super();
  this.attachShadow({mode: 'closed'}).innerHTML = '<button>Delete all</button><input aria-label=Name>' } }
customElements.define('x-host', Host);
late.attachShadow({mode: 'closed'}).innerHTML = '<button>Delete all</button><slot></slot>';
</script><button>Else</button><div id=plain><b>plain</b></div><x-none></x-none>"""


@pytest.mark.parametrize("name", ["x-host", "#late"])
async def test_a_click_into_a_closed_shadow_root_is_a_gap(
    browser: Chromium, page: Page, site: Site, name: str
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", CLOSED))
        box = await page.locator(name).bounding_box()
        assert box is not None
        await page.mouse.click(box["x"] + 20, box["y"] + 8)
        await fenced(watch)
        assert "element.clicked" in gaps(watch)


async def test_what_is_typed_into_a_closed_shadow_root_is_a_gap(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", CLOSED))
        await page.locator("x-host").click(position={"x": 100, "y": 10})
        await fenced(watch)
        count = watch.count()
        await page.keyboard.type("a")
        await fenced(watch)
        said = {data.get("part") for kind, data in watch.seen[count:] if kind == "gap.began"}
        assert {"field.filled", "form.submitted"} <= said


async def test_clicks_beside_a_closed_shadow_root_are_none(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", CLOSED))
        for target in ("text=Else", "#plain", "#late p", "body"):
            await page.locator(target).click(force=True)
        await fenced(watch)
        assert gaps(watch) == set()
