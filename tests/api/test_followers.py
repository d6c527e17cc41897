"""A daemon hears with each segment whether somebody looks at its episode live, at whichever
replica."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from api.auth.store import OPERATOR
from api.core.notify import Notifier, Topic
from api.live import live_subscribers
from api.live.live_subscribers import AGAIN_S, BELIEVED_S, Followers
from api.live.streams import WatchQuery
from api.pages.episode import EpisodeLiveParts, _moves
from tests.api.service import Service, Store, events, eventually, frames, running, until
from tests.support.logs import episode, went
from tests.support.postgres import needs_postgres

SAID = episode([went("/cart")], close=False)
Follows = Callable[[Service, str], AsyncIterator[bytes]]


def streams(*kinds: str) -> Follows:
    return lambda service, id: service.app.state.parts.streams.of_one(id, 0, frozenset(kinds))


def streams_all(*kinds: str, tenant: str = OPERATOR) -> Follows:
    wanted = WatchQuery(tenant, frozenset(kinds), {})
    return lambda service, _: service.app.state.parts.streams.of_all(wanted, None, 0)


def live_parts(service: Service) -> EpisodeLiveParts:
    parts = service.app.state.parts
    return EpisodeLiveParts(
        parts.episodes, parts.followers, parts.notifier, parts.settings.limits.heartbeat_s
    )


FOLLOWED: dict[str, Follows] = {
    "its events": streams("event"),
    "its milestones among others": streams("milestone", "reward"),
    "its page": lambda service, id: _moves(live_parts(service), id, -1),
    "all events": streams_all("event"),
}
NOT_FOLLOWED: dict[str, Follows] = {
    "its rewards, which come with the step": streams("reward"),
    "all rewards": streams_all("reward"),
    "all events of another tenant": streams_all("event", tenant="others"),
}


@asynccontextmanager
async def taking(follows: AsyncIterator[bytes]) -> AsyncIterator[None]:
    """Somebody takes all that there is and comes."""

    async def take() -> None:
        async for _ in follows:
            pass

    task = asyncio.create_task(take())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def following(service: Service, follows: AsyncIterator[bytes]) -> AsyncIterator[None]:
    """Somebody took all that there was, and waits for more."""
    notifier = service.app.state.notifier
    before = notifier.waiting
    async with taking(follows):
        await until(lambda: notifier.waiting > before)
        yield


class Daemon:
    """Tells an episode event by event, and hears whether it is followed."""

    def __init__(self, service: Service, id: str, token: str) -> None:
        self._service, self._id, self._token = service, id, token
        self._left = frames(events(id, *SAID), [1] * len(SAID))

    async def hears(self) -> bool:
        answer = await self._service.append(self._id, self._left.pop(0), self._token)
        assert answer.status_code == 200, answer.text
        return bool(answer.json()["followed"])


@pytest.mark.parametrize("follows", FOLLOWED.values(), ids=FOLLOWED)
async def test_an_episode_is_followed_from_when_somebody_looks(
    service: Service, follows: Follows
) -> None:
    opened = await service.open()
    daemon = Daemon(service, *opened)
    assert not await daemon.hears()
    async with following(service, follows(service, opened[0])):
        assert await daemon.hears()
    assert await daemon.hears(), "nobody says that they went"


@pytest.mark.parametrize("follows", FOLLOWED.values(), ids=FOLLOWED)
async def test_a_daemon_that_waits_for_commands_hears_of_it_at_once(
    service: Service, follows: Follows
) -> None:
    id, token = await service.open()

    async def ask(**more: int) -> dict[str, Any]:
        query = {"wait_ms": 20_000, **more}
        answer = await service.get(f"/v1/episodes/{id}/commands", token, params=query)
        told: dict[str, Any] = answer.json()
        return told

    waiting = asyncio.create_task(ask(followed=0))
    await until(lambda: service.app.state.notifier.waiting == 1)
    async with taking(follows(service, id)):
        assert await waiting == {"commands": [], "followed": True}
        assert await ask(followed=1, wait_ms=10) == {"commands": [], "followed": True}


async def test_who_reads_a_running_episodes_log_follows_it(service: Service) -> None:
    id, token = await service.open()
    daemon = Daemon(service, id, token)
    await service.get(f"/v1/episodes/{id}/events")
    assert await daemon.hears()


@pytest.mark.parametrize("follows", NOT_FOLLOWED.values(), ids=NOT_FOLLOWED)
async def test_who_wants_no_more_than_the_rewards_or_anothers_hurries_nobody(
    service: Service, follows: Follows
) -> None:
    opened = await service.open()
    async with following(service, follows(service, opened[0])):
        assert not await Daemon(service, *opened).hears()


async def test_who_looks_at_one_episode_hurries_no_other(service: Service) -> None:
    looked_at, _ = await service.open()
    async with following(service, streams("event")(service, looked_at)):
        assert not await Daemon(service, *await service.open()).hears()


def test_who_says_no_more_that_they_follow_is_gone_after_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(at=1_000.0, monotonic=lambda: clock.at)
    monkeypatch.setattr(live_subscribers, "time", clock)
    notifier, told = Notifier(), list[Topic]()
    here = Followers(notifier)
    notifier.spread(lambda topic, _: told.append(topic), 15.0)
    for passed in (0, 1, AGAIN_S):
        clock.at += passed
        here.note("ep_1")
    assert len(told) == 2, "others are told now and then"
    clock.at += BELIEVED_S - 1
    assert here.is_followed("ep_1", "t")
    clock.at += 2
    assert not here.is_followed("ep_1", "t")
    here.note("ep_2")
    assert list(here._until) == ["ep_2"], "who is gone is forgotten"


@needs_postgres
@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_who_looks_at_one_replica_is_known_at_the_other(store: Store) -> None:
    async with running(store) as one, running(store) as other:
        id, token = await one.open()
        daemon, known = Daemon(one, id, token), one.app.state.parts.followers
        assert not await daemon.hears()

        async def heard() -> bool:
            return bool(known.is_followed(id, OPERATOR))

        async with following(other, streams("event")(other, id)):
            assert await eventually(heard)
            assert await daemon.hears()
