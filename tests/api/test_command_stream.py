"""The daemon's open channel: lines of commands, each as soon as it is queued."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any

import orjson
import pytest
from sqlalchemy import event, update

from api.commands.command_queue import CommandNews
from api.commands.store import Commands
from api.commands.tables import commands
from api.core import notify
from api.core.notify import Notifier, Payload, commands_of
from api.http.support import while_known
from tests.api.service import Service, Store, events, frames, running, until
from tests.support.postgres import needs_postgres

PATIENCE_S = 60.0


class Lines:
    """What a daemon gets, in the order in which it comes."""

    def __init__(self, news: AsyncIterator[CommandNews]) -> None:
        self._news = news

    async def next(self) -> CommandNews:
        async with asyncio.timeout(PATIENCE_S):
            return await anext(self._news)

    async def kinds(self) -> list[str]:
        return [command["kind"] for command in (await self.next()).commands]


@asynccontextmanager
async def followed(
    service: Service, episode: str, after: int = 0, is_followed: bool = False
) -> AsyncIterator[Lines]:
    queue = service.app.state.parts.channel
    news = queue.follow_commands(episode, after, lambda: is_followed)
    async with aclosing(news):
        yield Lines(news)


async def say(service: Service, episode: str, text: str) -> None:
    body = {"text": text, "wait_ms": 0}
    assert (await service.post(f"/v1/episodes/{episode}/answers", body)).status_code == 202


async def test_a_line_comes_at_once_and_then_one_for_each_command(service: Service) -> None:
    id, _ = await service.open()
    async with followed(service, id) as lines:
        assert await lines.next() == CommandNews([], False)
        for text in ("a", "b"):
            waiting = asyncio.create_task(lines.next())
            await until(lambda: service.app.state.notifier.waiting == 1)
            await say(service, id, text)
            (command,) = (await waiting).commands
            assert command["data"] == {"text": text}


async def test_what_is_queued_between_two_lines_is_in_the_next(service: Service) -> None:
    id, _ = await service.open()
    async with followed(service, id) as lines:
        await lines.next()
        await say(service, id, "a")
        await say(service, id, "b")
        assert await lines.kinds() == ["agent.answered"] * 2


@pytest.mark.parametrize(("after", "expected"), [(0, [1, 2]), (1, [2]), (2, [])])
async def test_it_goes_on_after_the_last_command_that_the_daemon_has(
    service: Service, after: int, expected: list[int]
) -> None:
    id, _ = await service.open()
    await say(service, id, "a")
    await say(service, id, "b")
    async with followed(service, id, after) as lines:
        assert [one["command"] for one in (await lines.next()).commands] == expected


@pytest.mark.parametrize("is_followed", [True, False])
async def test_a_word_about_followers_is_a_line_where_somebody_follows(
    service: Service, is_followed: bool
) -> None:
    id, _ = await service.open()
    notifier = service.app.state.notifier
    async with followed(service, id, is_followed=is_followed) as lines:
        assert await lines.next() == CommandNews([], is_followed)
        waiting = asyncio.create_task(lines.next())
        await until(lambda: notifier.waiting == 1)
        notifier.tell(commands_of(id))
        if not is_followed:
            await say(service, id, "a")
        news = await waiting
        assert (news.is_followed, len(news.commands)) == (is_followed, int(not is_followed))


async def test_it_ends_after_as_long_as_a_daemon_may_be_silent(store: Store) -> None:
    async with running(store, sandbox_lost_s=0.4) as service:
        id, token = await service.open()
        await say(service, id, "a")
        answer = await service.get(f"/v1/episodes/{id}/commands/stream", token)
        assert answer.headers["content-type"] == "application/x-ndjson"
        assert answer.headers["x-accel-buffering"] == "no"
        (line,) = [orjson.loads(line) for line in answer.content.splitlines()]
        assert ([one["command"] for one in line["commands"]], line["followed"]) == ([1], False)


async def test_it_ends_when_the_service_stops(service: Service) -> None:
    id, _ = await service.open()
    async with followed(service, id) as lines:
        await lines.next()
        waiting = asyncio.create_task(lines.next())
        await until(lambda: service.app.state.notifier.waiting == 1)
        service.app.state.notifier.stop()
        with pytest.raises(StopAsyncIteration):
            await waiting


async def test_a_token_that_ended_gets_no_further_command(service: Service) -> None:
    id, token = await service.open()
    parts = service.app.state.parts
    async with followed(service, id) as lines:

        async def told() -> AsyncIterator[bytes]:
            while True:
                yield orjson.dumps((await lines.next()).commands)

        permitted = while_known(parts, token, told())
        assert await anext(permitted) == b"[]"
        await say(service, id, "a")
        (row,) = await parts.tokens.listed(id)
        assert await parts.tokens.revoke(row.id)
        with pytest.raises(StopAsyncIteration):
            await anext(permitted)


REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "a number that is none": ({"after": "x"}, 422),
    "one below zero": ({"after": -1}, 422),
    "a wait, which it has none of": ({"wait_ms": 1}, 422),
}


@pytest.mark.parametrize(("query", "status"), REFUSED.values(), ids=REFUSED)
async def test_a_wrong_query_is_refused(
    service: Service, query: dict[str, Any], status: int
) -> None:
    id, token = await service.open()
    answer = await service.get(f"/v1/episodes/{id}/commands/stream", token, params=query)
    assert answer.status_code == status
    assert next(iter(query)) in answer.json()["detail"]


@contextmanager
def statements(service: Service) -> Iterator[list[str]]:
    """What reads or writes commands meanwhile, by the first word of each statement."""
    seen: list[str] = []
    database = service.app.state.parts.database
    engines = [engine.sync_engine for engine in database.engines]
    if database.embedded:
        engines.append(database._direct)

    def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        if "commands" in statement:
            seen.append(statement.split(maxsplit=1)[0])

    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)


def begin(service: Service, episode: str, step: int, wait_ms: int = 0, **action: Any) -> Any:
    body = {"step": step, "action": action, "wait_ms": wait_ms}
    return service.post(f"/v1/episodes/{episode}/steps", body)


def began(step: int, action: object) -> Any:
    """The event that the daemon makes of an episode's first command."""
    return ("step.began", {"step": step, "action": action, "command": 1})


async def test_a_command_is_given_to_the_daemon_without_a_look_at_the_database(
    service: Service,
) -> None:
    id, _ = await service.open()
    async with followed(service, id) as lines:
        await lines.next()
        with statements(service) as seen:
            for step in (0, 1):
                await begin(service, id, step, text="go")
                (command,) = (await lines.next()).commands
                assert command["data"] == {"step": step, "action": {"text": "go"}}
            assert "SELECT" not in seen
            assert "INSERT" in seen


async def test_what_became_of_a_command_is_heard_without_a_look_at_the_database(
    service: Service,
) -> None:
    id, token = await service.open()
    with statements(service) as seen:
        begun = asyncio.create_task(begin(service, id, 0, wait_ms=50_000))
        await until(lambda: service.app.state.notifier.waiting == 1)
        journalled = events(id, began(0, {}))
        assert (await service.append(id, frames(journalled)[0], token)).status_code == 200
        answer = (await begun).json()
    assert (answer["seq"], answer["step"]) == (1, 0)
    assert "SELECT" not in seen


async def test_a_command_whose_word_is_lost_is_looked_for_again(service: Service) -> None:
    """A replica that is killed after its commit tells nobody."""
    id, _ = await service.open()
    service.app.state.notifier.spread(lambda *_: None, 0.05)
    begun = asyncio.create_task(begin(service, id, 0, wait_ms=5_000))
    await until(lambda: service.app.state.notifier.waiting == 1)
    async with service.app.state.parts.database.write() as conn:
        journalled = update(commands).where(commands.c.episode == id).values(seq=1)
        await conn.execute(journalled)
    assert (await begun).json()["seq"] == 1


async def test_each_of_many_commands_comes_once_where_the_daemon_reads_slowly(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than are kept for whoever holds an old change."""
    monkeypatch.setattr(notify, "MAX_FOLLOWING", 3)
    id, _ = await service.open()
    async with aclosing(
        service.app.state.parts.channel.follow_commands(id, 0, lambda: False)
    ) as news:
        assert (await anext(news)).commands == []
        for n in range(10):
            await say(service, id, str(n))
        heard: list[int] = []
        while len(heard) < 10:
            heard += [command["command"] for command in (await anext(news)).commands]
    assert heard == list(range(1, 11))


def telling(service: Service, episode: str, *payloads: Payload | None) -> None:
    """Tell of commands, as if they came in this order from other replicas."""
    for one in payloads:
        service.app.state.notifier.wake(commands_of(episode), one)


COMMANDS = [
    {"command": n, "kind": "agent.answered", "data": {"text": t}} for n, t in [(1, "a"), (2, "b")]
]
ORDERS: dict[str, list[Payload | None]] = {
    "in order": [COMMANDS[0], COMMANDS[1]],
    "the second first": [COMMANDS[1], COMMANDS[0]],
    "the first is not told": [COMMANDS[1]],
    "one without a word": [None, COMMANDS[1]],
    "each twice": [COMMANDS[0], COMMANDS[0], COMMANDS[1], COMMANDS[1]],
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
async def test_each_command_comes_once_and_in_order_however_it_is_told(
    service: Service, order: list[Payload | None]
) -> None:
    id, _ = await service.open()
    async with followed(service, id) as lines:
        await lines.next()
        parts = service.app.state.parts
        elsewhere = Commands(parts.database, Notifier())
        for text in ("a", "b"):
            await elsewhere.say(id, "agent.answered", {"text": text}, None)
        telling(service, id, *order)
        heard = list((await lines.next()).commands)
        while len(heard) < 2:
            heard += (await lines.next()).commands
        assert heard == COMMANDS
        waiting = asyncio.create_task(lines.next())
        await until(lambda: service.app.state.notifier.waiting == 1)
        await say(service, id, "c")
        assert [one["command"] for one in (await waiting).commands] == [3]


@needs_postgres
@pytest.mark.usefixtures("without_schema")
@pytest.mark.parametrize("store", ["postgres"], indirect=True)
@pytest.mark.parametrize(("size", "is_looked_up"), [(10, False), (100_000, True)])
async def test_a_command_of_another_replica_is_looked_up_only_where_it_is_large(
    store: Store, size: int, is_looked_up: bool
) -> None:
    async with running(store) as one, running(store) as other:
        id, token = await one.open()
        async with followed(other, id) as lines:
            await lines.next()
            waiting = asyncio.create_task(lines.next())
            await until(lambda: other.app.state.notifier.waiting == 1)
            with statements(other) as seen:
                begun = asyncio.create_task(
                    begin(one, id, 0, wait_ms=50_000, text="é" * (size // 2))
                )
                (command,) = (await waiting).commands
                assert len(command["data"]["action"]["text"].encode()) == size
                assert ("SELECT" in seen) == is_looked_up
            with statements(one) as seen:
                journalled = frames(events(id, began(0, command["data"]["action"])))
                assert (await other.append(id, journalled[0], token)).status_code == 200
                assert (await begun).json()["seq"] == 1
                assert "SELECT" not in seen
