"""One application of the kind on a real Chromium: what the daemon hears of its state requests pays
the task."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from playwright.async_api import async_playwright

from detectors.engine.engine import Engine
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import infinity
from tests.cdp.watching import watching
from tests.importing.state_site import state_site
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import Said, episode, log

SEED = {"preferences": {"theme": "Light"}, "long": "x" * 120_000}


@needs_chromium
@pytest.mark.browser
async def test_a_state_of_120_kb_is_heard_whole_and_pays(tmp_path: Path) -> None:
    """The page sends its seed as it loads, and its state at the click; each in a step of its
    own."""
    patch = [{"op": "replace", "path": "/preferences/theme", "value": "Dark"}]
    task = {
        "id": "dark",
        "instruction": "Use the dark theme.",
        "patch": patch,
        "expect_seed": False,
    }
    (tmp_path / "app.json").write_bytes(orjson.dumps({"app": "app", "seed": SEED, "tasks": [task]}))
    with state_site(SEED) as site, Chromium() as browser:
        spec = next(infinity.tasks(tmp_path, {"app": site.url})).spec
        assert spec is not None
        rules = compile_task(task_from_json(spec))
        async with async_playwright() as playwright, watching(browser, rules.plan("ep")) as watch:
            agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
            page = await agent.contexts[0].new_page()
            sends = {"method": "PUT", "url": f"{site.url}/api/state"}
            await page.goto(site.url)
            await watch.one("request.finished", **sends)
            before = len(watch.seen)
            await page.click("#dark")
            await watch.until(lambda: len(watch.all("request.finished", **sends)) == 2)
            steps: list[list[Said]] = [watch.seen[:before], watch.seen[before:]]
            await agent.close()
    engine = Engine(rules, "ep_1")
    rewards = engine.feed(log(*episode(*steps))).rewards
    assert [reward.reward for reward in rewards] == [0.0, rules.attainable]
    assert (engine.success, site.state["preferences"]) == (True, {"theme": "Dark"})
