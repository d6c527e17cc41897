"""`agentd record`: watch without a service, and leave a recording that any task can be replayed on.

The journal lies beside the recording while it runs, so that a crash loses nothing: the next start
with the same ``--out`` goes on with it. It is removed once the recording is written.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import structlog

from agentd.core.disk_errors import room_in
from agentd.core.errors import AgentdError, UsageError
from agentd.core.lock import StateLock
from agentd.core.plan import EpisodePlan
from agentd.core.settings import RecordSettings
from agentd.journal.journal import Journal
from agentd.journal.recordings import must_be_free, write_recording
from agentd.run.daemon import Opened, until_signal
from agentd.session.local_scoring import load_rules
from agentd.session.session import Session
from agentd.session.step_controller import NotKeptError
from agentd.session.supervisor import TABLE, unwatched_sources

HEARS_ALL: EpisodePlan = {
    "task": "recording",
    "digest": "",
    "hears": None,
    "quiet_ms": 50,
    "settle_ms": 1000,
    "text": False,
    "request_bodies": [],
    "origin": None,
}
"""The plan of a recording without a task: every kind of event, but neither page text nor bodies."""

log = structlog.get_logger(__name__)


async def record(
    settings: RecordSettings, stop: asyncio.Event | None = None, opened: Opened | None = None
) -> int:
    """Record until ctrl-C, TERM or a close over the port; gives the number of events. Raises
    `AgentdError`.

    ``stop`` instead of signals, ``opened`` told of the session: for who records in a process of its
    own.
    """
    plan = _plan(settings)
    if len(unwatched_sources(settings, plan)) == len(TABLE):
        raise UsageError(
            "nothing to watch: wanted --cdp, --profile, --files or another of the sources"
        )
    must_be_free(settings.out, force=settings.force)
    lock = StateLock(settings.state)
    try:
        return await _record(settings, plan, stop or until_signal(), opened)
    finally:
        lock.release()


def _plan(settings: RecordSettings) -> EpisodePlan:
    """Every kind of event; with ``--task`` what its rules read of texts, bodies and files, and its
    probes, too."""
    if settings.task is None:
        return HEARS_ALL
    asked = load_rules(settings.task, "--task").plan("recording")
    plan = {**HEARS_ALL, **asked, "hears": None, "also": asked["hears"]}
    return cast(EpisodePlan, plan)


async def _record(
    settings: RecordSettings,
    plan: EpisodePlan,
    stop: asyncio.Event,
    opened: Opened | None,
) -> int:
    """Record one episode into a file. Return the exit status; raises `AgentdError` where the disk
    could not keep all."""
    state = settings.state
    session = Session(settings, state, _episode(state), plan)
    try:
        session.resume()
        await session.start()
        if opened is not None:
            opened(session)
        if not session.steps.closed:
            await _watch(session, stop, auto=settings.steps == "auto")
        await session.stop_sources()
        if not session.journal.cut():
            raise NotKeptError(session.journal.full)
        write_recording(_texts(session.journal), settings.out, force=settings.force)
    except NotKeptError as error:
        raise AgentdError(
            f"{state}: {error}; make room and start again with the same --out"
        ) from None
    finally:
        await session.stop()
    shutil.rmtree(state)
    return session.journal.last


async def _watch(session: Session, stop: asyncio.Event, *, auto: bool) -> None:
    """Wait until the recording is stopped or closed; with ``auto`` a step begins once all sources
    are ready."""
    waits = {
        name: asyncio.create_task(what, name=name)
        for name, what in (
            ("stop", stop.wait()),
            ("closed", session.conductor.closed.wait()),
            ("ready", session.supervisor.all_ready()),
        )
    }
    ready = waits["ready"]
    try:
        await asyncio.wait(waits.values(), return_when=asyncio.FIRST_COMPLETED)
        if auto and ready.done() and session.steps.current is None:
            await session.conductor.begin(action="watch")
            log.info("Recording; ctrl-C ends it.")
        await asyncio.wait({waits["stop"], waits["closed"]}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waits.values():
            task.cancel()
    await session.conductor.close("recording ended")


def _episode(state: Path) -> str:
    """The recording's own episode id, the same after a restart."""
    kept = state / "episode"
    with room_in(state):
        if not kept.exists():
            fresh = kept.with_suffix(".new")
            fresh.write_text(f"rec-{uuid.uuid4().hex[:12]}")
            fresh.replace(kept)
        return kept.read_text()


def _texts(journal: Journal) -> Iterator[bytes]:
    """Yield the texts of all segments of ``journal``, in order."""
    through = 0
    while (cut := journal.next_cut(through)) is not None:
        yield journal.text(cut)
        through = cut.last
