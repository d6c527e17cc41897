"""What was asked and answered, by the digest of the question; and what may be spent on asking.

A question is billed in the transaction that makes its row, before anybody is called: whoever asks
the same again, after a crash or for another step, finds the row. The row names the budgets that its
bill is on; once somebody has answered, or has given up, the bill is taken back and what was really
used is charged. Calls are a judge's; money is everybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson
from sqlalchemy import Connection, Insert, bindparam, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from api.db.clock import clock
from api.episodes.shared_transaction import SharedTransaction
from api.verdicts.tables import budgets, opinions
from detectors.model.codec import canonical
from detectors.task.language import Budget

STAGE = "stage"
UNKNOWN = 1e-6
"""Set aside for a call while nobody knows what one costs."""
_NONE = UNKNOWN / 2
_c = opinions.c
# Made once: building a statement takes longer than running it, and each question runs a dozen.
_this = (_c.stage == bindparam("of_stage")) & (_c.digest == bindparam("of_digest"))
_MINE = update(opinions).where(_this, _c.runner == bindparam("by"), _c.body.is_(None))
_FIND = select(opinions).where(_this)
_DELETE = delete(opinions).where(_this)
_KEEP = (
    update(opinions)
    .where(_this)
    .values(body=bindparam("new_body"), calls=0, held=0.0, billed=None, until_at=0.0)
)  # fmt: skip
_BILLED = select(opinions).where(
    _c.episode.in_(bindparam("episodes", expanding=True)), _c.billed.is_not(None)
)
_SPENT = select(budgets).where(budgets.c.key.in_(bindparam("keys", expanding=True)))
_of_stage = (budgets.c.scope == STAGE) & (budgets.c.key == bindparam("of_stage"))
_DEAREST = select(budgets.c.cost).where(_of_stage)
_NO_DEAREST = delete(budgets).where(_of_stage)
_BUDGET = insert(budgets)


def _adding(into: Callable[..., Any]) -> Insert:
    """Return the statement that adds to a budget, whether it has a row or not."""
    row = into(budgets)
    sums = {name: budgets.c[name] + row.excluded[name] for name in ("calls", "cost", "held")}
    upsert: Insert = row.on_conflict_do_update(index_elements=["scope", "key"], set_=sums)
    return upsert


_ADD = {"sqlite": _adding(sqlite.insert), "postgresql": _adding(postgresql.insert)}

Key = tuple[str, str]
"""A budget: scope, and of whom."""


class Asking(NamedTuple):
    """A question that is about to be put: to whom, for which episode, on whose budgets with which
    limits.

    ``calls``: the most that it may take, all of them billed at first.
    """

    stage: str
    digest: str
    episode: str
    calls: int
    budgets: Mapping[Key, Budget]


class Begun(NamedTuple):
    """``ask``: it is yours to ask. ``known``: ``body`` is the answer. ``busy``: somebody asks it,
    or may spend what is left. ``spent``: the budget ``why`` is."""

    state: Literal["ask", "known", "busy", "spent"]
    body: Mapping[str, Any] | None = None
    why: str = ""


class Opinions:
    """The questions and budgets of one database, for the worker called ``runner``."""

    def __init__(self, together: SharedTransaction, embedded: bool, runner: str) -> None:
        self._together, self._embedded, self._runner = together, embedded, runner
        self._now = clock(embedded)
        self._find = select(opinions, (_c.until_at > self._now).label("asked")).where(_this)
        self._bill = insert(opinions).values(until_at=self._now + bindparam("lease_s"))

    async def begin(self, asking: Asking, lease_s: float) -> Begun:
        """Whether to ask, for ``lease_s`` seconds."""
        return await self._together.do(lambda conn: self._begin(conn, asking, lease_s))

    async def again(self, asking: Asking, calls: int, cost: float) -> None:
        """There was no answer yet, though it took ``calls`` and money: whoever is next may ask, if
        there is room."""
        await self._together.do(
            lambda conn: keep_answer(conn, asking, self._runner, None, calls, cost)
        )

    async def keep(
        self, asking: Asking, body: Mapping[str, Any] | None, calls: int, cost: float
    ) -> None:
        """The answer, for whoever asks the same, and what it took; None: it is no answer, and only
        charged."""
        await self._together.do(
            lambda conn: keep_answer(conn, asking, self._runner, body, calls, cost)
        )

    async def begin_once(self, asking: Asking, lease_s: float) -> Begun:
        """Bill a question that nobody asks again, such as a draft. What is left of those whose
        askers died stays charged, as calls and money that were spent: nobody knows."""
        return await self._together.do(lambda conn: self._begin_once(conn, asking, lease_s))

    async def end_once(self, asking: Asking, calls: int, cost: float) -> None:
        """Charge what a question of `begin_once` took in place of what was billed."""
        await self._together.do(lambda conn: _end_once(conn, asking, self._runner, calls, cost))

    async def free(self, asking: Asking) -> None:
        """Whoever is next may ask, on the same bill: nobody knows whether there was an answer."""
        await self._together.do(
            lambda conn: conn.execute(_MINE.values(until_at=0.0), self._named(asking)).rowcount,
        )

    async def renew(self, askings: Iterable[Asking], lease_s: float) -> None:
        """Keep those that this worker asks."""
        mine = _MINE.where(_c.until_at > 0).values(until_at=self._now + lease_s)
        names = [self._named(asking) for asking in askings]
        if names:
            await self._together.do(lambda conn: conn.execute(mine, names).rowcount)

    async def orphaned(self) -> None:
        """In a database of its own nobody else asks."""
        if self._embedded:
            free = update(opinions).where(_c.body.is_(None)).values(until_at=0.0)
            await self._together.do(lambda conn: conn.execute(free).rowcount)

    def _named(self, asking: Asking) -> dict[str, str]:
        return {**_named(asking), "by": self._runner}

    def _begin(self, conn: Connection, asking: Asking, lease_s: float) -> Begun:
        """Say what is known of an asking: its answer, that somebody asks, that there is no budget,
        or that it may be asked."""
        row = conn.execute(self._find, _named(asking)).first()
        if row is not None and row.body is not None:
            return Begun("known", orjson.loads(bytes(row.body)))
        if row is not None and row.asked:
            return Begun("busy")
        if row is not None:  # whoever asked is gone, or failed: the bill goes to who asks now
            _spend(conn, _taken_back([row]))
            conn.execute(_DELETE, _named(asking))
        held, refusal = _room(conn, asking)
        if refusal is not None:
            return refusal
        values = {
            "runner": self._runner,
            "lease_s": lease_s,
            "body": None,
            "stage": asking.stage,
            "digest": asking.digest,
            "episode": asking.episode,
            "calls": asking.calls,
            "held": held,
            "billed": orjson.dumps(sorted(asking.budgets)),
        }
        conn.execute(self._bill, values)
        _spend(conn, [(key, Spent(asking.calls, 0.0, held)) for key in asking.budgets])
        return Begun("ask")

    def _begin_once(self, conn: Connection, asking: Asking, lease_s: float) -> Begun:
        dead = (_c.stage == asking.stage) & (_c.until_at <= self._now)
        rows = conn.execute(select(opinions).where(dead)).all()
        _spend(conn, _written_off(rows))
        conn.execute(delete(opinions).where(dead))
        return self._begin(conn, asking, lease_s)


def _named(asking: Asking) -> dict[str, str]:
    return {"of_stage": asking.stage, "of_digest": asking.digest}


def _room(conn: Connection, asking: Asking) -> tuple[float, Begun | None]:
    """Return what to set aside for the call, or why it may not be made.

    The next call is taken to cost what the dearest so far did. Before the first has answered nobody
    knows, so that one alone may run where money is limited.
    """
    keys = [key for _, key in asking.budgets] + [asking.stage]
    rows = {(row.scope, row.key): row for row in conn.execute(_SPENT, {"keys": keys})}
    dearest = rows.get((STAGE, asking.stage))
    price = None if dearest is None else max(UNKNOWN, dearest.cost)
    for key, limit in asking.budgets.items():
        row = rows.get(key)
        spent = Spent(0, 0.0, 0.0) if row is None else Spent(row.calls, row.cost, row.held)
        refusal = _refuse(key[0], limit, spent, asking.calls, price)
        if refusal is not None:
            return 0.0, refusal
    return UNKNOWN if price is None else price, None


def _refuse(
    scope: str, limit: Budget, spent: Spent, calls: int, price: float | None
) -> Begun | None:
    """Say why a budget has no room for so many calls at this price (None: it is not known)."""
    if limit.calls is not None and spent.calls + calls > limit.calls:
        return Begun("spent", why=f"the {scope}'s budget of {limit.calls} calls is spent")
    if limit.cost is None:
        return None
    is_held = spent.held > _NONE
    if is_held and (price is None or spent.cost + spent.held + price > limit.cost):
        return Begun("busy")
    if spent.cost + (price or 0.0) > limit.cost:
        why = f"the {scope}'s budget of {limit.cost:g} is spent: {spent.cost:g} so far"
        return Begun("spent", why=why)
    return None


class Spent(NamedTuple):
    """What a budget is charged, or (below zero) given back."""

    calls: int
    cost: float
    held: float

    def plus(self, other: Spent) -> Spent:
        """Return the sum of both: calls, cost and what is held for calls under way."""
        return Spent(self.calls + other.calls, self.cost + other.cost, self.held + other.held)


def _spend(conn: Connection, spent: Iterable[tuple[Key, Spent]]) -> None:
    """Charge budgets, each with the sum of what is said of it."""
    sums: dict[Key, Spent] = {}
    for key, charge in spent:
        sums[key] = sums.get(key, Spent(0, 0.0, 0.0)).plus(charge)
    rows = [
        {"scope": scope, "key": key, **charge._asdict()}
        for (scope, key), charge in sorted(sums.items())
    ]
    if rows:
        conn.execute(_ADD[conn.dialect.name], rows)


def _taken_back(rows: Iterable[Any]) -> Iterable[tuple[Key, Spent]]:
    """What questions were billed, off the budgets that it was billed to."""
    for row in rows:
        if row.billed is not None:
            for scope, key in orjson.loads(bytes(row.billed)):
                yield (scope, key), Spent(-row.calls, 0.0, -row.held)


def _written_off(rows: Iterable[Any]) -> Iterable[tuple[Key, Spent]]:
    """What is set aside for questions becomes what they cost."""
    for row in rows:
        for scope, key in orjson.loads(bytes(row.billed)):
            yield (scope, key), Spent(0, row.held if row.held > UNKNOWN else 0.0, -row.held)


def _end_once(conn: Connection, asking: Asking, runner: str, calls: int, cost: float) -> None:
    keep_answer(conn, asking, runner, None, calls, cost)
    _dearest(conn, asking.stage, cost)


def given_up(conn: Connection, episodes: Sequence[str]) -> None:
    """Give back what the open questions of ``episodes`` are billed: their rows are about to go."""
    _spend(conn, _taken_back(conn.execute(_BILLED, {"episodes": list(episodes)}).all()))


def keep_answer(
    conn: Connection,
    asking: Asking,
    runner: str | None,
    body: Mapping[str, object] | None,
    calls: int,
    cost: float,
) -> None:
    """Charge the ``calls`` and money that it took in place of what was billed, and keep the answer
    for ever; None: there is none for now, so that nothing stays billed."""
    row = conn.execute(_FIND, _named(asking)).first()
    spent = [(key, Spent(calls, cost, 0.0)) for key in asking.budgets]
    # The row may be gone with its episode, be answered by another, or (the lease had ended) be
    # another's question.
    if row is not None and row.body is None and (body is not None or row.runner == runner):
        spent += _taken_back([row])
        if body is None:
            conn.execute(_DELETE, _named(asking))
        else:
            conn.execute(_KEEP, {**_named(asking), "new_body": canonical(body)})
    _spend(conn, spent)
    if body is not None:
        _dearest(conn, asking.stage, cost)


def _dearest(conn: Connection, stage: str, cost: float) -> None:
    """What the next call is taken to cost."""
    dearest = conn.execute(_DEAREST, {"of_stage": stage}).scalar()
    if dearest is None or cost > dearest:
        conn.execute(_NO_DEAREST, {"of_stage": stage})
        conn.execute(_BUDGET, {"scope": STAGE, "key": stage, "calls": 0, "cost": cost, "held": 0.0})
