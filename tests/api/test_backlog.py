"""The real daemon's shipper against the real service: a journal written offline, and a service that
takes no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import zstandard

from agentd.core.errors import LogRefusedError
from agentd.journal.journal import Journal
from agentd.journal.recorder import Recorder
from agentd.uplink.http import Service as Peer
from agentd.uplink.uploader import Shipper
from api.http.segments import BEHIND
from api.ingest.admission import FAR_BEHIND
from tests.api.service import Service, Store, running, until

SEEN = 4_000


class Daemon:
    """A journal of ``seen`` events that were never shipped, and what it sent: (behind, status) of
    each segment."""

    def __init__(
        self, folder: Path, service: Service, episode: str, token: str, seen: int = SEEN
    ) -> None:
        self.sent: list[tuple[int, int]] = []
        self.recorder = Recorder(Journal(folder / f"{episode}.sqlite3", episode))
        for n in range(seen):
            self.recorder.append("cdp", "page.loaded", {"n": n})
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(service.app),
            base_url="http://service.test",
            event_hooks={"response": [self._saw]},
        )
        self.shipper = Shipper(self.recorder, Peer(self._client, episode, token, "the-token-file"))

    async def _saw(self, response: httpx.Response) -> None:
        if response.request.method == "POST":
            self.sent.append((int(response.request.headers[BEHIND]), response.status_code))

    @asynccontextmanager
    async def shipping(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.shipper.run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._client.aclose()
            self.recorder.close()


async def drained(daemon: Daemon) -> None:
    async with asyncio.timeout(60):
        await daemon.shipper.drained()


async def kept(service: Service, id: str) -> list[Any]:
    """The numbers that all events in the log carry, in the log's order."""
    found: list[Any] = []
    after: int | None = 0
    while after is not None:
        page = (
            await service.get(f"/v1/episodes/{id}/events", params={"after": after, "limit": 5_000})
        ).json()
        found += [
            event["data"].get("n") for event in page["events"] if event["kind"] == "page.loaded"
        ]
        after = page["next"]
    return found


async def test_what_was_journalled_offline_is_shipped_oldest_first_and_whole(
    service: Service, tmp_path: Path
) -> None:
    id, token = await service.open()
    daemon = Daemon(tmp_path, service, id, token)
    async with daemon.shipping():
        await drained(daemon)
    assert await kept(service, id) == list(range(SEEN))
    behind = [one for one, _ in daemon.sent]
    assert behind == sorted(behind, reverse=True)
    assert (behind[0] >= FAR_BEHIND, behind[-1]) == (True, 0), "it is a backlog, until it is none"


@pytest.mark.slow_where("postgres")
async def test_a_full_service_makes_it_wait_and_loses_nothing(store: Store, tmp_path: Path) -> None:
    async with running(store, appends=1) as service:
        id, token = await service.open()
        daemon = Daemon(tmp_path, service, id, token)
        async with daemon.shipping():
            with service.app.state.parts.gate.room("another", 1, False):
                await until(lambda: bool(daemon.sent))
                assert daemon.sent[0][1] == 429
                assert daemon.shipper.met
            await drained(daemon)
        assert await kept(service, id) == list(range(SEEN))
        assert {status for _, status in daemon.sent} == {200, 429}


async def test_what_an_unheard_answer_had_taken_is_not_sent_again(
    store: Store, tmp_path: Path
) -> None:
    async with running(store, appends=1) as service:
        id, token = await service.open()
        daemon = Daemon(tmp_path, service, id, token, seen=10)
        journal = daemon.recorder.journal
        assert journal.cut()
        async with daemon.shipping():
            with service.app.state.parts.gate.room("another", 1, False):
                await until(lambda: bool(daemon.sent))
                cut = journal.next_cut(0)
                assert cut is not None
                await service.app.state.parts.log.append(id, zstandard.compress(journal.text(cut)))
                await drained(daemon)
        assert {status for _, status in daemon.sent} == {429}
        assert (await service.get(f"/v1/episodes/{id}")).json()["through"] == 10


async def test_a_deleted_episode_is_named_and_its_journal_kept(
    service: Service, tmp_path: Path
) -> None:
    id, token = await service.open()
    daemon = Daemon(tmp_path, service, id, token, seen=10)
    assert (
        await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": "a person asked"})
    ).status_code == 200
    async with daemon.shipping() as task:
        with pytest.raises(LogRefusedError, match="a person asked"):
            await task
    assert (tmp_path / f"{id}.sqlite3").exists()
