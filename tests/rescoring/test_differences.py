"""What counts as a difference between two results, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from api.replay.recordings import read_frames
from api.rescoring.differences import compare, evidence_of, is_same
from api.rewards.scored_episode import Result, score
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.service import TASK, events, frames
from tests.rescoring.corpus import BUYING, GAP, changed
from tests.support.logs import Said, answered, clicked, created, episode, filled, went

WHOLE = episode(*BUYING)
NAME = {"field_filled": {"field": "Name", "value": "Ann"}}


def scored(task: dict[str, Any], *said: Said) -> Result:
    segments = read_frames(b"".join(frames(events("ep_1", *said))), "it")
    (result,) = score(segments, compile_task(task_from_json(task)))
    return result


def differences(task: dict[str, Any], *said: Said) -> dict[str, Any]:
    """Between the task of the tests and ``task``, over one log."""
    return compare(scored(TASK, *said), scored(task, *said))


@pytest.mark.parametrize(
    "task",
    [
        TASK,
        {**TASK, "version": "2"},
        {**TASK, "instruction": "Buy it."},
        changed(cart={"url_reached": {"url": "http://shop.test/cart"}}),
    ],
    ids=["the same", "another version", "other words", "another way to say it"],
)
def test_another_digest_alone_is_no_difference(task: dict[str, Any]) -> None:
    assert is_same(differences(task, *WHOLE))


def test_a_milestone_that_is_not_reached_any_more_is_lost_with_its_evidence() -> None:
    found = differences(changed(cart={"url_reached": {"url": "/nowhere"}}), *WHOLE)
    (step, last) = found["steps"]
    assert step["step"] == 1
    assert step["fields"]["reward"] == [0.1, 0.0]
    ((lost,), (goal,)) = (one["milestones"] for one in (step, last))
    assert (lost["id"], lost["change"], lost["new"]) == ("cart", "lost", None)
    assert WHOLE[lost["old"]["evidence"][0] - 1] == went("/cart")
    assert (last["step"], goal["id"], goal["change"]) == (2, "done", "lost")
    assert found["episode"]["success"] == [True, False]
    assert evidence_of(found) == sorted({*lost["old"]["evidence"], *goal["old"]["evidence"]})


def test_a_milestone_that_is_reached_now_is_gained() -> None:
    task = {**TASK, "milestones": [*TASK["milestones"], {"id": "name", "when": NAME}]}
    (step,) = differences(task, *WHOLE)["steps"]
    (gained,) = step["milestones"]
    assert (gained["id"], gained["change"], gained["old"], gained["new"]["worth"]) == (
        "name",
        "gained",
        None,
        0.2,
    )
    assert WHOLE[gained["new"]["evidence"][0] - 1] == filled("Name", "Ann")


def test_a_milestone_that_is_paid_in_another_step_has_moved() -> None:
    found = differences(changed(cart={"url_reached": {"url": "/"}}), *WHOLE)
    moved = [m for step in found["steps"] for m in step["milestones"] if m["change"] == "moved"]
    assert [(m["id"], m["old"]["step"], m["new"]["step"]) for m in moved] == [("cart", 1, 0)]
    assert [step["fields"]["reward"] for step in found["steps"][:2]] == [[0.0, 0.1], [0.1, 0.0]]


def test_another_weight_changes_a_milestone_where_it_stands() -> None:
    found = differences({**TASK, "weights": {"nav": 0.5, "ui": 0.2, "goal": 0.2}}, *WHOLE)
    (step,) = found["steps"]
    (m,) = step["milestones"]
    assert (m["change"], m["old"]["worth"], m["new"]["worth"]) == ("changed", 0.1, 0.5)
    assert found["episode"]["total"] == [0.5, 0.9]


def test_null_is_not_zero() -> None:
    """A step that nobody could see differs from one that earned nothing, on either side."""
    said = episode([went("/")], [GAP])
    told = {"id": "said", "when": {"answer_matches": {"text": {"contains": "bought"}}}}
    deaf = {**TASK, "weights": {"answer": 1.0}, "milestones": [told]}
    for old, new in ((TASK, deaf), (deaf, TASK)):
        found = compare(scored(old, *said), scored(new, *said))
        (step,) = found["steps"]
        assert step["milestones"] == []
        assert sorted(step["fields"]["reward"], key=str) == [0.0, None]
        assert sorted(step["fields"]["mask"]) == [False, True]


def test_what_was_so_already_differs_before_the_first_step() -> None:
    said = episode([answered("bought")], before=[went("/cart")])
    found = differences(changed(cart={"url_reached": {"url": "/nowhere"}}), *said)
    (step,) = found["steps"]
    assert (step["step"], step["only"], step["fields"]) == (-1, None, {})
    assert [(m["id"], m["change"], m["old"]["baseline"]) for m in step["milestones"]] == [
        ("cart", "lost", True)
    ]


def test_repeats_are_compared_one_by_one() -> None:
    pay = {"file_created": {"name": {"glob": "*.csv"}}}
    tasks = [
        {**TASK, "milestones": [{"id": "files", "when": pay, "repeat": most}]} for most in (3, 2)
    ]
    said = episode([created("a.csv")], [created("b.csv")], [created("c.csv"), clicked("Buy")])
    found = compare(*(scored(task, *said) for task in tasks))
    assert [[m["change"] for m in step["milestones"]] for step in found["steps"]] == [
        ["changed"],
        ["changed"],
        ["lost"],
    ]


def test_a_step_that_one_side_alone_has_is_no_step_of_null() -> None:
    old = scored(TASK, *WHOLE)
    new = {**old, "rewards": old["rewards"][:-1]}
    (step,) = compare(old, new)["steps"]
    assert (step["step"], step["only"]) == (2, "old")
    (step,) = compare(new, old)["steps"]
    assert (step["step"], step["only"], step["fields"]["reward"][0]) == (2, "new", None)


def test_a_truth_value_is_no_number() -> None:
    old = {**scored(TASK, *WHOLE), "total": 1.0}
    assert compare(old, {**old, "total": True})["episode"] == {"total": [1.0, True]}
