"""Values as people write them, compared the way WebArena-Verified compares its own (its data types,
version 1.2.3).

More is let go here than in the typed text forms: case, marks such as ™, quotes and points around a
text, a tenth of a unit of money, a tenth of a duration. What is compared *with* comes from the
task's author alone. Otherwise than there, nothing that an agent or a page says is a pattern,
letters of other scripts are not taken for Latin ones, and a list is no set of alternatives to
choose from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from detectors.matchers import third_party
from detectors.matchers.lenient_kinds import KINDS
from detectors.matchers.third_party import is_full_match
from detectors.matchers.typed_base import KeyedForm, Option, list_type, parsed_type
from detectors.model.errors import SpecError
from detectors.model.json_types import ListOf, Schema, checked_type
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
        return {"anyOf": [{"type": "string"}, _LISTS.schema()]}

    @classmethod
    def parse(cls, spec: Json, path: tuple[str | int, ...]) -> LenientPatterns:
        """A pattern, or {all: patterns, none: patterns}; case does not count. Raises
        `SpecError`."""
        given = {"all": [spec]} if isinstance(spec, str) else spec
        lists = _LISTS.read(given, path)
        if not any(lists.values()):
            raise SpecError(path, spec, _LISTS.expected)
        try:
            return cls(_compiled(lists["all"]), _compiled(lists["none"]))
        except (ValueError, TypeError) as error:
            raise SpecError(path, spec, str(error)) from None


def _compiled(patterns: Iterable[Json]) -> tuple[Any, ...]:
    return tuple(third_party.regex(f"(?s:{pattern})", True) for pattern in patterns)


_TEXTS = Option(list_type("a list of patterns", {"type": "string"}), ())
_LISTS = KeyedForm(
    "a pattern, or {all: [patterns], none: [patterns]}",
    {"all": _TEXTS, "none": _TEXTS},
    minimum=1,
)
PATTERN = parsed_type(LenientPatterns.parse, _LISTS.expected, LenientPatterns.schema())
PATTERNS = Option(ListOf(PATTERN, "a list of patterns"), ())


@dataclass(frozen=True, slots=True)
class Lenient:
    """One value of a kind: any of ``wanted``, or a text of one of the ``patterns``."""

    kind: str
    wanted: tuple[Any, ...]
    patterns: tuple[LenientPatterns, ...] = ()

    @classmethod
    def schemas(cls) -> list[Schema]:
        """The JSON Schemas of a value, one for each kind."""
        return [form.schema() for form in _FORMS.values()]

    @classmethod
    def parse(cls, spec: Json, path: tuple[str | int, ...]) -> Lenient:
        """``{currency: [12.5, 13]}``, ``{string: […], pattern: […]}``. Raises `SpecError`."""
        kinds = [kind for kind in KINDS if isinstance(spec, Mapping) and kind in spec]
        if len(kinds) != 1:
            raise SpecError(path, spec, _EXPECTED)
        (kind,) = kinds
        form = _FORMS[kind].read(spec, path)
        values, patterns = form[kind], form["pattern"]
        if not patterns and not values:
            raise SpecError((*path, "pattern"), patterns, "a list of patterns")
        try:
            wanted = tuple(map(KINDS[kind].read, values))
        except ValueError as error:
            raise SpecError((*path, kind), values, str(error)) from None
        return cls(kind, wanted, patterns)

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


_EXPECTED = f"an object with one of {', '.join(KINDS)}: a list of values; and pattern?"
_VALUES = Option(
    checked_type(
        lambda value: isinstance(value, list), "a list of values", {"type": "array"}, list
    ),
    required=True,
)
_FORMS = {kind: KeyedForm(_EXPECTED, {kind: _VALUES, "pattern": PATTERNS}) for kind in KINDS}
