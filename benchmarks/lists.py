"""Lists and samples of 10,000 stored episodes on each database, beside an empty route."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import insert, select, text

from api.episodes.label_index import label_rows
from api.episodes.reached import reached_key
from api.episodes.tables import episode_marks, episodes
from api.rewards.tables import milestones
from benchmarks.figures import LOWER, NEITHER, at_most
from benchmarks.measure import estimate_median, estimate_quantile
from benchmarks.report import PartReport
from tests.api.service import TASK, Service, Store, running
from tests.support.logs import clicked, episode, went
from tests.support.postgres import Postgres, programs

EPISODES, QUICK_EPISODES, POLICIES = 10_000, 2_000, 10
ROUNDS, QUICK_ROUNDS = 31, 9
SAMPLE = {"task": TASK["id"], "n": 32}
CALLS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "the newest 50": ("GET", "/v1/episodes", None),
    "50 of a label, by total": ("GET", "/v1/episodes?label=policy%3D3&sort=best", None),
    "50 failures of a span of totals": (
        "GET",
        "/v1/episodes?outcome=failure&least=0.1&most=0.6",
        None,
    ),
    "32 drawn of all failures": ("POST", "/v1/episodes:sample", {**SAMPLE, "pick": "failure"}),
    "32 drawn of the near misses": ("POST", "/v1/episodes:sample", {**SAMPLE, "pick": "near_miss"}),
    "32 drawn by novelty": ("POST", "/v1/episodes:sample", {**SAMPLE, "pick": "novel"}),
}


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(report, "SQLite", Store(Path(folder))))
    if programs() is None:
        report.leave_out("Postgres is not installed: nothing is measured on it")
        return
    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        asyncio.run(_measure(report, "Postgres", Store(Path(folder), server.database())))


async def _measure(report: PartReport, name_of_store: str, store: Store) -> None:
    episodes = report.choose(EPISODES, QUICK_EPISODES)
    rounds = report.choose(ROUNDS, QUICK_ROUNDS)
    report.head(
        f"lists of {episodes:,} episodes on {name_of_store}; the processor's time is of this"
        " process, in which the service and SQLite are, and Postgres is not"
    )
    async with running(store, requests_per_s=0) as service:
        await _fill(service, episodes)
        empty = await _measure_calls(lambda: service.get("/healthz"), rounds)
        row = f"an empty route, {name_of_store}, p50"
        report.add(row, estimate_median(empty.wall), "ms", NEITHER)
        for name, (method, path, body) in CALLS.items():
            more: dict[str, Any] = {} if body is None else {"json": body}
            answer = await service.call(method, path, **more)
            assert answer.status_code == 200, answer.text
            taken = await _measure_calls(partial(service.call, method, path, **more), rounds)
            row = f"{name}, {name_of_store}"
            report.add(f"{row}, p50", estimate_median(taken.wall), "ms", at_most(50))
            report.add(f"{row}, p99", estimate_quantile(taken.wall, 0.99), "ms", LOWER)
            report.add(f"{row}, processor", estimate_median(taken.cpu), "ms", LOWER)


async def _fill(service: Service, count: int) -> None:
    """One episode as the service stores it, then rows of others like it with labels, outcomes,
    totals and milestones of their own."""
    first, token = await service.open()
    await service.tell(first, token, *episode([went("/cart")], [clicked("Buy")]))
    database = service.app.state.parts.database
    (pattern,) = await database.all(select(episodes).where(episodes.c.id == first))
    (earned, *_) = await database.all(select(milestones).where(milestones.c.episode == first))
    draw = random.Random(0)
    rows, marks, reached = [], [], []
    for number in range(count - 1):
        id = f"{first[:-8]}{number:08}"
        row = {**pattern._mapping, "id": id, "intent": None}
        row["success"] = draw.random() < 0.3
        row["total"] = 1.0 if row["success"] else round(draw.random(), 3)
        paid = draw.randrange(6)
        row["reached"] = reached_key(f"m{index}" for index in range(paid))
        rows.append(row)
        marks += label_rows({"policy": str(number % POLICIES)}, row["tenant"], row["opened_at"], id)
        reached += [
            {**earned._mapping, "episode": id, "number": index, "id": f"m{index}"}
            for index in range(paid)
        ]
    async with database.write() as connection:
        await connection.execute(insert(episodes), rows)
        await connection.execute(insert(episode_marks), marks)
        await connection.execute(insert(milestones), reached)
        if connection.dialect.name == "postgresql":
            # What Postgres does by itself within a minute of so many new rows.
            await connection.execute(text("ANALYZE"))


class CallTimes(NamedTuple):
    """What calls took in milliseconds: by the clock, and of this process's CPU, in which the
    service and SQLite are (Postgres is not)."""

    wall: list[float]
    cpu: list[float]


async def _measure_calls(call: Callable[[], Awaitable[Any]], rounds: int) -> CallTimes:
    taken = CallTimes([], [])
    for _ in range(rounds):
        begun, busy = time.perf_counter(), time.process_time()
        await call()
        taken.wall.append((time.perf_counter() - begun) * 1000)
        taken.cpu.append((time.process_time() - busy) * 1000)
    return taken
