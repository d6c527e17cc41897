"""A proposal from what the browser itself tells of a page whose switches and button have no names,
held against runs that it did not see."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from playwright.async_api import Page

from api.proposal.support import RecordedRun
from api.proposal.tested_task import ComparedRuns, propose_with_tests
from api.tasks.task_files import load_task_yaml
from detectors.engine.engine import Engine
from detectors.task.ruleset import compile_task
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import episode, log

pytestmark = [pytest.mark.browser, needs_chromium]

PAGE = """<div><span id=dark>Dark mode</span> <i role=switch tabindex=0 aria-checked=false
 aria-labelledby=dark></i></div><div>Weekly newsletter <i role=switch tabindex=0 aria-checked=true></i></div>
<button><svg width=20 height=20><path d="M2 10l5 5L18 4" stroke=green /></svg></button><p></p>
<style>i { display: inline-block; width: 40px; height: 20px; background: gray }</style><script>
for (const one of document.querySelectorAll('i'))
  one.onclick = () => one.ariaChecked = String(one.ariaChecked !== 'true');
document.querySelector('button').onclick = () => document.querySelector('p').textContent = 'Saved';
</script>"""
ASKED = {"hears": ["element.state_changed", "text.appeared"], "elements": [{}], "around": [True]}
PARTS = {"dark": "i >> nth=0", "news": "i >> nth=1", "save": "button"}
UNSEEN = {
    ("news", "dark", "save"): True,
    ("dark", "dark", "dark", "news", "save"): True,
    ("dark", "save", "news", "save"): True,
    ("dark", "news"): False,
    ("news", "save"): False,
    ("dark", "save", "news"): False,
    ("dark", "dark", "news", "save"): False,
}


async def record(watch: Watch, page: Page, address: str, parts: Sequence[str]) -> RecordedRun:
    """Record a run on a fresh page: each part of it is clicked in a step of its own."""
    start = watch.count()
    await page.goto(address)
    await watch.catch_up()
    before, steps = watch.seen[start:], []
    for part in parts:
        start = watch.count()
        await page.click(PARTS[part])
        await watch.catch_up()
        steps.append(watch.seen[start:])
    return RecordedRun(" ".join(parts), log(*episode(*steps, before=before)))


async def test_icon_switches_are_proposed_and_judged_by_how_they_stand(
    browser: Chromium, page: Page, site: Site
) -> None:
    address = site.page("/settings", PAGE)
    origin = address.removesuffix("/settings")
    async with watching(browser, ASKED) as watch:
        good = await record(watch, page, address, ("dark", "news", "save"))
        bad = await record(watch, page, address, ("dark", "save"))
        unseen = {parts: await record(watch, page, address, parts) for parts in UNSEEN}
    made = propose_with_tests("settings", origin, ComparedRuns([good], [bad], ""), ["a", "b"])
    assert made.proposal.is_decided, made.text
    task = compile_task(load_task_yaml(made.text))
    found = {
        parts: Engine(task, run.events[0].episode).feed(run.events).rewards[-1].success is True
        for parts, run in unseen.items()
    }
    assert found == UNSEEN, made.text
