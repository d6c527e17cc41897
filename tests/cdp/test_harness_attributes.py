"""Immunity 8: what a harness writes to mark elements makes no event; with its marks the log is as
it is without."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from detectors.model.kinds import KINDS
from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

ATTRIBUTES = ["bid", "browsergym_set_of_marks", "browsergym_visibility_ratio", "data-testid", "class", "value",
              "checked", "aria-description", "aria-roledescription", "aria-expanded", "backend_node_id", "unique_id",
              "data-browser-use-index"]  # fmt: skip
PAGE = """<form id=f><label>Name <input name=who value=Bob></label><label><input type=checkbox name=gift> Gift</label>
<select name=size><option>S<option>M</select><button aria-description="to the till">Order</button></form>
<div id=menu role=button aria-expanded=false tabindex=0 onclick="this.setAttribute('aria-expanded', 'true')">Menu</div>
<p class=lead>Some words</p><x-card></x-card><svg width=20 height=20><circle r=9 /></svg>
<script>document.querySelector('x-card').attachShadow({mode: 'open'}).innerHTML = '<a href=#in>Inside</a>';
document.forms[0].onsubmit = (event) => event.preventDefault()</script>"""

# As BrowserGym marks a page before every observation, with what some other harnesses write.
MARK = """() => {
  const all = [...document.querySelectorAll('*')];
  for (const element of all) if (element.shadowRoot) all.push(...element.shadowRoot.querySelectorAll('*'));
  all.forEach((element, n) => {
    if (typeof element.value !== 'undefined') element.setAttribute('value', element.value);
    if (typeof element.checked !== 'undefined') {
      if (element.checked) element.setAttribute('checked', ''); else element.removeAttribute('checked');
    }
    element.setAttribute('bid', String(n));
    for (const name of ['aria-roledescription', 'aria-description']) {
      const before = (element.getAttribute(name) || '').replace(/^browsergym_id_\\S+ ?/, '');
      element.setAttribute(name, `browsergym_id_${n} ${before}`);
    }
    element.setAttribute('browsergym_visibility_ratio', String(Math.random()));
    element.setAttribute('browsergym_set_of_marks', '1');
    element.setAttribute('data-testid', `t${n}`);
    element.setAttribute('data-browser-use-index', String(n));
    element.setAttribute('backend_node_id', String(n));
    element.setAttribute('unique_id', String(n));
  });
}"""
UNMARK = """() => {
  for (const element of document.querySelectorAll('*')) {
    for (const name of ['aria-roledescription', 'aria-description']) {
      const before = (element.getAttribute(name) || '').replace(/^browsergym_id_\\S+ ?/, '');
      if (before) element.setAttribute(name, before); else element.removeAttribute(name);
    }
    for (const name of ['browsergym_visibility_ratio', 'browsergym_set_of_marks']) element.removeAttribute(name);
  }
}"""


async def session(
    browser: Chromium, page: Page, url: str, *, marked: bool
) -> list[tuple[str, Any]]:
    """One scripted session under all kinds; with ``marked`` the harness marks the page between the
    steps."""

    async def mark() -> None:
        if marked:
            await page.evaluate(MARK)
        await watch.fence()  # what is told by then is told in both
        if marked:
            await page.evaluate(UNMARK)

    plan = {"also": [name for name, kind in KINDS.items() if kind.asked], "attributes": ATTRIBUTES}
    await page.goto("about:blank")
    async with watching(browser, plan) as watch:
        await page.goto(url)
        await watch.one("page.loaded", url=url)
        await watch.fence()
        await mark()
        await page.fill("[name=who]", "Ada")
        await mark()
        await page.check("[name=gift]")
        await page.click("#menu")
        await mark()
        await page.click("text=Inside")
        await mark()
        await page.click("svg")
        await page.click("text=Order")
        await mark()
        await watch.fence()
        kept = ("element.", "field.", "form.", "text.", "attribute.", "journal.")
        # Hovering and idling depend on how long a step takes.
        return [
            (kind, {name: value for name, value in data.items() if name not in ("tab", "frame")})
            for kind, data in watch.seen
            if kind.startswith(kept) and kind != "element.hovered"
        ]


async def test_the_log_is_the_same_with_a_harness_that_marks_every_element(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", PAGE)
    without = await session(browser, page, url, marked=False)
    marked = await session(browser, page, url, marked=True)
    assert sorted(map(str, marked)) == sorted(map(str, without))
    changed = [
        (data["attribute"], data["value"]) for kind, data in without if kind == "attribute.changed"
    ]
    assert changed == [("aria-expanded", "true")], "what the page itself changes is told"
    assert {
        "element.clicked",
        "field.filled",
        "form.submitted",
        "text.appeared",
        "element.appeared",
    } <= {kind for kind, _ in without}
