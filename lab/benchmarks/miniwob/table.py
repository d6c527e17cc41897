"""The table of pages: by how many scripted runs goal and page agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.benchmarks.base import CoverageTable
from lab.benchmarks.miniwob.registry import GENERATORS, UNOBSERVABLE

NEAR = 0.026
"""How far the goal's credit may be from the page's reward: half a twentieth, for pages that pay any
part of 1."""
WHOLE = 1 - 1e-6

Line = Mapping[str, Any]


def agrees(run: Mapping[str, Any]) -> bool:
    """Whether the goal's credit, of 1, is what the page paid, and success said where the credit is
    whole."""
    credit = run["credit"]
    if credit is None:
        return False
    return abs(credit - max(0.0, float(run["raw"]))) <= NEAR and run["success"] is (credit >= WHOLE)


def unfit(line: Any) -> str | None:
    """What keeps a line from being counted, or None."""
    if not isinstance(line, Mapping) or not isinstance(line.get("page"), str):
        return f"got {line!r:.80}, wanted an object with page, and runs if there are any"
    if not isinstance(line.get("steps", []), list) or not isinstance(line.get("runs", []), list):
        return "steps, runs: wanted lists"
    for n, run in enumerate(line.get("runs", [])):
        if not isinstance(run, Mapping) or not {"way", "raw", "credit", "success"} <= run.keys():
            return f"runs[{n}]: got {run!r:.80}, wanted an object with way, raw, credit and success"
        if not _is_number(run["raw"]) or not (run["credit"] is None or _is_number(run["credit"])):
            return (
                f"runs[{n}]: got raw {run['raw']!r:.40}, credit {run['credit']!r:.40}, wanted"
                " numbers"
            )
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def table(lines: Sequence[Line]) -> CoverageTable:
    """One row a page that is known here; the last line of an instance counts."""
    own: dict[str, dict[str, Line]] = {}
    for line in lines:
        own.setdefault(line["page"], {})[str(line.get("seed"))] = line
    names = sorted(GENERATORS.keys() | UNOBSERVABLE.keys())
    rows = [_row(name, list(own.get(name, {}).values())) for name in names]
    whole = sum(_whole(list(found.values())) for found in own.values())
    seeds = sorted({seed for found in own.values() for seed in found})
    by_seed = [
        (seed, sum(_whole([found[seed]]) for found in own.values() if seed in found))
        for seed in seeds
    ]
    counts = ", ".join(f"{count} of seed {seed}" for seed, count in by_seed)
    not_run = len(names) - len(own) - len(UNOBSERVABLE)
    note = (
        f"{len(rows)} pages: {whole} agree on every run of every instance ({counts}),"
        f" {len(UNOBSERVABLE)} are unobservable, {not_run} were not run."
    )
    return CoverageTable(
        "MiniWoB++", ("page", "runs that agree", "steps before the goal", "why not"), rows, (note,)
    )


def _whole(lines: Sequence[Line]) -> bool:
    return all(line.get("runs") and all(map(agrees, line["runs"])) for line in lines)


def _row(name: str, lines: Sequence[Line]) -> tuple[object, ...]:
    if name in UNOBSERVABLE:
        return name, "unobservable", "", UNOBSERVABLE[name]
    runs = [run for line in lines for run in line.get("runs", [])]
    counts = sorted({len(line["steps"]) for line in lines if "steps" in line})
    agreeing = f"{sum(map(agrees, runs))} of {len(runs)}" if runs else "not run"
    steps = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else ""
    return name, agreeing, steps, "; ".join(_differences(lines))


def _differences(lines: Sequence[Line]) -> Iterator[str]:
    """Say of each run on which goal and page don't agree what both paid."""
    for line in lines:
        for run in line.get("runs", []):
            if not agrees(run):
                yield (
                    f"seed {line.get('seed')}, {run['way']}: page {run['raw']:.2f},"
                    f" goal {run['credit']}"
                )
