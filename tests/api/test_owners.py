"""An episode whose trainer died ends, masked; one that is only slow does not. Time passes by the
database's clock, which the tests set back in its rows."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, NamedTuple

import httpx
import pytest

from api.auth.store import OPERATOR
from api.fleet.owners import Owners, limit_s
from api.http.streams import _hold
from api.pages.viewer import COOKIE
from tests.api.audit.audited import tamper
from tests.api.daemon import OPENED
from tests.api.service import ADMIN, TASK, Service, Store, events, frames, running
from tests.api.test_fleet import eyes, joined
from tests.api.test_tenants import tenant
from tests.support.logs import went

SILENCE_S = 600.0
SQLITE = pytest.mark.parametrize("store", ["sqlite"], indirect=True)
POSTGRES = pytest.mark.parametrize("store", ["postgres"], indirect=True)


class Owned(NamedTuple):
    """An episode that a trainer opened, its daemon's token, and the trainer's."""

    id: str
    token: str
    trainer: str


def owners_of(service: Service) -> Owners:
    found: Owners = service.app.state.parts.owners
    return found


async def open_owned(service: Service, token: str | None = None, **body: Any) -> Owned:
    """Open an episode with ``token``, or as a trainer."""
    trainer = token or await tenant(service, OPERATOR, "trainer")
    assert (await service.post("/v1/tasks", TASK)).status_code in (200, 201)
    given = {"task": TASK["id"], "sandbox": "any", "owner_silence_s": SILENCE_S, **body}
    answer = await service.post("/v1/episodes", given, trainer)
    assert answer.status_code == 201, answer.text
    await owners_of(service).look()
    return Owned(answer.json()["episode"], answer.json()["token"], trainer)


async def pass_s(service: Service, seconds: float, is_down: bool = False) -> None:
    """Let this much time pass; ``is_down``: while no replica looked."""
    await tamper(service, f"UPDATE owners SET heard_at = heard_at - {seconds}")
    looked = f", looked_at = looked_at - {seconds}" if is_down else ""
    await tamper(service, f"UPDATE hearing SET since = since - {seconds}{looked}")


async def end_silent(service: Service) -> list[str]:
    """Look once, and end what is to end."""
    silent = await owners_of(service).look()
    await eyes(service).look(0.0)
    return silent


async def status_of(service: Service, id: str) -> str:
    return str((await service.get(f"/v1/episodes/{id}")).json()["status"])


async def test_a_silent_owner_s_episode_ends_masked_and_its_sandbox_is_free(
    service: Service,
) -> None:
    sandbox = await joined(service)
    owned = await open_owned(service)
    await sandbox.beat()
    await service.tell(
        owned.id, owned.token, OPENED, ("step.began", {"step": 0}), went("/cart"),
        ("step.sealed", {"step": 0, "reason": "quiet"}), ("step.began", {"step": 1}),
    )  # fmt: skip
    await pass_s(service, SILENCE_S)
    assert await end_silent(service) == [], "the step that began was its owner's"
    sealed = (await service.reward(owned.id, 0)).content
    await pass_s(service, limit_s(SILENCE_S) - 5)
    assert await end_silent(service) == []
    await pass_s(service, 5)
    assert await end_silent(service) == [owned.id]

    assert await status_of(service, owned.id) == "closed"
    assert (await service.reward(owned.id, 0)).content == sealed
    reward = (await service.reward(owned.id, 1)).json()
    assert (reward["status"], reward["reward"], reward["mask"]) == ("unobserved", None, True)
    assert reward["reason"].endswith("its owner was not heard of for 600 s")
    assert (await sandbox.beat(on=owned.id))["given_up"] == {
        "episode": owned.id,
        "why": "its owner was not heard of for 600 s",
    }
    another = await open_owned(service)
    assert (await sandbox.beat())["lease"]["episode"] == another.id
    metrics = await service.metrics()
    assert metrics["milestoned_owner_silent_episodes_total"] == 1
    assert metrics["milestoned_episodes_owned"] == 1


async def test_what_a_silent_owner_had_queued_is_dropped(service: Service) -> None:
    queued = [await open_owned(service), await open_owned(service)]
    others = await open_owned(service, owner_silence_s=0)
    await pass_s(service, limit_s(SILENCE_S))
    assert sorted(await end_silent(service)) == sorted(one.id for one in queued)
    for one in queued:
        lease = (await service.get(f"/v1/episodes/{one.id}/sandbox")).json()
        assert (lease["state"], lease["why"]) == ("lost", "its owner was not heard of for 600 s")
        assert (await service.reward(one.id, 0)).json()["mask"] is True
    assert (await (await joined(service)).beat())["lease"]["episode"] == others.id


Ask = Callable[[Service, str, str], Awaitable[httpx.Response]]
"""A request about an episode, with a token."""


def get(path: str) -> Ask:
    return lambda service, id, token: service.get(path.format(id), token)


def post(path: str, make_body: Callable[[str], Any] = lambda _id: {}) -> Ask:
    return lambda service, id, token: service.post(path.format(id), make_body(id), token)


VOICES: dict[str, tuple[str, Ask]] = {
    "its status": ("trainer", get("/v1/episodes/{}")),
    "where its sandbox is": ("trainer", get("/v1/episodes/{}/sandbox")),
    "a reward": ("trainer", get("/v1/episodes/{}/steps/0/reward")),
    "a step": ("trainer", post("/v1/episodes/{}/steps", lambda _id: {"wait_ms": 0})),
    "a heartbeat": ("trainer", post("/v1/episodes:heartbeat", lambda id: {"episodes": [id]})),
    "many rewards": (
        "trainer",
        post("/v1/rewards:query", lambda id: {"items": [{"episode": id, "step": 0}]}),
    ),
    "a score": ("trainer", post("/v1/score", lambda id: {"samples": [{"episode": id}]})),
    "a group": ("trainer", post("/v1/groups:score", lambda id: {"episodes": [id, id + "x"]})),
    "slime": (
        "trainer",
        post("/adapters/slime/score?wait_ms=0", lambda id: {"label": {"episode_id": id}}),
    ),
    "NeMo Gym": ("trainer", post("/nemo/seed_session", lambda id: {"episode_id": id})),
    "the token that opened it": ("opener", get("/v1/episodes/{}")),
}
DEAF: dict[str, tuple[str, Ask]] = {
    "nobody": ("trainer", get("/v1/tasks")),
    "a dashboard": ("read", get("/v1/episodes/{}")),
    "another administrator": ("admin", get("/v1/episodes/{}")),
    "another tenant's trainer": (
        "stranger",
        post("/v1/episodes:heartbeat", lambda id: {"episodes": [id]}),
    ),
    "another tenant's query": (
        "stranger",
        post("/v1/rewards:query", lambda id: {"items": [{"episode": id, "step": 0}]}),
    ),
    "its daemon": ("daemon", get("/v1/episodes/{}/plan")),
}


@SQLITE
async def test_who_is_an_owner_that_is_heard(store: Store) -> None:
    async with running(store) as service:
        tokens = {
            "opener": ADMIN,
            "trainer": await tenant(service, OPERATOR, "trainer"),
            "read": await tenant(service, OPERATOR, "read"),
            "admin": await tenant(service, OPERATOR),
            "stranger": await tenant(service, "other", "trainer"),
        }
        owned = {
            name: await open_owned(service, tokens["opener" if scope == "opener" else "trainer"])
            for name, (scope, _) in (VOICES | DEAF).items()
        }
        await pass_s(service, limit_s(SILENCE_S))
        for name, (scope, ask) in (VOICES | DEAF).items():
            one = owned[name]
            answer = await ask(service, one.id, tokens.get(scope, one.token))
            assert answer.status_code != 500, (name, answer.text)
        silent = set(await owners_of(service).look())
        assert {name for name, one in owned.items() if one.id in silent} == set(DEAF)


@SQLITE
async def test_a_stream_that_is_open_is_heard_until_it_is_closed(store: Store) -> None:
    async with running(store) as service:
        owned, owners = await open_owned(service), owners_of(service)
        who = await service.app.state.parts.tokens.principal(owned.trainer)
        body = _hold(owners, who, owned.id, words())
        await anext(body)
        for _ in range(3):
            await pass_s(service, limit_s(SILENCE_S))
            assert await owners.look() == []
        await body.aclose()
        await pass_s(service, limit_s(SILENCE_S))
        assert await owners.look() == [owned.id]


async def words() -> AsyncGenerator[bytes]:
    while True:
        yield b": \n\n"


@SQLITE
async def test_a_service_that_was_down_ends_nobody_at_its_start(store: Store) -> None:
    async with running(store) as service:
        owned = await open_owned(service)
    async with running(store) as service:
        await pass_s(service, 10 * SILENCE_S, is_down=True)
        assert await owners_of(service).look() == []
        await pass_s(service, limit_s(SILENCE_S) - 5)
        assert await owners_of(service).look() == [], "it counts from when it could be heard"
        await pass_s(service, 5)
        assert await owners_of(service).look() == [owned.id]


@SQLITE
@pytest.mark.parametrize("set_s", [10 * SILENCE_S, -10 * SILENCE_S])
async def test_a_clock_that_is_set_ends_nobody(store: Store, set_s: float) -> None:
    async with running(store) as service:
        await open_owned(service)
        await pass_s(service, set_s, is_down=True)
        assert await owners_of(service).look() == []
        await pass_s(service, limit_s(SILENCE_S) / 2)
        assert await owners_of(service).look() == []


@SQLITE
@pytest.mark.parametrize(
    ("body", "silence_s"),
    [
        ({"sandbox": None}, None),
        ({"sandbox": None, "owner_silence_s": 60}, 60),
        ({"sandbox": "any"}, 1_800),
        ({"sandbox": "any", "owner_silence_s": 0}, None),
        ({"sandbox": "any", "owner_silence_s": 7_200}, 7_200),
    ],
    ids=str,
)
async def test_which_episodes_have_an_owner(
    store: Store, body: dict[str, Any], silence_s: float | None
) -> None:
    async with running(store) as service:
        assert (await service.post("/v1/tasks", TASK)).status_code == 201
        answer = await service.post("/v1/episodes", {"task": TASK["id"], **body})
        assert answer.json().get("owner_silence_s") == silence_s
        assert await service.rows("owners") == (silence_s is not None)


@SQLITE
async def test_recordings_that_a_daemon_ships_later_alone_are_taken(store: Store) -> None:
    """Its episode asked for no sandbox; or its owner closed it, and has no more to say."""
    async with running(store) as service:
        alone = await open_owned(service, sandbox=None, owner_silence_s=None)
        closing = await open_owned(service, sandbox=None)
        asked = await service.post(f"/v1/episodes/{closing.id}:close", {"wait_ms": 0})
        assert asked.status_code == 202
        await pass_s(service, 100 * SILENCE_S)
        assert await end_silent(service) == []
        for one in (alone, closing):
            await service.tell(one.id, one.token, OPENED, ("episode.closed", {"reason": "done"}))
            assert await status_of(service, one.id) == "closed"
        await owners_of(service).look()
        assert await service.rows("owners") == 0, "nobody has to be heard any more"


@SQLITE
async def test_one_outside_the_fleet_that_asked_for_it_ends_and_its_daemon_is_told(
    store: Store,
) -> None:
    async with running(store) as service:
        owned = await open_owned(service, sandbox=None)
        made = frames(events(owned.id, OPENED, ("step.began", {"step": 0}), went("/cart")), [2])
        assert (await service.append(owned.id, made[0], owned.token)).status_code == 200
        await pass_s(service, SILENCE_S)
        await owners_of(service).look()
        await pass_s(service, limit_s(SILENCE_S))
        assert await end_silent(service) == [owned.id]
        late = await service.append(owned.id, made[1], owned.token)
        assert late.json()["type"] == "urn:milestoned:problem:sandbox-lost"
        assert "its owner was not heard of for 600 s" in late.json()["detail"]
        assert await status_of(service, owned.id) == "closed"


@SQLITE
async def test_a_heartbeat_is_answered_with_where_each_episode_stands(store: Store) -> None:
    async with running(store) as service:
        owned = await open_owned(service)
        stranger = await tenant(service, "other", "trainer")
        closed = await open_owned(service, sandbox=None)
        await service.tell(closed.id, closed.token, OPENED, ("episode.closed", {"reason": "done"}))
        body = {"episodes": [owned.id, closed.id, "ep_none"]}
        answer = await service.post("/v1/episodes:heartbeat", body, owned.trainer)
        assert answer.json() == {
            "episodes": {owned.id: "open", closed.id: "closed", "ep_none": "unknown"}
        }
        answer = await service.post("/v1/episodes:heartbeat", body, stranger)
        assert set(answer.json()["episodes"].values()) == {"unknown"}


@POSTGRES
async def test_exactly_one_of_two_replicas_ends_a_silent_owner_s_episode(store: Store) -> None:
    async with running(store) as first, running(store) as second:
        owned = [await open_owned(first) for _ in range(5)]
        heard = await open_owned(first)
        await owners_of(second).look()
        await pass_s(first, limit_s(SILENCE_S))
        await second.get(f"/v1/episodes/{heard.id}", heard.trainer)
        await owners_of(second)._write(
            await second.app.state.parts.database.all(owners_of(second)._awaited),
            owners_of(second)._heard,
        )
        ended = await asyncio.gather(owners_of(first).look(), owners_of(second).look())
        assert sorted([*ended[0], *ended[1]]) == sorted(one.id for one in owned)
        await asyncio.gather(eyes(first).look(0.0), eyes(second).look(0.0))
        for one in owned:
            told = (await second.get(f"/v1/episodes/{one.id}/events")).json()["events"]
            assert [event["kind"] for event in told].count("episode.closed") == 1
        assert await status_of(first, heard.id) == "open"


@SQLITE
async def test_the_fleet_page_shows_the_silence_of_owners(store: Store) -> None:
    async with running(store) as service:
        sandbox = await joined(service)
        await open_owned(service)
        await sandbox.beat()
        began = time.monotonic()
        await pass_s(service, 0.75 * SILENCE_S)
        page = (await service.get("/fleet", headers={"cookie": f"{COOKIE}={ADMIN}"})).text
        found = re.search(r"owner was not heard of for (\d+) s; after 600 s the episode ends", page)
        assert found is not None
        # What the test itself took counts too.
        assert 450 <= int(found[1]) <= 451 + time.monotonic() - began
