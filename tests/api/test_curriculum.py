"""`GET /v1/curriculum`: each task's progress and weight, as tables, and over the wire."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import httpx
import pytest
from milestoned_client import AsyncRewardClient, CurriculumSampler

from api.rewards.curriculum import (
    TaskAttempt,
    describe_attempts,
    find_entropy,
    find_flat_share,
    find_learning_progress,
    find_outcome,
    weigh_tasks,
)
from tests.api.service import ADMIN, TASK, Service
from tests.api.test_search import four
from tests.api.test_tenants import tenant

OUTCOMES: list[tuple[bool | None, float | None, float, float | None]] = [
    (True, 0.4, 1.0, 1.0),
    (False, 0.9, 1.0, 0.0),
    (True, None, 1.0, 1.0),
    (None, 0.4, 0.8, 0.5),
    (None, 3.0, 1.0, 1.0),
    (None, -0.4, 1.0, 0.0),
    (None, None, 1.0, None),
    (None, 0.4, 0.0, None),
]
PROGRESS: list[tuple[list[float], float | None]] = [
    ([1.0, 1.0, 0.0, 0.0], 1.0),
    ([0.0, 0.0, 1.0, 1.0], -1.0),
    ([1.0, 1.0, 0.5, 0.0, 0.0], 1.0),
    ([1.0, 0.0, 1.0], None),
    ([], None),
]
ENTROPIES: list[tuple[list[float], float | None]] = [
    ([0.5, 0.5], 0.0),
    ([0.0, 1.0], 1.0),
    ([0.0, 0.3, 0.6, 1.0], 2.0),
    ([], None),
]
GROUPS: list[tuple[list[tuple[str | None, float | None]], float | None]] = [
    ([("a", 0.0), ("a", 0.0), ("b", 0.0), ("b", 1.0)], 0.5),
    ([("a", 0.3), ("a", None), ("b", 0.1)], None),
    ([(None, 0.3), (None, 0.3)], None),
    ([("a", 0.3), ("a", 0.3), ("a", None)], 1.0),
]


@pytest.mark.parametrize(("success", "total", "attainable", "expected"), OUTCOMES)
def test_an_outcome(
    success: bool | None, total: float | None, attainable: float, expected: float | None
) -> None:
    assert find_outcome(success, total, attainable) == expected


@pytest.mark.parametrize(("outcomes", "expected"), PROGRESS)
def test_learning_progress(outcomes: list[float], expected: float | None) -> None:
    assert find_learning_progress(outcomes) == expected


@pytest.mark.parametrize(("totals", "expected"), ENTROPIES)
def test_entropy(totals: list[float], expected: float | None) -> None:
    assert find_entropy(totals) == expected


@pytest.mark.parametrize(("attempts", "expected"), GROUPS)
def test_flat_groups(
    attempts: list[tuple[str | None, float | None]], expected: float | None
) -> None:
    listed = [TaskAttempt(None, None, total, group) for group, total in attempts]
    assert find_flat_share(listed) == expected


def attempts(*outcomes: float | None) -> list[TaskAttempt]:
    """Attempts whose success is their outcome."""
    return [
        TaskAttempt(outcome, None if outcome is None else outcome > 0, outcome, None)
        for outcome in outcomes
    ]


def test_weights_prefer_what_is_neither_solved_nor_hopeless() -> None:
    tasks = {
        ("even", "1"): attempts(*[1.0, 0.0] * 20),
        ("solved", "1"): attempts(*[1.0] * 400),
        ("hopeless", "1"): attempts(*[0.0] * 400),
        ("rising", "1"): attempts(*[1.0] * 20, *[0.0] * 20),
        ("new", "1"): [],
        ("blind", "1"): attempts(None, None),
    }
    weights = {one.task: one.weight for one in weigh_tasks(tasks)}
    assert math.fsum(weights.values()) == pytest.approx(1.0)
    assert weights["rising"] > weights["even"] == pytest.approx(weights["new"])
    assert weights["blind"] == weights["new"], "what is not known is no failure"
    assert weights["solved"] == pytest.approx(weights["hopeless"])
    assert weights["solved"] == pytest.approx(weights["new"] * 0.05)


def test_success_has_its_interval() -> None:
    one = describe_attempts(("t", "1"), attempts(*[1.0] * 5, None))
    assert (one.episodes, one.known, one.success) == (6, 5, 1.0)
    assert one.low == pytest.approx(0.5655, abs=1e-4)
    assert one.high == 1.0


async def test_over_the_wire_and_in_the_client(service: Service) -> None:
    await four(service)
    await service.post("/v1/tasks", {**TASK, "id": "shop/new"})
    (known, new) = (await service.get("/v1/curriculum")).json()["tasks"]
    assert (known["task"], known["episodes"], known["known"]) == (TASK["id"], 3, 2)
    assert (known["success"], new["success"], new["episodes"]) == (0.5, None, 0)
    assert known["weight"] + new["weight"] == pytest.approx(1.0)
    (of_policy, _) = (await service.get("/v1/curriculum", params={"policy": "7"})).json()["tasks"]
    assert (of_policy["episodes"], of_policy["success"]) == (1, 1.0)
    (newest, _) = (await service.get("/v1/curriculum", params={"window": "1"})).json()["tasks"]
    assert newest["episodes"] == 1
    for query in ({"window": "0"}, {"window": "x"}):
        assert (await service.get("/v1/curriculum", params=query)).status_code == 422
    nobody = await tenant(service, "stranger")
    assert (await service.get("/v1/curriculum", nobody)).json() == {"tasks": []}
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        progress = await client.curriculum()
    sampler = CurriculumSampler(progress, seed=1)
    drawn = Counter(itertools.islice(sampler, 2_000))
    assert drawn["shop/new"] / 2_000 == pytest.approx(progress[1].weight, abs=0.05)
    assert CurriculumSampler(progress, seed=1).draw(9) == CurriculumSampler(progress, 1).draw(9)
    with pytest.raises(ValueError, match="expected at least one registered task"):
        CurriculumSampler([])
