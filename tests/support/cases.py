"""Recordings and tasks that nobody here wrote. They lie beside the project, in ``../shared/cases``,
and are no part of it: a test that reads them says so by the marker ``shared_cases(folder)``, and is
skipped where they are not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"


def parametrized_cases(folder: str, pattern: str) -> Any:
    """Return a mark that gives a test the path of each file below ``folder``."""
    paths: list[Path | None] = [*sorted((CASES / folder).glob(pattern))]
    marks = pytest.mark.shared_cases(folder)
    return pytest.mark.parametrize(
        "path",
        [
            pytest.param(path, marks=marks, id="missing" if path is None else path.name)
            for path in paths or [None]
        ],
    )


def skip_without_cases(item: pytest.Item) -> None:
    """Skip ``item`` where the cases that it reads are missing."""
    for mark in item.iter_markers("shared_cases"):
        folder = mark.args[0]
        if not (CASES / folder).exists():
            item.add_marker(pytest.mark.skip(reason=f"../shared/cases/{folder} is not here"))


def summary_of(reporter: Any) -> str:
    """Return a line that says how many tests read the cases, by outcome; "" for none."""
    counts = Counter(
        outcome
        for outcome in ("passed", "failed", "error", "skipped")
        for report in reporter.stats.get(outcome, [])
        if "shared_cases" in getattr(report, "keywords", {})
    )
    if not counts:
        return ""
    told = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
    return f"tests that read ../shared/cases: {told}"
