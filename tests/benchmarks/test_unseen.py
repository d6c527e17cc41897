"""What nobody looked at before: the groups, the truth of their ways, and that one look is one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.stages.model.calibration import CaseKind
from api.stages.model.folder import BUILTIN, load
from api.tasks.task_files import check_task
from benchmarks.builtin import read_former
from benchmarks.desktop.record import Make
from benchmarks.scenes.page_scene import PageScene
from benchmarks.unseen import commands, programs
from benchmarks.unseen.look import (
    LOOK,
    LookError,
    find_refuted,
    must_be_first,
    must_be_unseen,
)
from benchmarks.unseen.look import main as look
from benchmarks.unseen.record import PAGES, PROGRAMS
from benchmarks.unseen.record import main as record
from detectors.task.ruleset import compile_task
from lab.training.evaluating import Case
from tests.benchmarks.scene_checks import must_be_as_named, must_have_each_kind
from tests.support.chromium import needs_chromium
from tests.support.desktop import needs

GROUPS = {
    *PAGES, *commands.KINDS, *programs.EDITORS, *programs.MANAGERS, *programs.CALCULATORS,
}  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "reward-model.md"
HEADING = "### Programs and pages that nobody had looked at"


def test_the_model_of_the_package_knows_none_of_the_groups() -> None:
    former = read_former()
    assert former.kept
    assert former.trained
    assert not GROUPS & (former.kept | former.trained)
    must_be_unseen(GROUPS)


@pytest.mark.parametrize("part", ["kept", "trained"])
def test_a_group_that_the_model_knows_is_refused(part: str) -> None:
    known = min(getattr(read_former(), part))
    with pytest.raises(LookError, match=known):
        must_be_unseen({*GROUPS, known})


def test_a_model_is_looked_at_once(tmp_path: Path) -> None:
    file = tmp_path / "look.json"
    must_be_first(file, "a" * 64)
    file.write_text(json.dumps({"model": "a" * 64}))
    must_be_first(file, "b" * 64)
    with pytest.raises(LookError, match="looked at once"):
        must_be_first(file, "a" * 64)


def test_the_look_beside_the_model_is_one_at_this_model() -> None:
    found = orjson.loads(LOOK.read_bytes())
    assert found["model"] == load(BUILTIN).digest
    assert set(found["groups"]) <= GROUPS
    assert found["recordings"] >= 500
    assert load(BUILTIN).refuted == {level: set(of) for level, of in found["refuted"].items()}


@pytest.mark.parametrize(
    ("wrong", "groups", "refuted"),
    [(0, 12, set()), (2, 12, set()), (24, 12, {"files"}), (24, 1, set())],
    ids=["none is wrong", "few are", "many are", "many of one group are"],
)
def test_a_kind_is_refuted_where_the_interval_lies_above_the_risk(
    wrong: int, groups: int, refuted: set[str]
) -> None:
    def case(at: int, kind: CaseKind, *, success: bool, answers: bool | None = True) -> Case:
        return Case(
            id=str(at), group=f"g{at % groups}", task="t", success=success, score=1.0, p=0.9,
            steps=1, answers=answers, covered=True, kind=kind,
        )  # fmt: skip

    files = [case(at, CaseKind.FILES, success=at >= wrong) for at in range(60)]
    pages = [case(at, CaseKind.PAGES, success=True) for at in range(60)]
    silent = [case(at, CaseKind.WINDOWS, success=False, answers=None) for at in range(60)]
    assert find_refuted([*files, *pages, *silent], 0.05) == refuted


@pytest.mark.parametrize("part", ["programs", "commands", "desktop", "pages"])
def test_the_page_of_the_model_has_the_figures_of_the_look(part: str) -> None:
    """The docs' table is written by hand: a column a part, of what the command wrote."""
    figures = orjson.loads(LOOK.read_bytes())["figures"]
    episodes, steps = figures[f"{part}, never seen"], figures[f"{part}, steps, never seen"]
    wider = figures[f"{part}, never seen, at a risk of 15%"]
    column = ["programs", "commands", "desktop", "pages"].index(part) + 1
    lines = PAGE.read_text().split(HEADING)[1].splitlines()
    rows = {cells[0]: cells[column] for cells in map(read_row, lines) if len(cells) == 5}
    assert rows["episodes, groups"] == f"{episodes['cases']} of {episodes['groups']}"
    for name, found in (("AUROC", episodes), ("steps: AUROC", steps)):
        assert rows[name] == "{:.3f} [{:.3f}, {:.3f}]".format(*found["auroc"])
    for name, found in (("ECE, 10 bins", episodes), ("steps: ECE", steps)):
        assert rows[name] == "{:.3f} [{:.3f}, {:.3f}]".format(*found["ece"])
    for name, found in (
        ("at a stated risk of 5 %: wrong of answered", episodes),
        ("at a stated risk of 15 %: wrong of answered", wider),
        ("steps: wrong of answered, at 5 %", steps),
    ):
        assert rows[name] == tell_errors(found)
    assert rows["coverage"] == "{:.0f} % [{:.0f}, {:.0f}]".format(
        *(100 * value for value in episodes["coverage"])
    )


def tell_errors(part: dict[str, Any]) -> str:
    """How many answers were wrong, as the docs' table has it."""
    share = f"{part['wrong']} of {part['answered']}"
    if not part["answered"]:
        return share
    return share + " [{:.0f}, {:.0f} %]".format(*(100 * end for end in part["wrong_interval"]))


def read_row(line: str) -> list[str]:
    """The cells of a row of a table in Markdown."""
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_s_task_compiles_and_has_ways_of_each_kind(page: str) -> None:
    scene: PageScene = PAGES[page](random.Random(1))
    compile_task(check_task(scene.task(page, "http://127.0.0.1:8000", 1)))
    must_have_each_kind(scene.ways)
    assert {PAGES[page](random.Random(seed)).instruction for seed in (2, 3)} != {scene.instruction}


@pytest.mark.parametrize(("program", "kind", "make"), PROGRAMS)
def test_a_program_s_scene_is_one_of_this_program(program: str, kind: str, make: Make) -> None:
    scene = make(1, random.Random(1))
    compile_task(check_task(dict(scene.task)))
    must_have_each_kind(scene.ways)
    assert scene.program == program
    assert scene.task["id"] == f"desktop/{program}-{kind}"
    assert program in (scene.command or (program,))


@pytest.mark.slow
@pytest.mark.browser
@needs_chromium
@pytest.mark.timeout(580)
def test_pages_are_recorded_looked_at_and_only_right_ways_succeed(tmp_path: Path) -> None:
    assert record([str(tmp_path), "unseen/motions", "unseen/segments"]) == 0
    must_be_as_named(tmp_path, 30)
    into = tmp_path / "look.json"
    assert look([str(tmp_path), "--into", str(into)]) == 0
    found = orjson.loads(into.read_bytes())
    assert found["model"] == load(BUILTIN).digest
    assert (found["recordings"], found["groups"]) == (30, ["unseen/motions", "unseen/segments"])
    part = found["figures"]["pages, never seen"]
    assert (part["cases"], part["successes"]) == (30, 12)
    assert part["answered"] >= part["wrong"]
    assert look([str(tmp_path), "--into", str(into)]) == 2, "a second time"


@pytest.mark.slow
@needs("cut", "patch")
@pytest.mark.timeout(580)
def test_commands_are_recorded_and_only_right_ways_succeed(tmp_path: Path) -> None:
    assert record([str(tmp_path), "cut", "patch"]) == 0
    must_be_as_named(tmp_path, 31)
