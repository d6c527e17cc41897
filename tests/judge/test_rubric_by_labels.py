"""A drafted rubric is confirmed by labels: where a judge that answers its criteria surely says what
people say, of successes and of failures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from api.auth.store import OPERATOR
from api.cascade.stages import Stages
from api.labelling.rubric_check import CriteriaAnswers, check_rubric
from api.labelling.store import LabelWord
from api.stages.base import Criterion
from tests.api.service import Store, running
from tests.cascade.judged import milestoned
from tests.judge.serving import Served
from tests.judge.test_calibrated_service import SHOWN, task
from tests.support.logs import episode, went

CRITERIA = [Criterion("a", "A"), Criterion("b", "B"), Criterion("nice", "N", required=False)]


def answers(count: int, met: str, *, success: bool) -> list[CriteriaAnswers]:
    """Episodes whose criteria are all answered by the letters of ``met``."""
    words = {"y": "yes", "n": "no", "u": "unclear"}
    said = {one.id: words[letter] for one, letter in zip(CRITERIA, met, strict=True)}
    return [CriteriaAnswers(said, success)] * count


RIGHT = answers(20, "yyn", success=True)
CAUGHT = answers(20, "yny", success=False)


@pytest.mark.parametrize(
    ("said", "minimum", "confirmed"),
    [
        (RIGHT + CAUGHT, 0.8, True),
        (RIGHT + CAUGHT, 0.9, False),  # 20 of 20 are surely 0.84 at least
        (RIGHT[:15] + CAUGHT, 0.8, False),  # 15 of 15 are surely 0.796
        (RIGHT + CAUGHT[:15], 0.8, False),
        (RIGHT + answers(20, "yyy", success=False), 0.8, False),  # a rubric that calls all so
        (answers(20, "nyn", success=True) + CAUGHT, 0.8, False),  # one that calls nothing so
        (RIGHT + answers(20, "unn", success=False), 0.8, False),  # what is unclear says nothing
        (answers(20, "yyu", success=True) + CAUGHT, 0.8, False),
    ],
)
def test_which_rubrics_labels_confirm(
    said: Sequence[CriteriaAnswers], minimum: float, confirmed: bool
) -> None:
    assert check_rubric(said, CRITERIA, minimum).is_confirmed is confirmed


def test_each_criterion_has_its_figures() -> None:
    """The optional one, too: it decides nothing."""
    found = check_rubric(RIGHT + CAUGHT, CRITERIA)
    assert list(found.lines()) == [
        "labelled successes that the rubric calls so: 20 of 20 [0.839, 1.000]",
        "labelled failures that the rubric calls so: 20 of 20 [0.839, 1.000]",
        "a: met in 20 of 20 [0.839, 1.000] successes, in 20 of 20 failures",
        "b: met in 20 of 20 [0.839, 1.000] successes, in 0 of 20 failures",
        "nice: met in 0 of 20 [0.000, 0.161] successes, in 20 of 20 failures",
    ]


@pytest.mark.parametrize("said", [RIGHT, CAUGHT, []])
def test_labels_of_one_outcome_confirm_nothing(said: Sequence[CriteriaAnswers]) -> None:
    with pytest.raises(ValueError, match="expected some of both"):
        check_rubric(said, CRITERIA)


async def test_labels_of_a_service_confirm_a_draft(
    standin: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Three of each are surely 0.44 at least: enough for 0.4, not for the default."""
    monkeypatch.setenv("MILESTONED_JUDGE_URL", standin.url)
    monkeypatch.setenv("MILESTONED_JUDGE_MODEL", "honest")
    spec: dict[str, Any] = {**task("group-1"), "escalation": {"escalate": "never"}}
    data, file, out = tmp_path / "data", tmp_path / "task.yaml", tmp_path / "draft.json"
    file.write_text(yaml.safe_dump(spec))
    out.write_bytes(orjson.dumps(draft(spec["instruction"])))
    async with running(Store(data), stages=Stages({}, {})) as service:
        for number in range(6):
            id, token = await service.open(spec)
            await service.tell(id, token, *episode([SHOWN] if number % 2 else [went("/x")]))
            said = LabelWord("t", id, "", 0, "goal", "yes" if number % 2 else "no")
            await service.app.state.parts.preferences.say(OPERATOR, "anna", said)
    arguments = ["task", "rubric", file, "--confirm", out, "--by-labels"]
    assert await asyncio.to_thread(milestoned, *arguments) == 2
    assert "expected --stored" in capsys.readouterr().err
    arguments += ["--stored", "--data", data]
    assert await asyncio.to_thread(milestoned, *arguments) == 1
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "expected surely 0.8 or more" in refused.err
    assert await asyncio.to_thread(milestoned, *arguments, "--minimum", "0.4") == 0
    printed = capsys.readouterr().out
    assert "confirmed by labels of 6 episodes, judged by honest" in printed
    assert "# labelled failures that the rubric calls so: 3 of 3 [0.439, 1.000]" in printed
    del spec["escalation"]
    file.write_text(yaml.safe_dump(spec) + printed)
    assert milestoned("task", "check", file) == 0


def draft(instruction: str) -> dict[str, Any]:
    """A draft as `task rubric` writes it."""
    rubric = {"goal": [{"id": "ordered", "text": "An order number is confirmed."}]}
    return {
        "schema": "rubric-draft/1", "status": "draft", "digest": "0", "by": "m@1",
        "instruction": instruction, "rubric": rubric, "uncontrollable": [], "dropped": [],
    }  # fmt: skip
