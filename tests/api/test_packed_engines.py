"""Engines of episodes that wait are packed: small in memory, and the same when they go on."""

from __future__ import annotations

import gc
import weakref
from itertools import zip_longest

from api.ingest.engines import Engines, Live
from api.ingest.packed_engines import MAX_BYTES, PackedEngine, UsedOrder, pack_engine, unpack_engine
from detectors.engine.engine import Engine
from detectors.engine.footprint import footprint
from detectors.model.rewards import reward_to_json
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.filled_service import SAID
from tests.api.service import TASK, Service, Store, events, frames, running
from tests.support.logs import clicked, episode, sealed, went

RULES = compile_task(task_from_json(TASK))
WHOLE = episode([went("/cart")], [clicked("Buy"), sealed(1)], [went("/thanks")])
SMALL = 24 << 10
"""Bytes for engines that are not packed: those of two small ones."""


def test_those_that_were_used_longest_ago_are_too_many() -> None:
    order = UsedOrder(100)
    assert order.use("a", 40) == []
    assert order.use("b", 40) == []
    assert order.use("a", 50) == [], "it grew, and was used"
    assert order.use("c", 40) == ["b"]
    order.forget("a")
    assert order.use("d", 60) == []
    assert order.use("e", 101) == ["c", "d", "e"], "it alone is more than may stay"
    assert order.use("f", MAX_BYTES + 1) == [], "a large one is never packed"


def test_a_packed_engine_is_small_and_goes_on_as_the_same() -> None:
    engine = Engine(RULES, "ep_1")
    engine.feed(events("ep_1", *SAID))
    packed = pack_engine(engine)
    assert len(packed.state) * 8 < footprint(engine)
    assert unpack_engine(packed).dump() == engine.dump()


def test_a_dropped_engine_needs_no_collector_of_cycles() -> None:
    """The service runs it rarely: what it would have to find stays in memory for long."""
    engine = Engine(RULES, "ep_1")
    engine.feed(events("ep_1", *SAID))
    gone = weakref.ref(engine.conditions)
    gc.disable()
    try:
        del engine
        assert gone() is None
    finally:
        gc.enable()


def engines_of(service: Service) -> Engines:
    parts = service.app.state.parts
    engines: Engines = parts.log._engines
    return engines


async def test_episodes_that_take_turns_are_paid_as_alone(store: Store) -> None:
    """Each append finds the engines of the others packed."""
    async with running(store, engines_bytes=SMALL * 32) as service:
        opened = [await service.open() for _ in range(6)]
        logs = [frames(events(id, *WHOLE), [3] * 4) for id, _ in opened]
        for turn in zip_longest(*logs):
            for (id, token), frame in zip(opened, turn, strict=True):
                assert (await service.append(id, frame, token)).status_code == 200
        for id, _ in opened:
            told = Engine(RULES, id).feed(events(id, *WHOLE)).rewards
            for reward in told:
                answer = (await service.reward(id, reward.step)).json()
                assert answer["reward"] == reward_to_json(reward)["reward"], (id, reward.step)


async def test_what_waits_is_packed_and_what_is_worked_at_is_not(store: Store) -> None:
    async with running(store, engines_bytes=SMALL * 32) as service:
        engines = engines_of(service)
        opened = [await service.open() for _ in range(5)]
        held = engines.lock(opened[0][0])

        async def append(n: int) -> None:
            id, token = opened[n]
            (frame,) = frames(events(id, *SAID))
            assert (await service.append(id, frame, token)).status_code == 200

        await append(0)
        async with held:
            for n in range(1, 5):
                await append(n)
        found = {id: engines.kept.peek(id) for id, _ in opened}
        packed = [isinstance(_live(found[id]).engine, PackedEngine) for id, _ in opened]
        assert packed[0] is False, "somebody was at it"
        assert packed[-1] is False, "it was used last"
        assert packed[1] is True
        assert engines.position(opened[1][0]) == _live(found[opened[1][0]]).at
        assert isinstance(_live(found[opened[1][0]]).engine, PackedEngine), "a look unpacks nothing"
        unpacked = engines.cached(opened[1][0])
        assert isinstance(_live(unpacked).engine, Engine)


def _live(found: Live | None) -> Live:
    assert found is not None
    return found
