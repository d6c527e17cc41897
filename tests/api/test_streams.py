"""Many watchers of one episode, and watchers of all: each gets everything once and in order, from
one reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx
import orjson
import pytest
from sqlalchemy import text

from api.http.support import while_known
from api.live.streams import KINDS, LAGGING_AFTER, WatchQuery
from api.log.arrivals import START, LogPlace
from tests.api.service import TASK, Service, Store, running, until
from tests.support.logs import clicked, episode, went

SAID = episode([went("/cart")], [clicked("Buy")])
ALL = frozenset(KINDS)
PATIENCE_S = 60.0


class Told(NamedTuple):
    """One frame of a stream."""

    name: str
    id: str
    data: Any


def read(frame: bytes) -> Told | None:
    """A frame, or None for a comment."""
    if frame.startswith(b":"):
        return None
    lines = dict(line.split(b": ", 1) for line in frame.strip().split(b"\n"))
    return Told(lines[b"event"].decode(), lines[b"id"].decode(), orjson.loads(lines[b"data"]))


class Watcher:
    """Takes from a stream in the background, as fast as it can."""

    def __init__(self, frames: AsyncIterator[bytes]) -> None:
        self.got: list[Told] = []
        self._more = asyncio.Event()
        self._task = asyncio.create_task(self._run(frames))

    async def _run(self, frames: AsyncIterator[bytes]) -> None:
        async for frame in frames:
            told = read(frame)
            if told is not None and told.name != "place":
                self.got.append(told)
                self._more.set()

    async def has(self, count: int) -> list[Told]:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.got) < count:
                self._more.clear()
                await self._more.wait()
        return self.got

    async def left(self) -> None:
        """Its stream ends."""
        async with asyncio.timeout(PATIENCE_S):
            await self._task

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@asynccontextmanager
async def watching(*frames: AsyncIterator[bytes]) -> AsyncIterator[list[Watcher]]:
    watchers = [Watcher(one) for one in frames]
    try:
        yield watchers
    finally:
        for one in watchers:
            await one.leave()


def _wanted(*kinds: str, **labels: str) -> WatchQuery:
    return WatchQuery("default", frozenset(kinds) or ALL, labels)


async def opened(service: Service, **labels: str) -> tuple[str, str]:
    await service.post("/v1/tasks", TASK)
    said = (await service.post("/v1/episodes", {"task": TASK["id"], "labels": labels})).json()
    return said["episode"], said["token"]


async def test_a_hundred_watchers_cost_the_reads_of_one(service: Service) -> None:
    streams = service.app.state.parts.streams
    id, token = await service.open()
    async with watching(*(streams.of_one(id, 0, ALL) for _ in range(100))) as watchers:
        await service.tell(id, token, *SAID, sizes=[2, 2])
        seen = [await one.has(12) for one in watchers]
        assert all(one == seen[0] for one in seen)
    alone = streams.pieces.reads
    # A look for each of the three segments, and at most one before each that found nothing.
    assert alone <= 7, f"{alone} reads for 100 watchers"
    assert streams.decided.reads <= 30, (
        "what later stages decided would be 400 reads, each watcher for itself"
    )


async def test_kinds_are_chosen(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    for said, names in (
        ("reward", {"reward", "ended"}),
        ("event,milestone", {"event", "milestone", "ended"}),
    ):
        answer = await service.get(f"/v1/episodes/{id}/stream", params={"kinds": said})
        assert {read(one.encode()).name for one in answer.text.split("\n\n") if one} == names  # type: ignore[union-attr]


async def test_a_slow_watcher_is_told_that_it_lags_and_misses_nothing(service: Service) -> None:
    id, token = await service.open()
    said = episode([went(f"/{n}") for n in range(LAGGING_AFTER)])
    await service.tell(id, token, *said, sizes=[1] * len(said))
    answer = await service.get(f"/v1/episodes/{id}/stream")
    got = [read(one.encode()) for one in answer.text.split("\n\n") if one]
    lagging = [one for one in got if one is not None and one.name == "lagging"]
    assert [one.data for one in lagging] == [{"after": LAGGING_AFTER, "through": len(said)}]
    assert [one.data["seq"] for one in got if one is not None and one.name == "event"] == list(
        range(1, len(said) + 1)
    )


@pytest.mark.parametrize(
    "query", [{"kinds": "nonsense"}, {"kinds": ""}, {"label": "x"}, {"label": "=x"}]
)
async def test_what_no_stream_has_is_refused(service: Service, query: dict[str, str]) -> None:
    assert (await service.get("/v1/stream", params=query)).status_code == 422


@pytest.mark.parametrize("said", ["x", "1", "1.2", "1.2.x", "1.2.3.4", "9" * 19 + ".1.1"])
async def test_an_id_that_no_stream_gave_is_refused(service: Service, said: str) -> None:
    assert (await service.get("/v1/stream", headers={"last-event-id": said})).status_code == 422


async def test_all_episodes_in_one_stream_by_label_and_kind(service: Service) -> None:
    streams = service.app.state.parts.streams
    async with watching(
        streams.of_all(_wanted(), START, 0),
        streams.of_all(_wanted("reward", run="a"), START, 0),
        streams.of_all(WatchQuery("another", ALL, {}), START, 0),
    ) as (everything, rewards, stranger):
        a, b = await opened(service, run="a"), await opened(service, run="b")
        for id, token in (a, b):
            await service.tell(id, token, *SAID, sizes=[3])
        got = await everything.has(22)
        assert [one.data["episode"] for one in got] == [a[0]] * 11 + [b[0]] * 11
        assert [one.data["event"]["seq"] for one in got if one.name == "event"] == [
            1,
            2,
            3,
            4,
            5,
            6,
        ] * 2
        assert {name: sum(one.name == name for one in got) for name in KINDS} == {
            "event": 12,
            "milestone": 6,
            "reward": 4,
        }
        told = await rewards.has(2)
        assert {(one.name, one.data["episode"], one.data["labels"]["run"]) for one in told} == {
            ("reward", a[0], "a")
        }
        assert (len(told), stranger.got) == (2, [])


async def test_the_stream_of_all_goes_on_after_any_id(service: Service) -> None:
    streams = service.app.state.parts.streams
    for id, token in (await service.open(), await service.open()):
        await service.tell(id, token, *SAID, sizes=[3])
    async with watching(streams.of_all(_wanted(), START, 0)) as (first,):
        whole = await first.has(22)
    for n, one in enumerate(whole[:-1]):
        place, after = streams.ids.read("default", one.id)
        async with watching(streams.of_all(_wanted(), place, after)) as (again,):
            rest = [other for other in whole[n + 1 :] if other.id != one.id]
            repeated = [other for other in whole if other.id == one.id and other.name != "event"]
            assert await again.has(len(repeated) + len(rest)) == repeated + rest


async def test_who_comes_without_an_id_hears_what_is_to_come(service: Service) -> None:
    streams = service.app.state.parts.streams
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    other, key = await service.open()
    frames = streams.of_all(_wanted("reward"), None, 0)
    waiting = asyncio.ensure_future(anext(frames))
    await until(lambda: service.app.state.parts.notifier.waiting == 1)
    await service.tell(other, key, *SAID)
    told = read(await waiting)
    assert told is not None
    assert told.data["episode"] == other
    await frames.aclose()


async def test_what_was_forgotten_is_told_as_lost(service: Service) -> None:
    parts = service.app.state.parts
    id, token = await service.open()
    await service.tell(id, token, *SAID, sizes=[1] * len(SAID))
    async with watching(parts.streams.of_all(_wanted("event"), START, 0)) as (first,):
        whole = await first.has(len(SAID))
    assert await parts.arrivals.trim(2) == len(SAID) - 2
    parts.streams.forget()
    place, after = parts.streams.ids.read("default", whole[0].id)
    async with watching(parts.streams.of_all(_wanted("event"), place, after)) as (again,):
        got = await again.has(3)
        assert [one.name for one in got] == ["lost", "event", "event"]
        assert got[1:] == whole[-2:]


async def test_a_deleted_episode_is_streamed_no_more(service: Service) -> None:
    parts = service.app.state.parts
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    async with watching(parts.streams.of_all(_wanted("event"), START, 0)) as (first,):
        await first.has(len(SAID))
    await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": "x"})
    other, key = await service.open()
    await service.tell(other, key, *SAID)
    async with watching(parts.streams.of_all(_wanted("event"), START, 0)) as (again,):
        assert {one.data["episode"] for one in await again.has(len(SAID))} == {other}


async def test_who_watches_an_episode_that_is_deleted_is_sent_away(service: Service) -> None:
    """At once, and without the word that everything was sent."""
    streams = service.app.state.parts.streams
    (id, token), (other, key) = await service.open(), await service.open()
    await service.tell(id, token, *SAID[:3])
    async with watching(streams.of_one(id, 0, ALL), streams.of_one(other, 0, ALL)) as (
        watcher,
        stays,
    ):
        assert [one.name for one in await watcher.has(4)] == [
            "event",
            "event",
            "event",
            "milestone",
        ]
        await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": "x"})
        await watcher.left()
        assert len(watcher.got) == 4
        await service.tell(other, key, *SAID)
        assert (await stays.has(len(SAID)))[0].id == "1"


async def test_arrivals_of_deleted_episodes_are_not_looked_for_again_and_again(
    service: Service,
) -> None:
    """Nobody waits for what nobody is told; what comes after them is told at once."""
    parts = service.app.state.parts
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": "x"})
    assert not await parts.arrivals.unsettled(START)
    async with watching(parts.streams.of_all(_wanted("event"), START, 0)) as (watcher,):
        other, key = await service.open()
        await service.tell(other, key, *SAID)
        assert {one.data["episode"] for one in await watcher.has(len(SAID))} == {other}


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_rows_that_a_restore_brought_hold_no_stream_back(store: Store) -> None:
    """They name transactions of the server that they come from; and so does who had read there."""
    far = 2**40
    async with running(store) as service:
        id, token = await service.open()
        await service.tell(id, token, *SAID)
        async with service.app.state.parts.database.write() as conn:
            await conn.execute(text(f"UPDATE arrivals SET xact = {far}"))
    async with running(store) as service:
        streams = service.app.state.parts.streams
        async with watching(
            streams.of_all(_wanted("event"), START, 0),
            streams.of_all(_wanted("event"), LogPlace(far, 1), 6),
        ) as (whole, reader):
            assert {one.data["episode"] for one in await whole.has(len(SAID))} == {id}
            assert [one.name for one in await reader.has(1)] == ["lost"]
            other, key = await service.open()
            await service.tell(other, key, *SAID)
            assert {one.data["episode"] for one in (await reader.has(1 + len(SAID)))[1:]} == {other}


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_a_commit_that_overtakes_another_costs_the_watcher_neither(store: Store) -> None:
    """A number given out early and committed late is not passed over."""
    async with running(store) as service:
        parts = service.app.state.parts
        (slow, _), (fast, key) = await service.open(), await service.open()
        statement = text(
            "INSERT INTO arrivals (xact, episode, first, last, earned)"
            " VALUES (CAST(CAST(pg_current_xact_id() AS text) AS bigint), :episode, 1, 1, 0)"
        )
        async with watching(parts.streams.of_all(_wanted("event"), START, 0)) as (watcher,):
            async with parts.database.writer.begin() as held:
                await held.execute(statement, {"episode": slow})
                await service.tell(fast, key, *SAID)
                assert await parts.arrivals.list_after(START) == []
                assert await parts.arrivals.unsettled(START)
            got = await watcher.has(len(SAID))
            assert {one.data["episode"] for one in got} == {fast}
        assert [row.episode for row in await parts.arrivals.list_after(START)] == [slow, fast]


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_a_watcher_at_one_replica_sees_what_came_to_the_other(store: Store) -> None:
    async with running(store) as one, running(store) as other:
        streams = other.app.state.parts.streams
        id, token = await one.open()
        async with watching(
            streams.of_one(id, 0, ALL), streams.of_all(_wanted(), START, 0)
        ) as watchers:
            await one.tell(id, token, *SAID, sizes=[2])
            for watcher in watchers:
                await watcher.has(11)


async def test_a_stream_of_all_over_the_wire(store: Store) -> None:
    async with running(store, heartbeat_s=0.01) as service:
        id, token = await service.open()
        await service.tell(id, token, *SAID)
        service.app.state.notifier.stop()
        answer: httpx.Response = await service.get("/v1/stream", headers={"last-event-id": "0"})
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert len([one for one in answer.text.split("\n\n") if one]) == 11


async def test_who_is_told_nothing_hears_that_the_stream_goes_on(service: Service) -> None:
    """However much others are told meanwhile: his place moves, and no proxy thinks that the line is
    dead."""
    streams = service.app.state.parts.streams
    service.app.state.parts.streams._heartbeat_s = 0.0
    others = streams.of_all(_wanted(policy="nobody's"), None, 0)
    waiting = asyncio.create_task(anext(others))
    id, token = await opened(service)
    await service.tell(id, token, *SAID)
    async with asyncio.timeout(PATIENCE_S):
        told = read(await waiting)
    assert told is not None
    assert told.name == "place"


async def test_a_stream_ends_with_its_token(service: Service) -> None:
    """At its next word."""
    tokens = service.app.state.parts.tokens
    of, token = await tokens.create("read", "")

    async def words() -> AsyncIterator[bytes]:
        for word in (b"one", b"two", b"three"):
            yield word
            if word == b"two":
                await tokens.revoke(of)

    assert [word async for word in while_known(service.app.state.parts, token, words())] == [
        b"one",
        b"two",
    ]
