"""What small episodes that stay open add to the memory of a service."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import psutil

from benchmarks.figures import LOWER, NEITHER, at_most
from benchmarks.measure import single
from benchmarks.report import PartReport
from benchmarks.wire import fetch, request
from lab.demo.parts import DemoService, start_service
from lab.demo.processes import DemoProcesses
from tests.api.filled_service import SAID
from tests.api.service import TASK, events, frames

EPISODES, QUICK_EPISODES, WARM = 20_000, 800, 200
"""Episodes that are measured, and those before them, which fill what is filled once."""
CONNECTIONS = 16
MAX_GROWTH_MIB = 60
"""How much more memory is wanted at most for `EPISODES`."""
SETTLE_S = 2.0
"""How long the service is left alone before its memory is read."""


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    count = report.choose(EPISODES, QUICK_EPISODES)
    with tempfile.TemporaryDirectory() as name, DemoProcesses(Path(name) / "logs") as parts:
        service = start_service(parts, Path(name) / "service")
        port = urlsplit(service.url).port or 0
        fetch(port, [[request("POST", "/v1/tasks", service.token, orjson.dumps(TASK))]])
        _open_episodes(service, port, WARM)
        before = _memory_mib(service)
        _open_episodes(service, port, count)
        growth = _memory_mib(service) - before
    report.head(
        f"memory: a service on SQLite, {count:,} small episodes that stay open after {WARM} others,"
        " PSS of its processes"
    )
    reference = "the service with the first episodes"
    wanted = LOWER if report.is_quick else at_most(MAX_GROWTH_MIB)
    per_episode = single(growth * 1024 / count)
    max_per_episode = at_most(round(MAX_GROWTH_MIB * 1024 / EPISODES, 1))
    report.add("the service before", single(before), "MiB", NEITHER)
    report.add("growth by small open episodes", single(growth), "MiB", wanted, reference)
    report.add("growth an episode", per_episode, "KiB", max_per_episode, reference)


def _open_episodes(service: DemoService, port: int, count: int) -> None:
    """Open so many episodes, and append to each what happens in a small one."""
    body = orjson.dumps({"task": TASK["id"]})
    opening = request("POST", "/v1/episodes", service.token, body)
    opened = fetch(port, _share_out([opening] * count))
    episodes: list[dict[str, Any]] = [orjson.loads(answer) for part in opened for answer in part]
    fetch(port, _share_out([_append(one["episode"], one["token"]) for one in episodes]))


def _append(episode: str, token: str) -> bytes:
    (frame,) = frames(events(episode, *SAID))
    return request("POST", f"/v1/episodes/{episode}/events", token, frame, "application/zstd")


def _share_out(requests: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [requests[n::CONNECTIONS] for n in range(CONNECTIONS)]


def _memory_mib(service: DemoService) -> float:
    """Read the memory of the service's processes, what they share counted once, in MiB."""
    time.sleep(SETTLE_S)
    parent = psutil.Process(service.part.pid)
    processes = [parent, *parent.children(recursive=True)]
    return float(sum(process.memory_full_info().pss for process in processes)) / (1 << 20)
