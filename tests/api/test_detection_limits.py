"""What a process may take for one segment: beyond it the process is ended, the segment tried once
more, then refused by name, and the episode's log ended, so that whoever reads it sees why its
rewards are null."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from detectors.engine.engine import Engine
from detectors.model.rewards import encode_reward
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.service import TASK, Service, Store, events, frames, running
from tests.api.test_detection import children
from tests.support.logs import Said, episode, went

NEVER = "data.fields.exists(f, f[1] == 'never {n}')"
METERED: dict[str, Any] = TASK | {
    "id": "shop/metered",
    "milestones": [
        {"id": "cart", "when": {"url_reached": {"url": "/cart"}}},
        {
            "id": "form",
            "when": {
                "cel": {
                    "kind": "form.submitted",
                    "expression": "data.fields.exists(f, f[1] == 'wanted')",
                }
            },
        },
        *(
            {
                "id": f"never{n}",
                "when": {"cel": {"kind": "form.submitted", "expression": NEVER.format(n=n)}},
            }
            for n in range(4)
        ),
    ],
}
RULES = compile_task(task_from_json(METERED))


def sent(rows: int, text: str = "x") -> Said:
    form = {"name": "f", "action": "http://shop.test/a", "method": "post"}
    fields = [[f"name{n}", text] for n in range(rows)]
    return _submitted(form, fields)


def long(rows: int, letters: int) -> Said:
    """What does not compress to next to nothing, which would be refused."""
    form = {"name": "f", "action": "http://shop.test/a", "method": "post"}
    drawn = random.Random(rows)
    return _submitted(
        form, [[f"name{n}", drawn.randbytes(letters // 2).hex()] for n in range(rows)]
    )


def _submitted(form: dict[str, str], fields: list[list[str]]) -> Said:
    return (
        "form.submitted",
        {"tab": "T", "frame": "T", "form": form, "fields": fields, "trusted": True},
    )


SMALL = [went("/cart"), sent(2, "wanted")]
SLOW = [long(2_000, 8)] * 40
"""Much processor time, each event within its budget; as much as a segment may hold."""
LARGE = ([long(1_990 + n, 8) for n in range(20)] * 3)[:44]
"""Some 2 MB of text, and ten times as much memory."""
CASES: dict[str, tuple[list[Said], dict[str, Any], str]] = {
    "processor time": (SLOW, {"detection_cpu_s": 0}, "it took more than 0 s of processor time"),
    "time": (SLOW, {"detection_s": 0.1}, "it took longer than 0.1 s"),
    "memory": (LARGE, {"detection_bytes": 24 << 20}, "it wanted more than 24 MiB of memory"),
}


async def opened(service: Service) -> tuple[str, str]:
    return await service.open(METERED)


async def paid(service: Service, id: str) -> list[bytes]:
    rewards = (await service.get(f"/v1/episodes/{id}/trajectory")).status_code
    assert rewards == 200
    out = []
    for step in range(3):
        answer = await service.reward(id, step)
        if answer.status_code == 200:
            out.append(answer.content)
    return out


def replayed(id: str, log: list[Any]) -> list[bytes]:
    return [encode_reward(reward) for reward in Engine(RULES, id).feed(log).rewards]


async def whole_log(service: Service, id: str) -> list[Any]:
    from api.log.frames import decode_frame

    return [
        event
        async for frame in service.app.state.parts.segments.frames(id)
        for event in decode_frame(frame)
    ]


@pytest.mark.parametrize(("said", "limits", "why"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_a_segment_that_takes_too_much_is_refused_by_name_and_ends_its_log(
    store: Store, said: list[Said], limits: dict[str, Any], why: str
) -> None:
    async with running(store) as service:
        id, token = await opened(service)
        first, costly, _ = frames(events(id, *episode(SMALL, said)), [5, len(said)])
        assert (await service.append(id, first, token)).status_code == 200
    async with running(store, **limits) as service:
        refused = await service.append(id, costly, token)
        assert (refused.status_code, refused.json()["type"]) == (
            422,
            "urn:milestoned:problem:costly-segment",
        )
        assert why in refused.json()["detail"]
        began = time.monotonic()
        before = {one.pid for one in children()}
        again = await service.append(id, costly, token)
        assert (again.status_code, again.json()["type"]) == (
            422,
            "urn:milestoned:problem:costly-segment",
        )
        assert time.monotonic() - began < 2, "it is not tried again"
        assert {one.pid for one in children()} == before
        assert (await service.metrics())["milestoned_costly_segments_total"] >= 1

        rewards = await paid(service, id)
        assert orjson.loads(rewards[0])["reward"] > 0, "what was sealed stays"
        last = orjson.loads(rewards[-1])
        assert (last["reward"], last["mask"], last["done"]) == (None, True, True)
        assert why in last["reason"]
        assert rewards == replayed(id, await whole_log(service, id)), "the log itself says so"


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_a_task_that_may_cost_much_is_never_read_in_the_services_own_process(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = Engine.feed

    def own(engine: Engine, said: Any) -> Any:
        assert not engine.ruleset.metered, "in the service's own process"
        return feed(engine, said)

    async with running(store) as service:
        id, token = await opened(service)
        monkeypatch.setattr(Engine, "feed", own)
        made = frames(events(id, *episode(SMALL, [went("/b")], SMALL)), [2, 3, 1])
        for n, frame in enumerate(made):
            assert (await service.append(id, frame, token)).status_code == 200
            if n == 1:  # as after a restart
                service.app.state.parts.log._engines.forget()
        assert (await service.metrics())["milestoned_segments_apart_total"] == len(made)
        monkeypatch.undo()
        assert await paid(service, id) == replayed(id, await whole_log(service, id))


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_a_process_that_is_killed_once_over_a_segment_costs_nothing(store: Store) -> None:
    async with running(store) as service:
        id, token = await opened(service)
        first, slow, last = frames(events(id, *episode(SMALL, SLOW)), [5, len(SLOW)])
        assert (await service.append(id, first, token)).status_code == 200
        (killed,) = children()
        used = sum(killed.cpu_times()[:2])
        asked = asyncio.create_task(service.append(id, slow, token))
        await _until(lambda: sum(killed.cpu_times()[:2]) > used + 0.1)
        killed.kill()
        assert (await asked).status_code == 200
        assert (await service.append(id, last, token)).status_code == 200
        assert [one.pid for one in children()] != [killed.pid]
        assert await paid(service, id) == replayed(id, await whole_log(service, id))


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_a_stored_state_that_is_of_no_use_is_made_again_from_the_log(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.ingest.advance.STATE_EVERY", 2)
    async with running(store) as service:
        id, token = await opened(service)
        first, second = frames(events(id, *episode(SMALL, SMALL)), [5])
        assert (await service.append(id, first, token)).status_code == 200
        parts = service.app.state.parts
        row = {"episode": id, "through": 5, "body": b"{}"}
        from sqlalchemy import insert

        from api.ingest.tables import engine_states

        async with parts.database.write() as conn:
            await conn.execute(insert(engine_states), row)
        parts.log._engines.forget()
        assert (await service.append(id, second, token)).status_code == 200
        assert await paid(service, id) == replayed(id, await whole_log(service, id))


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_others_are_answered_while_a_segment_keeps_a_process(store: Store) -> None:
    async with running(store) as service:
        id, token = await opened(service)
        first, slow, _ = frames(events(id, *episode(SMALL, SLOW)), [5, len(SLOW)])
        assert (await service.append(id, first, token)).status_code == 200
        (kept,) = children()
        kept.suspend()  # as if it worked for ever
        try:
            asked = asyncio.create_task(service.append(id, slow, token))
            other, its = await opened(service)
            crew = service.app.state.parts.crew
            await _until(lambda: crew._members[0].stuck)
            for frame in frames(events(other, *episode(SMALL, SMALL)), [3, 4]):
                assert (await service.append(other, frame, its)).status_code == 200
            assert not asked.done()
            assert len(children()) == 2
        finally:
            kept.resume()
        assert (await asked).status_code == 200
        assert await paid(service, other) == replayed(other, await whole_log(service, other))


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - another process's time
            await asyncio.sleep(0.01)
