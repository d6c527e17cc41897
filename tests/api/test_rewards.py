"""Settling, sealed, and never otherwise; waiting for a seal; many at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine
from detectors.model.rewards import encode_reward
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.service import TASK, Service, Store, events, frames, running, until
from tests.support.examples import examples
from tests.support.logs import Said, began, clicked, episode, sealed, went

WHOLE = episode([went("/cart")], [clicked("Buy")])
OPENED: Said = ("episode.opened", {"task": "t", "digest": "d"})


def expected(id: str, *said: Said) -> list[bytes]:
    """The rewards' bytes of the engine alone."""
    rules = compile_task(task_from_json(TASK))
    return [encode_reward(reward) for reward in Engine(rules, id).feed(events(id, *said)).rewards]


async def paid(service: Service, id: str, steps: int) -> list[bytes]:
    """The rewards' bytes over the wire."""
    return [(await service.reward(id, step)).content for step in range(steps)]


async def grow(service: Service, id: str, token: str, said: list[Said]) -> None:
    """Post ``said`` one event a segment; what is in the log already is acknowledged again."""
    for frame in frames(events(id, *said), [1] * len(said)):
        assert (await service.append(id, frame, token)).status_code == 200


async def test_settling_becomes_sealed_and_stays_so(service: Service) -> None:
    id, token = await service.open()
    said = [OPENED, began(0), went("/cart")]
    early = (await service.reward(id, 0)).json()
    assert (early["status"], early["reward"], early["mask"]) == ("settling", None, True)
    assert "has not begun, since no daemon has (`agentd run`" in early["reason"]
    await grow(service, id, token, said)
    midway = (await service.reward(id, 0)).json()
    assert (midway["status"], midway["reward"], midway["mask"], midway["through"]) == (
        "settling",
        None,
        True,
        3,
    )
    assert await service.rows("rewards") == 0
    await grow(service, id, token, [*said, sealed(0)])
    first = await service.reward(id, 0)
    assert first.json()["status"] == "sealed"
    await grow(
        service, id, token, [*said, sealed(0), went("/cart"), began(1), clicked("Buy"), sealed(1)]
    )
    assert (await service.reward(id, 0)).content == first.content


async def test_a_waiting_reader_gets_the_seal_when_it_comes(service: Service) -> None:
    id, token = await service.open()
    await grow(service, id, token, [OPENED, began(0), went("/cart")])
    readers = [asyncio.create_task(service.reward(id, 0, wait_ms=30_000)) for _ in range(4)]
    notifier = service.app.state.notifier
    await until(lambda: notifier.waiting == 4)
    await grow(service, id, token, [OPENED, began(0), went("/cart"), sealed(0)])
    answers = [await reader for reader in readers]
    assert {answer.json()["status"] for answer in answers} == {"sealed"}
    assert len({answer.content for answer in answers}) == 1


async def test_a_reader_that_waited_in_vain_gets_settling(service: Service) -> None:
    id, _ = await service.open()
    answer = (await service.reward(id, 0, wait_ms=20)).json()
    assert (answer["status"], answer["mask"]) == ("settling", True)


async def test_a_step_beyond_the_end_is_named(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *WHOLE)
    answer = await service.reward(id, 7)
    assert answer.status_code == 404
    assert answer.json()["last_step"] == 1


async def test_a_blind_source_gives_null_not_zero(service: Service) -> None:
    id, token = await service.open()
    gap = [
        ("gap.began", {"source": "cdp", "reason": "the browser is gone"}),
        ("gap.ended", {"source": "cdp"}),
    ]
    await service.tell(id, token, *episode([gap[0]], [gap[1], clicked("Buy")]))
    answer = (await service.reward(id, 0)).json()
    assert (answer["status"], answer["reward"], answer["mask"]) == ("unobserved", None, True)
    assert "the browser is gone" in answer["reason"]


async def test_many_rewards_come_in_order_each_with_its_own_status(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *WHOLE)
    fresh, _ = await service.open()
    items = [(id, 1), ("ep_nobody", 0), (fresh, 0), (id, 0), (id, 9)]
    body = {"items": [{"episode": e, "step": s} for e, s in items]}
    found = (await service.post("/v1/rewards:query", body)).json()["rewards"]
    assert [one.get("status") or one["error"]["status"] for one in found] == [
        "sealed",
        404,
        "settling",
        "sealed",
        404,
    ]
    assert found[0] == (await service.reward(id, 1)).json()


async def test_a_restart_in_mid_episode_changes_no_byte(store: Store) -> None:
    async with running(store) as service:
        id, token = await service.open()
        made = frames(events(id, *WHOLE), [3])
        await service.append(id, made[0], token)
    async with running(store) as service:
        assert (await service.append(id, made[0], token)).status_code == 200
        assert (await service.append(id, made[1], token)).status_code == 200
        assert await paid(service, id, 2) == expected(id, *WHOLE)
    async with running(store) as service:
        assert await paid(service, id, 2) == expected(id, *WHOLE)


async def test_a_stored_engine_state_continues_like_the_log(store: Store) -> None:
    idle = [
        ("page.title_changed", {"tab": "T", "title": str(n), "url": "http://shop.test/"})
        for n in range(2_500)
    ]
    said = episode([went("/cart"), *idle], [clicked("Buy")])
    async with running(store) as service:
        id, token = await service.open()
        made = frames(events(id, *said), [2_400, 50])
        for frame in made[:2]:
            await service.append(id, frame, token)
        assert await service.rows("engine_states") == 1
    async with running(store) as service:
        assert (await service.append(id, made[2], token)).status_code == 200
        assert await paid(service, id, 2) == expected(id, *said)


STEPS = st.lists(
    st.lists(
        st.sampled_from([went("/cart"), went("/"), clicked("Buy"), clicked("Sell")]), max_size=4
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow_where("postgres")
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, sizes=st.lists(st.integers(1, 5), max_size=30), data=st.data())
async def test_any_split_any_repeat_any_restart_gives_the_same_bytes(
    store: Store,
    fresh: Callable[[Store], Store],
    steps: list[list[Said]],
    sizes: list[int],
    data: Any,
) -> None:
    said = episode(*steps)
    where = fresh(store)
    async with running(where) as service:
        id, token = await service.open()
    made = frames(events(id, *said), sizes)
    order = sorted(
        [*range(len(made)), *data.draw(st.lists(st.sampled_from(range(len(made))), max_size=4))]
    )
    restart = data.draw(st.integers(0, len(order)))
    for part, whole in ((order[:restart], False), (order[restart:], True)):
        async with running(where) as service:
            for index in part:
                assert (await service.append(id, made[index], token)).status_code == 200
            if whole:
                assert await paid(service, id, len(steps)) == expected(id, *said)
    assert orjson.loads(expected(id, *said)[-1])["done"] is True
