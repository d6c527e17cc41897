"""How sessions start and end: they wait for their daemon, and silent ones are reaped."""

from __future__ import annotations

from contextlib import suppress

from api.commands.store import Commands
from api.core.background import PeriodicTask
from api.core.errors import GoneError, NotFoundError, StartingError
from api.core.notify import Deadline
from api.fleet.readiness import EpisodeReadiness
from api.ors.calls import ToolCalls
from api.ors.sessions import ToolSession, ToolSessions

SILENT_S = 900.0
"""A session that is not heard of for this long is deleted, as the standard's own server does."""
LOOK_S = 30.0
START_MS = 25_000
"""How long one request waits for the start; then its client is asked to come again."""
DELETED = "the session was deleted"
SILENT = f"the session was not heard of for {SILENT_S:g} s"


class Lifecycle:
    """Starts and ends the sessions of one service, and reaps them from `start` to `stop`."""

    def __init__(
        self,
        sessions: ToolSessions,
        calls: ToolCalls,
        commands: Commands,
        readiness: EpisodeReadiness,
        silent_s: float = SILENT_S,
    ) -> None:
        self._sessions, self._calls = sessions, calls
        self._commands, self._readiness = commands, readiness
        self.silent_s = silent_s
        self.start_ms = START_MS
        self.periodic = PeriodicTask(
            "ors sessions",
            self._turn,
            retry_s=LOOK_S,
            postponed="Reaping silent sessions has to wait.",
            failed="Reaping silent sessions failed.",
        )

    async def wait_until_started(self, session: ToolSession) -> None:
        """Return once the session's daemon has observed all its sources, at any time before.

        Raises `StartingError` after `start_ms`.
        """
        if session.ready or session.episode is None:
            return
        answer = await self._readiness.wait_until_ready(session.episode, Deadline(self.start_ms))
        if not answer["ready"] and answer["status"] != "closed":
            waiting = "; ".join(f"{name}: {why}" for name, why in answer["waiting"].items())
            raise StartingError(f"Environment still starting. {waiting}")
        await self._sessions.mark_ready(session)

    async def end(self, tenant: str, sid: str, reason: str = DELETED) -> None:
        """Delete a session if it is there, and close the episode if the session opened it."""
        session = await self._sessions.delete(tenant, sid)
        if session is None:
            return
        await self._calls.cancel(session.key)
        if session.episode is not None and session.opened:
            with suppress(NotFoundError, GoneError):
                await self._commands.close(session.episode, reason)

    async def reap(self) -> int:
        """End the sessions that have fallen silent and return how many. Raises
        `UnavailableError`."""
        silent = await self._sessions.list_silent(self.silent_s)
        for tenant, sid in silent:
            await self.end(tenant, sid, SILENT)
        return len(silent)

    async def _turn(self) -> float:
        await self.reap()
        return LOOK_S

    def start(self) -> None:
        """Reap silent sessions now and then, until `stop`."""
        self.periodic.start(LOOK_S)

    async def stop(self) -> None:
        """Stop reaping, and every call that is still running."""
        await self.periodic.stop()
        await self._calls.cancel()
