"""The service: ingest with detection beside a bare insert on each database, reward reads beside an
empty route."""

from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import asyncpg
import httpx
import zstandard
from sqlalchemy import make_url

from benchmarks import workload
from benchmarks.figures import HIGHER, NEITHER, RATIO, at_least
from benchmarks.measure import estimate_median, estimate_rate, ratio
from benchmarks.report import PartReport
from benchmarks.wire import drive, request
from detectors.model.codec import decode_segment
from detectors.task.task_json import task_to_json
from lab.demo.parts import DemoService, start_service
from lab.demo.processes import DemoProcesses
from tests.support.postgres import Postgres, programs

EPISODES, SIZE = 8, 500
READS, QUICK_READS = 4_000, 1_600
SEGMENTS, QUICK_SEGMENTS = 25, 8
"""Segments of an episode; a smaller log leaves less for processes beside the service."""
ROUNDS, QUICK_ROUNDS = 11, 3

Insert = Callable[[str, list[bytes]], float]
"""Seconds for one process to unpack, decode and insert segments at a place, each in a transaction
of its own."""


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    with tempfile.TemporaryDirectory() as made, DemoProcesses(Path(made) / "logs") as parts:
        folder = Path(made)
        service = start_service(parts, folder / "service")
        with _client(service) as client:
            ingest(
                report,
                "SQLite",
                service,
                client,
                lambda n: str(folder / f"bare{n}.db"),
                _into_sqlite,
            )
            reads(report, service, client)
        if programs() is None:
            report.leave_out("Postgres is not installed: nothing is measured on it")
            return
        with Postgres(settings=("max_connections=200",)) as server:
            database = server.database()
            key = "MILESTONED_SIGNING_KEY=a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
            shared = ("env", f"MILESTONED_SECRET={'s' * 32}", key)
            for name in ("on-postgres", "second"):  # the same token for both
                (folder / name).mkdir()
                (folder / name / "admin.token").write_text("mt_" + "a" * 32)
            service = start_service(parts, folder / "on-postgres", database=database, prefix=shared)
            with _client(service) as client:
                ingest(
                    report,
                    "Postgres",
                    service,
                    client,
                    lambda _: server.database(),
                    _into_postgres,
                )
                second = start_service(
                    parts, folder / "second", database=database, prefix=shared, name="service-2"
                )
                workers(report, service, second, client)


@contextmanager
def _client(service: DemoService) -> Iterator[httpx.Client]:
    token = {"authorization": f"Bearer {service.token}"}
    with httpx.Client(base_url=service.url, headers=token, timeout=60) as client:
        for rules in (workload.task(10), workload.deaf()):
            client.post("/v1/tasks", json=task_to_json(rules.task)).raise_for_status()
        yield client


def ingest(
    report: PartReport,
    store: str,
    service: DemoService,
    client: httpx.Client,
    place: Callable[[int], str],
    insert: Insert,
) -> None:
    """Durable events a second: over HTTP with detection, under rules that hear nothing of it, and
    by one process that only stores them."""
    port = urlsplit(service.url).port or 0
    count = report.choose(SEGMENTS, QUICK_SEGMENTS)
    total = EPISODES * count * SIZE
    bare: list[float] = []
    took: dict[str, list[float]] = {"bench": [], "deaf": []}
    for n in range(report.choose(ROUNDS, QUICK_ROUNDS) + 1):
        for task, taken in took.items():
            frames = [_frames(client, n * EPISODES + k, task, count) for k in range(EPISODES)]
            if task == "bench":
                # what others leave alive must not be walked during the reference's time
                gc.collect()
                gc.freeze()
                bare.append(
                    insert(place(n), [frame for _, _, listed in frames for frame in listed])
                )
            taken.append(drive(port, [_posts(*one) for one in frames]))
    bare, ours, deaf = (
        times[1:] for times in (bare, *took.values())
    )  # in the first round the processes come up
    report.head(
        f"ingest: {total} events in segments of {SIZE}, {EPISODES} episodes at once, on {store} that"
        " writes through to the disk; bare: one process unpacks, decodes, inserts"
    )
    report.add(f"bare insert, {store}", estimate_rate(total, bare), "events/s", NEITHER)
    report.add(
        f"service (HTTP, chain, detection, insert), {store}",
        estimate_rate(total, ours),
        "events/s",
        HIGHER,
    )
    reference = "a bare insert of the same segments"
    for row, times, wanted in (
        ("ingest with detection / bare insert", ours, at_least(0.6)),
        ("ingest where no rule hears any of it / bare insert", deaf, HIGHER),
    ):
        report.add(f"{row}, {store}", ratio(bare, times), RATIO, wanted, reference)


def _frames(
    client: httpx.Client, seed: int, task: str = "bench", count: int = QUICK_SEGMENTS
) -> tuple[str, str, list[bytes]]:
    opened: dict[str, Any] = (
        client.post("/v1/episodes", json={"task": task}).raise_for_status().json()
    )
    log = workload.events(count * SIZE, opened["episode"], seed)
    pack = zstandard.ZstdCompressor(level=3).compress
    return opened["episode"], opened["token"], [pack(text) for text in workload.segments(log, SIZE)]


def _posts(episode: str, token: str, frames: list[bytes]) -> list[bytes]:
    path = f"/v1/episodes/{episode}/events"
    return [request("POST", path, token, frame, "application/zstd") for frame in frames]


_TABLE = (
    "CREATE TABLE segments (episode TEXT, first INT, digest TEXT, frame {blob}, PRIMARY KEY"
    " (episode, first))"
)


def _rows(frames: list[bytes]) -> Iterator[tuple[str, int, str, bytes]]:
    unpack = zstandard.ZstdDecompressor().decompress
    for frame in frames:
        segment = decode_segment(unpack(frame))
        yield segment.episode, segment.first, segment.digest, frame


def _into_sqlite(path: str, frames: list[bytes]) -> float:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute(_TABLE.format(blob="BLOB"))
    start = time.perf_counter()
    for row in _rows(frames):
        database.execute("BEGIN")
        database.execute("INSERT INTO segments VALUES (?, ?, ?, ?)", row)
        database.execute("COMMIT")
    took = time.perf_counter() - start
    database.close()
    return took


def _into_postgres(url: str, frames: list[bytes]) -> float:
    async def insert() -> float:
        database = await asyncpg.connect(
            make_url(url).set(drivername="postgresql").render_as_string(False)
        )
        await database.execute(_TABLE.format(blob="BYTEA"))
        start = time.perf_counter()
        for row in _rows(frames):
            await database.execute("INSERT INTO segments VALUES ($1, $2, $3, $4)", *row)
        took = time.perf_counter() - start
        await database.close()
        return took

    return asyncio.run(insert())


def _rewards(service: DemoService, client: httpx.Client, count: int) -> list[list[bytes]]:
    """So many requests for the sealed rewards of an episode, on 8 connections."""
    episode, token, frames = _frames(client, 999)
    drive(urlsplit(service.url).port or 0, [_posts(episode, token, frames)])
    steps = client.get(f"/v1/episodes/{episode}").raise_for_status().json()["step"]
    paths = [f"/v1/episodes/{episode}/steps/{n % steps}/reward" for n in range(count // 8)]
    return [[request("GET", path, service.token) for path in paths] for _ in range(8)]


class Driven(NamedTuple):
    """Seconds of one round of requests, and of the processor time that this process, the client,
    took for it."""

    wall: float
    client: float


def workers(report: PartReport, one: DemoService, two: DemoService, client: httpx.Client) -> None:
    """Requests a second of sealed rewards at one worker, and at two on the same Postgres with half
    of them each.

    Two workers need the cores that the client needs too. The processor time that it took is a share
    of all cores; without it the two would have been done so much earlier.
    """
    count = report.choose(READS, QUICK_READS)
    rewards = _rewards(one, client, count)
    ports = [urlsplit(service.url).port or 0 for service in (one, two)]
    took: dict[int, list[Driven]] = {1: [], 2: []}
    with ThreadPoolExecutor(2) as both:
        for _ in range(report.choose(ROUNDS, QUICK_ROUNDS) + 1):
            took[1].append(_timed(lambda: drive(ports[0], rewards)))
            took[2].append(_timed(lambda: list(both.map(drive, ports, (rewards[:4], rewards[4:])))))
    alone, shared = (times[1:] for times in took.values())  # the first round fills the caches
    report.head("reads: two workers on one Postgres, half of the 8 connections each")
    cores = os.cpu_count() or 1
    walls = [[driven.wall for driven in rounds] for rounds in (alone, shared)]
    shares = [driven.client / cores / driven.wall for driven in shared]
    without_client = [driven.wall - driven.client / cores for driven in shared]
    reference = "one of them with all connections"
    for name, wall in zip(("one worker", "two workers"), walls, strict=True):
        report.add(f"sealed reward, {name}", estimate_rate(count, wall), "requests/s", HIGHER)
    report.add("two workers / one", ratio(*walls), RATIO, HIGHER, reference)
    share = estimate_median([100 * share for share in shares])
    report.add("two workers: the client's share of all cores", share, "%", NEITHER)
    report.add(
        "two workers / one, the client's share taken out",
        ratio(walls[0], without_client),
        RATIO,
        at_least(1.6),
        reference,
    )


def _timed(send: Callable[[], object]) -> Driven:
    start, busy = time.perf_counter(), time.process_time()
    send()
    return Driven(time.perf_counter() - start, time.process_time() - busy)


def reads(report: PartReport, service: DemoService, client: httpx.Client) -> None:
    """Requests a second of a sealed reward, and of a route that does nothing."""
    port = urlsplit(service.url).port or 0
    count = report.choose(READS, QUICK_READS)
    rewards = _rewards(service, client, count)
    empty = [[request("GET", "/healthz", service.token)] * len(rewards[0]) for _ in range(8)]
    drive(port, rewards)
    took: dict[str, list[float]] = {"rewards": [], "empty": []}
    for _ in range(report.choose(ROUNDS, QUICK_ROUNDS)):
        took["empty"].append(drive(port, empty))
        took["rewards"].append(drive(port, rewards))
    report.head("reads: one worker, 8 connections; the empty route is /healthz of the same app")
    report.add("empty route", estimate_rate(count, took["empty"]), "requests/s", NEITHER)
    report.add("sealed reward", estimate_rate(count, took["rewards"]), "requests/s", HIGHER)
    figure = ratio(took["empty"], took["rewards"])
    report.add("sealed reward / empty route", figure, RATIO, at_least(0.7), "the empty route")
