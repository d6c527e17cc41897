"""Role and name as we tell them against Chrome's own accessibility tree, asked by the test, never by the source."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

THINGS = """<style>body > * { display: block; margin: 4px }</style>
<button data-n=1>Save <b>all</b></button>
<button data-n=2 aria-label="Close dialog">x</button>
<a data-n=3 href="#x"><img alt="Home page" width=20 height=20></a>
<span id=lab>Billing</span><div data-n=4 role=button tabindex=0 aria-labelledby="lab">Edit</div>
<label>Agree <input data-n=5 type=checkbox></label>
<label for=r1>One</label><input data-n=6 type=radio id=r1>
<input data-n=7 placeholder="Search here" type=search>
<input data-n=8 type=submit value="Send it">
<label>Town <input data-n=9></label>
<textarea data-n=10 title="Remarks"></textarea>
<div data-n=11 role=tab tabindex=0>Details</div>
<div data-n=12 role="menuitem" tabindex=0>Copy</div>
<details><summary data-n=13>More</summary>text</details>
<div data-n=14 role=switch aria-checked=false tabindex=0>Dark mode</div>
<button data-n=15><span aria-hidden=true>★</span> Star</button>
<label>Age <input data-n=16 type=number></label>
<div data-n=17 role="nonsense button" tabindex=0>Fallback</div>
<input data-n=18 type=button value=Plain title=Hint>"""
ROLES = {"searchBox": "searchbox", "DisclosureTriangle": "button"}
COUNT = 18


async def test_role_and_name_are_those_of_chromes_own_tree(browser: Chromium, page: Page, site: Site) -> None:
    await page.goto(site.page("/", THINGS))
    async with watching(browser) as watch:
        for n in range(1, COUNT + 1):
            await page.dispatch_event(f"[data-n='{n}']", "click")
        await watch.fence()
        clicks = watch.all("element.clicked")
    told = [(click["element"]["role"], click["element"]["name"]) for click in clicks]
    asked = await page.context.new_cdp_session(page)
    root = (await asked.send("DOM.getDocument"))["root"]["nodeId"]
    tree = []
    for n in range(1, COUNT + 1):
        node = await asked.send("DOM.querySelector", {"nodeId": root, "selector": f"[data-n='{n}']"})
        found = await asked.send("Accessibility.getPartialAXTree", {"nodeId": node["nodeId"], "fetchRelatives": False})
        role = found["nodes"][0]["role"]["value"]
        tree.append((ROLES.get(role, role), found["nodes"][0]["name"]["value"].strip()))
    assert told == tree
