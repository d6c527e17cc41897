"""Immunity 13: a page whose forms and images are called like the properties by which they are read
is observed as one in which they are not."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from agentd.core.source import FenceLateError
from detectors.model.kinds import KINDS
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

# Every property of a form and of a document, and what the observer might ask either for.
NAMES = """[...new Set(['HTMLFormElement', 'HTMLElement', 'Element', 'Node', 'EventTarget', 'Object', 'Document',
  'HTMLInputElement', 'HTMLLabelElement'].flatMap((one) => Object.getOwnPropertyNames(self[one].prototype)))]"""
BODY = """<title>T</title><style>* { font: 16px/20px monospace }
form { position: absolute; left: 0; top: 0; width: 600px; height: 200px }
.hostile { position: absolute; left: 0; top: 600px; height: 50px; overflow: hidden } </style>
<form id=f name=order action=/sent method=post aria-label=Order onsubmit="event.preventDefault()">
<input name=who aria-label=Name style="position: absolute; left: 10px; top: 10px; width: 100px">
<button id=b style="position: absolute; left: 10px; top: 50px">Send</button>
<p contenteditable id=e style="position: absolute; left: 200px; top: 10px; width: 90px; margin: 0">note</p>
<input type=checkbox name=box aria-label=Box style="position: absolute; left: 320px; top: 10px">
%s</form><form id=edited contenteditable style="top: 220px; height: 100px">%s</form>%s"""
HIDDEN = """<script>names = %s;
document.write(names.map((name) => `<input type=hidden name="${name}">`).join(''))</script>"""
IMAGES = """<script>document.write('<div class=hostile>' + names.map((name) => `<img name="${name}">` +
  `<form class=hostile name="${name}"></form>`).join('') + '</div>')</script>"""
PERSONS = (
    "element.clicked",
    "element.focused",
    "field.filled",
    "field.typed",
    "form.submitted",
    "text.copied",
)


async def session(page: Page, watch: Watch, url: str) -> dict[tuple[str, str], dict[str, Any]]:
    """One session by mouse and keys alone; gives what a person did in it, the last of each kind and
    element: what rests is told by the time, in one piece or in several."""
    await page.goto(url)
    await watch.fence()
    first = watch.count()
    await page.mouse.click(50, 20)
    await page.keyboard.type("Ada")
    await page.keyboard.press("Control+a")
    await page.keyboard.press("Control+c")
    await page.mouse.click(400, 150)
    await page.mouse.click(240, 20)
    await page.keyboard.type("x")
    await page.mouse.click(326, 20)
    await page.mouse.click(30, 60)
    await page.mouse.click(100, 270)
    await page.keyboard.type("y")
    with contextlib.suppress(FenceLateError):
        await watch.source.fence(1.0)
    await watch.source.before_seal(0, closing=False)
    said = watch.seen[first:]
    assert [
        (kind, data) for kind, data in said if kind.startswith(("gap.", "alarm.", "journal."))
    ] == []
    typed = [str(data["text"]) for kind, data in said if kind == "field.typed"]
    found = {(kind, _name(data)): _plain(data) for kind, data in said if kind in PERSONS}
    return {**found, ("field.typed", "all"): {"text": "".join(typed)}}


def _name(data: dict[str, Any]) -> str:
    element = data.get("element", {})
    return str(element.get("attr_name") or element.get("id"))


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    kept = {
        name: value
        for name, value in data.items()
        if name not in ("tab", "frame", "text", "commit")
    }
    if "fields" in kept:
        kept["fields"] = [pair for pair in kept["fields"] if pair[0] in ("who", "box")][:2]
    return kept


async def test_a_form_and_a_document_with_hostile_names_are_told_as_any(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/plain", BODY % ("", "", ""))
    site.page("/hostile", BODY % (HIDDEN % NAMES, HIDDEN % NAMES, IMAGES))
    also = [name for name, kind in KINDS.items() if kind.asked and kind.source == "cdp"]
    async with watching(browser, {"also": also, "attributes": ["class"]}) as watch:
        plain = await session(page, watch, f"{site.url}/plain")
        hostile = await session(page, watch, f"{site.url}/hostile")
    assert {kind for kind, _ in plain} == set(PERSONS)
    assert plain["field.typed", "all"] == {"text": "Adaxy"}
    assert hostile == plain


PAGE = Path(__file__).parents[2] / "agentd" / "sources" / "cdp" / "page"
HOLDERS = """(names) => Object.getOwnPropertyNames(window).filter((one) => /^[A-Z]/.test(one))
  .filter((one) => one === 'EventTarget' || one === 'Node' || window[one].prototype instanceof Node)
  .filter((one) => names.some((name) => Object.hasOwn(window[one].prototype, name))).sort()"""


async def test_every_interface_of_nodes_that_has_such_a_property_is_named(page: Page) -> None:
    names = json.loads((PAGE / "dom_names.json").read_text())
    text = (PAGE / "dom.js").read_text()
    named = set(re.findall(r"\w+", text.partition("const HOLDERS = [")[2].partition("]")[0]))
    assert set(await page.evaluate(HOLDERS, names)) - named == set()
