"""A daemon on a disk that is full already: words that name the directory, where the journal cannot
say it yet."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import orjson
import pytest

from agentd.core.errors import AgentdError
from agentd.core.lock import StateLock
from agentd.core.settings import DaemonSettings
from agentd.fleet.membership import instance_of
from agentd.journal.journal import Journal
from agentd.journal.recorder import Recorder
from agentd.run.record import _episode
from agentd.session.session import Session
from agentd.uplink.http import Service
from tests.agentd.support.peer import Peer


@contextmanager
def no_room() -> Iterator[None]:
    """No file may be written at all."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def session(folder: Path) -> Session:
    return Session(DaemonSettings(), folder, "E", {"hears": [], "quiet_ms": 0, "settle_ms": 0})


async def plan(folder: Path) -> None:
    """The plan of a service that answers, kept for a restart while it does not."""
    async with Peer() as peer, httpx.AsyncClient(base_url=peer.url, trust_env=False) as client:
        await Service(client, "E", "secret", "the-token-file").plan(folder / "plan.json")


BEGINNINGS: dict[str, Callable[[Path], object]] = {
    "the lock": StateLock,
    "the journal": lambda folder: Journal(folder / "new.sqlite3", "E"),
    "the clock": lambda folder: Recorder(Journal(folder / "old.sqlite3", "E")),
    "the fleet's secret": instance_of,
    "the port's token": lambda folder: asyncio.run(session(folder).stop()),
    "the plan": lambda folder: asyncio.run(plan(folder)),
    "a recording's name": _episode,
}


@pytest.mark.parametrize("begin", BEGINNINGS.values(), ids=BEGINNINGS)
def test_a_disk_that_is_full_at_the_start_is_said(
    tmp_path: Path, begin: Callable[[Path], object]
) -> None:
    """In words that name the directory; and once there is room, it begins."""
    Journal(tmp_path / "old.sqlite3", "E").close()
    with no_room(), pytest.raises(AgentdError, match=f"{tmp_path}: .*room"):
        begin(tmp_path)
    begin(tmp_path)


async def test_a_disk_that_fills_before_it_listens(tmp_path: Path) -> None:
    """Nobody could find its port."""
    opened = session(tmp_path)
    try:
        with no_room(), pytest.raises(AgentdError, match="no room"):
            await opened.start()
    finally:
        await opened.stop()
    assert not (tmp_path / "agentd.json").exists()


@pytest.mark.parametrize("left", [b"", b'{"quiet_ms": 5', b"[]", b"<html>Sign in"])
async def test_what_a_power_cut_left_of_the_plan_is_asked_for_again(
    tmp_path: Path, left: bytes
) -> None:
    (tmp_path / "plan.json").write_bytes(left)
    await plan(tmp_path)
    assert orjson.loads((tmp_path / "plan.json").read_bytes())["quiet_ms"] == 0


@pytest.mark.parametrize("status", [200, 403, 404, 410])
async def test_a_page_in_the_services_place_is_no_plan(tmp_path: Path, status: int) -> None:
    async with Peer() as peer, httpx.AsyncClient(base_url=peer.url, trust_env=False) as client:
        peer.strange, peer.strange_status = 2, status
        told = await Service(client, "E", "secret", "the-token-file").plan(tmp_path / "plan.json")
        assert (peer.strange, told["episode"]) == (0, "E")
