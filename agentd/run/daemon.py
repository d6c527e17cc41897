"""`agentd run`: one episode beside one sandbox, from the plan to the last acknowledgement."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path

import httpx
import structlog

from agentd.core.errors import AgentdError, JournalError, LogRefusedError, UsageError
from agentd.core.lock import StateLock
from agentd.core.settings import RunSettings
from agentd.core.tls import default_tls
from agentd.session.local_scoring import load_rules
from agentd.session.session import Session
from agentd.uplink.command_stream import CommandStream
from agentd.uplink.http import CONNECTIONS, Service
from agentd.uplink.uploader import Shipper
from common.plain_answers import ASYNC_HOOKS, HEADERS
from common.regular_file import NotRegularError, read_regular
from common.trace_context import TraceParent

MAX_TOKEN = 4096
"""Bytes of a token's file."""
FAREWELL_S = 2.0
"""How long a daemon that is told to stop goes on shipping, in seconds."""

log = structlog.get_logger(__name__)


Opened = Callable[[Session], None]
"""Told of the session once it has begun, by whoever runs a daemon in a process of its own."""


async def run(
    settings: RunSettings,
    token: str | None = None,
    stop: asyncio.Event | None = None,
    opened: Opened | None = None,
) -> None:
    """Run until the episode is closed and acknowledged, or until TERM or INT; raises `AgentdError`.

    ``token`` instead of its file, ``stop`` instead of signals, ``opened``: for who runs it in a
    process of its own.
    """
    if settings.edge is not None:
        load_rules(settings.edge)  # to refuse a wrong one now, not once the service has answered
    lock = StateLock(settings.state)
    try:
        async with httpx.AsyncClient(
            base_url=settings.service,
            trust_env=False,
            verify=default_tls(),
            headers=HEADERS,
            event_hooks=ASYNC_HOOKS,
            limits=CONNECTIONS,
        ) as client:
            daemon = Daemon(settings, _service(settings, client, token), opened)
            await daemon.run(stop or until_signal())
    finally:
        lock.release()


def _service(settings: RunSettings, client: httpx.AsyncClient, token: str | None) -> Service:
    """Return the way to the service for this episode, with the token that is given or that lies in
    its file."""
    # The variable by which OpenTelemetry passes a trace on to a process that is started.
    parent = TraceParent.parse(os.environ.get("TRACEPARENT", ""))
    if token is not None:
        return Service(client, settings.episode, token, "attach(token=…)", parent)
    token = read_token(settings.token_file, "the append token")
    return Service(client, settings.episode, token, str(settings.token_file), parent)


def read_token(path: Path, wanted: str) -> str:
    """The token in ``path``. Raises `UsageError`, which says what was ``wanted``."""
    try:
        token = read_regular(path, MAX_TOKEN).decode("ascii", "replace").strip()
    except (OSError, NotRegularError) as error:
        why = str(error) if isinstance(error, NotRegularError) else error.strerror
        raise UsageError(f"--token-file {path}: {why}; wanted {wanted}") from None
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise UsageError(f"--token-file {path}: wanted one token of ASCII characters")
    return token


def until_signal() -> asyncio.Event:
    """Return an event that the signals TERM and INT set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


class Daemon:
    """Joins one session to the service: ships its journal, passes the service's commands on."""

    def __init__(
        self, settings: RunSettings, service: Service, opened: Opened | None = None
    ) -> None:
        self._opened = opened
        self._settings = settings
        self._service = service
        self._refused: AgentdError | None = None
        self._finished = False

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until closed or ``stop``; raises what the service refused, once everything is on
        disk."""
        stopped = asyncio.create_task(stop.wait(), name="stop")
        plan = asyncio.create_task(
            self._service.plan(self._settings.state / "plan.json"), name="plan"
        )
        try:
            await asyncio.wait({stopped, plan}, return_when=asyncio.FIRST_COMPLETED)
            if not plan.done():
                return
            session = Session(
                self._settings, self._settings.state, self._service.episode, plan.result()
            )
            try:
                await self._serve(session, stopped)
            finally:
                await session.stop()
                if self._finished and self._settings.journal_after == "remove":
                    session.journal.remove()
        finally:
            plan.cancel()
            stopped.cancel()
        if self._refused is not None:
            raise self._refused

    async def _serve(self, session: Session, stopped: asyncio.Task[bool]) -> None:
        """Meet the service's log, start the sources, then send events and take commands until the
        episode is closed or the daemon stopped."""
        shipper = Shipper(session.recorder, self._service, adopted=session.adopted)
        # An older journal may have been put back: it does not know what it lacks, and the service
        # does.
        if not await _unless(stopped, shipper.meet if session.may_lack else shipper.meet_at_once):
            return
        session.resume()
        await session.start()
        if self._opened is not None:
            self._opened(session)
        channel = CommandStream(self._service, session.conductor, shipper)
        ship = asyncio.create_task(shipper.run(), name="ship")
        listen = asyncio.create_task(channel.run(), name="channel")
        try:
            await self._until_closed(session, stopped, ship, listen)
            await session.stop_sources()
            await self._farewell(session, shipper, stopped, ship)
        finally:
            for task in (ship, listen):
                task.cancel()
            await asyncio.gather(ship, listen, return_exceptions=True)

    async def _until_closed(
        self,
        session: Session,
        stopped: asyncio.Task[bool],
        ship: asyncio.Task[None],
        listen: asyncio.Task[None],
    ) -> None:
        """Wait until the daemon is stopped or the episode closed, and judge each of the two ways to
        the service that ends before."""
        closed = asyncio.create_task(session.conductor.closed.wait(), name="closed")
        waiting: set[asyncio.Task[bool] | asyncio.Task[None]] = {stopped, closed, ship, listen}
        try:
            while not (stopped.done() or closed.done()):
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done & {ship, listen}:
                    self._weigh(task)
        finally:
            closed.cancel()

    def _weigh(self, task: asyncio.Task[bool] | asyncio.Task[None]) -> None:
        """Note why shipping ended; the journal goes on, so that no more is lost than must be."""
        try:
            task.result()
        except (LogRefusedError, JournalError) as error:
            self._refused = error

    async def _farewell(
        self,
        session: Session,
        shipper: Shipper,
        stopped: asyncio.Task[bool],
        ship: asyncio.Task[None],
    ) -> None:
        """Ship the rest: of a closed episode all of it, of an open one what goes in
        `FAREWELL_S`."""
        drained = asyncio.create_task(shipper.drained(), name="drained")
        enders: set[asyncio.Task[bool] | asyncio.Task[None]] = {drained, ship}
        try:
            if not stopped.done():
                await asyncio.wait(enders | {stopped}, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                await asyncio.wait(enders, timeout=FAREWELL_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            drained.cancel()
        if ship.done():
            self._weigh(ship)
        elif session.steps.closed and drained.done() and not drained.cancelled():
            log.info(
                "The episode is closed and the service has all of it.", through=session.journal.last
            )
            self._finished = True
        elif session.journal.acknowledged < session.journal.last:
            left = session.journal.last - session.journal.acknowledged
            log.warning(
                "Stopped with events that the service does not have; start again to ship them.",
                events=left,
            )


async def _unless(
    stopped: asyncio.Task[bool], what: Callable[[], Coroutine[None, None, None]]
) -> bool:
    """Await ``what()`` unless ``stopped`` comes first; returns whether it came to its end."""
    task = asyncio.create_task(what())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        return task.done()
    finally:
        task.cancel()
