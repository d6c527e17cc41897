"""`python -m benchmarks fleet --minutes 5 --sandboxes 1000`: the fleet on this machine, measured
from outside.

Two `milestoned serve` on one Postgres with its own durability, sandboxes in two processes, trainers
in one. The figures of the service's and the database's processor time, memory and disk are what
benchmarks/fleet/scale.py computes larger fleets from; they are kept in runs/fleet/measured.json.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import httpx
import psutil

from benchmarks.figures import LOWER, NEITHER, at_most
from benchmarks.measure import estimate_quantile, quantile, single
from benchmarks.report import PartReport
from lab.demo.parts import same_imports
from lab.demo.processes import DemoProcess, DemoProcesses, console
from tests.support.postgres import Postgres

REPLICAS = 2
SANDBOX_PROCESSES = 2
MEASURED = Path("runs/fleet/measured.json")
SETTLE_STEPS = 2.0
"""How many steps' time the fleet runs before it is measured."""
QUIET_MS = 50
"""How long nothing must happen before a step is sealed, by the task of the tape."""
MAX_STEP_MS = {"service": (5.0, 8.0), "postgres": (3.0, 4.0)}
"""Processor time of a step that is wanted at most, by role: with short steps, and with long ones."""
LONG_STEP_S = 30.0
FLOOR_S = 15.0
"""How long the service is measured without requests, and with empty ones alone."""


SHOWN_TABLE_BYTES = 10
"""A table that grows less with a step is not shown."""


class Load(NamedTuple):
    """The counters at one moment: what was accepted, seconds of processor time by role, bytes of
    the database, its transactions, and bytes of each table with its indexes."""

    at: float
    events: float
    steps: float
    segments: float
    cpu: dict[str, float]
    database: int
    transactions: int
    tables: dict[str, int]


class Replica(NamedTuple):
    """A running `milestoned serve`."""

    part: DemoProcess
    url: str


def main(report: PartReport, minutes: float, sandboxes: int, step_s: float) -> None:
    """Report the figures, and keep them for `scale` unless it is the short form."""
    admin = f"mt_{secrets.token_hex(16)}"
    with (
        tempfile.TemporaryDirectory() as where,
        Postgres(settings=("max_connections=200", "shared_buffers=256MB")) as postgres,
        DemoProcesses(Path(where) / "logs") as parts,
    ):
        folder, url = Path(where), postgres.database()
        replicas = [_replica(parts, folder / f"replica{n}", url, admin) for n in range(REPLICAS)]
        client = httpx.Client(headers={"authorization": f"Bearer {admin}"}, timeout=60)
        roles = {
            "service": [one.part.pid for one in replicas],
            "postgres": [postgres.pid],
        }
        daemons = _sandboxes(parts, folder, replicas, admin, sandboxes)
        roles["sandboxes"] = [one.pid for one in daemons]
        _wait_until_idle(client, replicas[0].url, sandboxes)
        trainers = _trainers(parts, folder, replicas, admin, sandboxes, step_s)
        roles["trainers"] = [trainers.pid]
        time.sleep(SETTLE_STEPS * step_s)
        before = _load(client, replicas, roles, url)
        memory = _watch(minutes, roles, parts)
        after = _load(client, replicas, roles, url)
        trainers.end()
        for one in daemons:
            one.end()
        told = json.loads((folder / "trainers.json").read_text())
        told["sent_at"] = [
            sent
            for log in sorted(folder.glob("journals*/requests.json"))
            for sent in json.loads(log.read_text())
        ]
        requests = _report(report, sandboxes, step_s, before, after, memory, told)
        _report_floor(report, client, replicas, roles["service"], requests)


def _replica(parts: DemoProcesses, data: Path, database: str, admin: str) -> Replica:
    port_file = data / "port"
    command = [
        *console("milestoned", "api.cli.main"),
        "serve",
        "--data",
        str(data),
        "--database",
        database,
    ]
    command += ["--port", "0", "--port-file", str(port_file)]
    environment = {
        **same_imports(),
        "MILESTONED_SECRET": "of the benchmark",
        "MILESTONED_ADMIN_TOKEN": admin,
    }
    environment["MILESTONED_SIGNING_KEY"] = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
    part = parts.start(f"service {data.name}", command, environment)
    port = part.wait_until(
        "it listened", lambda: port_file.read_text().strip() if port_file.exists() else None
    )
    return Replica(part, f"http://127.0.0.1:{port}")


def _sandboxes(
    parts: DemoProcesses, folder: Path, replicas: list[Replica], token: str, count: int
) -> list[DemoProcess]:
    started, first = [], 0
    for n in range(SANDBOX_PROCESSES):
        share = count // SANDBOX_PROCESSES + (n < count % SANDBOX_PROCESSES)
        journals = folder / f"journals{n}"
        journals.mkdir()
        said = [replicas[n % len(replicas)].url, token, str(first), str(share), str(journals)]
        started.append(
            parts.start(f"sandboxes {n}", [*_module("sandboxes"), *said], same_imports())
        )
        first += share
    return started


def _trainers(
    parts: DemoProcesses,
    folder: Path,
    replicas: list[Replica],
    token: str,
    episodes: int,
    step_s: float,
) -> DemoProcess:
    said = [
        token,
        str(episodes),
        str(step_s),
        str(folder / "trainers.json"),
        *(one.url for one in replicas),
    ]
    return parts.start("trainers", [*_module("trainers"), *said], same_imports())


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.fleet.{name}"]


def _wait_until_idle(client: httpx.Client, url: str, sandboxes: int) -> None:
    """Wait until all of them registered."""
    pattern = re.compile(r'milestoned_sandboxes\{state="idle"\} ([0-9.]+)')
    while True:
        found = pattern.search(client.get(f"{url}/metrics").text)
        if found is not None and float(found[1]) >= sandboxes:
            return
        time.sleep(0.5)


def _watch(minutes: float, roles: dict[str, list[int]], parts: DemoProcesses) -> dict[str, float]:
    """The most memory that each role took while the fleet ran."""
    most: dict[str, float] = dict.fromkeys(roles, 0.0)
    until = time.monotonic() + minutes * 60
    while (left := until - time.monotonic()) > 0:
        for role, pids in roles.items():
            most[role] = max(most[role], sum(_measure_processes(pids, _memory)))
        time.sleep(min(5.0, left))
    return most


def _measure_processes(pids: Iterable[int], ask: Callable[[psutil.Process], float]) -> list[float]:
    """What every process of a role answers: those that were started must live, their children come
    and go."""
    told = []
    for pid in pids:
        process = psutil.Process(pid)
        told.append(ask(process))
        for child in process.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                told.append(ask(child))
    return told


def _memory(process: psutil.Process) -> float:
    return float(process.memory_full_info().pss)


def _processor_s(process: psutil.Process) -> float:
    return float(sum(process.cpu_times()[:2]))


def _load(
    client: httpx.Client, replicas: list[Replica], roles: dict[str, list[int]], database: str
) -> Load:
    texts = [client.get(f"{one.url}/metrics").text for one in replicas]
    cpu = {role: sum(_measure_processes(pids, _processor_s)) for role, pids in roles.items()}
    return Load(
        time.monotonic(),
        _sum(texts, "milestoned_events_total"),
        _sum(texts, "milestoned_rewards_sealed_total"),
        _sum(texts, "milestoned_segments_total"),
        cpu,
        *_ask_postgres(database),
    )


def _sum(texts: list[str], name: str) -> float:
    pattern = re.compile(rf"^{name}(?:\{{[^}}]*\}})? ([0-9.e+]+)$", re.M)
    return sum(float(value) for text in texts for value in pattern.findall(text))


_TABLE_SIZES = """
    SELECT coalesce(parent.relname, part.relname) AS name,
           sum(pg_total_relation_size(part.oid)) AS bytes
    FROM pg_class part
    LEFT JOIN pg_inherits ON pg_inherits.inhrelid = part.oid
    LEFT JOIN pg_class parent ON parent.oid = pg_inherits.inhparent
    WHERE part.relkind = 'r' AND part.relnamespace = 'public'::regnamespace
    GROUP BY 1
"""
"""The bytes of each table with its indexes, its partitions together."""


def _ask_postgres(database: str) -> tuple[int, int, dict[str, int]]:
    """Return the database's size in bytes, and how many transactions it has committed; a statement
    outside of one counts as one. Then the bytes of each table."""

    async def ask() -> tuple[int, int, dict[str, int]]:
        conn = await asyncpg.connect(database)
        try:
            row = await conn.fetchrow(
                "SELECT pg_database_size(datname), xact_commit FROM pg_stat_database"
                " WHERE datname = current_database()"
            )
            assert row is not None, "the database that answers is there"
            tables = {
                table["name"]: int(table["bytes"]) for table in await conn.fetch(_TABLE_SIZES)
            }
            return int(row[0]), int(row[1]), tables
        finally:
            await conn.close()

    return asyncio.run(ask())


def _bounds(step_s: float) -> dict[str, float]:
    """Return the processor time that is wanted of each role with steps of this length, in ms."""
    return {role: bounds[step_s >= LONG_STEP_S] for role, bounds in MAX_STEP_MS.items()}


def _report(
    report: PartReport,
    sandboxes: int,
    step_s: float,
    before: Load,
    after: Load,
    memory: dict[str, float],
    told: dict[str, Any],
) -> float:
    """Report what was measured; return the requests that the service was sent in a second."""
    seconds = after.at - before.at
    events, steps = after.events - before.events, after.steps - before.steps
    waits = [took for at, took in told["sealed_at"] if before.at <= at <= after.at]
    called = sum(before.at <= at <= after.at for at, _ in told["called_at"])
    sent = Counter(what for at, what in told["sent_at"] if before.at <= at <= after.at)
    beats = sent.pop("beat", 0)
    requests = called + sent.total()
    cpu = {role: after.cpu[role] - before.cpu[role] for role in after.cpu}
    report.head(
        f"fleet: {sandboxes} sandboxes, a step every {step_s:g} s each, {REPLICAS} replicas,"
        f" Postgres, {seconds:.0f} s"
    )
    segments = after.segments - before.segments
    report.add("accepted events", single(events / seconds), "events/s", NEITHER)
    report.add("segments", single(segments / seconds), "segments/s", NEITHER)
    report.add("sealed steps", single(steps / seconds), "steps/s", NEITHER)
    report.add(
        "requests a step: trainer's, daemon's segments, its questions",
        single(requests / max(steps, 1)),
        "requests",
        at_most(3),
    )
    report.add("heartbeats a step", single(beats / max(steps, 1)), "requests", LOWER)
    waits_ms = [wait * 1000 for wait in waits]
    quiet = f"{QUIET_MS} ms of quiet"
    for share, bound in ((0.5, 60), (0.99, 300)):
        row = f"step's end to its reward at the trainer, p{share * 100:.0f}"
        report.add(row, estimate_quantile(waits_ms, share), "ms", at_most(bound), quiet)
    report.add("whole episodes, each with total 1", single(told["episodes"]), "episodes", NEITHER)
    errors = sum(told["errors"].values())
    report.add("errors at the trainers", single(errors), "errors", at_most(0))
    for error, count in told["errors"].items():
        report.head(f"    {count} × {error}")
    bounds = _bounds(step_s)
    for role, used in cpu.items():
        row = f"{role}: processor time a step"
        wanted = at_most(bounds[role]) if role in bounds else NEITHER
        report.add(row, single(used / max(steps, 1) * 1000), "ms", wanted)
        report.add(f"{role}: memory", single(memory[role] / (1 << 20)), "MiB", LOWER)
    transactions = after.transactions - before.transactions
    report.add(
        "transactions at Postgres a step",
        single(transactions / max(steps, 1)),
        "transactions",
        LOWER,
    )
    report.add(
        "database, bytes an event",
        single((after.database - before.database) / max(events, 1)),
        "bytes",
        at_most(100),
    )
    for name, size in after.tables.items():
        grown = (size - before.tables.get(name, 0)) / max(steps, 1)
        if grown >= SHOWN_TABLE_BYTES:
            report.add(f"    {name}: bytes a step", single(grown), "bytes", LOWER)
    rate = float((requests + beats) / seconds)
    if report.is_quick:
        return rate
    kept = {
        "sandboxes": sandboxes,
        "step_s": step_s,
        "seconds": seconds,
        "events": events,
        "steps": steps,
        "segments": segments,
        "p50_ms": quantile(waits, 0.5) * 1000,
        "p99_ms": quantile(waits, 0.99) * 1000,
        "errors": errors,
        "cpu_s": cpu,
        "memory": memory,
        "database": after.database - before.database,
    }
    MEASURED.parent.mkdir(parents=True, exist_ok=True)
    MEASURED.write_text(json.dumps(kept, indent=1) + "\n")
    return rate


def _report_floor(
    report: PartReport,
    client: httpx.Client,
    replicas: list[Replica],
    service: list[int],
    rate: float,
) -> None:
    """Report what an empty route takes at the fleet's ``rate`` of requests a second, which is more
    than at full load: between two of them caches go cold and threads sleep."""
    idle_s = _time_service(service, lambda: time.sleep(FLOOR_S))

    def send_empty() -> None:
        began = time.monotonic()
        for n in range(int(rate * FLOOR_S)):
            time.sleep(max(0.0, began + n / rate - time.monotonic()))
            client.get(f"{replicas[n % len(replicas)].url}/healthz")

    empty_s = _time_service(service, send_empty)
    report.add("service: a second without requests", single(idle_s * 1000), "ms", NEITHER)
    each_ms = (empty_s - idle_s) / rate * 1000
    report.add("service: an empty route at this rate", single(each_ms), "ms", NEITHER)


def _time_service(service: list[int], run: Callable[[], None]) -> float:
    """Return the service's processor time in a second of what ``run`` does."""
    before, began = sum(_measure_processes(service, _processor_s)), time.monotonic()
    run()
    used = sum(_measure_processes(service, _processor_s)) - before
    return used / (time.monotonic() - began)
