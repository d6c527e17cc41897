"""The table of pages: by how many scripted runs goal and page agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from api.importing.base import Table
from api.importing.miniwob.registry import UNOBSERVABLE

NEAR = 0.026
"""How far the goal's credit may be from the page's reward: half a twentieth, for pages that pay any part of 1."""


def agrees(run: Mapping[str, Any]) -> bool:
    """Whether the goal's credit, of 1, is what the page paid, and success said where it paid all."""
    paid = max(0.0, float(run["raw"]))
    return (
        run["credit"] is not None
        and abs(run["credit"] - paid) <= NEAR
        and run["success"] is (run["credit"] >= 1 - 1e-6)
    )


def table(lines: Sequence[Mapping[str, Any]]) -> Table:
    """One row a page, in the order of its first line."""
    rows: list[Sequence[object]] = []
    by_page: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        by_page.setdefault(line["page"], []).append(line)
    agreed = seeds = all_seeds = 0
    for name, own in by_page.items():
        if name in UNOBSERVABLE:
            rows.append((name, "unobservable", "", UNOBSERVABLE[name]))
            continue
        runs = [run for line in own for run in line.get("runs", [])]
        good = sum(map(agrees, runs))
        fit = sum(all(map(agrees, line.get("runs", []))) and bool(line.get("runs")) for line in own)
        agreed += fit == len(own)
        seeds, all_seeds = seeds + fit, all_seeds + len(own)
        steps = {len(line["steps"]) for line in own if "steps" in line}
        rows.append(
            (name, f"{good} of {len(runs)}", "–".join(map(str, sorted({min(steps), max(steps)}))) if steps else "", "")
        )
    unseen = sum(name in UNOBSERVABLE for name in by_page)
    note = (
        f"{len(by_page)} pages: {agreed} agree on every run of every instance ({seeds} of {all_seeds} instances), "
        f"{unseen} are unobservable."
    )
    return Table("MiniWoB++", ("page", "runs that agree", "steps before the goal", "why not"), rows, (note,))
