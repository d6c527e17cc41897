"""Rows for tables: SQLite takes them one by one, Postgres those of several tables in one statement.

To a server each statement is a round trip, and each row of a partitioned table that comes alone finds its partition
anew. So a commit's rows go there as arrays, a column each, which the server takes apart again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Insert, String, Table, Text, bindparam, column, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of ``table``: their ``columns`` are each row's own, what is ``fixed`` all rows have alike.

    Where a row ``replaces`` one, that has the same primary key; else such a row is an `IntegrityError`."""

    table: Table
    columns: tuple[str, ...]
    fixed: Mapping[str, ColumnElement[Any]] = field(default_factory=dict)
    replaces: bool = False

    @classmethod
    def whole(cls, table: Table, *, replaces: bool = False) -> Rows:
        """Rows that give all columns of the table."""
        return cls(table, tuple(table.c.keys()), replaces=replaces)


class Inserts:
    """Inserts rows of named kinds."""

    def __init__(self, kinds: Mapping[Any, Rows], embedded: bool) -> None:
        self._kinds, self._embedded = kinds, embedded
        self._one_by_one = {kind: _one_by_one(rows) for kind, rows in kinds.items()} if embedded else {}
        self._at_once: dict[tuple[Any, ...], Insert] = {}

    def run(self, conn: Connection, rows: Mapping[Any, Sequence[Mapping[str, Any]]]) -> None:
        """Insert ``rows``, by kind, in the transaction of ``conn``; no kind refers to what another brings."""
        given = tuple(kind for kind in self._kinds if rows.get(kind))
        if self._embedded:
            for kind in given:
                conn.execute(self._one_by_one[kind], rows[kind])
        elif given:
            if given not in self._at_once:  # of all the combinations a handful ever come
                self._at_once[given] = _at_once({kind: self._kinds[kind] for kind in given})
            arrays = {_array(k, name): [row[name] for row in rows[k]] for k in given for name in self._kinds[k].columns}
            conn.execute(self._at_once[given], arrays)


def _one_by_one(rows: Rows) -> Insert:
    return _replacing(sqlite.insert(rows.table).values(dict(rows.fixed)), rows)


def _at_once(kinds: Mapping[Any, Rows]) -> Insert:
    *before, (kind, rows) = kinds.items()
    return _unnested(kind, rows).add_cte(*(_unnested(kind, rows).cte(f"of_{kind}") for kind, rows in before))


def _unnested(kind: str, rows: Rows) -> Insert:
    types = {name: _plain(rows.table.c[name].type) for name in rows.columns}
    arrays = (bindparam(_array(kind, name), type_=ARRAY(type)) for name, type in types.items())
    each = func.unnest(*arrays).table_valued(*(column(name, type) for name, type in types.items())).render_derived()
    whole = select(*(each.c[name] for name in rows.columns), *rows.fixed.values())
    return _replacing(postgresql.insert(rows.table).from_select([*rows.columns, *rows.fixed], whole), rows)


def _replacing(made: sqlite.Insert | postgresql.Insert, rows: Rows) -> Insert:
    if not rows.replaces:
        return made
    key = rows.table.primary_key
    others = {name: made.excluded[name] for name in rows.columns if name not in key.columns}
    return made.on_conflict_do_update(index_elements=key.columns, set_=others)


def _array(kind: str, column: str) -> str:
    return f"{kind}_{column}"


def _plain(type: TypeEngine[Any]) -> TypeEngine[Any]:
    # An array of texts has neither their column's length nor its collation: both are the column's to ask for.
    return Text() if isinstance(type, String) else type
