"""The memory of `milestoned export --stored` over 1,000 and over 10,000 episodes, on each database.

Flat memory means that ten times the episodes need no more of it. The peak is what the kernel says of
the command's own process (VmHWM), which is started for each export.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import zstandard
from sqlalchemy import insert, select

from api.episodes.tables import episodes
from api.log.tables import segments
from api.rewards.tables import milestones, rewards
from benchmarks.figures import HIGHER, LOWER, NEITHER, at_most
from benchmarks.measure import EXTREME, single
from benchmarks.report import PartReport
from common.frames import unpack
from detectors.model.codec import sha256
from tests.api.service import Service, Store, running
from tests.support.logs import Said, clicked, episode, filled, went
from tests.support.postgres import Postgres, programs

STEPS, BATCH = 10, 500
MANY, QUICK_MANY, TIMES_FEW = 10_000, 1_000, 10
"""Episodes that are exported, and how many times as many they are as the few beside them."""
FORMS = ("tables", "sft")
WANTED = at_most(32)
FIRST = {"part": "first"}
"""The labels of the few episodes."""
POLL_S = 0.01


class Measured(NamedTuple):
    """An export: its peak of resident memory in MiB, and its time in seconds."""

    peak: float
    seconds: float


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    with tempfile.TemporaryDirectory() as folder:
        _measure(report, "SQLite", Store(Path(folder)))
    if programs() is None:
        report.leave_out("Postgres is not installed: nothing is measured on it")
        return
    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        _measure(report, "Postgres", Store(Path(folder), server.database()))


def _measure(report: PartReport, name: str, store: Store) -> None:
    episodes = report.choose(MANY, QUICK_MANY)
    report.head(f"export on {name}: {episodes:,} episodes of {STEPS} steps, few: a tenth of them")
    asyncio.run(_fill(store, episodes))
    for form in FORMS:
        few = _export(store, form, ["--label", "part=first"])
        many = _export(store, form, [])
        growth = single(many.peak - few.peak, noise=1.0)  # a small part of two peaks
        rate = single(episodes / many.seconds, noise=EXTREME)
        report.add(f"{form}, {name}: peak over few", single(few.peak), "MiB", NEITHER)
        report.add(f"{form}, {name}: peak over all", single(many.peak), "MiB", LOWER)
        report.add(f"{form}, {name}: growth", growth, "MiB", WANTED, "the peak over few")
        report.add(f"{form}, {name}: rate", rate, "episodes/s", HIGHER)


def _export(store: Store, form: str, options: list[str]) -> Measured:
    """Run the command over the stored episodes that ``options`` select."""
    place = ["--database", store.url] if store.url else ["--data", str(store.folder)]
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "api.cli.main", "export", "--stored", *place, *options]
        begun = time.perf_counter()
        with subprocess.Popen(
            [*command, "--form", form, "--out", out], stdout=subprocess.DEVNULL
        ) as process:
            peak = 0.0
            while process.poll() is None:
                peak = max(peak, _peak_memory(process.pid))
                time.sleep(POLL_S)
        if process.returncode:
            raise RuntimeError(f"the export ended with {process.returncode}")
        return Measured(peak, time.perf_counter() - begun)


def _peak_memory(process: int) -> float:
    """Return the peak of a process's resident memory in MiB, 0 of one that has ended."""
    with suppress(OSError):
        for text in Path(f"/proc/{process}/status").read_text().splitlines():
            if text.startswith("VmHWM:"):
                return int(text.split()[1]) / 1024
    return 0.0


async def _fill(store: Store, episodes_in_all: int) -> None:
    """One episode as the service stores it, then rows of others like it under ids of their own."""
    async with running(store, requests_per_s=0) as service:
        first, token = await service.open()
        await service.tell(first, token, *episode(*_steps()))
        database = service.app.state.parts.database
        patterns = await _patterns(service, first)
        few = episodes_in_all // TIMES_FEW
        for start in range(1, episodes_in_all, BATCH):
            made: dict[Any, list[dict[str, Any]]] = {table: [] for table in patterns}
            for number in range(start, min(start + BATCH, episodes_in_all)):
                labels = FIRST if number < few else {}
                for table, row in _copies(patterns, first, number, labels):
                    made[table].append(row)
            async with database.write() as connection:
                for table, rows in made.items():
                    await connection.execute(insert(table), rows)


def _steps() -> Iterator[list[Said]]:
    for step in range(STEPS):
        typed = [filled(f"Line {field}", f"value {step} of {field}") for field in range(8)]
        yield [went("/cart" if step == 1 else f"/page/{step}"), *typed, clicked("Buy")]


async def _patterns(service: Service, first: str) -> dict[Any, list[dict[str, Any]]]:
    """Return the rows of the first episode, table by table."""
    database = service.app.state.parts.database
    found = {}
    for table, key in (
        (episodes, episodes.c.id),
        (segments, segments.c.episode),
        (rewards, rewards.c.episode),
        (milestones, milestones.c.episode),
    ):
        rows = await database.all(select(table).where(key == first))
        found[table] = [dict(row._mapping) for row in rows]
    return found


def _copies(
    patterns: dict[Any, list[dict[str, Any]]], first: str, number: int, labels: dict[str, str]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the rows of the episode of this number, each with its table."""
    id = f"{first[:-8]}{number:08}"
    (segment,) = patterns[segments]
    text = unpack(segment["frame"]).replace(first.encode(), id.encode())
    head = sha256(text)
    (row,) = patterns[episodes]
    written = orjson.dumps(labels).decode()
    yield episodes, {**row, "id": id, "intent": None, "head": head, "labels": written}
    yield (
        segments,
        {**segment, "episode": id, "digest": head, "frame": zstandard.compress(text)},
    )
    for table in (rewards, milestones):
        for row in patterns[table]:
            body = bytes(row["body"]).replace(first.encode(), id.encode())
            yield table, {**row, "episode": id, "body": body}
