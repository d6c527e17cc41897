"""A tier's scores as a potential: what they add telescopes, and changes no best policy."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.cascade.stages import Stages
from api.rewards.potentials import StepScore, scores_of, shape_steps
from api.stages.base import Opinion, Question
from detectors.model.codec import canonical, sha256
from detectors.model.types import Verdict
from tests.api.service import Service, Store, eventually, running
from tests.support.logs import episode, went

SCALE = 0.1


def scores(*values: float | None) -> dict[int, StepScore]:
    """A score a step, in their order."""
    return {n: StepScore(value, "m@1") for n, value in enumerate(values) if value is not None}


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.floats(0, 1),
    st.floats(0, 2),
)
def test_of_an_episode_the_discounted_sum_is_nothing(
    values: list[float], gamma: float, scale: float
) -> None:
    """Whatever the scores are, and up to no step more than the scale: nothing can be farmed."""
    shaped = shape_steps(range(len(values)), scores(*values), gamma, scale, is_closed=True)
    total = 0.0
    for n, one in shaped.items():
        assert one["value"] is not None
        total += gamma**n * one["value"]
        assert total <= scale + 1e-6
    assert total == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("said", "is_closed", "expected"),
    [
        ((0.5, 0.8), True, [0.05, -0.05]),
        ((0.5, 0.8), False, [0.05, 0.03]),
        ((0.5, 0.8, None), True, [0.05, 0.03, -0.08]),
        ((None, 0.8, 0.9), True, [None, None, -0.08]),
        ((0.5, None, 0.9), False, [0.05, None, None]),
        ((None,), True, [0.0]),
        ((None,), False, [None]),
    ],
)
def test_what_is_not_known_is_null(
    said: tuple[float | None, ...], is_closed: bool, expected: list[float | None]
) -> None:
    """Never 0; after the last step Φ is 0, which is known."""
    shaped = shape_steps(range(len(said)), scores(*said), 1.0, SCALE, is_closed=is_closed)
    assert [one["value"] for one in shaped.values()] == expected
    for one in shaped.values():
        assert (one["reason"] is None) is (one["value"] is not None)


def test_which_verdicts_are_scores() -> None:
    """The tier's, of steps; the last one counts, an abstention says nothing."""

    def said(stage: str, score: float | None, item: str = "step") -> dict[str, Any]:
        verdict = {"stage": stage, "score": score, "by": f"{stage}@1"}
        return {"kind": "verdict.given", "step": 0, "item": item, "verdict": verdict}

    log = [
        said("model", 0.2), said("model", 0.4), said("model", None), said("judge", 0.9),
        said("model", 1.0, "goal"), {"kind": "step.decided", "step": 0},
    ]  # fmt: skip
    assert scores_of(log, "model") == {0: StepScore(0.4, "model@1")}
    assert scores_of(log, "judge") == {0: StepScore(0.9, "judge@1")}


States = np.ndarray[Any, np.dtype[np.float64]]


def best_policies(reward: States, moves: States, gamma: float) -> set[tuple[int, ...]]:
    """All best deterministic policies of a small MDP by value iteration; its last state ends
    it."""
    states, actions = reward.shape[:2]
    values = np.zeros(states)
    for _ in range(400):
        ahead = (moves * (reward + gamma * values)).sum(2)
        ahead[-1] = 0.0
        values = ahead.max(1)
    best = [np.flatnonzero(ahead[s] >= values[s] - 1e-7).tolist() for s in range(states - 1)]
    assert all(best)
    assert actions
    return set(itertools.product(*best))


def test_bare_scores_would_change_the_best_policy() -> None:
    """The test below would be no proof if nothing could: two steps to the end, or round a state
    that the model likes."""
    reward = np.zeros((3, 2, 3))
    reward[1, 0, 2] = 1.0
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[1, 0, 2] = moves[0, 1, 0] = moves[1, 1, 0] = moves[2, :, 2] = 1.0
    liked = np.array([2.0, 0.0, 0.0])
    assert best_policies(reward, moves, 0.9) == {(0, 0)}
    assert best_policies(reward + liked, moves, 0.9) == {(1, 1)}
    potential = 0.9 * liked[None, None, :] - liked[:, None, None]
    assert best_policies(reward + potential, moves, 0.9) == {(0, 0)}


@pytest.mark.parametrize("seed", range(12))
def test_the_best_policies_stay_the_same(seed: int) -> None:
    """With a model's scores of states as Φ, however wrong they are."""
    draw = np.random.default_rng(seed)
    states, actions, gamma = 6, 3, 0.9
    reward = np.round(draw.random((states, actions, states)), 1)
    moves = draw.dirichlet(np.ones(states), (states, actions))
    potential = draw.random(states) * SCALE * 100
    potential[-1] = 0.0
    shaped = reward + gamma * potential[None, None, :] - potential[:, None, None]
    assert best_policies(shaped, moves, gamma) == best_policies(reward, moves, gamma)


class Scoring:
    """A model that scores each step by its address."""

    name = "model"

    def digest(self, question: Question) -> str:
        """Of the episode and step."""
        return sha256(canonical([question.episode, question.step, question.about]))

    async def ask(self, question: Question) -> Opinion:
        """The number in the last address that was reached."""
        last = [e.data["url"] for e in question.events if e.kind == "page.navigated"][-1]
        number = str(last).rpartition("/")[2]
        score = float(number) if number.replace(".", "").isdigit() else None
        return Opinion(Verdict("model", score, 0.9 if score is not None else 0.0, "", "scored@1"))


TASK: dict[str, Any] = {
    "id": "shop/shaped",
    "version": "1",
    "instruction": "Put it into the cart.",
    "origin": "http://shop.test",
    "milestones": [
        {"id": "cart", "when": {"url_reached": {"url": "/cart"}}, "component": "nav"},
        {"id": "done", "when": {"goal": {"requires": ["cart"]}}},
    ],
    "weights": {"nav": 0.4, "goal": 0.6},
    "escalation": {"escalate": "never", "audit": 1.0, "tiers": ["model"], "share": 0.5},
}


async def told(service: Service) -> str:
    id, token = await service.open(TASK)
    await service.tell(
        id, token, *episode([went("/0.5")], [went("/none")], [went("/1")], [went("/0.8")])
    )
    await eventually(lambda: _is_idle(service))
    return id


async def _is_idle(service: Service) -> bool:
    return await service.rows("escalations") == 0


async def test_a_trajectory_has_it_beside_the_sealed_rewards(tmp_path: Path) -> None:
    """Φ is at most half of the goal's 0.6; rewards are the same with it and without."""
    stages = Stages({"model": [Scoring()]}, {"judge": "the judge is off: a test left it out"})
    async with running(Store(tmp_path), stages=stages) as service:
        path = f"/v1/episodes/{await told(service)}/trajectory"
        plain = (await service.get(path)).json()["steps"]
        shaped = (await service.get(path, params={"shape_by": "model", "gamma": "0.5"})).json()
        wrong = await service.get(path, params={"shape_by": "person"})
    values = [step.pop("shaping") for step in shaped["steps"]]
    assert shaped["steps"] == plain
    assert [one["value"] for one in values][:3] == [0.075, None, None]
    assert [one["next_potential"] for one in values][:3] == [0.15, None, 0.3]
    assert values[0]["by"] == "scored@1"
    assert values[1]["reason"] == "nobody scored step 1"
    assert wrong.status_code in (400, 422)


def test_random_scores_never_pay_for_going_round() -> None:
    """A loop through states that are the same brings nothing (γ = 1)."""
    draw = random.Random(1)
    loop = [draw.random() for _ in range(5)]
    shaped = shape_steps(range(11), scores(*loop, *loop, loop[0]), 1.0, SCALE, is_closed=False)
    once = sum(one["value"] or 0.0 for n, one in shaped.items() if 1 <= n <= 5)
    assert once == pytest.approx(0.0, abs=1e-9)
