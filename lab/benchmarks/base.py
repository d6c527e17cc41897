"""What an importer gives: tasks of ours as JSON values, and the table that says how much it could
say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from api.suggestions.drawn_texts import MAY_BE_DRAWN, list_drawn
from detectors.model.json_value import JsonObject, objects_in, read_text


class BadSourceError(ValueError):
    """The source is not what this importer reads; the message names the place, the value and what
    was wanted."""


@dataclass(frozen=True, slots=True)
class Imported:
    """One task of others: ``spec`` is what a task file of ours says, None where nothing here can
    judge it.

    ``name`` is the task's id among its peers and, with ``.json``, its file. ``kind`` is the word
    under which the coverage counts it. ``remarks`` are sentences about what was left out, changed,
    or can't be judged.
    """

    name: str
    spec: JsonObject | None
    kind: str
    remarks: tuple[str, ...] = ()

    @classmethod
    def from_spec(
        cls, name: str, spec: JsonObject, kind: str, remarks: Sequence[str] = ()
    ) -> Imported:
        """A task, with a remark on what it asks that looks drawn: whether that was there before the
        agent came, the benchmark does not say. What the instruction names was not drawn."""
        instruction = read_text(spec, "instruction", "").lower()
        asked = [step["when"] for step in objects_in(spec["milestones"])]
        drawn = [part for part in list_drawn(asked) if part.lower() not in instruction]
        said = [f"{MAY_BE_DRAWN}: {', '.join(drawn):.300}"] if drawn else []
        return cls(name, spec, kind, (*remarks, *said))


@dataclass(frozen=True, slots=True)
class CoverageTable:
    """One table of docs/coverage.md: Markdown cells, and sentences below it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()

    def markdown(self) -> str:
        """The table as Markdown, without its title."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        text = "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)
        return "\n\n".join([text, *self.notes]) + "\n"


class BenchmarkImporter(Protocol):
    """What a module of the table is."""

    def tasks(self, source: Path, sites: Mapping[str, str]) -> Iterator[Imported]:
        """Every task in ``source``, in its order; ``sites`` says where the benchmark's sites are
        (name → origin).

        Raises `BadSourceError`, or `OSError` for what can't be read.
        """

    def coverage(self, source: Path) -> CoverageTable:
        """How much of ``source`` is covered. Raises as ``tasks``."""


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
