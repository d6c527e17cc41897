"""What a rollout's reward is split into, and what Agent-Lightning is told: tables, no service."""

from __future__ import annotations

from typing import Any

import pytest
from milestoned_client.adapters.agent_lightning import report, rollout_events
from milestoned_client.adapters.graded import NOT_EARNED, OTHER, GradedRollout, reward_parts
from milestoned_client.adapters.paid import Paid, together
from milestoned_client.models import Milestone, Reward


def milestone(id: str, worth: float, step: int = 0) -> Milestone:
    return Milestone(id, "url_reached", 2, "nav", step, 1.0, worth, (7,), None, False)


def step(number: int, reward: float | None, *earned: Milestone) -> Reward:
    status = "sealed" if reward is not None else "unobserved"
    reason = None if reward is not None else "browser gone"
    known: dict[str, Any] = {"components": {}, "verdicts": (), "decided_by": None, "done": False}
    more: dict[str, Any] = {"success": None, "through": 9, "digest": "d"}
    return Reward(
        episode="ep_1",
        step=number,
        status=status,
        reward=reward,
        mask=reward is None,
        reason=reason,
        milestones=earned,
        **known,
        **more,
    )


CART, BUY, BAD = milestone("cart", 0.1), milestone("buy", 0.4, 1), milestone("spam", -0.2, 1)
SPLIT: dict[str, tuple[float, list[Reward], dict[str, tuple[float, float]]]] = {
    "nothing": (0.0, [step(0, 0.0)], {NOT_EARNED: (1.0, 0.0)}),
    "an answer alone": (0.8, [], {OTHER: (0.8, 1.0), NOT_EARNED: (0.2, 0.0)}),
    "two milestones": (
        0.5,
        [step(0, 0.1, CART), step(1, 0.4, BUY)],
        {"cart": (0.1, 1.0), "buy": (0.4, 1.0), NOT_EARNED: (0.5, 0.0)},
    ),
    "one of them twice": (
        0.2,
        [step(0, 0.2, CART, CART)],
        {"cart": (0.2, 1.0), NOT_EARNED: (0.8, 0.0)},
    ),
    "a penalty": (
        -0.1,
        [step(0, -0.1, CART, BAD)],
        {"cart": (0.1, 1.0), "spam": (-0.2, 1.0), NOT_EARNED: (0.9, 0.0)},
    ),
    "a judge's": (
        0.7,
        [step(0, 0.1, CART), step(1, 0.6)],
        {"cart": (0.1, 1.0), OTHER: (0.6, 1.0), NOT_EARNED: (0.3, 0.0)},
    ),
    "another fold": (
        0.4,
        [step(0, 0.1, CART), step(1, 0.4, BUY)],
        {"cart": (0.1, 1.0), "buy": (0.4, 1.0), OTHER: (-0.1, 1.0), NOT_EARNED: (0.5, 0.0)},
    ),
    "the known steps": (
        0.1,
        [step(0, 0.1, CART), step(1, None, BUY)],
        {"cart": (0.1, 1.0), NOT_EARNED: (0.9, 0.0)},
    ),
    "all there is": (1.0, [step(0, 1.0, milestone("won", 1.0))], {"won": (1.0, 1.0)}),
}


@pytest.mark.parametrize("case", SPLIT)
def test_a_reward_is_the_sum_of_its_parts(case: str) -> None:
    reward, steps, wanted = SPLIT[case]
    parts = reward_parts(reward, steps)
    assert {part.name: (round(part.weight, 9), part.value) for part in parts} == wanted
    assert sum(part.weight * part.value for part in parts) == pytest.approx(reward)
    assert sum(part.weight for part in parts if part.weight > 0) == pytest.approx(1.0)


def test_agent_lightning_gets_each_step_then_the_reward() -> None:
    steps = (step(0, 0.1, CART), step(1, 0.4, BUY))
    *told, last = rollout_events(GradedRollout(together(steps), steps, "ep_1"), 0.5)
    assert [event["event_type"] for event in told] == ["milestoned.step"] * 2
    first: Any = told[0]["data"]
    assert (first["reward"], first["mask"]) == (0.1, False)
    assert first["milestones"] == [{"id": "cart", "worth": 0.1, "evidence": [7]}]
    data: Any = last["data"]
    assert (last["event_type"], data["value"], data["source"]) == ("reward", 0.5, "milestoned")
    assert data["reason"] is None


def test_agent_lightning_gets_no_reward_that_nobody_knows() -> None:
    """Its trainer takes the last `reward` event: there must be none, least of all one of 0."""
    steps = (step(0, 0.1, CART), step(1, None))
    graded = GradedRollout(together(steps), steps, "ep_1")
    events = list(rollout_events(graded, None))
    assert [event["event_type"] for event in events][-1] == "milestoned.unknown"
    assert "reward" not in {event["event_type"] for event in events}
    masked: Any = events[1]["data"]
    assert (masked["reward"], masked["mask"], masked["reason"]) == (None, True, "browser gone")
    paid: Any = list(rollout_events(graded, -0.25))[-1]["data"]
    assert (paid["value"], paid["reason"]) == (-0.25, "fallback")


def test_agent_lightning_has_to_say_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGL_EVENT_URL", raising=False)
    with pytest.raises(ValueError, match="event_url: expected AGL_EVENT_URL"):
        report("ep_1", url="http://h", token="t")


def test_what_is_told_beside_the_number_says_that_it_is_masked() -> None:
    info = GradedRollout(Paid(None, "milestoned:unobserved: browser gone")).info()
    assert (info["mask"], info["unknown"]) == (True, 1.0)
    assert info["reason"] == "milestoned:unobserved: browser gone"
