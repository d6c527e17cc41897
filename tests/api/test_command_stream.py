"""The daemon's open channel: lines of commands, each as soon as it is queued."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import orjson
import pytest

from api.commands.command_queue import CommandNews
from api.core.notify import commands_of
from api.http.support import while_known
from tests.api.service import Service, Store, running, until

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
