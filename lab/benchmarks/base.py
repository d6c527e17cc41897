"""What an importer gives: tasks of ours as JSON values, and the table that says how much it could
say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentd.masking import Masker
from api.suggestions.drawn_texts import MAY_BE_DRAWN, list_drawn, list_texts
from detectors.model.json_value import JsonObject, JsonValue, list_or_empty, objects_in, read_text
from lab.benchmarks.dates import day_of, is_named, shown_days
from lab.benchmarks.state_values import is_done_time


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
        instruction = read_text(spec, "instruction", "")
        asked = [step["when"] for step in objects_in(spec["milestones"])]
        found = [*list_drawn(asked), *_list_moments(asked)]
        drawn = [part for part in dict.fromkeys(found) if not _is_told(part, instruction)]
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


SECRET = "a secret, which the daemon masks"
"""Why a condition that `asks_secret` is no milestone."""


def asks_secret(condition: JsonValue) -> bool:
    """Whether a condition asks a text that the daemon masks by its shape, or what stands under the
    name of a secret: nothing would meet it."""
    masker = Masker()
    if any(masker.mask_text(text) != text for text in list_texts(condition)):
        return True
    return any(masker.is_secret_name(name) for name, _ in _list_named(condition))


def _list_moments(condition: JsonValue) -> Iterator[str]:
    """Yield the numbers under names of what was done that are points in time."""
    for name, value in _list_named(condition):
        if is_done_time(name) and day_of(value) is not None:
            yield str(value)


def _list_named(condition: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the names of the values in files that a condition asks, with what it asks of each."""
    parts = list_or_empty(condition)
    if isinstance(condition, Mapping):
        place = list_or_empty(condition.get("at"))
        for name in place[-1:]:
            yield str(name), condition.get("value")
        parts = [*condition.values()]
    for part in parts:
        yield from _list_named(part)


def _is_told(text: str, instruction: str) -> bool:
    """Whether an instruction has a text, or names the day of a moment."""
    if text.lower() in instruction.lower():
        return True
    day = day_of(text)
    days = shown_days(text) if day is None else [day]
    return any(is_named(one, instruction) for one in days)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
