"""Fields without a name and an id, as the boxes of many to-do lists: found by what stands around them, or by their path, on
a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import began, ruleset, run

pytestmark = [pytest.mark.browser, needs_chromium]

TODO = """<h1>Things to do</h1><ul id=list>
  <li><div><input type=checkbox><span>Buy milk</span></div></li>
  <li><div><input type=checkbox><span>Buy tea</span></div></li>
  <li><div><input type=checkbox><span>Call Ada</span></div></li></ul>
  <table><tr><td>Apples</td><td><input></td></tr><tr><td>Pears</td><td><input></td></tr></table>"""

YES = {
    "a box by its row": {"around": "Buy tea", "checked": True},
    "a box by a part of its row": {"around": {"contains": "tea"}, "checked": True},
    "a box by its path": {"path": "#list>li:2>div:1>input:1", "checked": True},
    "a box by both": {"path": {"ends_with": "input:1"}, "around": "Buy tea", "checked": True},
    "a text field by its row": {"around": "Pears", "value": "7"},
}
NO = {
    "another row": {"around": "Buy milk", "checked": True},
    "its row, not checked": {"around": "Buy tea", "checked": False},
    "another path": {"path": "#list>li:1>div:1>input:1", "checked": True},
    "the path with another row": {"path": "#list>li:2>div:1>input:1", "around": "Call Ada", "checked": True},
    "the row of another text field": {"around": "Apples", "value": "7"},
}  # fmt: skip


async def test_a_field_without_a_name_is_found_by_what_stands_around_it_or_by_its_path(
    browser: Chromium, page: Page, site: Site
) -> None:
    cases: dict[str, dict[str, Any]] = {**YES, **NO}
    rules = ruleset(
        *({"id": f"m{n}", "when": {"field_filled": case}} for n, case in enumerate(cases.values())),
        origin=site.url,
    )
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(site.page("/", TODO))
        await watch.fence()
        await page.locator("li").nth(1).locator("input").check()
        await page.locator("tr").nth(1).locator("input").fill("7")
        await watch.until(lambda: len(watch.all("field.filled")) >= 2)
        await watch.fence()
    rewards = run(rules, ("episode.opened", {}), began(0), *watch.seen, ("episode.closed", {}))
    assert not [reward.reason for reward in rewards if reward.mask]
    paid = {one.id for reward in rewards for one in reward.milestones}
    assert {name for n, name in enumerate(cases) if f"m{n}" in paid} == set(YES)


@pytest.mark.slow
async def test_what_a_field_stands_in_is_page_text_that_is_told_where_a_rule_asks(
    browser: Chromium, page: Page, site: Site
) -> None:
    for plan, told in (({}, None), ({"around": [True]}, None), ({"around": ["fields"]}, "Buy tea")):
        async with watching(browser, plan) as watch:
            await page.goto(site.page("/", TODO))
            await page.locator("li").nth(1).locator("input").check()
            assert (await watch.one("field.filled")).get("around") == told
