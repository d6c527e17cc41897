"""Law 1 for the page script: with every kind wanted, a page's own record of a session is as it is
with no observer."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

import pytest
from playwright.async_api import Page

from detectors.model.kinds import KINDS
from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

# The page notes every event that it can hear, in order, every change of its document, and how it
# was left.
PAGE = """<title>Notes</title><style>body { height: 3000px } #log { height: 50px; overflow: auto }
#log p { height: 400px }</style>
<form><label>Name <input name=who></label><label>Secret <input type=password name=pw></label>
<select name=size><option>S<option>M</select><button>Send</button></form><details><summary>More</summary>x</details>
<p id=card draggable=true>Card</p><div id=zone>Zone</div><div id=log><p>log</p></div><x-box></x-box>
<div contenteditable>edit</div><canvas></canvas><script>
document.querySelector('x-box').attachShadow({mode: 'open'}).innerHTML = '<button>In</button>';
const notes = [], types = `pointerdown pointerup pointercancel mousedown mouseup click auxclick dblclick contextmenu
  keydown keypress keyup beforeinput input change submit reset formdata focus blur focusin focusout copy cut paste
  dragstart dragover drop dragend toggle beforetoggle invalid select slotchange`.split(/\\s+/);
for (const type of types) addEventListener(type, (event) => notes.push(`${type} ${event.target.localName ?? 'other'} ` +
  `${event.isTrusted} ${event.defaultPrevented} ${event.composedPath().length}`), true);
new MutationObserver((records) => { for (const one of records) notes.push(`${one.type} ${one.target.localName} ` +
  `${one.attributeName}`) }).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
document.forms[0].onsubmit = (event) => { event.preventDefault(); zone.append('sent') };
zone.ondragover = (event) => event.preventDefault();
zone.ondrop = (event) => { event.preventDefault(); zone.append(card) };
window.left = () => ({notes, focus: document.activeElement.localName, html: document.documentElement.outerHTML,
  selection: String(getSelection()), scroll: [scrollX, scrollY, log.scrollTop], history: history.length,
  names: Object.getOwnPropertyNames(window).sort(), elements: document.querySelectorAll('*').length,
  resources: performance.getEntriesByType('resource').map((one) => one.name)
    .filter((name) => !/favicon/.test(name)),
  animations: document.getAnimations().length})
</script>"""


async def session(page: Page, url: str) -> dict[str, Any]:
    """One scripted session; gives what the page noted."""
    await page.goto(url)
    await page.locator("[name=who]").press_sequentially("Ada")
    await page.locator("[name=pw]").press_sequentially("geheim")
    await page.select_option("select", "M")
    await page.click("summary")
    await page.click("text=In")
    await page.dblclick("text=Zone")
    await page.keyboard.press("Control+c")
    await page.drag_and_drop("#card", "#zone")
    await page.locator("[contenteditable]").fill("written")
    await page.click("canvas", button="right")
    await page.locator("#log").evaluate("(log) => { log.scrollTop = 90; scrollTo(0, 200) }")
    await page.get_by_role("button", name="Send").click()
    await page.locator("[name=who]").select_text()
    await page.wait_for_function("notes.at(-1).startsWith('select ')")  # it comes a moment later
    left: dict[str, Any] = await page.evaluate("left()")
    return left


@pytest.mark.parametrize("visual", [0, 64 << 20], ids=["told", "told and recorded"])
async def test_a_page_notices_no_difference(
    browser: Chromium, page: Page, site: Site, visual: int
) -> None:
    url = site.page("/", PAGE)
    without = await session(page, url)
    also = [name for name, kind in KINDS.items() if kind.asked]
    plan = {"also": also, "attributes": ["class", "open"], "visual": visual}
    async with watching(browser, plan) as watch:
        await page.goto("about:blank")
        watched = await session(page, url)
        await watch.fence()
        kinds = {kind for kind, _ in watch.seen}
    assert ("visual.dom_recorded" in kinds) == bool(visual)
    assert {
        "form.submitted",
        "element.dropped",
        "text.copied",
        "text.appeared",
        "element.appeared",
    } <= kinds
    history = without.pop("history"), watched.pop("history")
    assert history[1] - history[0] == 2, "about:blank and the page again; nothing of ours"
    assert not list(unified_diff(without.pop("notes"), watched.pop("notes"), n=2, lineterm=""))
    assert watched == without
