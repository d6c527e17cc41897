"""Lists, tables and JSON inside a text."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from detectors.matchers import third_party
from detectors.matchers.typed_base import Form, Path, flag, json_text
from detectors.model.errors import SpecError

MAX_ITEMS = 256
"""Items of a list, rows of a table."""


def assigned(wanted: Sequence[Any], found: Sequence[Any], matches: Any) -> bool:
    """Whether each of ``wanted`` can have one of ``found`` of its own, none left over (bipartite
    matching)."""
    if len(wanted) != len(found):
        return False
    fits: list[list[int]] = []
    for w in wanted:
        fits.append([f for f, item in enumerate(found) if matches(w, item)])
        if not fits[-1]:
            return False
    taken: dict[int, int] = {}

    def place(w: int, tried: set[int]) -> bool:
        for f in fits[w]:
            if f not in tried:
                tried.add(f)
                if f not in taken or place(taken[f], tried):
                    taken[f] = w
                    return True
        return False

    return all(place(w, set()) for w in range(len(wanted)))


def _same(wanted: Sequence[Any], found: Sequence[Any], ordered: bool, matches: Any) -> bool:
    if ordered:
        return len(wanted) == len(found) and all(
            matches(w, f) for w, f in zip(wanted, found, strict=True)
        )
    return assigned(wanted, found, matches)


def _json(text: str) -> Any:
    try:
        return orjson.loads(text.encode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return None


def _cell(wanted: Any, found: Any) -> bool:
    """Whether an item is as wanted; of what is no text its JSON may be, too, since of CSV there are
    texts alone."""
    if isinstance(found, str):
        return bool(wanted.matches(found))
    if found is None or isinstance(found, dict | list):
        return found is not None and bool(wanted.matches_json(found))
    return bool(wanted.matches_json(found) or wanted.matches(json_text(found)))


def _row(wanted: Sequence[Any], found: Any) -> bool:
    listed = isinstance(found, list) and len(found) == len(wanted)
    return listed and all(_cell(w, f) for w, f in zip(wanted, found, strict=True))


@dataclass(frozen=True, slots=True)
class ListingForm(Form):
    """A list: a JSON array, or texts between separators or on lines of their own."""

    items: tuple[Any, ...]
    separator: str
    ordered: bool

    def matches(self, text: str) -> bool:
        """Whether the text is a list of these and no others; a repeated one counts each time."""
        found = _json(text) if text.lstrip().startswith("[") else None
        if not isinstance(found, list):
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


def listing(value: object, options: Mapping[str, object], path: Path) -> ListingForm:
    """``{list: [a, b], ordered: false, separator: ","}``: the items are texts or typed forms."""
    items = _texts(value, path, "a list of texts or their matchers")
    return ListingForm(items, _separator(options, path), flag(options, "ordered", path))


@dataclass(frozen=True, slots=True)
class Table(Form):
    """Rows of cells: a JSON array of arrays, or lines with separators, read as CSV."""

    rows: tuple[tuple[Any, ...], ...]
    separator: str
    ordered: bool
    header: bool

    def matches(self, text: str) -> bool:
        """Whether the text is a table of these rows and no others, but for its header if it has
        one."""
        found = _json(text) if text.lstrip().startswith("[") else None
        if not isinstance(found, list):
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


def table(value: object, options: Mapping[str, object], path: Path) -> Table:
    """``{table: [[Lamp, {money: 12.5}], …], ordered: true, header: false}``."""
    if not isinstance(value, list) or not value or len(value) > MAX_ITEMS:
        raise SpecError(path, value, f"a list of 1 to {MAX_ITEMS} rows")
    rows = tuple(
        _texts(row, (*path, n), "a row: a list of texts or their matchers")
        for n, row in enumerate(value)
    )
    ordered, header = flag(options, "ordered", path, True), flag(options, "header", path)
    return Table(rows, _separator(options, path), ordered, header)


@dataclass(frozen=True, slots=True)
class JsonPath(Form):
    """What stands at a path of a text that is JSON."""

    path: str
    wanted: Any
    every: bool

    def matches(self, text: str) -> bool:
        """Whether one of the values there, or with `every` each of at least one, is what is
        wanted."""
        return self.matches_json(_json(text))

    def matches_json(self, value: object) -> bool:
        """Whether a JSON value has it."""
        found = third_party.json_values(self.path, value)
        hits = [self.wanted.matches(value) for value in found]
        return all(hits) and bool(hits) if self.every else any(hits)


def json_path(value: object, options: Mapping[str, object], path: Path) -> JsonPath:
    """``{json: "$.items[0].price", value: {min: 3}}``: a JSON Path (RFC 9535), and what must stand
    there."""
    from detectors.matchers.answer import (
        ValueMatch,  # values are made of texts, which are made of typed forms
    )

    if not isinstance(value, str) or "value" not in options:
        raise SpecError(path, value, "a JSON Path such as $.items[0].id, and value beside it")
    try:
        third_party.json_path(value)
    except ValueError as error:
        raise SpecError(path, value, str(error)) from None
    return JsonPath(
        value,
        ValueMatch.parse(options["value"], (*path[:-1], "value")),
        flag(options, "every", path),
    )


def _separator(options: Mapping[str, object], path: Path) -> str:
    found = options.get("separator", ",")
    if not isinstance(found, str) or len(found) != 1 or found.isalnum():
        raise SpecError(
            (*path[:-1], "separator"), found, "one character that is no letter or digit"
        )
    return found


def _texts(value: object, path: Path, wanted: str) -> tuple[Any, ...]:
    from detectors.matchers.text import TextMatch

    if not isinstance(value, list) or not value or len(value) > MAX_ITEMS:
        raise SpecError(path, value, f"{wanted}, 1 to {MAX_ITEMS}")
    return tuple(TextMatch.parse(item, (*path, n)) for n, item in enumerate(value))
