"""Sessions as rows: created, heard of, moved on by their tool calls, deleted."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from api.blame.masking import MaskCause, parse_mask_causes
from api.core.errors import BadRequestError, NotFoundError
from api.db.database import Database, now
from api.ors.tables import ors_calls, ors_sessions

TOUCH_S = 5.0
"""A session that was heard of within this time is not written again."""
KEPT_CALLS = 16
"""Ended calls of a session that can still be streamed again."""
_OF_SESSION = (
    ors_sessions.c.tenant == bindparam("tenant"),
    ors_sessions.c.sid == bindparam("sid"),
)
_CALLS = (ors_calls.c.tenant == bindparam("tenant"), ors_calls.c.sid == bindparam("sid"))
_SESSION = select(ors_sessions).where(*_OF_SESSION)
_SILENT = (
    select(ors_sessions.c.tenant, ors_sessions.c.sid)
    .where(ors_sessions.c.seen_at < bindparam("before"))
    .limit(1_000)
)
_CALL = select(ors_calls).where(*_CALLS, ors_calls.c.id == bindparam("id"))
_LAST_NUMBER = select(func.max(ors_calls.c.number)).where(*_CALLS)
_PENDING = (
    select(ors_calls)
    .where(*_CALLS, ors_calls.c.result.is_(None))
    .order_by(ors_calls.c.number)
    .limit(1)
)


@dataclass(frozen=True, slots=True)
class ToolSession:
    """One session. ``episode`` None: the final answer alone is scored; ``step`` None: none runs.
    ``mask_causes``: the causes for which a failure is null, with commas between them."""

    tenant: str
    sid: str
    environment: str
    task: str
    version: str
    episode: str | None
    opened: bool
    wait_ms: int
    ready: bool = False
    step: int | None = None
    finished: bool = False
    mask_causes: str | None = None

    @property
    def masked(self) -> frozenset[MaskCause]:
        """Return the causes for which a failure is null."""
        return parse_mask_causes("mask_causes", self.mask_causes or "")

    @property
    def key(self) -> tuple[str, str]:
        """Return what identifies the session: tenant and id."""
        return self.tenant, self.sid


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One tool call. ``result`` None: it has not ended; ``failed``: the result is an error's text,
    not the answer of a tool."""

    id: str
    name: str
    input: bytes
    result: bytes | None
    failed: bool


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What a call answers, and how its session stands after it."""

    result: bytes
    session: ToolSession
    failed: bool = False


class ToolSessions:
    """The sessions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, session: ToolSession) -> None:
        """Insert a session. Raises `BadRequestError` where there is one of its id."""
        try:
            async with self._database.write() as conn:
                await conn.execute(insert(ors_sessions), {**asdict(session), "seen_at": now()})
        except IntegrityError:
            raise _exists(session.sid) from None

    async def refuse_existing(self, tenant: str, sid: str) -> None:
        """Raises `BadRequestError` where there is a session of that id."""
        if await self._row(tenant, sid) is not None:
            raise _exists(sid)

    async def get(self, tenant: str, sid: str) -> ToolSession:
        """Return a session, which was heard of now. Raises `NotFoundError`."""
        row = await self._row(tenant, sid)
        if row is None:
            raise NotFoundError(
                f"X-Session-ID: expected a session that was created, got {sid[:80]!r}: there is no"
                " such session, or it was deleted"
            )
        if row.seen_at < now(-timedelta(seconds=TOUCH_S)):
            await self._update(tenant, sid, seen_at=now())
        return _session(row)

    async def mark_ready(self, session: ToolSession) -> None:
        """Note that the session's environment has started."""
        await self._update(session.tenant, session.sid, ready=True)

    async def list_silent(self, silent_s: float) -> list[tuple[str, str]]:
        """Return (tenant, sid) of sessions that were not heard of for ``silent_s`` seconds."""
        before = now(-timedelta(seconds=silent_s))
        rows = await self._database.all(_SILENT, {"before": before})
        return [(row.tenant, row.sid) for row in rows]

    async def delete(self, tenant: str, sid: str) -> ToolSession | None:
        """Delete a session with its calls and return it; None where there is none."""
        named = {"tenant": tenant, "sid": sid}
        async with self._database.write() as conn:
            row = (await conn.execute(_SESSION, named)).first()
            await conn.execute(delete(ors_calls).where(*_CALLS), named)
            await conn.execute(delete(ors_sessions).where(*_OF_SESSION), named)
        return None if row is None else _session(row)

    async def add_call(self, session: ToolSession, id: str, name: str, input: bytes) -> None:
        """Insert the session's next call; the oldest that ended make room. Raises
        `NotFoundError`."""
        named = {"tenant": session.tenant, "sid": session.sid}
        async with self._database.write() as conn:
            if (await conn.execute(_SESSION.with_for_update(), named)).first() is None:
                raise NotFoundError(f"X-Session-ID: {session.sid[:80]!r} was deleted")
            number = ((await conn.execute(_LAST_NUMBER, named)).scalar() or 0) + 1
            ended = (ors_calls.c.result.is_not(None), ors_calls.c.number < number - KEPT_CALLS)
            await conn.execute(delete(ors_calls).where(*_CALLS, *ended), named)
            row = {**named, "id": id, "number": number, "episode": session.episode}
            await conn.execute(
                insert(ors_calls), {**row, "name": name, "input": input, "failed": False}
            )

    async def find_call(self, session: ToolSession, id: str) -> StoredCall | None:
        """Return a call of the session, None where there is none of that id."""
        named = {"tenant": session.tenant, "sid": session.sid, "id": id[:64]}
        row = await self._database.first(_CALL, named)
        return None if row is None else _call(row)

    async def next_pending(self, tenant: str, sid: str) -> StoredCall | None:
        """Return the oldest call that has not ended."""
        row = await self._database.first(_PENDING, {"tenant": tenant, "sid": sid})
        return None if row is None else _call(row)

    async def end_call(self, call: StoredCall, outcome: CallOutcome) -> None:
        """Store what a call answers and how its session stands, once: the first to end it wins."""
        after = outcome.session
        async with self._database.write() as conn:
            ended = await conn.execute(
                update(ors_calls)
                .where(ors_calls.c.id == call.id, ors_calls.c.result.is_(None))
                .values(result=outcome.result, failed=outcome.failed)
            )
            if ended.rowcount:
                await conn.execute(
                    update(ors_sessions)
                    .where(ors_sessions.c.tenant == after.tenant, ors_sessions.c.sid == after.sid)
                    .values(step=after.step, finished=after.finished, seen_at=now())
                )

    async def _row(self, tenant: str, sid: str) -> Any:
        return await self._database.first(_SESSION, {"tenant": tenant, "sid": sid})

    async def _update(self, tenant: str, sid: str, **values: Any) -> None:
        async with self._database.write() as conn:
            await conn.execute(
                update(ors_sessions)
                .where(ors_sessions.c.tenant == tenant, ors_sessions.c.sid == sid)
                .values(**values)
            )


def _session(row: Any) -> ToolSession:
    names = ToolSession.__dataclass_fields__
    return ToolSession(**{name: getattr(row, name) for name in names})


def _call(row: Any) -> StoredCall:
    result = None if row.result is None else bytes(row.result)
    return StoredCall(row.id, row.name, bytes(row.input), result, row.failed)


def _exists(sid: str) -> BadRequestError:
    return BadRequestError(f"X-Session-ID: expected a new session's id, got {sid[:80]!r}, in use")


def finish_session(session: ToolSession) -> ToolSession:
    """Return the session as it is after its episode."""
    return replace(session, step=None, finished=True)
