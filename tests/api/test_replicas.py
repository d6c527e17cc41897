"""Several services on one Postgres: what one does, all know; and a Postgres that dies costs nobody
anything."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from api.core.notify import commands_of, log_of
from api.db.database import SESSIONS
from api.db.migrate import upgrade
from tests.api.service import Service, Store, events, frames, running
from tests.support.logs import clicked, episode, went
from tests.support.postgres import Postgres, needs_postgres

pytestmark = [needs_postgres, pytest.mark.usefixtures("without_schema")]
SHARED = pytest.mark.parametrize("store", ["postgres"], indirect=True)

SAID = episode([went("/cart")], [clicked("Buy")])
PATIENCE_S = 60.0


async def woken(by: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await by.wait()


@SHARED
async def test_who_waits_at_one_replica_hears_of_what_came_to_the_other(store: Store) -> None:
    async with running(store) as one, running(store) as other:
        id, token = await one.open()
        waiting = other.app.state.parts.notifier.watch(log_of(id))
        assert (await one.append(id, frames(events(id, *SAID))[0], token)).status_code == 200
        await woken(waiting)
        assert (await other.reward(id, 1)).json()["done"] is True


@SHARED
async def test_a_command_given_to_one_replica_reaches_the_daemon_that_polls_the_other(
    store: Store,
) -> None:
    async with running(store) as one, running(store) as other:
        id, token = await one.open()
        polled = asyncio.create_task(
            other.get(f"/v1/episodes/{id}/commands", token, params={"after": 0, "wait_ms": 50_000})
        )
        waiting = other.app.state.parts.notifier.watch(commands_of(id))
        begun = await one.post(f"/v1/episodes/{id}/steps", {"action": "go", "wait_ms": 0})
        assert begun.status_code == 202, begun.text
        await woken(waiting)
        assert [command["kind"] for command in (await polled).json()["commands"]] == ["step.began"]


@SHARED
async def test_two_services_that_start_together_on_an_empty_database(store: Store) -> None:
    async def open_one() -> str:
        async with running(store) as service:
            return (await service.open())[0]

    ids = await asyncio.gather(*(open_one() for _ in range(3)))
    async with running(store) as service:
        for id in ids:
            assert (await service.get(f"/v1/episodes/{id}")).status_code == 200


async def _goes_on(service: Service, id: str, token: str, frame: bytes) -> None:
    """Append ``frame`` until the service has its database again."""
    async with asyncio.timeout(60):
        while (answer := await service.append(id, frame, token)).status_code != 200:
            assert answer.status_code == 503, answer.text
            await asyncio.sleep(0.05)


async def test_postgres_killed_in_mid_episode_costs_a_503_and_nothing_else(tmp_path: Path) -> None:
    with Postgres() as server:
        async with running(Store(tmp_path, server.database())) as service:
            id, token = await service.open()
            made = frames(events(id, *SAID), [3])
            assert (await service.append(id, made[0], token)).status_code == 200
            server.kill()
            for answer in (
                await service.append(id, made[1], token),
                await service.get(f"/v1/episodes/{id}"),
            ):
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1"), (
                    answer.text
                )
                assert answer.headers["content-type"] == "application/problem+json"
            server.start()
            await _goes_on(service, id, token, made[1])
            assert (await service.reward(id, 1)).json()["done"] is True
            assert (await service.get(f"/v1/episodes/{id}")).json()["through"] == len(SAID)


@SHARED
async def test_two_replicas_that_get_the_same_at_once_give_one_result(store: Store) -> None:
    """The same segment, the same step and the same close, to both at once, again and again."""
    async with running(store) as one, running(store) as other:
        both = (one, other) * 2
        for _ in range(10):
            id, token = await one.open()
            for n in (0, 1):
                key = {"idempotency-key": f"{id} {n}"}
                begun = await asyncio.gather(
                    *(
                        s.post(f"/v1/episodes/{id}/steps", {"step": n, "wait_ms": 0}, headers=key)
                        for s in both
                    )
                )
                assert {answer.json()["command"] for answer in begun} == {n + 1}, [
                    answer.text for answer in begun
                ]
            closing = await asyncio.gather(
                *(s.post(f"/v1/episodes/{id}:close", {"wait_ms": 0}) for s in both)
            )
            assert {answer.status_code for answer in closing} == {202}
            for frame in frames(events(id, *SAID), [2, 1]):
                answers = await asyncio.gather(*(s.append(id, frame, token) for s in both))
                assert len({(answer.status_code, answer.content) for answer in answers}) == 1, (
                    answers[0].text
                )
            closed = await asyncio.gather(*(s.post(f"/v1/episodes/{id}:close") for s in both))
            assert len({answer.content for answer in closed}) == 1
        assert await one.rows("segments") == await one.rows("arrivals") == 30
        assert await one.rows("rewards") == 20
        assert await one.rows("commands") == 30


@SHARED
async def test_replicas_that_are_told_different_things_at_once_keep_one_of_them(
    store: Store,
) -> None:
    """Both get an own continuation of the same log, at once: one is taken, the other is a fork, at
    every event."""
    async with running(store) as one, running(store) as other:
        for _ in range(10):
            id, token = await one.open()
            ways = [frames(events(id, *SAID), sizes)[0] for sizes in ([2], [3])]
            answers = await asyncio.gather(
                one.append(id, ways[0], token), other.append(id, ways[1], token)
            )
            assert sorted(answer.status_code for answer in answers) == [200, 409], [
                one.text for one in answers
            ]
        assert await one.rows("segments") == 10


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_who_signs_is_one_and_holds_up_nobody_who_starts(store: Store) -> None:
    """A delivery may take minutes: no other replica signs meanwhile, and any may start."""
    async with running(store) as first, running(store) as second:
        one, two = first.app.state.parts, second.app.state.parts
        for parts in (one, two):
            await parts.checkpointer.stop()
        async with one.audits.alone() as mine, two.audits.alone() as theirs:
            assert (mine, theirs) == (True, False)
            async with asyncio.timeout(20):
                await upgrade(two.database)
        async with two.audits.alone() as theirs:
            assert theirs


@SHARED
async def test_a_replica_is_ready_while_all_that_is_done_alone_is_done(store: Store) -> None:
    """Each holds a connection for long, as while a collector of traces does not answer."""
    async with running(store) as service, AsyncExitStack() as held:
        database = service.app.state.parts.database
        for key in range(SESSIONS):
            assert await held.enter_async_context(database.alone(key))
        async with asyncio.timeout(10):
            assert (await service.get("/readyz")).status_code == 200
