"""Values as people write them, compared the way WebArena-Verified compares its own (its data types,
version 1.2.3).

More is let go here than in the typed text forms: case, marks such as ™, quotes and points around a
text, a tenth of a unit of money, a tenth of a duration. What is compared *with* comes from the
task's author alone. Otherwise than there, nothing that an agent or a page says is a pattern,
letters of other scripts are not taken for Latin ones, and a list is no set of alternatives to
choose from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from detectors.matchers import third_party
from detectors.matchers.lenient_kinds import KINDS
from detectors.matchers.third_party import is_full_match
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema, object_schema
from detectors.model.types import Json

Read = dict[tuple[str, str], Any]
"""What the texts of one value were read as, by kind: a list in any order compares each of them with
many."""
_NONE = object()


@dataclass(frozen=True, slots=True)
class LenientPatterns:
    """The author's patterns: ``all`` of them match the whole text, ``none`` of those."""

    all: tuple[Any, ...]
    none: tuple[Any, ...] = ()

    def matches(self, text: str) -> bool:
        """Whether the text is so; half a character is no text."""
        return self.matches_any((text,))

    def matches_any(self, writings: Iterable[str]) -> bool:
        """Whether one of several writings of the same thing is so, and none of them is what it must
        not be."""
        texts = tuple(writings)
        try:
            right = any(all(is_full_match(one, text) for one in self.all) for text in texts)
            return right and not any(
                is_full_match(one, text) for one in self.none for text in texts
            )
        except UnicodeEncodeError:
            return False

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of a pattern."""
        texts: Schema = {"type": "array", "items": {"type": "string"}}
        lists: Schema = {
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "properties": {"all": texts, "none": texts},
        }
        return {"anyOf": [{"type": "string"}, lists]}

    @classmethod
    def parse(cls, spec: Json, path: tuple[str | int, ...]) -> LenientPatterns:
        """A pattern, or {all: patterns, none: patterns}; case does not count. Raises
        `SpecError`."""
        given = {"all": [spec]} if isinstance(spec, str) else spec
        expected = "a pattern, or {all: [patterns], none: [patterns]}"
        if not isinstance(given, dict) or set(given) - {"all", "none"}:
            raise SpecError(path, spec, expected)
        lists = [given.get(name, []) for name in ("all", "none")]
        if not any(lists) or not all(isinstance(patterns, list) for patterns in lists):
            raise SpecError(path, spec, expected)
        try:
            return cls(*map(_compiled, lists))
        except (ValueError, TypeError) as error:
            raise SpecError(path, spec, str(error)) from None


def _compiled(patterns: Iterable[Json]) -> tuple[Any, ...]:
    return tuple(third_party.regex(f"(?s:{pattern})", True) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Lenient:
    """One value of a kind: any of ``wanted``, or a text of one of the ``patterns``."""

    kind: str
    wanted: tuple[Any, ...]
    patterns: tuple[LenientPatterns, ...] = ()

    @classmethod
    def schemas(cls) -> list[Schema]:
        """The JSON Schemas of a value, one for each kind."""
        patterns: Schema = {"type": "array", "items": LenientPatterns.schema()}
        return [
            object_schema({kind: {"type": "array"}, "pattern": patterns}, [kind]) for kind in KINDS
        ]

    @classmethod
    def parse(cls, spec: Json, path: tuple[str | int, ...]) -> Lenient:
        """``{currency: [12.5, 13]}``, ``{string: […], pattern: […]}``. Raises `SpecError`."""
        expected = f"an object with one of {', '.join(KINDS)}: a list of values; and pattern?"
        if not isinstance(spec, dict) or len(set(spec) - {"pattern"}) != 1:
            raise SpecError(path, spec, expected)
        (kind,) = set(spec) - {"pattern"}
        if kind not in KINDS or not isinstance(spec[kind], list):
            raise SpecError(path, spec, expected)
        patterns = spec.get("pattern", [])
        if not isinstance(patterns, list) or not (patterns or spec[kind]):
            raise SpecError((*path, "pattern"), patterns, "a list of patterns")
        try:
            wanted = tuple(KINDS[kind].read(value) for value in spec[kind])
        except ValueError as error:
            raise SpecError((*path, kind), spec[kind], str(error)) from None
        at = (*path, "pattern")
        return cls(kind, wanted, tuple(LenientPatterns.parse(pattern, at) for pattern in patterns))

    def matches(self, value: object, read: Read | None = None) -> bool:
        """Whether ``value``, whatever JSON it is, is one of the wanted; a text in ``read`` is not
        read again."""
        if read is None or not isinstance(value, str):
            found = self._read(value)
        elif (found := read.get((self.kind, value))) is None:
            found = read[self.kind, value] = self._read(value)
        if found is _NONE:
            return False
        if any(KINDS[self.kind].same(one, found) for one in self.wanted):
            return True
        return any(one.matches(str(found)) for one in self.patterns)

    def names(self, value: object) -> bool:
        """Whether ``value`` is one of those that the author names, whatever the patterns say."""
        found = self._read(value)
        return found is not _NONE and any(KINDS[self.kind].same(one, found) for one in self.wanted)

    def _read(self, value: object) -> Any:
        """The value as one of the kind; `_NONE` for what is none."""
        try:
            return KINDS[self.kind].read(value)
        except (ValueError, OverflowError):
            return _NONE
