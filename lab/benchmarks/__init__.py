"""Other people's benchmarks as tasks of ours: one table of importers, each imported only when it is
asked for.

A module of the table has ``tasks(source, sites)`` and ``coverage(source)``, as
`lab.benchmarks.base` says. To add one: one file, one line here, one section of docs/coverage.md.
"""

from __future__ import annotations

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
    "osworld": ("lab.benchmarks.osworld", "a folder of OSWorld's tasks, <group>/<id>.json"),
}
"""kind → (module, what its SOURCE is)."""
