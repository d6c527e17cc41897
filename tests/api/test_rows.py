"""What one commit brings for several episodes: of those that stand where they were thought to, and
of no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import date
from functools import partial
from typing import Any

import pytest
from sqlalchemy import insert, literal, select, text, update
from sqlalchemy.exc import IntegrityError

from api.core.settings import Settings
from api.db.database import Database
from api.db.migrate import upgrade
from api.episodes.partitions import Partitions
from api.episodes.tables import closings, episodes
from api.log.tables import arrivals, steps
from api.log.upserts import Changes, Rows, Stood, Writing
from api.rewards.tables import rewards
from api.tasks.tables import tasks
from detectors.model.codec import GENESIS
from tests.api.service import Store, eventually
from tests.support.postgres import needs_postgres

KINDS = {
    "began": Rows.whole(steps),
    "rewards": Rows.whole(rewards),
    "arrival": Rows(arrivals, ("episode", "first", "last", "earned"), {"xact": literal(7)}),
    "closing": Rows.whole(closings, replaces=True),
    "ended": Changes(steps, ("episode", "step"), ("ended",), once=True),
    "advance": Changes(episodes, ("id",), ("through", "head", "success", "total")),
}


def row(kind: str, *values: Any) -> dict[str, Any]:
    return dict(zip(KINDS[kind].columns, values, strict=True))


DAYS = date(2026, 2, 3), date(2026, 2, 4)
A, B = (f"ep_{day:%Y%m%d}_é" for day in DAYS)
HERE: Stood = (9, GENESIS)
THERE: Stood = (12, "a" * 64)
STOOD = {A: HERE, B: HERE}
BEGAN = [row("began", A, 0, 1, None), row("began", B, 2**40, 2, 3)]
PAID = [row("rewards", A, 0, "final", 0.1, 9, b"\0{}"), row("rewards", A, 1, "final", None, 9, b"")]
CAME = [row("arrival", name, 1, 2, 0) for name in (B, A, B)]
OVER = [row("closing", A, "now"), row("closing", B, "now")]
GIVEN = {
    "of one table": {"began": BEGAN},
    "of two": {"began": BEGAN, "rewards": PAID},
    "of all": {"began": BEGAN, "rewards": PAID, "arrival": CAME, "closing": OVER},
    "in another order": {"closing": OVER, "arrival": CAME[:1], "rewards": PAID[1:]},
    "of a table without any": {"began": [], "rewards": PAID},
    "of none": {},
    "of kinds that are no rows": {"rewards": PAID, "whatever": [{"whatever": 1}]},
}


@pytest.fixture
async def database(store: Store) -> AsyncIterator[Database]:
    """With two episodes, which stand `HERE`."""
    made = Database(Settings(store.folder, store.url).database)
    await upgrade(made)
    for day in DAYS:
        await Partitions(made).ready(day)
    texts = ("id", "version", "task", "digest", "labels", "status", "opened_at")
    async with made.write() as conn:
        await conn.execute(
            insert(tasks),
            {"id": "-", "version": "-", "digest": "-", "attainable": 1.0, "body": b""},
        )
        number = (await conn.execute(select(tasks.c.number))).scalar_one()
        for id in STOOD:
            stands = {"id": id, "task_number": number, "through": HERE[0], "head": HERE[1]}
            await conn.execute(
                insert(episodes), {**dict.fromkeys(texts, "-"), "milestones": 0, **stands}
            )
    yield made
    await made.close()


async def put(
    database: Database, rows: Mapping[str, list[dict[str, Any]]], stood: Mapping[str, Stood] = STOOD
) -> set[str]:
    """Gives the episodes that stood so."""
    writing, found = Writing(KINDS, database.embedded), set[str]()
    await database.run(lambda conn: found.update(writing.run(conn, stood, rows)), single=True)
    return found


async def stored(database: Database, kind: str) -> list[dict[str, Any]]:
    one = KINDS[kind]
    assert isinstance(one, Rows)
    order = one.table.c.position if one.table is arrivals else [*one.table.primary_key][-1]
    names = (*one.columns, *one.fixed)
    return [
        dict(row._mapping)
        for row in await database.all(select(*(one.table.c[n] for n in names)).order_by(order))
    ]


async def standing(database: Database, id: str) -> Any:
    columns = (episodes.c.through, episodes.c.head, episodes.c.success, episodes.c.total)
    return tuple(await database.first(select(*columns).where(episodes.c.id == id)))


@pytest.mark.parametrize("rows", GIVEN.values(), ids=GIVEN)
async def test_what_is_read_is_what_was_given(
    database: Database, rows: dict[str, list[dict[str, Any]]]
) -> None:
    assert await put(database, rows) == {A, B}
    fixed = {"arrival": {"xact": 7}}
    for kind in ("began", "rewards", "arrival", "closing"):
        assert await stored(database, kind) == [
            {**one, **fixed.get(kind, {})} for one in rows.get(kind, ())
        ], kind


async def test_a_row_takes_the_place_of_one_where_that_is_wanted(database: Database) -> None:
    await put(database, {"closing": OVER})
    await put(database, {"closing": [row("closing", B, "later")]})
    assert [(one["episode"], one["queued_at"]) for one in await stored(database, "closing")] == [
        (A, "now"), (B, "later")
    ]  # fmt: skip


async def test_elsewhere_nothing_of_all_is_written(database: Database) -> None:
    await put(database, {"began": BEGAN[:1]})
    with pytest.raises(IntegrityError):
        await put(
            database,
            {
                "began": BEGAN[::-1],
                "rewards": PAID,
                "advance": [row("advance", A, *THERE, None, 0.5)],
            },
        )
    assert [len(await stored(database, kind)) for kind in ("began", "rewards")] == [1, 0]
    assert await standing(database, A) == (*HERE, None, None)


async def test_what_changes_is_the_row_of_that_key_alone(database: Database) -> None:
    await put(database, {"began": [*BEGAN, row("began", A, 1, 4, None)]})
    changed = await put(
        database,
        {
            "ended": [row("ended", A, 1, 8), row("ended", A, 5, 8), row("ended", B, 2**40, 8)],
            "advance": [
                row("advance", B, *THERE, True, None),
                row("advance", A, *THERE, None, -0.25),
            ],
        },
    )
    ended = {(one["episode"], one["step"]): one["ended"] for one in await stored(database, "began")}
    assert ended == {(A, 0): None, (A, 1): 8, (B, 2**40): 3}, "what is set once stays"
    assert changed == {A, B}
    assert [await standing(database, id) for id in (A, B)] == [
        (*THERE, None, -0.25),
        (*THERE, True, None),
    ]


@pytest.mark.parametrize(
    "elsewhere", [(HERE[0], THERE[1]), (THERE[0], HERE[1])], ids=["another head", "further on"]
)
async def test_of_an_episode_that_moved_on_nothing_is_written(
    database: Database, elsewhere: Stood
) -> None:
    rows = {
        "began": BEGAN,
        "arrival": CAME,
        "closing": OVER,
        "advance": [row("advance", id, *THERE, None, None) for id in (A, B)],
    }
    assert await put(database, rows, {A: elsewhere, B: HERE}) == {B}
    for kind in ("began", "arrival", "closing"):
        assert {one["episode"] for one in await stored(database, kind)} == {B}
    assert [await standing(database, id) for id in (A, B)] == [
        (*HERE, None, None),
        (*THERE, None, None),
    ]
    assert (
        await put(
            database,
            {"began": [row("began", "ep_20260203_x", 0, 1, None)]},
            {"ep_20260203_x": HERE},
        )
        == set()
    )


async def _one_waits(database: Database) -> bool:
    waits = (
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type ="
        " 'Lock'"
    )
    return await database.first(text(waits)) is not None


@needs_postgres
@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_who_waits_for_the_row_sees_where_it_stands_then(database: Database) -> None:
    """The row is locked by another; what that one says of it counts, for all that the statement
    brings."""
    rows = {"began": BEGAN[:1], "advance": [row("advance", A, *THERE, None, 1.0)]}
    for total, success, waited in ((0.5, True, {A}), (0.75, None, set[str]())):
        async with database.write() as conn:
            other = update(episodes).where(episodes.c.id == A).values(total=total, success=success)
            await conn.execute(other if waited else other.values(head="b" * 64))
            late = asyncio.create_task(put(database, rows, {A: HERE if waited else THERE}))
            await eventually(partial(_one_waits, database))
        assert await late == waited
        expected = (*THERE, None, 1.0) if waited else (THERE[0], "b" * 64, None, 0.75)
        assert await standing(database, A) == expected
    assert len(await stored(database, "began")) == 1
