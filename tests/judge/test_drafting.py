"""Rubrics that a model drafts: what code takes out of them, and that they stay drafts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from api.cli.main import main
from api.stages.judge.ballot import Bill
from api.stages.judge.drafting import (
    DraftCriterion,
    DraftError,
    draft_of,
    draft_rubric,
    overlap,
    read_criteria,
)
from api.stages.judge.judge import Judge
from tests.judge.serving import Served

INSTRUCTION = "Order the blue lamp for the office in Lyon."


def criterion(id: str, text: str, **more: Any) -> dict[str, Any]:
    """As a model proposes it."""
    return {"id": id, "text": text, "about": "outcome", "by": "agent", "presupposes": [],
            "required": True, **more}  # fmt: skip


PROPOSED = [
    criterion("ordered", "An order for the blue lamp is confirmed."),
    criterion("same", "For the blue lamp an order was confirmed."),
    criterion("lyon", "The order's address is the office in Lyon.", presupposes=["ordered"]),
    criterion("nice", "The order has a note.", required=False),
    criterion("searched", "The shop was searched for the lamp.", about="process"),
    criterion("opened", "The lamp's page was opened.", about="process", presupposes=["searched"]),
    criterion("up", "The shop's server answers.", by="nobody"),
]


def draft(rows: list[dict[str, Any]]) -> Any:
    return draft_of(INSTRUCTION, "m@1", read_criteria(json.dumps({"criteria": rows})))


def test_a_draft_is_taken_apart() -> None:
    """Outcome and process; what nobody can help is no criterion; nothing is said twice; in a graded
    list one mistake costs once."""
    found = draft(PROPOSED)
    assert [one.id for one in found.goal] == ["ordered", "lyon", "nice"]
    assert [one.id for one in found.step] == ["searched"]
    assert [one.id for one in found.uncontrollable] == ["up"]
    assert {one.id: one.why for one in found.dropped} == {
        "same": "it says what ordered says",
        "opened": "it fails whenever searched does: one mistake would cost twice",
    }
    assert found.rubric["goal"][2] == {
        "id": "nice", "text": "The order has a note.", "required": False,
    }  # fmt: skip
    assert found.as_json()["status"] == "draft"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("An order for the lamp is confirmed.", "The lamp's order is confirmed.", True),
        ("The file report.txt has 3 lines.", "The file report.txt has 4 lines.", False),
        ("The invoice was downloaded.", "The address is Lyon.", False),
    ],
)
def test_which_criteria_say_the_same(first: str, second: str, same: bool) -> None:
    assert (overlap(first, second) >= 0.6) is same


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([criterion("a", "x", about="process")], "no criterion is about the outcome"),
        ([criterion("a", "x", required=False)], "no criterion of the outcome is required"),
        ([criterion("a", "x", by="nobody")], "no criterion is about the outcome"),
        ([criterion("a b", "x")], "id"),
        ([criterion("a", "")], "text"),
        ([criterion("a", "x", about="soul")], "about"),
        ([criterion("a", "x", presupposes="b")], "presupposes"),
        ([criterion("a", "x", required="yes")], "required"),
        ([criterion("a", "x"), criterion("a", "y")], "two have the same id"),
        ([criterion(f"a{n}", f"{n}") for n in range(13)], "a list of 1 to 12"),
        ([], "a list of 1 to 12"),
    ],
)
def test_what_is_no_draft(rows: list[dict[str, Any]], says: str) -> None:
    """By what was expected."""
    with pytest.raises(ValueError, match=says):
        draft(rows)


def test_criteria_are_compared_by_what_they_name() -> None:
    """A number that differs makes two criteria of one sentence."""
    rows = [criterion(f"a{n}", f"Row {n} of the table is marked.") for n in range(3)]
    assert len(draft(rows).goal) == 3
    assert isinstance(draft(rows).goal[0], DraftCriterion)


@pytest.mark.parametrize("model", ["honest", "honest+prose-once", "honest+no-schema"])
async def test_an_endpoint_drafts(judge: Callable[..., Judge], standin: Served, model: str) -> None:
    """Down the same ladder as a judge, with one repair."""
    (standin.folder / "draft.json").write_text(json.dumps({"criteria": PROPOSED}))
    found = judge(model)
    bill = Bill()
    made = await draft_rubric(found.endpoint, model, INSTRUCTION, bill)
    assert [one.id for one in made.goal] == ["ordered", "lyon", "nice"]
    assert bill.tokens_in > 0


async def test_what_stays_unreadable_is_no_draft(
    judge: Callable[..., Judge], standin: Served
) -> None:
    (standin.folder / "draft.json").write_text("yes")
    with pytest.raises(DraftError, match="can't be read"):
        await draft_rubric(judge("honest").endpoint, "honest", INSTRUCTION, Bill())


def test_a_draft_is_confirmed_by_a_person(
    standin: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The command prints what a task file takes, with who has read it; another task's is
    refused."""
    (standin.folder / "draft.json").write_text(json.dumps({"criteria": PROPOSED}))
    monkeypatch.setenv("MILESTONED_JUDGE_URL", standin.url)
    monkeypatch.setenv("MILESTONED_JUDGE_MODEL", "honest")
    spec = {
        "id": "shop/order", "version": "1", "instruction": INSTRUCTION,
        "milestones": [{"id": "go", "when": {"url_reached": {"url": "http://a.test/cart"}}}],
    }  # fmt: skip
    task, out = tmp_path / "task.yaml", tmp_path / "draft.json"
    task.write_text(yaml.safe_dump(spec))
    assert main(["task", "rubric", str(task), "--out", str(out)]) == 0
    assert "left out same: it says what ordered says" in capsys.readouterr().out
    assert orjson.loads(out.read_bytes())["status"] == "draft"
    drafted = out.read_bytes()
    assert main(["task", "rubric", str(task), "--out", str(out)]) == 2
    assert "expected a file that does not exist yet" in capsys.readouterr().err
    assert out.read_bytes() == drafted  # somebody may have worked on it
    nowhere = str(tmp_path / "none" / "draft.json")
    assert main(["task", "rubric", str(task), "--out", nowhere]) == 2
    assert "its directory does not exist" in capsys.readouterr().err
    assert main(["task", "rubric", str(task), "--confirm", str(out)]) == 2
    assert "expected --by NAME" in capsys.readouterr().err
    assert main(["task", "rubric", str(task), "--confirm", str(out), "--by", "Anna"]) == 0
    printed = capsys.readouterr().out
    assert "confirmed by Anna" in printed
    task.write_text(yaml.safe_dump(spec) + printed)
    assert main(["task", "check", str(task)]) == 0
    task.write_text(yaml.safe_dump({**spec, "instruction": "Order the red lamp."}))
    assert main(["task", "rubric", str(task), "--confirm", str(out), "--by", "Anna"]) == 2
    assert "from another instruction" in capsys.readouterr().err
