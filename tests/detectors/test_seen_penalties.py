"""Immunity 13: who is scored can't choose which of its penalised steps are null. What a penalty was
seen for is paid at most that, whatever blinded the step; what is not certain stays null."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.model.rewards import PARTLY
from tests.support.logs import Said, clicked, episode, filled, resumed, ruleset, run, worth

BAD: dict[str, Any] = {
    "id": "bad",
    "when": {"element_clicked": {"name": "Delete"}},
    "penalty": 0.5,
    "repeat": 3,
}
GOOD: dict[str, Any] = {
    "id": "good",
    "when": {"element_clicked": {"name": "Save"}},
    "component": "ui",
}
LOGIN: dict[str, Any] = {
    "id": "login",
    "when": {"field_filled": {"field": "Password", "value": "s3cret"}},
}
DELETE, SAVE = clicked("Delete"), clicked("Save")


def gap(source: str = "cdp", **of: str) -> list[Said]:
    return [
        ("gap.began", {"source": source, "reason": "x", **of}),
        ("gap.ended", {"source": source, **of}),
    ]


BLIND = {
    "the whole source": gap(),
    "the element's noun": gap(part="element"),
    "the kind": gap(part="element.clicked"),
    "dropped": [("events.dropped", {"source": "cdp", "count": 3, "reason": "flood"})],
}


@pytest.mark.parametrize("blind", BLIND.values(), ids=BLIND)
@pytest.mark.parametrize("order", ["before", "after"])
def test_a_penalty_that_was_seen_is_paid_in_a_blind_step(blind: list[Said], order: str) -> None:
    step = [*blind, DELETE, SAVE] if order == "before" else [DELETE, SAVE, *blind]
    said = episode(step, [DELETE], [])
    rewards = run(ruleset(BAD, GOOD), *said)
    assert worth(rewards)[:2] == [-0.5, -0.5]
    first = rewards[0]
    assert (first.status, first.mask, first.decided_by) == ("sealed", False, "rule")
    assert first.reason is not None
    assert first.reason.startswith(PARTLY)
    assert [(m.id, m.worth) for m in first.milestones] == [("bad", -0.5), ("good", 0.0)]
    assert sum(value for value in first.components.values() if value is not None) == pytest.approx(
        -0.5
    )
    assert resumed(ruleset(BAD, GOOD), *said) == rewards


NULL = {
    "nothing penalised": ([BAD, GOOD], [SAVE, *gap()]),
    "a penalty that rests on what did not happen": (
        [{**BAD, "before": ["good"]}, GOOD],
        [DELETE, *gap()],
    ),
    "a penalty under none_of": (
        [
            {**BAD, "when": {"all_of": {"of": [BAD["when"], {"none_of": {"of": [GOOD["when"]]}}]}}},
            GOOD,
        ],
        [DELETE, *gap()],
    ),
}


@pytest.mark.parametrize(("milestones", "step"), NULL.values(), ids=NULL)
def test_what_is_not_certain_stays_null(milestones: list[dict[str, Any]], step: list[Said]) -> None:
    assert worth(run(ruleset(*milestones), *episode(step, [])))[0] is None


def test_a_penalty_beside_a_password_that_nobody_knows_is_paid() -> None:
    step = [filled("Password", None, has_value=True), DELETE]
    assert worth(run(ruleset(BAD, LOGIN), *episode(step, [])))[0] == -0.5


def test_the_floor_counts_what_was_paid_in_blind_steps() -> None:
    steps = [[DELETE, *gap()] for _ in range(3)]
    assert worth(run(ruleset(BAD, GOOD), *episode(*steps)))[:3] == [-0.5, -0.5, None]
