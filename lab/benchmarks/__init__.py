"""Other people's benchmarks as tasks of ours: one table of importers, each imported only when it is
asked for.

A module of the table has ``tasks(source, sites)`` and ``coverage(source)``, as
`lab.benchmarks.base` says. To add one: one file, one line here, one section of docs/coverage.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from lab.benchmarks.base import BenchmarkImporter

IMPORTERS: dict[str, tuple[str, str]] = {
    "webarena-verified": (
        "lab.benchmarks.verified",
        "webarena-verified.json, or where that package is installed",
    ),
    "webarena-infinity": (
        "lab.benchmarks.infinity",
        "a folder of WebArena-Infinity's applications as JSON",
    ),
    "miniwob": ("lab.benchmarks.miniwob", "JSON lines, an instance of a MiniWoB++ page each"),
    "webcanvas": (
        "lab.benchmarks.webcanvas",
        "WebCanvas' tasks.json, a list of tasks with key nodes",
    ),
    "opencomputer": (
        "lab.benchmarks.opencomputer",
        "OpenComputer's tasks.jsonl, a task a line",
    ),
    "osworld": ("lab.benchmarks.osworld", "a folder of OSWorld's tasks, <group>/<id>.json"),
}
"""kind → (module, what its SOURCE is)."""


def importer_of(kind: str) -> BenchmarkImporter:
    """Import the importer of a benchmark, one of `IMPORTERS`."""
    return cast(BenchmarkImporter, import_module(IMPORTERS[kind][0]))
