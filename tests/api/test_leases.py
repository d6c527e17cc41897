"""Which of many idle sandboxes gets an episode, and when who opened it is told where."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import orjson
import pytest
from sqlalchemy import event, text, update

from api.episodes.search import EpisodeQuery
from api.fleet.tables import sandboxes
from api.http.support import PROBLEM
from tests.api.audit.audited import tamper
from tests.api.service import ADMIN, TASK, Service, Store, eventually, running, until
from tests.api.test_fleet import Sandbox, held, joined, opened
from tests.support.postgres import needs_postgres

LONG_AGO = "2026-01-01T00:00:00.000Z"
BLOCKED = text("SELECT pid FROM pg_locks WHERE NOT granted")


async def row(service: Service, sandbox: Sandbox) -> Any:
    return await service.app.state.parts.sandboxes.get(sandbox.id)


async def test_one_that_fails_each_episode_at_once_does_not_get_all(service: Service) -> None:
    """It is always the one that was heard of last, and idle before anybody else is."""
    good = [await joined(service, f"good {n}") for n in range(8)]
    joined_ms = time.time_ns() // 1_000_000
    await until(lambda: time.time_ns() // 1_000_000 > joined_ms)  # times are kept in milliseconds
    bad = await joined(service, "bad")
    failed = 0
    for _ in range(12):
        id = (await opened(service))["episode"]
        if (await row(service, bad)).episode == id:
            failed += 1
            await bad.beat()
            await bad.beat(failed={"episode": id, "why": "it can't"})
        else:
            (one,) = [one for one in good if (await row(service, one)).episode == id]
            await one.beat()
            await service.app.state.parts.leases.lose(id, "enough of it")
    # All twelve by chance: once in 10 ** 11 runs.
    assert failed < 12


@pytest.mark.parametrize("fitting", [1, 4])
async def test_who_missed_a_beat_is_given_an_episode_last(service: Service, fitting: int) -> None:
    late = [await joined(service, f"late {n}") for n in range(20)]
    await tamper(service, f"UPDATE sandboxes SET heard_at = '{LONG_AGO}'")
    lively = [await joined(service, f"lively {n}") for n in range(fitting)]
    for _ in lively:
        await opened(service)
    assert [(await row(service, one)).state for one in lively] == ["busy"] * fitting
    await opened(service)
    assert sum([(await row(service, one)).state == "busy" for one in late]) == 1


async def test_who_opens_an_episode_is_told_at_once_where_an_idle_daemon_takes_it(
    store: Store,
) -> None:
    async with running(store, lease_ms=30_000) as service:
        one = await joined(service)
        waits = asyncio.create_task(one.beat(wait_ms=50_000))
        await until(lambda: service.app.state.notifier.waiting)
        episode = await opened(service)
        assert (episode["sandbox"]["state"], episode["sandbox"]["sandbox"]["name"]) == (
            "held",
            "one",
        )
        assert (await waits)["lease"]["episode"] == episode["episode"]
        async with asyncio.timeout(20):
            assert (await opened(service))["sandbox"]["state"] == "queued", (
                "nobody is idle: nothing to wait for"
            )


async def long_poll(
    service: Service, sandbox: Sandbox, gone: asyncio.Event
) -> list[dict[str, Any]]:
    """The daemon's long poll at the application's own door, since only there a caller can hang up;
    what was sent."""
    body, sent = (
        orjson.dumps({"instance": sandbox.instance, "wait_ms": 50_000}),
        list[dict[str, Any]](),
    )
    words = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if words:
            return words.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    path = f"/v1/sandboxes/{sandbox.id}:beat"
    headers = [
        (b"authorization", f"Bearer {ADMIN}".encode()),
        (b"content-type", b"application/json"),
    ]
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
    }
    scope |= {
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
    }
    await service.app(
        {**scope, "client": ("127.0.0.1", 1), "server": ("service.test", 80), "state": {}},
        receive,
        send,
    )
    return sent


@pytest.mark.parametrize(("hung_up", "state"), [(False, "held"), (True, "queued")])
async def test_an_answer_that_nobody_reads_tells_nobody(
    service: Service, hung_up: bool, state: str
) -> None:
    """A daemon that went while it waited has not heard of the episode: it may still go to another
    sandbox."""
    one, gone = await joined(service), asyncio.Event()
    waits = asyncio.create_task(long_poll(service, one, gone))
    await until(lambda: service.app.state.notifier.waiting)
    if hung_up:
        gone.set()
    episode = await opened(service)
    await waits
    assert (await held(service, episode))["state"] == state
    assert (await one.beat())["lease"]["episode"] == episode["episode"]
    assert (await held(service, episode))["state"] == "held"


async def delete_meanwhile(service: Service, waits: asyncio.Task[Any]) -> tuple[str, Any, float]:
    """Delete the episode that ``waits`` waits for: its id, the answer to who waited, and how long
    that took."""
    await until(lambda: waits.done() or service.app.state.notifier.waiting)
    ((row,), _) = await service.app.state.parts.search.page(EpisodeQuery("default"), 10)
    began = time.monotonic()
    gone = await service.call("DELETE", f"/v1/episodes/{row.id}", params={"reason": "asked for"})
    assert gone.status_code == 200, gone.text
    return row.id, await waits, time.monotonic() - began


@pytest.mark.parametrize("key", [None, "a key"])
async def test_who_opened_an_episode_that_is_deleted_meanwhile_is_told_so(
    store: Store, key: str | None
) -> None:
    """It waits for the daemon of a sandbox that is idle and does not ask."""
    async with running(store, lease_ms=30_000) as service:
        await joined(service)
        await service.post("/v1/tasks", TASK)
        headers = {} if key is None else {"idempotency-key": key}
        opening = service.post(
            "/v1/episodes", {"task": TASK["id"], "sandbox": "any"}, headers=headers
        )
        id, answer, took_s = await delete_meanwhile(service, asyncio.create_task(opening))
        assert (answer.status_code, answer.headers["content-type"]) == (410, PROBLEM)
        assert answer.json()["tombstone"]["episode"] == id
        assert took_s < 20


async def test_who_waits_for_the_sandbox_of_an_episode_that_is_deleted_is_told_so(
    service: Service,
) -> None:
    episode = (await opened(service))["episode"]
    path = f"/v1/episodes/{episode}/sandbox"
    waits = asyncio.create_task(service.get(path, params={"wait_ms": 30_000}))
    id, answer, took_s = await delete_meanwhile(service, waits)
    assert (answer.status_code, answer.json()["tombstone"]["episode"]) == (410, id)
    assert took_s < 20


async def test_an_episode_that_asked_for_no_sandbox_has_none(service: Service) -> None:
    id, _ = await service.open()
    answer = await service.get(f"/v1/episodes/{id}/sandbox")
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        f"sandbox: episode {id} was opened without asking for one",
    )


async def test_many_that_become_idle_at_once_take_an_episode_each_without_a_look_at_all(
    service: Service,
) -> None:
    count = 30
    waiting = {(await opened(service))["episode"] for _ in range(count)}
    idle = [await joined(service, f"idle {n}") for n in range(count)]
    parts = service.app.state.parts
    looks = 0

    def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        nonlocal looks
        looks += statement.startswith("SELECT leases.")

    writer = parts.database.writer.sync_engine
    event.listen(writer, "before_cursor_execute", note)
    rows = [await row(service, one) for one in idle]
    await asyncio.gather(*(parts.leases.take(one) for one in rows))
    assert {(await row(service, one)).episode for one in idle} == waiting
    assert looks <= 3 * count, "not each of the others' episodes by each"


@needs_postgres
@pytest.mark.usefixtures("without_schema")
@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_who_becomes_idle_while_another_one_is_tried_is_given_the_episode(
    store: Store,
) -> None:
    """It passes over the episode, which is being given away just then, and would stay idle."""
    async with running(store) as service:
        parts = service.app.state.parts
        taken = await joined(service, "taken")
        async with parts.database.writer.begin() as conn:
            is_taken = sandboxes.c.id == taken.id
            await conn.execute(update(sandboxes).where(is_taken).values(state="lost"))
            opening = asyncio.create_task(opened(service))
            await eventually(lambda: parts.database.first(BLOCKED))
            late = await joined(service, "late")
            await parts.leases.take(await row(service, late))
        episode = (await opening)["episode"]
        assert (await row(service, late)).episode == episode
