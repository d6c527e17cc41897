"""Rows of several tables: what is read is what was given, one by one or at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest
from sqlalchemy import literal, select
from sqlalchemy.exc import IntegrityError

from api.settings import Settings
from api.store.database import Database
from api.store.migrate import upgrade
from api.store.partitions import Partitions
from api.store.rows import Inserts, Rows
from api.tables import arrivals, closings, rewards, steps
from tests.api.service import Store

KINDS = {
    "began": Rows.whole(steps),
    "rewards": Rows.whole(rewards),
    "arrival": Rows(arrivals, ("episode", "first", "last", "earned"), {"xact": literal(7)}),
    "closing": Rows.whole(closings, replaces=True),
}


def row(kind: str, *values: Any) -> dict[str, Any]:
    return dict(zip(KINDS[kind].columns, values, strict=True))


DAYS = date(2026, 2, 3), date(2026, 2, 4)
A, B = (f"ep_{day:%Y%m%d}_é" for day in DAYS)
BEGAN = [row("began", A, 0, 1, None), row("began", B, 2**40, 2, 3)]
PAID = [row("rewards", A, 0, "final", 0.1, 9, b"\0{}"), row("rewards", A, 1, "final", None, 9, b"")]
CAME = [row("arrival", name, 1, 2, 0) for name in "cab"]
ENDED = [row("closing", "a", "now"), row("closing", "b", "now")]
GIVEN = {
    "of one table": {"began": BEGAN},
    "of two": {"began": BEGAN, "rewards": PAID},
    "of all": {"began": BEGAN, "rewards": PAID, "arrival": CAME, "closing": ENDED},
    "in another order": {"closing": ENDED, "arrival": CAME[:1], "rewards": PAID[1:]},
    "of a table without any": {"began": [], "rewards": PAID},
    "of none": {},
    "of kinds that are no rows": {"rewards": PAID, "advance": [{"whatever": 1}]},
}


@pytest.fixture
async def database(store: Store) -> AsyncIterator[Database]:
    made = Database(Settings(store.folder, store.url).database)
    await upgrade(made)
    for day in DAYS:
        await Partitions(made).ready(day)
    yield made
    await made.close()


async def put(database: Database, rows: dict[str, list[dict[str, Any]]]) -> None:
    inserts = Inserts(KINDS, database.embedded)
    await database.run(lambda conn: inserts.run(conn, rows))


async def stored(database: Database, kind: str) -> list[dict[str, Any]]:
    table = KINDS[kind].table
    order = table.c.position if table is arrivals else [*table.primary_key][-1]
    names = (*KINDS[kind].columns, *KINDS[kind].fixed)
    return [dict(one._mapping) for one in await database.all(select(*(table.c[n] for n in names)).order_by(order))]


@pytest.mark.parametrize("rows", GIVEN.values(), ids=GIVEN)
async def test_what_is_read_is_what_was_given(database: Database, rows: dict[str, list[dict[str, Any]]]) -> None:
    await put(database, rows)
    fixed = {"arrival": {"xact": 7}}
    for kind in KINDS:
        assert await stored(database, kind) == [{**one, **fixed.get(kind, {})} for one in rows.get(kind, ())], kind


async def test_a_row_takes_the_place_of_one_where_that_is_wanted(database: Database) -> None:
    await put(database, {"closing": ENDED})
    await put(database, {"closing": [row("closing", "b", "later"), row("closing", "c", "later")]})
    assert [(one["episode"], one["queued_at"]) for one in await stored(database, "closing")] == [
        ("a", "now"), ("b", "later"), ("c", "later")
    ]  # fmt: skip


async def test_elsewhere_nothing_of_all_is_written(database: Database) -> None:
    await put(database, {"began": BEGAN[:1]})
    with pytest.raises(IntegrityError):
        await put(database, {"began": BEGAN[::-1], "rewards": PAID, "closing": ENDED})
    assert [len(await stored(database, kind)) for kind in KINDS] == [1, 0, 0, 0]
