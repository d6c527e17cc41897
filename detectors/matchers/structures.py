"""Lists, tables and JSON inside a text."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from detectors.matchers import third_party
from detectors.matchers.answer import ValueMatch
from detectors.matchers.text import TextMatch
from detectors.matchers.typed_base import Form, Path, json_text, read_each, read_json_path
from detectors.model.errors import SpecError
from detectors.model.safe_json import json_or_none
from detectors.model.types import Json

W = TypeVar("W")
F = TypeVar("F")
MAX_ITEMS = 256
"""Items of a list, rows of a table."""


def is_assignable(wanted: Sequence[W], found: Sequence[F], matches: Callable[[W, F], bool]) -> bool:
    """Whether each of ``wanted`` can have one of ``found`` of its own, none left over (bipartite
    matching)."""
    if len(wanted) != len(found):
        return False
    fits: list[list[int]] = []
    for expected in wanted:
        fits.append([place for place, item in enumerate(found) if matches(expected, item)])
        if not fits[-1]:
            return False
    taken: dict[int, int] = {}

    def assign(number: int, tried: set[int]) -> bool:
        for place in fits[number]:
            if place in tried:
                continue
            tried.add(place)
            if place not in taken or assign(taken[place], tried):
                taken[place] = number
                return True
        return False

    return all(assign(number, set()) for number in range(len(wanted)))


def _same(
    wanted: Sequence[W], found: Sequence[F], ordered: bool, matches: Callable[[W, F], bool]
) -> bool:
    if not ordered:
        return is_assignable(wanted, found, matches)
    return len(wanted) == len(found) and all(map(matches, wanted, found))


def _json_array(text: str) -> list[object] | None:
    """The JSON array that a text is, None where it is none."""
    found = json_or_none(text) if text.lstrip().startswith("[") else None
    return found if isinstance(found, list) else None


def _cell(wanted: TextMatch, found: object) -> bool:
    """Whether an item is as wanted; of what is no text its JSON may be, too, since of CSV there are
    texts alone."""
    if isinstance(found, str):
        return wanted.matches(found)
    if found is None:
        return False
    if isinstance(found, dict | list):
        return wanted.matches_json(found)
    return wanted.matches_json(found) or wanted.matches(json_text(found))


def _row(wanted: Sequence[TextMatch], found: object) -> bool:
    if not isinstance(found, list) or len(found) != len(wanted):
        return False
    return all(map(_cell, wanted, found))


@dataclass(frozen=True, slots=True)
class ListingForm(Form):
    """A list: a JSON array, or texts between separators or on lines of their own."""

    items: tuple[TextMatch, ...]
    separator: str
    ordered: bool

    def matches(self, text: str) -> bool:
        """Whether the text is a list of these and no others; a repeated one counts each time."""
        found = _json_array(text)
        if found is None:
            found = [
                part.strip()
                for line in text.strip().splitlines()
                for part in line.split(self.separator)
            ]
        return self._is(found)

    def matches_json(self, value: object) -> bool:
        """Whether a JSON array is the list; any other value is the list of itself."""
        return self._is(value if isinstance(value, list) else [value])

    def _is(self, found: list[object]) -> bool:
        return len(found) <= MAX_ITEMS and _same(self.items, found, self.ordered, _cell)


def listing(value: object, options: Mapping[str, Json], path: Path) -> ListingForm:
    """``{list: [a, b], ordered: false, separator: ","}``: the items are texts or typed forms."""
    items = _texts(value, path, "a list of texts or their matchers")
    return ListingForm(items, options["separator"], options["ordered"])


@dataclass(frozen=True, slots=True)
class Table(Form):
    """Rows of cells: a JSON array of arrays, or lines with separators, read as CSV."""

    rows: tuple[tuple[TextMatch, ...], ...]
    separator: str
    ordered: bool
    header: bool

    def matches(self, text: str) -> bool:
        """Whether the text is a table of these rows and no others, but for its header if it has
        one."""
        found = _json_array(text)
        if found is None:
            try:
                found = list(
                    csv.reader(
                        text.strip().splitlines(), delimiter=self.separator, skipinitialspace=True
                    )
                )
            except csv.Error:
                return False
        return self._is(found)

    def matches_json(self, value: object) -> bool:
        """Whether a JSON array of arrays is the table."""
        return isinstance(value, list) and self._is(value)

    def _is(self, rows: list[object]) -> bool:
        found = rows[1:] if self.header else rows
        return len(found) <= MAX_ITEMS and _same(self.rows, found, self.ordered, _row)

    def excludes_rows(self, beginning: Sequence[list[object] | None], count: int | None) -> bool:
        first = int(self.header)
        wanted = first + len(self.rows)
        if len(beginning) > wanted or count not in (None, wanted):
            return True
        return any(
            row is not None and not self._may_have(row, n)
            for n, row in enumerate(beginning[first:])
        )

    def _may_have(self, row: list[object], n: int) -> bool:
        rows = self.rows[n : n + 1] if self.ordered else self.rows
        return any(_row(wanted, row) for wanted in rows)


def table(value: object, options: Mapping[str, Json], path: Path) -> Table:
    """``{table: [[Lamp, {money: 12.5}], …], ordered: true, header: false}``."""
    if not isinstance(value, list) or not value or len(value) > MAX_ITEMS:
        raise SpecError(path, value, f"a list of 1 to {MAX_ITEMS} rows")
    rows = read_each(_row_of_texts, value, path)
    return Table(rows, options["separator"], options["ordered"], options["header"])


@dataclass(frozen=True, slots=True)
class JsonPath(Form):
    """What stands at a path of a text that is JSON."""

    path: str
    wanted: ValueMatch
    every: bool

    def matches(self, text: str) -> bool:
        """Whether one of the values there, or with `every` each of at least one, is what is
        wanted."""
        return self.matches_json(json_or_none(text))

    def matches_json(self, value: object) -> bool:
        """Whether a JSON value has it."""
        found = third_party.json_values(self.path, value)
        hits = [self.wanted.matches(value) for value in found]
        return all(hits) and bool(hits) if self.every else any(hits)


def json_path(value: object, options: Mapping[str, Json], path: Path) -> JsonPath:
    """``{json: "$.items[0].price", value: {min: 3}}``: a JSON Path (RFC 9535), and what must stand
    there."""
    return JsonPath(read_json_path(value, path), options["value"], options["every"])


def _row_of_texts(value: object, path: Path) -> tuple[TextMatch, ...]:
    return _texts(value, path, "a row: a list of texts or their matchers")


def _texts(value: object, path: Path, wanted: str) -> tuple[TextMatch, ...]:
    if not isinstance(value, list) or not value or len(value) > MAX_ITEMS:
        raise SpecError(path, value, f"{wanted}, 1 to {MAX_ITEMS}")
    return read_each(TextMatch.parse, value, path)
