"""What one commit brings, for episodes that stand where they were thought to: new rows, and changes
to old ones.

SQLite takes them one by one in a transaction. To a server each statement is a round trip, and each
row of a partitioned table that comes alone finds its partition anew. So everything goes to Postgres
in one statement, as arrays, a column each, which the server takes apart again; that statement also
locks the episodes' rows and looks where they stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    FromClause,
    Insert,
    Select,
    String,
    Table,
    Text,
    Update,
    bindparam,
    column,
    func,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine

from api.episodes.tables import episodes

Stood = tuple[int, str]
"""An episode's ``through`` and ``head``, as somebody saw them."""
Written = Mapping[object, Sequence[Mapping[str, object]]]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of ``table``: their ``columns`` are each row's own, what is ``fixed`` all rows have
    alike.

    Where a row ``replaces`` one, that has the same primary key; else such a row is an
    `IntegrityError`. The first column names the episode that it is of, as in `Changes`."""

    table: Table
    columns: tuple[str, ...]
    fixed: Mapping[str, ColumnElement[Any]] = field(default_factory=dict)
    replaces: bool = False

    @classmethod
    def whole(cls, table: Table, *, replaces: bool = False) -> Rows:
        """Rows that give all columns of the table."""
        return cls(table, tuple(table.c.keys()), replaces=replaces)


@dataclass(frozen=True, slots=True)
class Changes:
    """New values of the columns ``sets`` for rows of ``table`` that have this ``key``; ``once``:
    where they are null still. No commit brings two for one row."""

    table: Table
    key: tuple[str, ...]
    sets: tuple[str, ...]
    once: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that each change gives values for."""
        return (*self.key, *self.sets)


class Writing:
    """Writes rows and changes of named kinds."""

    def __init__(self, kinds: Mapping[Any, Rows | Changes], embedded: bool) -> None:
        self._kinds, self._embedded = kinds, embedded
        self._one_by_one = (
            {name: _one_by_one(kind) for name, kind in kinds.items()} if embedded else {}
        )
        self._at_once: dict[tuple[object, ...], Select[object]] = {}

    def run(self, conn: Connection, stood: Mapping[str, Stood], given: Written) -> set[str]:
        """Write what is ``given``, by kind, of those episodes that stand where they ``stood``, and
        return these. Their rows are locked. No kind refers to what another brings, and each row's
        episode is among ``stood``."""
        names = tuple(name for name in self._kinds if given.get(name))
        if self._embedded:
            return self._run_one_by_one(conn, stood, given, names)
        return self._run_at_once(conn, stood, given, names)

    def _run_one_by_one(
        self, conn: Connection, stood: Mapping[str, Stood], given: Written, names: Sequence[object]
    ) -> set[str]:
        """Write the rows of the episodes that stand where they were read; return those episodes."""
        episode_rows = conn.execute(_STAND, {"ids": list(stood)})
        stand = {row.id for row in episode_rows if (row.through, row.head) == stood[row.id]}
        for name in names:
            kind = self._kinds[name]
            rows: list[Mapping[str, object]] = [
                row for row in given[name] if row[kind.columns[0]] in stand
            ]
            if isinstance(kind, Changes):
                rows = [_named(row) for row in rows]
            if rows:
                conn.execute(self._one_by_one[name], rows)
        return stand

    def _run_at_once(
        self,
        conn: Connection,
        stood: Mapping[str, Stood],
        given: Written,
        names: tuple[Any, ...],
    ) -> set[str]:
        """Do the same in one statement of arrays."""
        if names not in self._at_once:  # of all the combinations a handful ever come
            self._at_once[names] = _at_once({name: self._kinds[name] for name in names})
        places = [(id, through, head) for id, (through, head) in stood.items()]
        arrays = {
            _array("stood", name): list(each)
            for name, each in zip(_PLACE, zip(*places, strict=True), strict=True)
        }
        for name in names:
            arrays |= {
                _array(name, each): [row[each] for row in given[name]]
                for each in self._kinds[name].columns
            }
        return set(conn.scalars(self._at_once[names], arrays))


_PLACE = {"id": episodes.c.id, "through": episodes.c.through, "head": episodes.c.head}
_STAND = select(*_PLACE.values()).where(episodes.c.id.in_(bindparam("ids", expanding=True)))


def _named(row: Mapping[str, object]) -> dict[str, object]:
    # SQLAlchemy keeps the columns' own names for what is set.
    return {f"its_{name}": value for name, value in row.items()}


def _one_by_one(kind: Rows | Changes) -> Insert | Update:
    """Return the statement that writes one row of a kind."""
    if isinstance(kind, Rows):
        return _replacing(sqlite.insert(kind.table).values(dict(kind.fixed)), kind)
    return _changing(kind, {name: bindparam(f"its_{name}") for name in kind.columns})


def _at_once(kinds: Mapping[Any, Rows | Changes]) -> Select[Any]:
    """Return the statement that writes rows of these kinds for the episodes that stand where they
    were read."""
    asked = _unnested("stood", _PLACE)
    # Sorted, so that all replicas take the locks in one order and none waits for another in a
    # circle.
    stand = (
        select(episodes.c.id)
        .where(*(asked.c[name] == own for name, own in _PLACE.items()))
        .order_by(episodes.c.id)
        .with_for_update(of=episodes)
        .cte("stand")
    )
    return select(stand.c.id).add_cte(
        *(_part(name, kind, stand).cte(f"of_{name}") for name, kind in kinds.items())
    )


def _part(name: str, kind: Rows | Changes, stand: CTE) -> Insert | Update:
    """Return the part of that statement for one kind."""
    each = _unnested(name, {column: kind.table.c[column] for column in kind.columns})
    stands = each.c[kind.columns[0]].in_(select(stand.c.id))
    if isinstance(kind, Changes):
        return _changing(kind, dict(each.c)).where(stands)
    whole = select(*each.c, *kind.fixed.values()).where(stands)
    return _replacing(
        postgresql.insert(kind.table).from_select([*kind.columns, *kind.fixed], whole), kind
    )


def _unnested(name: str, columns: Mapping[str, ColumnElement[Any]]) -> FromClause:
    """Return arrays, one a column, as a table."""
    types = {each: _plain(own.type) for each, own in columns.items()}
    arrays = (bindparam(_array(name, each), type_=ARRAY(type)) for each, type in types.items())
    return (
        func.unnest(*arrays)
        .table_valued(*(column(each, type) for each, type in types.items()))
        .render_derived()
    )


def _changing(kind: Changes, its: Mapping[str, object]) -> Update:
    """Return the statement that changes rows by their key; what is set once stays."""
    table = kind.table
    blank = [table.c[name].is_(None) for name in kind.sets if kind.once]
    return (
        update(table)
        .where(*(table.c[name] == its[name] for name in kind.key), *blank)
        .values({name: its[name] for name in kind.sets})
    )


def _replacing(made: sqlite.Insert | postgresql.Insert, rows: Rows) -> Insert:
    """Return the statement that replaces rows of the same key, where the kind says so."""
    if not rows.replaces:
        return made
    key = rows.table.primary_key
    others = {name: made.excluded[name] for name in rows.columns if name not in key.columns}
    return made.on_conflict_do_update(index_elements=key.columns, set_=others)


def _array(kind: str, column: str) -> str:
    return f"{kind}_{column}"


def _plain(type: TypeEngine[Any]) -> TypeEngine[Any]:
    # An array of texts has neither their column's length nor its collation: both are the column's
    # to ask for.
    return Text() if isinstance(type, String) else type
