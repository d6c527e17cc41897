"""A trainer that asks for its sandbox is answered once a step can begin there, or with what is
awaited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.api.service import Service, Store, running, until
from tests.api.test_fleet import joined, lose_everybody, opened
from tests.api.test_readiness import OPENED, Daemon, began, ended

SQLITE = pytest.mark.parametrize("store", ["sqlite"], indirect=True)


async def ask(service: Service, id: str, wait_ms: int = 0) -> dict[str, Any]:
    answer = await service.get(
        f"/v1/episodes/{id}/sandbox", params={"wait_ms": wait_ms, "until": "ready"}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@SQLITE
async def test_it_waits_for_the_sandbox_then_for_its_daemon_then_for_each_source(
    store: Store,
) -> None:
    async with running(store) as service:
        episode = await opened(service)
        id = episode["episode"]
        queued = await ask(service, id)
        assert (queued["state"], queued["ready"]) == ("queued", False)
        assert queued["waiting"] == {"sandbox": "no sandbox of the fleet has taken the episode"}
        waits = asyncio.create_task(ask(service, id, 50_000))
        await until(lambda: service.app.state.notifier.waiting)
        sandbox = await joined(service)
        await sandbox.beat()
        assert (await ask(service, id))["waiting"].keys() == {"agentd"}
        daemon = Daemon(
            service, id, episode["token"], OPENED, began("cdp"), began("files"), ended("files"),
            ended("cdp"), opens=3,
        )  # fmt: skip
        # As a daemon ships it: its sources begin in the segment that opens the episode.
        await daemon.tell(2)
        held = await ask(service, id, 1)
        assert (held["state"], held["sandbox"]["name"]) == ("held", "one")
        assert (held["ready"], held["waiting"]) == (False, {"cdp": "starting"})
        assert not waits.done()
        await daemon.tell()
        assert await waits == {**held, "ready": True, "waiting": {}}


@SQLITE
async def test_who_does_not_ask_for_it_is_answered_as_before(store: Store) -> None:
    async with running(store) as service:
        id = (await opened(service))["episode"]
        await (await joined(service)).beat()
        held = (await service.get(f"/v1/episodes/{id}/sandbox")).json()
        assert held.keys() == {"episode", "state", "why", "sandbox"}
        refused = await service.get(f"/v1/episodes/{id}/sandbox", params={"until": "noon"})
        assert refused.status_code == 422


@SQLITE
async def test_a_sandbox_that_is_lost_meanwhile_ends_the_wait(store: Store) -> None:
    async with running(store) as service:
        id = (await opened(service))["episode"]
        await (await joined(service)).beat()
        waits = asyncio.create_task(ask(service, id, 50_000))
        await until(lambda: service.app.state.notifier.waiting)
        await lose_everybody(service)
        lost = await waits
        assert (lost["state"], lost["ready"]) == ("lost", False)
        assert lost["waiting"] == {"episode": "the episode is closed"}


@SQLITE
async def test_an_episode_that_asked_for_none_is_refused_by_name(store: Store) -> None:
    async with running(store) as service:
        id, _ = await service.open()
        answer = await service.get(f"/v1/episodes/{id}/sandbox", params={"until": "ready"})
        assert (answer.status_code, answer.json()["detail"]) == (
            404,
            f"sandbox: episode {id} was opened without asking for one",
        )
