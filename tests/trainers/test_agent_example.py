"""examples/agent: its pages and tables (light); the daemon's rewards at the turns of demonstrations,
and a run that is killed and goes on (slow)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from api.tasks.task_files import check_task
from examples.agent.__main__ import check_settings
from examples.agent.browser import Browser
from examples.agent.demos import FIRST
from examples.agent.families import POOLS, UNSEEN, families, instance
from examples.agent.kinds import FIGURES, KINDS
from examples.agent.table import RunLog, describe_start, interval, pooled_curve, read_runs, table
from examples.agent.tasks import task
from examples.agent.turns import Turn, rename
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


@pytest.mark.parametrize(
    ("said", "others"),
    [("type City Oslo <end>", ["Pet"]), ("click Save <end>", ["Send", "Help"])],
)
def test_a_clumsy_action_names_what_nobody_asked_for(said: str, others: list[str]) -> None:
    """An element of the same role that the instruction names is no error: it may be done first."""
    saw = "textbox City\ntextbox Pet\ntextbox Name = Ben\nbutton Send\nbutton Save\nbutton Help"
    asked = frozenset("fill Name with Ben , fill City with Oslo , press Save".split())
    assert Turn("", said, saw, asked).others() == others


def test_a_renamed_demonstration_is_the_same_with_other_names() -> None:
    """Each name becomes another of its pool, the same one in tokens and labels; what is in no pool
    stays."""
    row = ([1, 10, 2, 11, 10], [-100, -100, 2, 11, 10])
    drawn = [rename(row, [[10, 11, 12], [20]], random.Random(seed)) for seed in range(20)]
    for ids, labels in drawn:
        a, b = ids[1], ids[3]
        assert (ids, labels) == ([1, a, 2, b, a], [-100, -100, 2, b, a])
        assert len({a, b} & {10, 11, 12}) == 2
    assert len({tuple(ids) for ids, _ in drawn}) == 6


def test_a_name_is_in_one_pool() -> None:
    names = [name for pool in POOLS for name in pool]
    assert len(names) == len(set(names))


def test_the_start_is_described_by_its_figures(tmp_path: Path) -> None:
    assert describe_start(tmp_path) == ""
    (tmp_path / "start").mkdir()
    able = {"demos": 26, "right": 0.961, "sampled": 0.93, "whole": 0.81}
    clumsy = {"demos": 26, "right": 0.7, "sampled": 0.352, "whole": 0.0051}
    (tmp_path / "start" / FIGURES).write_text(json.dumps({"able": able, "clumsy": clumsy}))
    assert describe_start(tmp_path) == (
        "the start, by 26 demonstrations that it was not trained on: before it was made clumsy, the"
        " likeliest action is right in 96%; after, in 70%, an action that is drawn is right in 35%,"
        " and all of a demonstration in 0.51%"
    )


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


def test_the_runs_of_a_kind_have_one_interval() -> None:
    """Of the episodes of the last four updates of all runs, up to the end of the shortest."""
    runs = [
        RunLog("sparse", 0, [update(0)] * 3 + [update(24)] * 2, True, []),
        RunLog("sparse", 1, [update(12, steps=200)] * 4, True, []),
    ]
    assert pooled_curve(runs) == [(600, *interval(72, 192))]


def test_interval() -> None:
    """Wilson's, as in textbooks: 10 of 20 is 50 % (29.9 % to 70.1 %)."""
    assert interval(10, 20) == pytest.approx((0.2993, 0.7007), abs=1e-4)


def test_the_page_has_the_figures_of_the_logs() -> None:
    """The start and each run of the able start, as the command prints them of what was measured."""
    folder = ROOT / "examples" / "agent" / "measured" / "parts-4-able"
    page = (ROOT / "docs" / "learning.md").read_text().splitlines()
    printed = [line for line in table(read_runs(folder)).splitlines() if line.startswith("| ")]
    assert len(printed) > 3
    assert set(printed) <= set(page)
    assert describe_start(folder) in " ".join(page)


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
async def test_an_episode_is_cut_off_without_turns_to_spare(
    process: Process, tmp_path: Path
) -> None:
    """An action that does nothing costs a turn; with none to spare the last one is lost."""
    asked = {"family": "menu-2", "seed": 1, "kind": "sparse", "labels": {}}
    browser = Browser(sys.executable, process.url, process.admin, tmp_path)
    try:
        browser.ask("open", [{**asked, "slot": 0, "spare": 0}, {**asked, "slot": 1, "spare": 1}])
        slots = [{"slot": 0}, {"slot": 1}]
        browser.ask("act", [{**slot, "do": "click Nothing"} for slot in slots])
        browser.ask("act", [{**slot, "do": None} for slot in slots])
        assert [one["over"] for one in browser.ask("act", [{**s, "do": None} for s in slots])] == [
            True,
            False,
        ]
        assert browser.ask("act", [{"slot": 1, "do": None}])[0]["over"]
        closed = browser.ask("close", slots)
        assert [one["success"] for one in closed] == [False, True]
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
    assert done.stdout.count("the start, by 2 demonstrations") == 1
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines if "steps" in line] == [1, 2, 3]
    assert [line.get("evaluation") for line in lines if "evaluation" in line] == ["start", "end"]
    weights = [one.read_bytes() for one in (tmp_path / "start").glob("*.safetensors")]
    trained = [one.read_bytes() for one in run.glob("trl/checkpoint-3/*.safetensors")]
    assert len(weights) == len(trained) == 1
    assert weights != trained


def test_a_folder_that_was_begun_with_other_settings_is_refused(tmp_path: Path) -> None:
    check_settings(tmp_path / "run", {"parts": 4, "clumsy": 0.5})
    check_settings(tmp_path / "run", {"parts": 4, "clumsy": 0.5})
    with pytest.raises(SystemExit, match=r"--clumsy: got 0.6, but .*run was begun with 0.5"):
        check_settings(tmp_path / "run", {"parts": 4, "clumsy": 0.6})
