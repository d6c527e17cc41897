"""element.state_changed and text.shown: how what a task names stands now, told whenever it stands
otherwise, and at the latest when a step ends."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import Data, Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

STATE, TEXT = "element.state_changed", "text.shown"


def asking(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"hears": [STATE], "elements": list(elements)}


PAGE = """<style>.faint { opacity: 0 } .shut { height: 0; overflow: hidden } body { height: 3000px }
#far { position: absolute; top: 2500px } i { display: inline-block; width: 9px; height: 9px }</style>
<label><input id=box type=checkbox style="opacity: 0"> Wrap</label>
<button id=menu aria-expanded=false>File</button>
<select id=size><option id=s>S<option id=m>M</select>
<div id=tab role=tab aria-selected=false tabindex=0>Log</div>
<div id=around><p id=note>Saved</p></div><p id=far>Far</p><i id=icon class="star off"></i>"""

CHANGES = [
    ("visible", "#note", "note.hidden = true", [True, False]),
    ("visible", "#note", "note.style.visibility = 'hidden'", [True, False]),
    ("visible", "#note", "around.className = 'faint'", [True, False]),
    ("visible", "#note", "around.className = 'shut'", [True, False]),
    (
        "visible",
        "#note",
        "document.styleSheets[0].insertRule('p { display: none }')",
        [True, False],
    ),
    ("visible", "#note", "note.remove()", [True, False]),
    ("gone", "#note", "note.remove()", [None, True]),
    ("visible", "#note", "around.innerHTML = around.innerHTML", [True]),
    ("visible", "#box", "box.style.width = '0'", [True]),
    ("in_view", "#far", "far.scrollIntoView()", [False, True]),
    ("checked", "#box", "box.checked = true", [False, True]),
    ("expanded", "#menu", "menu.setAttribute('aria-expanded', 'true')", [False, True]),
    ("selected", "#m", "size.value = 'M'", [False, True]),
    ("selected", "#tab", "tab.ariaSelected = 'true'", [False, True]),
    ("disabled", "#menu", "menu.disabled = true", [False, True]),
    ("classes", "#icon", "icon.className = 'star on'", [["star", "off"], ["star", "on"]]),
]


async def test_a_change_is_told_however_it_was_made(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Each row on a page of its own: what is asked for, what a script does, what was told."""
    asked = [{"selector": selector} for selector in sorted({row[1] for row in CHANGES})]
    async with watching(browser, asking(*asked)) as watch:
        for n, (state, selector, script, told) in enumerate(CHANGES):
            await page.goto(site.page(f"/{n}", PAGE))
            await watch.catch_up()
            before = watch.count()
            first = [one for one in watch.all(STATE) if selector in one["selectors"]][-1]
            await page.evaluate(script)
            await watch.catch_up()
            if len(told) > 1:  # what a busy page is behind with comes after the fence
                await watch.until(partial(changes_of, watch, first["key"], before))
            later = changes_of(watch, first["key"], before)
            assert first["initial"] is True
            assert not any("initial" in one for one in later)
            found = [first.get(state), *(one.get(state) for one in later)]
            assert [one for one, _ in itertools.groupby(found)] == told, (state, script)


def changes_of(watch: Watch, key: str, since: int) -> list[Data]:
    """What was told of the element's state after the first ``since`` observations."""
    return [one for kind, one in watch.seen[since:] if kind == STATE and one["key"] == key]


SHADOWS = """<x-open></x-open><x-closed></x-closed><script>
for (const [name, mode] of [['x-open', 'open'], ['x-closed', 'closed']]) {
  customElements.define(name, class extends HTMLElement {
    constructor() {
      super();
      const root = this.attachShadow({mode});
      root.innerHTML = `<button id=${mode} aria-pressed=false>${mode}</button><p>in ${mode}</p>`;
      addEventListener('flip', () => root.querySelector('button').setAttribute('aria-pressed', 'true'));
      addEventListener('flip', () => root.querySelector('p').remove());
    }
  });
}
</script>"""


async def test_shadow_roots_and_frames_are_seen_into_closed_ones_too(
    browser: Chromium, page: Page, site: Site
) -> None:
    inner = "<button id=inner aria-pressed=false onclick=\"this.ariaPressed = 'true'\">In</button>"
    site.page("/inner", inner)
    url = site.page("/", f"{SHADOWS}<iframe src='{site.other}/inner'></iframe>")
    plan = asking({"roles": ["button"]})
    plan["hears"].append(TEXT)
    buttons = {"open", "closed", "inner"}
    async with watching(browser, plan) as watch:
        await page.goto(url)
        await watch.until(lambda: ids_of(watch.all(STATE)) == buttons)
        await watch.until(lambda: watch.all(TEXT, text="in closed"))
        await page.evaluate("dispatchEvent(new Event('flip'))")
        await page.frame_locator("iframe").locator("button").click()
        await watch.until(lambda: ids_of(watch.all(STATE, pressed=True)) == buttons)
        await watch.until(lambda: len(watch.all(TEXT, text="")) >= 2)
    assert len(watch.all(TEXT, text="")) == 2, "the texts of both roots"


def ids_of(states: list[Data]) -> set[str]:
    """The ids of the elements that were told of; one may be told of again as it is laid out."""
    return {one["element"]["id"] for one in states}


TEXTS = """<style>.faint { opacity: 0 } b { text-transform: uppercase }</style><h1 id=head>Orders</h1>
<div>of today<p id=sure>Total:<br>30 <b>Eur</b></p><i id=sign hidden>paid</i></div>
<table><tr><td>Lamp</td><td id=cell>2</td></tr></table><p id=off hidden>Off</p>"""
FIRST = {"Orders", "of today", "Total: 30 EUR", "Lamp 2"}
SHOWN: list[tuple[str, dict[str, str]]] = [
    ("head.className = 'faint'", {"Orders": ""}),
    ("cell.textContent = '3'", {"Lamp 2": "Lamp 3"}),
    ("sure.hidden = true", {"Total: 30 EUR": ""}),
    ("sign.hidden = false", {"of today": "of today paid"}),
    ("sure.remove()", {"Total: 30 EUR": ""}),
    ("off.hidden = false", {"": "Off"}),
]


async def test_a_block_of_text_is_told_whenever_it_shows_another(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Each row on a page of its own: what a script does, and what stands then in the place of what
    stood before. A block's text is its own, not that of blocks within it."""
    async with watching(browser, {"hears": [TEXT]}) as watch:
        for n, (script, changes) in enumerate(SHOWN):
            before = len(watch.all(TEXT))
            await page.goto(site.page(f"/{n}", TEXTS))
            await watch.catch_up()
            first = {one["key"]: one["text"] for one in watch.all(TEXT)[before:]}
            count = len(watch.all(TEXT))
            await page.evaluate(script)
            await watch.catch_up()
            later = {one["key"]: one["text"] for one in watch.all(TEXT)[count:]}
            assert set(first.values()) == FIRST
            assert {first.get(key, ""): text for key, text in later.items()} == changes, script


async def test_what_nobody_asked_for_or_nobody_can_read(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Nothing of a page is listened to for it; of a selector that is none, nobody knows."""
    async with watching(browser, {"elements": [{"selector": "p"}]}) as watch:
        await page.goto(site.page("/", PAGE))
        await watch.fence()
        assert not watch.all(STATE)
    async with watching(browser, asking({"selector": "p:no-such-thing"})) as watch:
        await page.goto(site.page("/", PAGE))
        await watch.until(lambda: watch.all("gap.began", part=STATE))
