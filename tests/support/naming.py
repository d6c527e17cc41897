"""A test that fails, or is tried again, is named there and then: a run that is ended before its
summary has told."""

from __future__ import annotations

import pytest

MAX_CHARACTERS = 400
"""Characters of what went wrong."""


class Naming:
    """Writes a line to pytest's own terminal."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the line of a phase that failed, as soon as it did. ``rerun`` is
        pytest-rerunfailures' own outcome."""
        outcome: str = report.outcome
        if outcome in ("failed", "rerun"):
            lines = report.longreprtext.strip().splitlines() or [""]
            errors = " ".join(
                line.removeprefix("E").strip() for line in lines if line.startswith("E ")
            )
            why = f"{lines[-1]}: {errors[:MAX_CHARACTERS]}"
            self._terminal.ensure_newline()
            self._terminal.write_line(
                f"{outcome.upper()} {report.nodeid} ({report.when}, {report.duration:.0f} s): {why}"
            )
