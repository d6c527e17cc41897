"""What came out of the runs, in words and figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from examples.learning.tasks import KINDS

BUTTONS = ("Pay", "Desk lamp", "Help", "Checkout", "Wish list", "Lamps", "Reviews", "Add to cart")
"""The page's, in the order in which they are numbered."""


def table(runs: Sequence[dict[str, Any]]) -> str:
    """A row a kind of reward, for Markdown: the steps to 80 % of each seed, and the policies that
    they ended with."""
    kinds = [kind for kind in KINDS if any(run["kind"] == kind for run in runs)]
    lines = [
        "| reward | steps to 80 % success, by seed | median | final policy |",
        "| --- | --- | --- | --- |",
    ]
    for kind in kinds:
        mine = [run for run in runs if run["kind"] == kind]
        steps = ", ".join(_steps(run) for run in mine)
        lines.append(f"| {kind} | {steps} | {_median(mine)} | {_policies(mine)} |")
    seconds = sum(run["seconds"] for run in runs)
    total = sum(run["steps"] for run in runs)
    return "\n".join(
        [*lines, "", f"{total:,} steps in Chromium; {seconds:,.0f} s of runs, one after the other."]
    )


def _steps(run: dict[str, Any]) -> str:
    return f"{run['reached']:,}" if run["reached"] else f"> {run['steps']:,}"


def _median(runs: Iterable[dict[str, Any]]) -> str:
    """Of the runs; one that never got there counts as the longest."""
    middle = statistics.median_low([run["reached"] or float("inf") for run in runs])
    return "never" if middle == float("inf") else f"{middle:,.0f}"


def _policies(runs: Sequence[dict[str, Any]]) -> str:
    found = {
        " → ".join(BUTTONS[button] for button in run["policy"]) for run in runs if run["reached"]
    }
    missing = sum(run["reached"] is None for run in runs)
    told = sorted(found) or ["none"]
    return "; ".join(told) + (f" ({missing} without one)" if missing and found else "")
