"""What a part of the benchmarks reports to: it prints each row as it is measured, and keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from benchmarks.figures import Figure, Wanted, make_figure
from benchmarks.measure import Estimate

Choice = TypeVar("Choice")
_FIGURES = TypeAdapter(list[Figure])


class PartReport:
    """The rows of one part. ``is_quick``: whether it is the short form, with fewer rounds;
    ``left_out``: what could not be measured here, and why."""

    def __init__(self, part: str, *, is_quick: bool = False) -> None:
        self.part = part
        self.is_quick = is_quick
        self.figures: list[Figure] = []
        self.left_out: list[str] = []

    def choose(self, full: Choice, quick: Choice) -> Choice:
        """Return ``full``, or ``quick`` in the short form."""
        return quick if self.is_quick else full

    def head(self, text: str) -> None:
        """Print what the rows below are measured on."""
        print(text, flush=True)

    def add(
        self, row: str, estimate: Estimate, unit: str, wanted: Wanted, reference: str = ""
    ) -> None:
        """Print a row and keep it. Raises `ValueError` for a name that the part has already, or a
        value that is no number."""
        if any(figure.row == row for figure in self.figures):
            raise ValueError(f"{self.part}: expected a row once, got {row!r} again")
        figure = make_figure(self.part, row, estimate, unit, wanted, reference)
        self.figures.append(figure)
        print(figure, flush=True)

    def leave_out(self, reason: str) -> None:
        """Print and keep what can't be measured here, and why."""
        self.left_out.append(reason)
        print(f"  left out: {reason}", flush=True)

    def write_figures(self, file: Path) -> None:
        """Write the rows so far, for the process that started this one."""
        file.write_bytes(_FIGURES.dump_json(self.figures))

    def read_figures(self, file: Path) -> None:
        """Keep the rows that a process of this part printed and wrote."""
        self.figures += _FIGURES.validate_json(file.read_bytes())
