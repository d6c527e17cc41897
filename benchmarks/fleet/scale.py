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
from api.db.database import SERVER_POOL
from api.fleet.watch import LOOKS, MAX_LOOK_S
from api.log.broadcast import RECHECK_S
from benchmarks.fleet.main import MEASURED
from benchmarks.measure import line

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


def main() -> None:
    """Measure at each size and print the table."""
    measured: dict[str, Any] = json.loads(MEASURED.read_text())
    steps, step_s = measured["steps"], measured["step_s"]
    service, postgres = (measured["cpu_s"][role] / steps for role in ("service", "postgres"))
    events, disk = measured["events"] / steps, measured["database"] / steps
    print(
        f"scale: from {measured['sandboxes']} sandboxes, {steps:.0f} steps of {events:.1f} events"
        f" in {measured['seconds']:.0f} s; a step takes {service * 1000:.1f} ms of the service,"
        f" {postgres * 1000:.1f} ms of Postgres, {disk:.0f} bytes"
    )
    for sandboxes in SIZES:
        rate = sandboxes / step_s
        replicas = max(2, math.ceil(rate * service / BUSY))
        print(f"{sandboxes:,} sandboxes, each a step every {step_s:g} s:")
        line("steps/s", f"{rate:,.0f}")
        line("events/s", f"{rate * events:,.0f}")
        line(f"replicas, a core each, {BUSY:.0%} used", f"{replicas:,}")
        line(f"Postgres, cores {BUSY:.0%} used", f"{math.ceil(rate * postgres / BUSY):,}")
        connections = replicas * (2 * SERVER_POOL + 1)
        line("connections to Postgres", f"{connections:,}", _excess(connections, CONNECTIONS))
        files = math.ceil(sandboxes * SOCKETS / replicas)
        line("open files a replica", f"{files:,}", _excess(files, FILES))
        limits = Limits()
        line("beats/s", f"{sandboxes * LOOKS / limits.sandbox_lost_s:,.0f}")
        look = min(limits.sandbox_lost_s / LOOKS, MAX_LOOK_S)
        line(
            "rows/s that all replicas read to see who is alive",
            f"{replicas * sandboxes / look:,.0f}",
        )
        line("looks/s of those who wait, unasked", f"{2 * sandboxes / RECHECK_S:,.0f}")
        line("notifications/s that each replica hears", f"{rate * ROWS_A_STEP:,.0f}")
        line("disk, GB a day", f"{rate * disk * 86_400 / 1e9:,.0f}")


def _excess(value: float, most: float) -> str:
    return f"> {most:,.0f}" if value > most else ""
