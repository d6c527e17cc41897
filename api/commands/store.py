"""What the harness says through the service, waiting for the daemon to journal it.

Everything is checked here before it is queued, in the transaction that queues it: the daemon only
obeys. A command's ``seq`` is the number of the event that it became.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, func, insert, literal, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from api.commands.tables import commands
from api.core.errors import EpisodeClosedError, InvalidError, KeyReusedError, WrongStepError
from api.core.notify import Change, Notifier, commands_of, log_of
from api.db.database import Database
from api.episodes.rows import EpisodeRow
from api.episodes.store import lock_episode, mark_closing
from api.episodes.tables import episodes
from api.log.tables import steps
from detectors.model.codec import canonical
from detectors.model.optional_values import first_or_none

PAGE = 1_000
"""Commands that a daemon is given at once."""
_AFTER = (
    select(commands.c.number, commands.c.kind, commands.c.data)
    .where(commands.c.episode == bindparam("episode"), commands.c.number > bindparam("after"))
    .order_by(commands.c.number)
    .limit(PAGE)
)
_SEQ = select(commands.c.seq).where(
    commands.c.episode == bindparam("episode"), commands.c.number == bindparam("number")
)
_STEP_AT = select(func.max(steps.c.step)).where(
    steps.c.episode == bindparam("episode"), steps.c.began <= bindparam("seq")
)
_NEXT_NUMBER = (
    select(func.coalesce(func.max(commands.c.number), 0) + 1)
    .where(commands.c.episode == bindparam("of_episode"))
    .scalar_subquery()
)
_QUEUE = (
    insert(commands)
    .values(
        episode=bindparam("of_episode"),
        number=_NEXT_NUMBER,
        kind=bindparam("of_kind"),
        step=bindparam("of_step"),
        intent=bindparam("of_intent"),
        data=bindparam("of_data"),
    )
    .returning(commands.c.number)
)
"""Queues a command under the episode's next number, in one statement."""
_LAST_BEGUN = select(func.max(commands.c.step)).where(
    commands.c.episode == bindparam("episode"), commands.c.kind == "step.began"
)
_LAST_LOGGED = func.coalesce(episodes.c.step, -1)
_LAST_QUEUED = func.coalesce(
    select(func.max(commands.c.step))
    .where(commands.c.episode == bindparam("of_episode"), commands.c.kind == "step.began")
    .scalar_subquery(),
    -1,
)
_STEP = bindparam("of_step", type_=commands.c.step.type)
_BEGIN = (
    insert(commands)
    .from_select(
        ["episode", "number", "kind", "step", "data", "intent"],
        select(
            episodes.c.id,
            _NEXT_NUMBER,
            literal("step.began"),
            _STEP,
            bindparam("of_data", type_=commands.c.data.type),
            bindparam("of_intent", type_=commands.c.intent.type),
        )
        .where(
            episodes.c.id == bindparam("of_episode"),
            episodes.c.status == "open",
            _LAST_LOGGED < _STEP,
            _LAST_QUEUED < _STEP,
            or_(_LAST_LOGGED == _STEP - 1, _LAST_QUEUED == _STEP - 1),
        )
        .with_for_update(of=episodes),
    )
    .returning(commands.c.number)
)
"""Queues the begin of a step, where it is the one after the last, in one statement. Where another
command was queued meanwhile, its number is taken: an integrity error."""
_STEPS_ASKED = (
    select(commands.c.step, commands.c.number)
    .where(
        commands.c.episode == bindparam("episode"),
        commands.c.kind == "step.began",
        commands.c.seq.is_(None),
    )
    .order_by(commands.c.step)
)
_INTENT = select(commands).where(
    commands.c.episode == bindparam("episode"), commands.c.intent == bindparam("intent")
)
_OF_STEP = select(commands).where(
    commands.c.episode == bindparam("episode"),
    commands.c.kind == bindparam("kind"),
    commands.c.step == bindparam("step"),
)
_COUNT = select(func.count()).where(
    commands.c.episode == bindparam("episode"), commands.c.kind == bindparam("kind")
)
_LOGGED_STEP = select(steps).where(
    steps.c.episode == bindparam("episode"), steps.c.step == bindparam("step")
)


class Queued(NamedTuple):
    """A command that waits, or (``seq``) that is in the log. ``number`` is None where none was
    needed.

    ``grown``: of a command that was queued just now, what is set once its log grew since; before
    that it cannot be in the log.
    """

    number: int | None
    step: int | None
    seq: int | None
    grown: Change | None = None


class Commands:
    """The commands of one database."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self._database, self._notifier = database, notifier

    async def list_after(self, episode: str, after: int) -> list[dict[str, Any]]:
        """Commands beyond number ``after``, as the daemon gets them."""
        rows = await self._database.all(_AFTER, {"episode": episode, "after": after})
        return [_as_given(row.number, row.kind, row.data) for row in rows]

    async def seq(self, episode: str, number: int) -> int | None:
        """The event that the command became, or None while it waits."""
        row = await self._database.first(_SEQ, {"episode": episode, "number": number})
        return None if row is None else row.seq

    async def steps_asked(self, episode: str) -> list[tuple[int, int]]:
        """(step, number) of the steps that were begun here and are not in the log, in order."""
        return [
            (row.step, row.number)
            for row in await self._database.all(_STEPS_ASKED, {"episode": episode})
        ]

    async def step_at(self, episode: str, seq: int) -> int | None:
        """The step in which event ``seq`` lies."""
        row = await self._database.first(_STEP_AT, {"episode": episode, "seq": seq})
        return None if row is None else row[0]

    async def begin(
        self,
        episode: str,
        step: int | None,
        action: object,
        intent: str | None,
        *,
        settle: bool = False,
    ) -> Queued:
        """Begin the next step, or find the one that began already. Raises `WrongStepError`,
        `EpisodeClosedError`.

        With ``settle`` the daemon first ends the step before, and waits for its seal.
        """
        grown = self._notifier.watch(log_of(episode))
        if step is not None:
            data = _begin_data(step, action, settle=settle)
            number = await self._begin_next(episode, step, data, intent)
            if number is not None:
                begun = Queued(number, step, None, grown)
                self._tell(episode, begun, "step.began", data)
                return begun
        async with self._database.write() as conn:
            row = await lock_episode(conn, episode)
            given = {"action": action} if step is None else {"step": step, "action": action}
            queued = await _same_intent(conn, episode, intent, "step.began", given)
            if queued is None:
                last = await _last_begun(conn, row)
                step = last + 1 if step is None else step
                if step == last:
                    existing = await _existing(conn, episode, "step.began", step)
                    if existing.number is None and existing.seq is None:
                        _refuse_closing(row)
                    return existing
                if step != last + 1:
                    raise WrongStepError(f"step: got {step}, wanted {last + 1}", wanted=last + 1)
                _refuse_closing(row)
                data = _begin_data(step, action, settle=settle)
                queued = await _insert(conn, episode, "step.began", data, step, intent, grown)
        self._notifier.tell(commands_of(episode))
        return queued

    async def _begin_next(
        self, episode: str, step: int, data: dict[str, object], intent: str | None
    ) -> int | None:
        """Return the number of the step's begin, where it is the next one and nothing speaks
        against it; None where that must be looked at in a transaction."""
        values = {
            "of_episode": episode,
            "of_step": step,
            "of_data": canonical(data),
            "of_intent": intent,
        }
        numbers: list[int] = []

        def work(conn: Connection) -> None:
            numbers.extend(conn.execute(_BEGIN, values).scalars())

        try:
            await self._database.run(work, single=True)
        except IntegrityError:
            return None
        return first_or_none(numbers)

    async def end(self, episode: str, step: int, intent: str | None) -> Queued:
        """End the step that began last, or find its end. Raises `WrongStepError`,
        `EpisodeClosedError`."""
        grown = self._notifier.watch(log_of(episode))
        async with self._database.write() as conn:
            row = await lock_episode(conn, episode)
            last = await _last_begun(conn, row)
            existing = await _existing(conn, episode, "step.ended", step)
            if existing.number is not None or existing.seq is not None:
                return existing
            if step != last:
                wanted = last if last >= 0 else None
                raise WrongStepError(
                    f"step: got {step}, wanted the one that began last, {wanted}", wanted=wanted
                )
            _refuse_closing(row)
            data: dict[str, object] = {"step": step}
            queued = await _insert(conn, episode, "step.ended", data, step, intent, grown)
        self._tell(episode, queued, "step.ended", data)
        return queued

    async def say(
        self,
        episode: str,
        kind: str,
        data: dict[str, object],
        intent: str | None,
        *,
        most: int | None = None,
    ) -> Queued:
        """Queue an answer, a tool call or evidence. ``most``: how many of the kind an episode may
        have. Raises `EpisodeClosedError`, `InvalidError`."""
        grown = self._notifier.watch(log_of(episode))
        async with self._database.write() as conn:
            row = await lock_episode(conn, episode)
            found = await _same_intent(conn, episode, intent, kind, data)
            if found is None:
                _refuse_closing(row)
                if most is not None:
                    await _refuse_more(conn, episode, kind, most)
                found = await _insert(conn, episode, kind, data, None, intent, grown)
        self._tell(episode, found, kind, data)
        return found

    async def close(self, episode: str, reason: str, *, truncated: bool = False) -> None:
        """Ask the daemon to close, once; a closed episode stays as it is."""
        async with self._database.write() as conn:
            row = await lock_episode(conn, episode)
            if row.status == "open":
                data: dict[str, object] = {"reason": reason}
                if truncated:
                    data["truncated"] = True
                await _insert(conn, episode, "episode.close", data, None, None)
                await mark_closing(conn, episode)
        self._notifier.tell(commands_of(episode))

    def _tell(self, episode: str, queued: Queued, kind: str, data: dict[str, object]) -> None:
        """Tell the daemon of a command that was queued with ``data``, now or by an earlier request
        of the same key."""
        payload = None
        if queued.grown is not None:
            payload = _as_given(queued.number, kind, canonical(data))
        self._notifier.tell(commands_of(episode), payload)


def _as_given(number: int | None, kind: str, data: bytes | str) -> dict[str, Any]:
    """Return a command as the daemon gets it."""
    return {"command": number, "kind": kind, "data": orjson.loads(data)}


def _begin_data(step: int, action: object, *, settle: bool) -> dict[str, object]:
    """Return what the command to begin a step says; ``settle``: seal the one before with it."""
    data: dict[str, object] = {"step": step, "action": action}
    if settle:
        data["settle"] = True
    return data


def _refuse_closing(row: EpisodeRow) -> None:
    """Raise `EpisodeClosedError` for an episode that is not open."""
    if row.status != "open":
        raise EpisodeClosedError(
            f"episode: {row.id} is {row.status}, wanted an open one", through=row.through
        )


async def _refuse_more(conn: AsyncConnection, episode: str, kind: str, most: int) -> None:
    """Raise `InvalidError` where the episode has as many commands of a kind as it may."""
    count = (await conn.execute(_COUNT, {"episode": episode, "kind": kind})).scalar_one()
    if count >= most:
        raise InvalidError(f"{kind}: the episode has {count}, expected at most {most}")


async def _last_begun(conn: AsyncConnection, row: EpisodeRow) -> int:
    """Return the last step that was begun, in the log or in the queue; -1 for none."""
    queued = (await conn.execute(_LAST_BEGUN, {"episode": row.id})).scalar()
    return max(-1 if row.step is None else row.step, -1 if queued is None else queued)


async def _existing(conn: AsyncConnection, episode: str, kind: str, step: int) -> Queued:
    """Return a step's command, in the queue or in the log; without numbers where there is none."""
    row = (await conn.execute(_OF_STEP, {"episode": episode, "kind": kind, "step": step})).first()
    if row is not None:
        return Queued(row.number, step, row.seq)
    logged = (await conn.execute(_LOGGED_STEP, {"episode": episode, "step": step})).first()
    if logged is None:
        return Queued(None, step, None)
    return Queued(None, step, logged.began if kind == "step.began" else logged.ended)


async def _same_intent(
    conn: AsyncConnection, episode: str, intent: str | None, kind: str, data: dict[str, object]
) -> Queued | None:
    """Return the command that an earlier request of the same key made. Raises `KeyReusedError` for
    another one."""
    if intent is None:
        return None
    row = (await conn.execute(_INTENT, {"episode": episode, "intent": intent})).first()
    if row is None:
        return None
    kept = orjson.loads(row.data)
    if row.kind != kind or any(kept.get(name) != value for name, value in data.items()):
        raise KeyReusedError(f"Idempotency-Key: it was used for another {row.kind}")
    return Queued(row.number, row.step, row.seq)


async def _insert(
    conn: AsyncConnection,
    episode: str,
    kind: str,
    data: dict[str, object],
    step: int | None,
    intent: str | None,
    grown: Change | None = None,
) -> Queued:
    row = {
        "of_episode": episode,
        "of_kind": kind,
        "of_step": step,
        "of_intent": intent,
        "of_data": canonical(data),
    }
    number = (await conn.execute(_QUEUE, row)).scalar_one()
    return Queued(number, step, None, grown)
