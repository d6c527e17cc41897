"""A full disk, a locked database, an unexpected error: said as such, and nothing half written."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from api.core.errors import UnavailableError
from api.core.logs import set_up_logs
from api.core.settings import Settings
from api.db.database import Database
from api.db.migrate import upgrade
from api.log.writer import MAX_BATCH_BYTES, GroupWriter, OutrunError
from tests.api.service import ADMIN, TASK, Service, Store, events, eventually, frames, running
from tests.support.logs import clicked, episode, went
from tests.support.postgres import needs_postgres

SAID = episode([went("/cart")], [clicked("Buy")])


async def pragma(service: Service, what: str) -> Any:
    """Run a PRAGMA on the connection that appends."""
    found: list[Any] = []
    await service.app.state.parts.database.run(
        lambda conn: found.append(conn.execute(text(f"PRAGMA {what}")).scalar())
    )
    return found[0]


ONLY_SQLITE = pytest.mark.parametrize("store", ["sqlite"], indirect=True)
ONLY_POSTGRES = pytest.mark.parametrize(
    "store", [pytest.param("postgres", marks=needs_postgres)], indirect=True
)


@ONLY_SQLITE
async def test_a_full_disk_is_a_503_and_later_the_same_segment_is_taken(service: Service) -> None:
    id, token = await service.open()
    made = frames(events(id, *SAID), [3])
    await service.append(id, made[0], token)
    before = (await service.get(f"/v1/episodes/{id}")).json()
    await pragma(service, f"max_page_count={await pragma(service, 'page_count')}")
    chance = random.Random(7)
    noise = [went(f"/{chance.randbytes(500).hex()}") for _ in range(200)]
    large = frames(events(id, *SAID[:3], *noise), [3])[1]
    full = await service.append(id, large, token)
    assert (full.status_code, full.headers["retry-after"]) == (503, "1")
    assert full.headers["content-type"] == "application/problem+json"
    assert (await service.get(f"/v1/episodes/{id}")).json() == before
    assert (await service.reward(id, 0)).json()["status"] == "settling"
    await pragma(service, "max_page_count=1000000")
    assert (await service.append(id, made[1], token)).json()["through"] == len(SAID)
    assert (await service.reward(id, 1)).json()["done"] is True


@ONLY_SQLITE
async def test_a_locked_database_is_a_503_and_reads_go_on(service: Service, tmp_path: Path) -> None:
    id, token = await service.open()
    await pragma(service, "busy_timeout=20")
    holder = sqlite3.connect(tmp_path / "milestoned.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    made = frames(events(id, *SAID))[0]
    answers = await asyncio.gather(*(service.append(id, made, token) for _ in range(3)))
    assert {answer.status_code for answer in answers} == {503}
    assert "locked" in answers[0].json()["detail"]
    assert (await service.reward(id, 0)).json()["status"] == "settling"
    holder.execute("ROLLBACK")
    holder.close()
    assert (await service.append(id, made, token)).status_code == 200


@ONLY_POSTGRES
async def test_metrics_answer_though_the_database_does_not(service: Service) -> None:
    await service.open()
    told = await service.metrics()
    assert told["milestoned_open_episodes"] == 1
    assert told["milestoned_gauges_age_seconds"] < 1
    async with service.app.state.parts.database.writer.begin() as held:
        await held.execute(text("LOCK TABLE episodes IN ACCESS EXCLUSIVE MODE"))
        waited = await asyncio.gather(*(service.metrics() for _ in range(3)))
        assert [one["milestoned_open_episodes"] for one in waited] == [1, 1, 1]
        assert all(one["milestoned_gauges_age_seconds"] > 1 for one in waited)
    await service.open()

    async def counted() -> bool:
        told = (
            await service.metrics()
        )  # the first may still be that of the count which the lock held up
        return (told["milestoned_open_episodes"], told["milestoned_gauges_age_seconds"] < 1) == (
            2,
            True,
        )

    await eventually(counted)


async def test_another_process_that_was_faster_costs_nothing(store: Store) -> None:
    async with running(store) as one, running(store) as other:
        id, token = await one.open()
        made = frames(events(id, *SAID), [2, 2])
        for frame in made:
            for service in (one, other):
                assert (await service.append(id, frame, token)).status_code == 200
        assert (await one.reward(id, 1)).content == (await other.reward(id, 1)).content
        assert await one.rows("segments") == 3


async def test_two_processes_that_race_for_the_same_segments_store_each_once(store: Store) -> None:
    async with running(store) as one, running(store) as other:
        id, token = await one.open()
        for frame in frames(events(id, *SAID), [1] * len(SAID)):
            answers = await asyncio.gather(
                *(service.append(id, frame, token) for service in (one, other) * 2)
            )
            assert {answer.status_code for answer in answers} == {200}
        assert await one.rows("segments") == len(SAID)


async def test_one_bad_batch_mate_spoils_nobody(store: Store) -> None:
    database = Database(Settings(store.folder, store.url).database)
    await upgrade(database)
    statement = text(
        "INSERT INTO idempotency (intent, request, created_at) VALUES (:i, 'r', 'now')"
    )
    writer = GroupWriter(database, {"row": statement})
    await writer.commit({"row": [{"i": "taken"}]})
    wanted = ["a", "taken", "b", "c", "taken", "d"]
    outcome = await asyncio.gather(
        *(writer.commit({"row": [{"i": i}]}) for i in wanted), return_exceptions=True
    )
    assert [type(one) for one in outcome] == [
        OutrunError if i == "taken" else type(None) for i in wanted
    ]
    rows = await database.all(text("SELECT intent FROM idempotency ORDER BY intent"))
    assert [row[0] for row in rows] == ["a", "b", "c", "d", "taken"]
    await database.close()


@pytest.mark.parametrize(
    ("size", "commits"), [(0, 2), (MAX_BATCH_BYTES // 2, 4), (MAX_BATCH_BYTES * 2, 6)]
)
async def test_what_is_large_shares_its_commit_with_few(
    store: Store, size: int, commits: int
) -> None:
    """The first of six goes alone; of the five who wait meanwhile as many go as the server takes
    well at once."""
    database = Database(Settings(store.folder, store.url).database)
    await upgrade(database)
    statement = text(
        "INSERT INTO idempotency (intent, request, created_at) VALUES (:i, 'r', 'now')"
    )
    writer = GroupWriter(database, {"row": statement})
    counted: list[Connection] = []
    event.listen(database._direct or database.writer.sync_engine, "commit", counted.append)
    await asyncio.gather(*(writer.commit({"row": [{"i": str(n)}]}, size=size) for n in range(6)))
    assert len(counted) == commits
    assert len(await database.all(text("SELECT intent FROM idempotency"))) == 6
    await database.close()


async def test_a_writer_that_gives_up_leaves_the_others_alone(store: Store) -> None:
    database = Database(Settings(store.folder, store.url).database)
    await upgrade(database)
    statement = text(
        "INSERT INTO idempotency (intent, request, created_at) VALUES (:i, 'r', 'now')"
    )
    writer = GroupWriter(database, {"row": statement})
    tasks = [asyncio.create_task(writer.commit({"row": [{"i": str(n)}]})) for n in range(6)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[3].cancel()
    outcome = await asyncio.gather(*tasks, return_exceptions=True)
    # One that gave up may have been written all the same; one that was told so was written.
    rows = {row[0] for row in await database.all(text("SELECT intent FROM idempotency"))}
    assert {str(n) for n, one in enumerate(outcome) if one is None} <= rows
    assert [n for n, one in enumerate(outcome) if one is None] == [1, 2, 4, 5]
    await database.close()


async def test_an_unexpected_error_names_an_incident_and_shows_no_code(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up_logs()
    await service.post("/v1/tasks", TASK)
    async with service.app.state.parts.database.write() as conn:
        await conn.execute(text("UPDATE tasks SET body = 'not a task'"))
    answer = await service.post("/v1/episodes", {"task": TASK["id"]})
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "Traceback" not in answer.text
    said = "".join(capsys.readouterr())
    assert problem["incident"] in said
    assert "Traceback" in said
    assert ADMIN not in said, "what a log shows of a fault is not its variables"


async def test_paths_and_methods_that_do_not_exist_are_problems_too(service: Service) -> None:
    for method, path, status in (("GET", "/v1/nothing", 404), ("DELETE", "/v1/tasks", 405)):
        answer = await service.call(method, path)
        assert (answer.status_code, answer.json()["status"]) == (status, status)
        assert answer.headers["content-type"] == "application/problem+json"


async def test_metrics_count_what_happened(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    await service.append(id, b"", token)
    await service.reward(id, 0)
    told = (await service.get("/metrics")).text
    for line in (
        f"milestoned_events_total {len(SAID)}.0",
        "milestoned_segments_total 1.0",
        'milestoned_rewards_sealed_total{status="sealed"} 2.0',
        "milestoned_milestones_total 3.0",
        'milestoned_refusals_total{reason="malformed-segment"} 1.0',
        "milestoned_reward_reads_total 1.0",
        "milestoned_open_episodes 0.0",
        "milestoned_ingest_seconds_count 1.0",
        "milestoned_waiters 0.0",
    ):
        assert line in told


def test_unavailable_says_when_to_come_again() -> None:
    assert UnavailableError.headers == {"retry-after": "1"}
