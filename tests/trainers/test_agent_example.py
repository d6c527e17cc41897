"""examples/agent: its pages and tables (light); the daemon's rewards at the turns of demonstrations,
and a run that is killed and goes on (slow)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from api.tasks.task_files import check_task
from examples.agent.browser import Browser
from examples.agent.demos import FIRST
from examples.agent.families import UNSEEN, families, instance
from examples.agent.kinds import KINDS
from examples.agent.table import RunLog, interval, table
from examples.agent.tasks import task
from tests.api.processes import ROOT, Process
from tests.support.chromium import needs_chromium

FAMILIES = [*families(2), *families(5)]


@pytest.mark.parametrize("family", FAMILIES)
def test_an_instance_is_that_of_its_seed(family: str) -> None:
    """The values fill the family's template, so that its instruction is what the page asks."""
    assert instance(family, 7) == instance(family, 7) != instance(family, 8)
    for seed in (7, FIRST, UNSEEN):
        made = instance(family, seed)
        names = [name for view in made.views for _, name in view]
        assert len(names) == len(set(names)), "a name is one element's, and one view's"
        assert {name for name, _ in made.script} <= set(names)
        template = task(family, "milestones", "http://pages.test")
        assert template["instruction"].format(**made.values) == made.instruction


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_reward_is_a_task(family: str, kind: str) -> None:
    made = check_task(task(family, kind, "http://pages.test"))
    assert made.id == f"agent/{family}-{kind}"


def update(won: int, steps: int = 100, known: int = 24) -> Mapping[str, Any]:
    episodes = {"episodes": known, "known": known, "won": won, "steps_of_won": 3 * won}
    return {"update": 1, "steps": steps, **episodes, "total": won / 2}


def test_thresholds_are_of_the_last_updates() -> None:
    """The success over four updates; a run that never gets there has a lower bound."""
    run = RunLog(
        "sparse", 0, [update(0), update(6), update(6), update(12), update(24)], False, None
    )
    assert run.curve() == [(400, 0.25), (500, 0.5)]
    assert (run.reached(0.25), run.reached(0.5), run.reached(0.75)) == (400, 500, None)
    (row,) = [line for line in table([run]).splitlines() if line.startswith("| sparse")]
    assert row == (
        "| sparse | 0 | 500 (cut off) | 400 | 500 | > 500 | not run | not run | 3.00 → 3.00 |"
        " 0.20 → 0.20 | not asked |"
    )


def test_episodes_of_unknown_success_are_no_failures() -> None:
    run = RunLog("sparse", 0, [update(12, known=12)] * 4, True, [])
    assert run.curve() == [(400, 1.0)]


def test_interval() -> None:
    """Wilson's, as in textbooks: 10 of 20 is 50 % (29.9 % to 70.1 %)."""
    assert interval(10, 20) == pytest.approx((0.2993, 0.7007), abs=1e-4)


@needs_chromium
@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, 5])
async def test_rewards_stand_at_their_turns(process: Process, tmp_path: Path, parts: int) -> None:
    """Demonstrations of each family under each kind of reward: the goal alone pays the last turn,
    milestones and potential pay as the agent gets nearer."""
    paid = {
        "sparse": [*[0.0] * parts, 1.0],
        "milestones": [*[0.5 / parts] * parts, 0.5],
        "potential": [*[1 / parts] * parts, 0.0],
    }
    browser = Browser(sys.executable, process.url, process.admin, tmp_path)
    try:
        for kind in KINDS:
            asked = [
                {"slot": at, "family": family, "seed": 1, "kind": kind, "labels": {}}
                for at, family in enumerate(families(parts))
            ]
            slots = [{"slot": at} for at in range(len(asked))]
            browser.ask("open", asked)
            for _ in paid[kind]:
                seen = browser.ask("act", [{**slot, "do": None} for slot in slots])
            assert all(one["over"] for one in seen)
            for closed in browser.ask("close", slots):
                assert closed["success"] is True
                assert closed["rewards"] == pytest.approx(paid[kind]), kind
    finally:
        browser.close()


@needs_chromium
@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """Killed with all its processes after an update, the command goes on from its checkpoint: each
    update is in the log once, and the weights are not those that it began with."""
    command = [sys.executable, "-m", "examples.agent", "--quick", "--kinds", "milestones"]
    command += ["--folder", str(tmp_path)]
    paths = os.pathsep.join((str(ROOT), str(ROOT / "client")))
    told = {**os.environ, "PYTHONPATH": paths}
    run = tmp_path / "milestones-0"
    begun = subprocess.Popen(
        command, cwd=ROOT, env=told, start_new_session=True, stdout=subprocess.PIPE, text=True
    )
    assert begun.stdout is not None
    said = next((line for line in begun.stdout if "update 2 of" in line), None)
    os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()
    begun.stdout.close()
    assert said is not None, "it ended before its second update"
    assert not (run / "done").exists()

    done = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "| milestones | 0 |" in done.stdout
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines if "steps" in line] == [1, 2, 3]
    assert [line.get("evaluation") for line in lines if "evaluation" in line] == ["start", "end"]
    weights = [one.read_bytes() for one in (tmp_path / "start").glob("*.safetensors")]
    trained = [one.read_bytes() for one in run.glob("trl/checkpoint-3/*.safetensors")]
    assert len(weights) == len(trained) == 1
    assert weights != trained
