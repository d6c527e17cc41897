"""The list of episodes as people ask for it: filtered, sorted, a page at a time, however many there are.

A page begins after the last row of the one before (keyset), never by counting rows, so the thousandth page costs what
the first does.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import and_, false, or_, select, true

from api.store.database import Database
from api.store.episodes import has_label
from api.tables import episodes

Sort = Literal["newest", "oldest", "best", "worst"]
SORTS: tuple[Sort, ...] = get_args(Sort)
Status = Literal["open", "closing", "closed"]
STATUSES: tuple[Status, ...] = get_args(Status)
Outcome = Literal["success", "failure", "unknown"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class Cursor(NamedTuple):
    """The last row of the page before: the value that it was sorted by, and its id."""

    value: str | float
    id: str


class Wanted(NamedTuple):
    """What is asked of the list; None asks nothing. ``since`` and ``until``: UTC days, ``until`` included."""

    tenant: str
    task: str | None = None
    status: Status | None = None
    outcome: Outcome | None = None
    label: tuple[str, str] | None = None
    least: float | None = None
    most: float | None = None
    since: str | None = None
    until: str | None = None
    sort: Sort = "newest"
    after: Cursor | None = None


class Search:
    """The lists of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, wanted: Wanted, count: int) -> tuple[Sequence[Any], Cursor | None]:
        """At most ``count`` rows, and where the next page begins (None: there is none)."""
        column = episodes.c.total if wanted.sort in ("best", "worst") else episodes.c.opened_at
        falling = wanted.sort in ("newest", "best")
        order = [one.desc() if falling else one.asc() for one in (column, episodes.c.id)]
        statement = select(episodes).where(*self._where(wanted, column, falling)).order_by(*order).limit(count + 1)
        rows = await self._database.all(statement)
        if len(rows) <= count:
            return rows, None
        last = rows[count - 1]
        return rows[:count], Cursor(getattr(last, column.name), last.id)

    def _where(self, wanted: Wanted, column: Any, falling: bool) -> list[Any]:
        of = episodes.c
        asked = [of.tenant == wanted.tenant]
        for name in ("task", "status"):
            if getattr(wanted, name) is not None:
                asked.append(of[name] == getattr(wanted, name))
        if wanted.outcome is not None:
            asked.append({"success": of.success.is_(true()), "failure": of.success.is_(false())}.get(
                wanted.outcome, of.success.is_(None)))  # fmt: skip
        if wanted.label is not None:
            asked.append(has_label(self._database, *wanted.label))
        if wanted.least is not None:
            asked.append(of.total >= wanted.least)
        if wanted.most is not None:
            asked.append(of.total <= wanted.most)
        if wanted.since is not None:
            asked.append(of.opened_at >= wanted.since)
        if wanted.until is not None:
            asked.append(of.opened_at < (date.fromisoformat(wanted.until) + timedelta(days=1)).isoformat())
        if column is of.total:
            asked.append(of.total.is_not(None))
        if wanted.after is not None:
            last, id = wanted.after
            beyond, further = (column < last, of.id < id) if falling else (column > last, of.id > id)
            asked.append(or_(beyond, and_(column == last, further)))
        return asked
