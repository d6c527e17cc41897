"""What was asked and answered, by the digest of the question; and what may be spent on asking.

A question is billed in the transaction that makes its row, before anybody is called: whoever asks the same again, after
a crash or for another step, finds the row. Calls are a judge's; money is everybody's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson
from sqlalchemy import Connection, delete, insert, select, update

from api.store.clock import clock
from api.store.together import Together
from api.tables import budgets, opinions
from detectors.codec import canonical
from detectors.types import Budget

STAGE = "stage"
UNKNOWN = 1e-6
"""Set aside for a call while nobody knows what one costs."""
_NONE = UNKNOWN / 2

Key = tuple[str, str]
"""A budget: scope, and of whom."""


class Asking(NamedTuple):
    """A question that is about to be put: to whom, for which episode, on whose budgets with which limits.

    ``calls``: the most that it may take, all of them billed at first.
    """

    stage: str
    digest: str
    episode: str
    calls: int
    budgets: Mapping[Key, Budget]


class Begun(NamedTuple):
    """``ask``: it is yours to ask. ``known``: ``body`` is the answer. ``busy``: somebody asks it, or may spend what is
    left. ``spent``: the budget ``why`` is."""

    state: Literal["ask", "known", "busy", "spent"]
    body: Mapping[str, Any] | None = None
    why: str = ""


class Opinions:
    """The questions and budgets of one database, for the worker called ``runner``."""

    def __init__(self, together: Together, embedded: bool, runner: str) -> None:
        self._together, self._embedded, self._runner = together, embedded, runner
        self._now = clock(embedded)

    async def begin(self, asking: Asking, lease_s: float) -> Begun:
        """Whether to ask, for ``lease_s`` seconds."""
        return await self._together.do(lambda conn: self._begin(conn, asking, lease_s))

    async def again(self, asking: Asking) -> None:
        """There was no answer yet; whoever is next may ask."""
        free = _of(asking.stage, asking.digest).values(until_at=0.0)
        await self._together.do(lambda conn: conn.execute(free).rowcount)

    async def renew(self, lease_s: float) -> None:
        """Keep what this worker asks."""
        c = opinions.c
        mine = update(opinions).where(c.runner == self._runner, c.body.is_(None), c.until_at > 0)
        await self._together.do(lambda conn: conn.execute(mine.values(until_at=self._now + lease_s)).rowcount)

    async def orphaned(self) -> None:
        """In a database of its own nobody else asks."""
        if self._embedded:
            free = update(opinions).where(opinions.c.body.is_(None)).values(until_at=0.0)
            await self._together.do(lambda conn: conn.execute(free).rowcount)

    def _begin(self, conn: Connection, asking: Asking, lease_s: float) -> Begun:
        c = opinions.c
        seen = select(c.body, (c.until_at > self._now).label("asked")).where(
            c.stage == asking.stage, c.digest == asking.digest
        )
        row = conn.execute(seen).first()
        if row is not None and row.body is not None:
            return Begun("known", orjson.loads(bytes(row.body)))
        if row is not None and row.asked:
            return Begun("busy")
        mine = {"runner": self._runner, "until_at": self._now + lease_s}
        if row is not None:  # it is billed already
            conn.execute(_of(asking.stage, asking.digest).values(**mine))
            return Begun("ask")
        held, refusal = _room(conn, asking)
        if refusal is not None:
            return refusal
        conn.execute(
            insert(opinions).values(
                stage=asking.stage, digest=asking.digest, episode=asking.episode, held=held, body=None, **mine
            )
        )
        _spend(conn, asking.budgets, asking.calls, 0.0, held)
        return Begun("ask")


def _of(stage: str, digest: str) -> Any:
    return update(opinions).where(opinions.c.stage == stage, opinions.c.digest == digest)


def _room(conn: Connection, asking: Asking) -> tuple[float, Begun | None]:
    """What to set aside for the call, or why it may not be made.

    The next call is taken to cost what the dearest so far did. Before the first has answered nobody knows, so that one
    alone may run where money is limited.
    """
    rows = conn.execute(select(budgets).where(budgets.c.key.in_([key for _, key in asking.budgets] + [asking.stage])))
    found = {(row.scope, row.key): row for row in rows}
    known = found.get((STAGE, asking.stage))
    most = max(UNKNOWN, 0.0 if known is None else known.cost)
    for key, limit in asking.budgets.items():
        spent = found.get(key)
        calls, cost, held = (0, 0.0, 0.0) if spent is None else (spent.calls, spent.cost, spent.held)
        if limit.calls is not None and calls + asking.calls > limit.calls:
            return 0.0, Begun("spent", why=f"the {key[0]}'s budget of {limit.calls} calls is spent")
        if limit.cost is None:
            continue
        if (known is None and held > _NONE) or (cost + held + most > limit.cost and held > _NONE):
            return 0.0, Begun("busy")
        if cost + (most if known is not None else 0.0) > limit.cost:
            return 0.0, Begun("spent", why=f"the {key[0]}'s budget of {limit.cost:g} is spent: {cost:g} so far")
    return most, None


def _spend(conn: Connection, keys: Sequence[Key] | Mapping[Key, Budget], calls: int, cost: float, held: float) -> None:
    c = budgets.c
    for scope, key in sorted(keys):
        values = {"calls": c.calls + calls, "cost": c.cost + cost, "held": c.held + held}
        done = conn.execute(update(budgets).where(c.scope == scope, c.key == key).values(**values))
        if done.rowcount == 0:
            conn.execute(insert(budgets).values(scope=scope, key=key, calls=calls, cost=cost, held=held))


def answered(conn: Connection, asking: Asking, body: Mapping[str, Any] | None, calls: int, cost: float) -> None:
    """Keep the answer for ever, and the ``calls`` and money that it took; None: nobody will ask again for now, so that
    no money stays set aside."""
    c = opinions.c
    row = conn.execute(select(c.held).where(c.stage == asking.stage, c.digest == asking.digest)).first()
    if row is None:  # its episode was deleted meanwhile
        return
    kept = None if body is None else canonical(body)
    conn.execute(_of(asking.stage, asking.digest).values(body=kept, held=0.0, until_at=0.0))
    _spend(conn, asking.budgets, calls - asking.calls, cost, -row.held)
    if body is None:
        return
    most = select(budgets.c.cost).where(budgets.c.scope == STAGE, budgets.c.key == asking.stage)
    dearest = conn.execute(most).scalar()
    if dearest is None or cost > dearest:
        conn.execute(delete(budgets).where(budgets.c.scope == STAGE, budgets.c.key == asking.stage))
        conn.execute(insert(budgets).values(scope=STAGE, key=asking.stage, calls=0, cost=cost, held=0.0))
