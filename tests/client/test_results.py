"""What an answer's JSON becomes, and what is refused with the place that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from milestoned_client import (
    Closing,
    Milestone,
    Noted,
    NotFoundError,
    Opened,
    Reward,
    Transition,
    UnexpectedAnswerError,
)
from milestoned_client.results import read_entry, read_list, read_model

from tests.client.test_calls import MILESTONE, OPENED, REWARD, SETTLING

STEP = {
    "step": 0, "action": "a", "observation": {}, "next_observation": None, "reward": None,
    "credit": None, "first": 4, "last": 9, "done": False,
}  # fmt: skip


def test_models_are_made_of_objects_in_objects() -> None:
    closing = read_model(
        Closing, {"episode": "e1", "status": "closed", "rewards": [REWARD, SETTLING]}
    )
    sealed, settling = closing.rewards
    assert isinstance(sealed.milestones[0], Milestone)
    assert sealed.milestones[0].evidence == (17, 18)
    assert (settling.reward, settling.mask, settling.settled) == (None, True, False)
    assert read_model(Transition, STEP).reward is None
    assert isinstance(read_model(Transition, {**STEP, "reward": REWARD}).reward, Reward)


def test_what_an_answer_may_leave_out_has_its_default() -> None:
    assert read_model(Closing, {"episode": "e1", "status": "closing"}).rewards == ()
    assert read_model(Noted, {"command": 3, "step": 1}).queued
    assert read_model(Reward, REWARD).credit is None
    assert read_model(Reward, {**REWARD, "credit": 0.5}).credit == 0.5


@pytest.mark.parametrize(
    ("model", "document", "message"),
    [
        (Opened, {"episode": "e1"}, "Opened: expected a field 'task', got none"),
        (Opened, [], "Opened: expected a JSON object, got '\\[\\]'"),
        (Opened, {**OPENED, "sandbox": "any"}, "Lease: expected a JSON object, got 'any'"),
        (Reward, {**REWARD, "milestones": None}, "Reward.milestones: expected a list, got 'None'"),
        (
            Reward,
            {**REWARD, "milestones": [{**MILESTONE, "evidence": 17}]},
            "Milestone.evidence: expected a list, got '17'",
        ),
        (Reward, {**REWARD, "verdicts": [{}]}, "Verdict: expected a field 'stage', got none"),
    ],
)
def test_what_is_wrong_is_named(model: type, document: Any, message: str) -> None:
    with pytest.raises(UnexpectedAnswerError, match=message):
        read_model(model, document)


def test_an_entry_of_a_batch_is_a_model_or_its_problem() -> None:
    assert isinstance(read_entry(Reward, REWARD), Reward)
    assert isinstance(read_entry(Reward, {"error": {"status": 404}}), NotFoundError)
    with pytest.raises(UnexpectedAnswerError, match="Reward: expected a JSON object, got '7'"):
        read_entry(Reward, 7)


@pytest.mark.parametrize("document", [None, {}, {"rewards": None}, {"rewards": {}}])
def test_a_batch_that_is_no_list_is_refused(document: Any) -> None:
    with pytest.raises(UnexpectedAnswerError, match="rewards: expected a"):
        read_list(document, "rewards")
