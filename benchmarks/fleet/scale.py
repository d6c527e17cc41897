"""`python -m benchmarks scale`: what 10,000 and 100,000 sandboxes would cost, from the last
measured fleet.

Processor time and bytes a step are taken as they were measured, times the steps of the larger
fleet: no allowance for faster machines, none for what contention adds. Docs/scale.md has its output
and what it leaves out.
"""

from __future__ import annotations

import json
import math
from typing import Any

from api.core.settings import Limits
from api.db.database import CONNECTIONS as OF_REPLICA
from api.fleet.watch import BUSY_BEAT, LOOKS, MAX_LOOK_S
from api.log.broadcast import RECHECK_S
from benchmarks.figures import LOWER, NEITHER, Wanted, at_most
from benchmarks.fleet.main import MEASURED
from benchmarks.measure import single
from benchmarks.report import PartReport

SIZES = (1_000, 10_000, 100_000)
BUSY = 0.6
"""How much of a core may be used in the mean, so that latency stays."""
CONNECTIONS = 200
"""Postgres' max_connections in docker-compose.yml."""
SOCKETS = 3
"""Connections of one daemon at its busiest: commands, segments, beats."""
FILES = 65_536
"""Open files of a replica, as docker-compose.yml allows them."""
ROWS_A_STEP = 6
"""Rows that a step writes: its commands twice, step, reward, and segments."""


def main(report: PartReport) -> None:
    """Compute each size, and report the table."""
    measured: dict[str, Any] = json.loads(MEASURED.read_text())
    steps, step_s = measured["steps"], measured["step_s"]
    service, postgres = (measured["cpu_s"][role] / steps for role in ("service", "postgres"))
    events, disk = measured["events"] / steps, measured["database"] / steps
    report.head(
        f"scale: from {measured['sandboxes']} sandboxes, {steps:.0f} steps of {events:.1f} events"
        f" in {measured['seconds']:.0f} s; a step takes {service * 1000:.1f} ms of the service,"
        f" {postgres * 1000:.1f} ms of Postgres, {disk:.0f} bytes"
    )
    for sandboxes in SIZES:
        rate = sandboxes / step_s
        replicas = max(2, math.ceil(rate * service / BUSY))
        limits = Limits()
        look = min(limits.sandbox_lost_s / LOOKS, MAX_LOOK_S)
        cores = math.ceil(rate * postgres / BUSY)
        rows: tuple[tuple[str, float, str, Wanted], ...] = (
            ("steps", rate, "steps/s", NEITHER),
            ("events", rate * events, "events/s", NEITHER),
            (f"replicas, {BUSY:.0%} of a core used", replicas, "replicas", LOWER),
            (f"Postgres, {BUSY:.0%} of each core used", cores, "cores", LOWER),
            (
                "connections to Postgres",
                replicas * (OF_REPLICA + 1),
                "connections",
                at_most(CONNECTIONS),
            ),
            (
                "open files a replica",
                math.ceil(sandboxes * SOCKETS / replicas),
                "files",
                at_most(FILES),
            ),
            ("beats", sandboxes / (limits.sandbox_lost_s * BUSY_BEAT), "beats/s", LOWER),
            (
                "what all replicas read to see who is alive",
                replicas * sandboxes / look,
                "rows/s",
                LOWER,
            ),
            ("looks of trainers that wait, unasked", sandboxes / RECHECK_S, "looks/s", LOWER),
            ("what each replica is notified of", rate * ROWS_A_STEP, "notifications/s", LOWER),
            ("disk", rate * disk * 86_400 / 1e9, "GB a day", LOWER),
        )
        report.head(f"{sandboxes:,} sandboxes, each a step every {step_s:g} s:")
        for row, value, unit, wanted in rows:
            report.add(f"{sandboxes:,}: {row}", single(value), unit, wanted)
