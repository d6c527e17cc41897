"""Novelty by values: what earlier episodes reached moves pay between milestones, is in the digest of
the episode's own task, and changes nothing of what was paid before."""

from __future__ import annotations

import math
from typing import Any

import httpx
import pytest
from milestoned_client import AsyncRewardClient, NoveltyWeights

from detectors.engine.engine import Engine
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.service import ADMIN, Service
from tests.support.logs import Said, clicked, episode, log, went

SENT = {"element_clicked": {"name": "Send"}}
TEMPLATE: dict[str, Any] = {
    "id": "shop/novel",
    "version": "1",
    "instruction": "Send it.",
    "origin": "http://shop.test",
    "weights": {"nav": 0.3, "goal": 0.7},
    "parameters": {"cart": {"example": 1.0}, "help": {"example": 1.0}},
    "milestones": [
        {"id": "cart", "weight": "{cart}", "when": {"url_reached": {"url": "/cart"}}},
        {"id": "help", "weight": "{help}", "when": {"url_reached": {"url": "/help"}}},
        {"id": "sent", "when": {"goal": {"when": SENT}}},
    ],
}
TO_CART: list[Said] = [went("/cart"), clicked("Send")]
TO_HELP: list[Said] = [went("/help")]


async def test_what_was_reached_before_pays_less_and_the_rest_more(service: Service) -> None:
    """A replay under the task that an episode names pays the same for ever."""
    novelty = NoveltyWeights({"cart": "cart", "help": "help"})
    paid: list[dict[str, float]] = []
    versions: list[str] = []
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        for deeds in (TO_CART, TO_CART, TO_HELP, TO_HELP):
            task = await client.register_task(TEMPLATE, novelty.values())
            versions.append(task.version)
            opened = await client.open(task)
            await service.tell(opened.id, opened.token or "", *episode(deeds))
            rewards = [one.reward for one in await opened.trajectory() if one.reward]
            paid.append({m.id: round(m.worth, 3) for one in rewards for m in one.milestones})
            novelty.count(rewards)
            path = f"/v1/tasks/{TEMPLATE['id']}"
            stored = (await service.get(path, params={"version": task.version})).json()["task"]
            again = Engine(compile_task(task_from_json(stored)), "ep_1")
            replayed = again.feed(log(*episode(deeds))).rewards
            assert [one.reward for one in replayed] == [one.reward for one in rewards]
    assert paid == [
        {"cart": 0.15, "sent": 0.7},
        {"cart": 0.124, "sent": 0.7},
        {"help": 0.19},
        {"help": 0.165},
    ]
    assert novelty.counts == {"cart": 2, "help": 2}
    assert len(set(versions)) == 4


@pytest.mark.parametrize(
    ("counts", "weights"),
    [
        ({}, (1.0, 1.0)),
        ({"cart": 1}, (0.707, 1.0)),
        ({"cart": 2, "help": 3}, (0.577, 0.577)),
        ({"cart": 4, "help": 7, "other": 9}, (0.447, 0.447)),
        ({"cart": 1023, "help": 1024}, (0.0442, 0.0312)),
        ({"cart": 2**22, "help": 2**50 - 1}, (0.000488, 4.21e-08)),
    ],
)
def test_weights_fall_as_counts_double(
    counts: dict[str, int], weights: tuple[float, float]
) -> None:
    """So that few versions of a task are made; counts are taken up again as they were given."""
    novelty = NoveltyWeights({"cart": "cart", "help": "help"}, counts)
    assert tuple(novelty.values().values()) == weights
    assert NoveltyWeights({"cart": "cart", "help": "help"}, novelty.counts).values() == (
        novelty.values()
    )


def test_the_versions_of_many_episodes_are_few() -> None:
    novelty = NoveltyWeights({"cart": "cart"})
    seen = set()
    for count in range(5_000):
        novelty = NoveltyWeights({"cart": "cart"}, {"cart": count})
        seen.add(novelty.values()["cart"])
    assert len(seen) <= 2 + math.log2(5_000)


async def test_a_step_that_is_not_known_counts_nothing(service: Service) -> None:
    """What it may have reached is not known to have been."""
    lost: Said = ("events.dropped", {"source": "cdp", "reason": "the queue was full"})
    novelty = NoveltyWeights({"cart": "cart", "help": "help"})
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        opened = await client.open(await client.register_task(TEMPLATE, novelty.values()))
        steps = episode([went("/cart"), lost], [went("/help")], [])
        await service.tell(opened.id, opened.token or "", *steps)
        novelty.count(one.reward for one in await opened.trajectory() if one.reward)
    assert novelty.counts == {"cart": 0, "help": 1}
