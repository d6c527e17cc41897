"""The queue of what goes beyond the rules: filled by the transaction that seals a step, emptied by
answers.

Who takes a row has it until its lease ends; then it comes due again by itself, so what a killed
worker held is taken up by another. The database's clock alone says when.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, func, literal, select, tuple_, update

from api.db.clock import clock
from api.db.database import Database
from api.episodes.shared_transaction import SharedTransaction
from api.episodes.tables import episodes
from api.log.upserts import Rows
from api.verdicts.tables import escalations, verdicts

_e = escalations.c
_MINE = (
    update(escalations)
    .where(
        _e.episode == bindparam("of_episode"),
        _e.step == bindparam("of_step"),
        _e.item == bindparam("of_item"),
    )
    .where(_e.runner == bindparam("by"))
)

RELEASE = (
    update(escalations)
    .where(_e.episode == bindparam("of_episode"), _e.runner.is_(None))
    .values(due=0.0)
)
"""What waits for an episode's goal comes due."""
GOAL = "goal"
LOOK_FOR_GOAL_S = 60.0
"""How often a step that waits for its goal is looked at unasked, in case nobody released it."""

Item = tuple[str, int, str]
"""What names a row: episode, step, item."""


_GOAL_STATE = select(
    episodes.c.status,
    episodes.c.success,
    select(_e.item)
    .where(_e.episode == episodes.c.id, _e.item == GOAL, _e.audit.is_(False))
    .exists()
    .label("waits"),
).where(episodes.c.id == bindparam("of_episode"))


class GoalState(NamedTuple):
    """Whether an episode's goal is decided, and how; ``success`` None: nobody knows."""

    known: bool
    success: bool | None


def _read_goal(row: Row[Any]) -> GoalState:
    return GoalState(known=row.status == "closed" and not row.waits, success=row.success)


class PendingItem(NamedTuple):
    """One item of a step that waits for an answer; ``waited_s`` since it was queued, ``heard``:
    something was said about its step already. ``traceparent``: of who opened the episode."""

    episode: str
    step: int
    item: str
    audit: bool
    attempts: int
    waited_s: float
    tenant: str
    task: str
    task_number: int
    heard: bool = True
    traceparent: str | None = None

    @property
    def key(self) -> Item:
        """The episode, the step and the item, which name the question's row."""
        return self.episode, self.step, self.item


def queueing(embedded: bool) -> Rows:
    """The rows that queue items, in the transaction that seals their step."""
    at = clock(embedded)
    return Rows(
        escalations,
        ("episode", "step", "item", "audit"),
        {"queued_at": at, "due": at, "attempts": literal(0)},
    )


class Escalations:
    """The queue in one database, for the worker called ``runner``."""

    def __init__(self, database: Database, together: SharedTransaction, runner: str) -> None:
        self._database, self._together, self._runner = database, together, runner
        self._now = clock(database.embedded)
        # Made once: of dozens of rows, building them takes longer than running them.
        these = tuple_(_e.episode, _e.step, _e.item).in_(bindparam("these", expanding=True))
        said = select(verdicts.c.seq).where(
            verdicts.c.episode == _e.episode, verdicts.c.step == _e.step
        )
        self._due = (
            select(_e.episode, _e.step, _e.item)
            .where(_e.due <= self._now)
            .order_by(_e.due)
            .limit(bindparam("most"))
            .with_for_update(skip_locked=True)
        )
        # Not by `min(due) - now`, for which SQLite walks the whole queue.
        self._next = select(_e.due - self._now).order_by(_e.due).limit(1)
        self._lease = (
            update(escalations)
            .where(these)
            .values(runner=bindparam("by"), due=self._now + bindparam("lease_s"))
        )
        self._taken = (
            select(_e.episode, _e.step, _e.item, _e.audit, _e.attempts, self._now - _e.queued_at)
            .add_columns(episodes.c.tenant, episodes.c.task, episodes.c.task_number)
            .add_columns(said.exists(), episodes.c.traceparent)
            .join(episodes, episodes.c.id == _e.episode)
            .where(these)
        )

    async def take(self, most: int, lease_s: float) -> list[PendingItem]:
        """The oldest ``most`` that are due, now this worker's."""

        def work(conn: Any) -> list[PendingItem]:
            """Lease the items that are due, and return them."""
            these = [tuple(key) for key in conn.execute(self._due, {"most": most})]
            if not these:
                return []
            conn.execute(self._lease, {"these": these, "by": self._runner, "lease_s": lease_s})
            return [PendingItem(*row) for row in conn.execute(self._taken, {"these": these})]

        return await self._together.do(work)

    async def renew(self, items: Iterable[Item], lease_s: float) -> None:
        """Keep those of ``items`` that this worker has; what it let fall comes due when its lease
        ends."""
        # What was put off has no runner, so that it is not put off for longer.
        held = _MINE.values(due=self._now + lease_s)
        names = [
            {"of_episode": e, "of_step": s, "of_item": i, "by": self._runner} for e, s, i in items
        ]
        if names:
            await self._together.do(lambda conn: conn.execute(held, names).rowcount)

    async def later(self, asked: PendingItem, after_s: float) -> None:
        """Put one off: it comes due in ``after_s`` seconds, for whoever looks."""
        names = {
            "of_episode": asked.episode,
            "of_step": asked.step,
            "of_item": asked.item,
            "by": self._runner,
        }
        put_off = _MINE.values(runner=None, due=self._now + after_s, attempts=_e.attempts + 1)
        await self._together.do(lambda conn: conn.execute(put_off, names).rowcount)

    async def goal_of(self, episode: str) -> GoalState:
        """Return what is known of an episode's goal."""
        row = await self._database.first(_GOAL_STATE, {"of_episode": episode})
        if row is None:
            return GoalState(known=False, success=None)
        return _read_goal(row)

    async def wait_for_goal(self, asked: PendingItem) -> None:
        """Put a step off until its episode's goal is decided; the wait counts for no patience.

        A goal that was decided since the caller looked has released only what nobody had taken. So
        that is looked up again under the lock of the episode's row, which its decision takes too.
        """
        names = {
            "of_episode": asked.episode,
            "of_step": asked.step,
            "of_item": asked.item,
            "by": self._runner,
        }

        def work(conn: Connection) -> None:
            """Put an item off until the goal is decided."""
            row = conn.execute(_GOAL_STATE, {"of_episode": asked.episode}).first()
            is_decided = row is not None and _read_goal(row).known
            due = self._now if is_decided else self._now + LOOK_FOR_GOAL_S
            put_off = _MINE.values(runner=None, due=due, queued_at=self._now, attempts=0)
            conn.execute(put_off, names)

        await self._together.do(work, asked.episode)

    async def orphaned(self) -> None:
        """In a database of its own, whoever else holds a row was this service before it was started
        again."""
        if self._database.embedded:
            free = update(escalations).where(_e.runner.is_not(None)).values(runner=None, due=0.0)
            await self._together.do(lambda conn: conn.execute(free).rowcount)

    async def next_due_s(self) -> float | None:
        """Seconds until the next row comes due (negative: it is); None where there is none."""
        row = await self._database.first(self._next)
        return None if row is None else float(row[0])

    async def count(self) -> int:
        """How many wait or are worked at."""
        row = await self._database.first(select(func.count()).select_from(escalations))
        return int(row[0])

    async def list_for(self, episode: str) -> Sequence[Any]:
        """The rows of one episode, in the order of its steps."""
        rows = select(escalations).where(_e.episode == episode).order_by(_e.step, _e.item)
        return await self._database.all(rows)
