"""`python -m benchmarks compare OLD NEW`: two runs row by row, and what of their difference is more
than noise.

A row is better or worse where the intervals of the two runs do not meet. A row that has no
reference in its own run moves with the machine, so its interval is a tenth of its value to each
side at least, a quarter for its slowest tenth and for the difference of two, half for the longest
of few. A row fails the comparison where it is worse and its value is off by more than a twentieth.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.figures import RATIO, Figure, format_value
from benchmarks.run_file import BenchRun, RunFileError, read_run

MAX_WORSE = 0.05
"""By how much of its old value a row may be worse before the comparison fails."""
MAX_LOAD_APART = 1.0
"""How far the loads of two runs may be apart without a warning."""

Outcome = Literal["better", "worse", "within noise", "other", "not comparable"]
"""``other``: beyond noise, in a row of which neither direction is better."""


class Verdict(NamedTuple):
    """What became of a row. ``change``: the share of its old value, None where that is 0;
    ``fails``: whether it is worse by more than is allowed."""

    old: Figure
    new: Figure
    outcome: Outcome
    change: float | None
    fails: bool


class Comparison(NamedTuple):
    """Two runs: a verdict a row, the rows of only one of them, and what makes them hard to
    compare."""

    verdicts: list[Verdict]
    only_old: list[Figure]
    only_new: list[Figure]
    warnings: list[str]

    @property
    def fails(self) -> bool:
        """Return whether any row is worse by more than is allowed."""
        return any(verdict.fails for verdict in self.verdicts)


def judge_row(old: Figure, new: Figure) -> Verdict:
    """Judge one row of two runs."""
    change = None if old.value == 0 else (new.value - old.value) / abs(old.value)
    if (old.unit, old.better) != (new.unit, new.better):
        return Verdict(old, new, "not comparable", change, False)
    old_low, old_high = noise_of(old)
    new_low, new_high = noise_of(new)
    if old_low <= new_high and new_low <= old_high:
        return Verdict(old, new, "within noise", change, False)
    if old.better == "neither":
        return Verdict(old, new, "other", change, False)
    is_better = (new.value < old.value) is (old.better == "lower")
    is_large = change is None or abs(change) > MAX_WORSE
    return Verdict(old, new, "better" if is_better else "worse", change, is_large and not is_better)


def noise_of(figure: Figure) -> tuple[float, float]:
    """Return the ends of what noise may make of a value: its interval, and no less than its part of
    the value to each side."""
    reach = figure.noise * abs(figure.value)
    low, high = figure.value - reach, figure.value + reach
    if figure.low is None or figure.high is None:
        return low, high
    return min(low, figure.low), max(high, figure.high)


def compare_runs(old: BenchRun, new: BenchRun, *, only_ratios: bool = False) -> Comparison:
    """Compare two runs row by row, in the order of the new one. ``only_ratios``: only the rows that
    are ratios to a reference in the same run."""
    olds, news = (
        {
            (figure.part, figure.row): figure
            for figure in run.figures
            if figure.unit == RATIO or not only_ratios
        }
        for run in (old, new)
    )
    return Comparison(
        [judge_row(olds[key], figure) for key, figure in news.items() if key in olds],
        [figure for key, figure in olds.items() if key not in news],
        [figure for key, figure in news.items() if key not in olds],
        _find_differences(old, new),
    )


def _find_differences(old: BenchRun, new: BenchRun) -> list[str]:
    form = {True: "the short form", False: "the long form"}
    warnings = []
    if old.is_quick is not new.is_quick:
        warnings.append(f"OLD is {form[old.is_quick]}, NEW is {form[new.is_quick]}")
    for what, a, b in (("cores", old.cores, new.cores), ("Python", old.python, new.python)):
        if a != b:
            warnings.append(f"{what}: OLD has {a}, NEW has {b}")
    loads = [max(run.load_at_start, 0) for run in (old, new)]
    if abs(loads[0] - loads[1]) > MAX_LOAD_APART:
        warnings.append(f"load at the start: OLD had {loads[0]:.1f}, NEW had {loads[1]:.1f}")
    for name, run in (("OLD", old), ("NEW", new)):
        for part, state in run.missing.items():
            reason = f": {state.reason}" if state.reason else ""
            warnings.append(f"{name} lacks the end of {part}, which was {state.status}{reason}")
        if run.is_dirty:
            warnings.append(f"{name} was measured on changes that are in no commit")
    return warnings


def print_comparison(comparison: Comparison) -> None:
    """Print the warnings, a table, the rows of only one run, and what it comes to."""
    for warning in comparison.warnings:
        print(f"warning: {warning}")
    part = ""
    for verdict in comparison.verdicts:
        if verdict.new.part != part:
            part = verdict.new.part
            print(f"{part:<62} {'old':>16} {'new':>16} {'change':>9}  verdict")
        print(_row(verdict))
    for name, figures in (("OLD", comparison.only_old), ("NEW", comparison.only_new)):
        for figure in figures:
            print(f"only in {name}: {figure.part}: {figure.row}")
    counts = {
        outcome: sum(verdict.outcome == outcome for verdict in comparison.verdicts)
        for outcome in ("better", "worse", "within noise")
    }
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    failed = [verdict for verdict in comparison.verdicts if verdict.fails]
    if failed:
        print(f"worse by more than {MAX_WORSE:.0%} beyond noise:")
        for verdict in failed:
            print(f"  {verdict.new.part}: {verdict.new.row}")


def _row(verdict: Verdict) -> str:
    old, new = (format_value(figure.value) for figure in (verdict.old, verdict.new))
    change = "" if verdict.change is None else f"{verdict.change:+.1%}"
    name = f"{verdict.new.row} ({verdict.new.unit})"
    return f"  {name:<60} {old:>16} {new:>16} {change:>9}  {verdict.outcome}"


def main(arguments: Sequence[str]) -> int:
    """Compare two files; returns 1 if a row is worse by more than is allowed, 2 for a file that is
    no run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare", description=(__doc__ or "").partition("\n\n")[2]
    )
    parser.add_argument("old", metavar="OLD", type=Path, help="the JSON of a run")
    parser.add_argument("new", metavar="NEW", type=Path, help="the JSON of a later run")
    parser.add_argument(
        "--ratios",
        action="store_true",
        help="only the rows that are ratios to a reference in the same run, as on a busy machine",
    )
    given = parser.parse_args(arguments)
    try:
        old, new = read_run(given.old), read_run(given.new)
        comparison = compare_runs(old, new, only_ratios=given.ratios)
    except RunFileError as error:
        print(error, file=sys.stderr)
        return 2
    print_comparison(comparison)
    return 1 if comparison.fails else 0
