"""The list of episodes as people ask for it: filtered, sorted, a page at a time, however many there
are.

A page begins after the last row of the one before (keyset), never by counting rows, so the
thousandth page costs what the first does.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import ColumnElement, and_, false, func, or_, select, true

from api.db.database import Database
from api.episodes.label_index import Finding, finding_key, has_mark, label_key
from api.episodes.tables import episode_marks, episodes
from detectors.model.optional_values import first_or_none

Sort = Literal["newest", "oldest", "best", "worst"]
SORTS: tuple[Sort, ...] = get_args(Sort)
Status = Literal["open", "closing", "closed"]
STATUSES: tuple[Status, ...] = get_args(Status)
Outcome = Literal["success", "failure", "unknown"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_TOTAL, _MARK = episodes.c.total, episode_marks.c
FEW = 5_000
"""So many rows are sorted sooner than others are walked past."""
_SUCCESS = {"success": true(), "failure": false(), "unknown": None}
"""Outcome → the column ``success``."""


class Cursor(NamedTuple):
    """The last row of the page before: the value that it was sorted by, and its id."""

    value: str | float
    id: str


class EpisodeQuery(NamedTuple):
    """What is asked of the list; None asks nothing. ``since`` and ``until``: UTC days, ``until``
    included. ``guided``: whether hints were given."""

    tenant: str
    task: str | None = None
    status: Status | None = None
    outcome: Outcome | None = None
    label: tuple[str, str] | None = None
    finding: Finding | None = None
    opened_by: str | None = None
    least: float | None = None
    most: float | None = None
    since: str | None = None
    until: str | None = None
    guided: bool | None = None
    sort: Sort = "newest"
    after: Cursor | None = None


class Search:
    """The lists of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, wanted: EpisodeQuery, count: int) -> tuple[Sequence[Any], Cursor | None]:
        """At most ``count`` rows, and where the next page begins (None: there is none)."""
        timed = wanted.sort in ("newest", "oldest")
        keys, mark = await self._narrowest(wanted, timed)
        # Where a mark leads, its index has the order of time too: what it does not name is not
        # read.
        opened_at, id = episodes.c.opened_at, episodes.c.id
        if mark is not None:
            opened_at, id = _MARK.opened_at, _MARK.episode
        column = opened_at if timed else _TOTAL
        falling = wanted.sort in ("newest", "best")
        order = [key.desc() if falling else key.asc() for key in (column, id)]
        statement = select(episodes)
        if mark is not None:
            statement = statement.join_from(
                episode_marks, episodes, episodes.c.id == _MARK.episode
            ).where(_MARK.key == mark, _MARK.tenant == wanted.tenant)
        conditions = [
            *_conditions(wanted, opened_at),
            *map(has_mark, keys),
            *_beyond(wanted, column, id, falling),
        ]
        statement = statement.where(*conditions).order_by(*order).limit(count + 1)
        rows = await self._database.all(statement)
        if len(rows) <= count:
            return rows, None
        last = rows[count - 1]
        return rows[:count], Cursor(getattr(last, column.name), last.id)

    async def _narrowest(self, wanted: EpisodeQuery, timed: bool) -> tuple[list[str], str | None]:
        """The marks to look for in each row, and the one that leads to the rows, if one should: the
        rarest, and in the order of rewards, which its index does not have, only where few rows bear
        it."""
        keys = _keys(wanted)
        if not keys or (timed and len(keys) == 1):
            return [], first_or_none(keys)
        many = {key: await self._count(key, wanted.tenant) for key in keys}
        rarest = min(keys, key=lambda key: many[key])
        if not timed and many[rarest] > FEW:
            return keys, None
        return [key for key in keys if key != rarest], rarest

    async def _count(self, key: str, tenant: str) -> int:
        """How many rows bear a mark, as far as `FEW` and one more."""
        some = select(_MARK.episode).where(_MARK.key == key, _MARK.tenant == tenant).limit(FEW + 1)
        row = await self._database.first(select(func.count()).select_from(some.subquery()))
        return int(row[0])


def matching(wanted: EpisodeQuery) -> list[ColumnElement[bool]]:
    """Return what is true of the rows of `episodes` that are asked for, on whichever page."""
    return [*_conditions(wanted, episodes.c.opened_at), *map(has_mark, _keys(wanted))]


def _keys(wanted: EpisodeQuery) -> list[str]:
    """Return the keys of the index of labels and findings that a query asks for."""
    keys = [] if wanted.finding is None else [finding_key(wanted.finding)]
    return keys if wanted.label is None else [*keys, label_key(*wanted.label)]


def _conditions(wanted: EpisodeQuery, opened_at: Any) -> list[Any]:
    """Return the conditions of a query on an episode's own row."""
    of = episodes.c
    asked = [of.tenant == wanted.tenant]
    for name in ("task", "status", "opened_by"):
        if getattr(wanted, name) is not None:
            asked.append(of[name] == getattr(wanted, name))
    if wanted.outcome is not None:
        asked.append(of.success.is_(_SUCCESS[wanted.outcome]))
    if wanted.guided is not None:
        asked.append(of.guided.is_(True) if wanted.guided else of.guided.is_not(True))
    if wanted.least is not None:
        asked.append(of.total >= wanted.least)
    if wanted.most is not None:
        asked.append(of.total <= wanted.most)
    if wanted.since is not None:
        asked.append(opened_at >= wanted.since)
    if wanted.until is not None:
        asked.append(opened_at < (date.fromisoformat(wanted.until) + timedelta(days=1)).isoformat())
    return asked


def _beyond(wanted: EpisodeQuery, column: Any, id: Any, falling: bool) -> list[Any]:
    """What comes after the page before; by total only those that have one."""
    asked: list[Any] = [column.is_not(None)] if column is _TOTAL else []
    if wanted.after is not None:
        last, last_id = wanted.after
        beyond, further = (
            (column < last, id < last_id) if falling else (column > last, id > last_id)
        )
        asked.append(or_(beyond, and_(column == last, further)))
    return asked
