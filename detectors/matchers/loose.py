"""Yes or no, addresses, paths, the author's patterns, likeness and alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from detectors.matchers import third_party
from detectors.matchers.plain import compose_text, glob, literal, normal
from detectors.matchers.text import TextMatch
from detectors.matchers.typed_base import Form, Path, json_text, read_each, text_of
from detectors.matchers.url import UrlMatch
from detectors.model.errors import SpecError
from detectors.model.optional_values import first_or_none, without_none
from detectors.model.types import Json

MAX_PATTERN = 1_000
_YES, _NO = frozenset(("true", "yes", "y", "on", "1")), frozenset(("false", "no", "n", "off", "0"))


@dataclass(frozen=True, slots=True)
class Boolean(Form):
    """Yes or no."""

    wanted: bool

    def matches(self, text: str) -> bool:
        """Whether the text says so, in one word of English."""
        return normal(text).casefold() in (_YES if self.wanted else _NO)

    def matches_json(self, value: object) -> bool:
        """Whether a JSON value says so: true or false, 1 or 0."""
        return (
            isinstance(value, bool | int | float) and value in (0, 1) and bool(value) is self.wanted
        )


def boolean(value: object, options: Mapping[str, Json], path: Path) -> Boolean:
    """``{boolean: true}``: "Yes", "true", "on", "1"."""
    if not isinstance(value, bool):
        raise SpecError(path, value, "true or false")
    return Boolean(value)


@dataclass(frozen=True, slots=True)
class AddressText(Form):
    """An address in a text. Browsers read one with a backslash, blanks or a user's name otherwise
    than it looks."""

    wanted: UrlMatch

    def matches(self, text: str) -> bool:
        """Whether the text is that address, and nothing that only looks so."""
        if "\\" in text or "@" in text.partition("?")[0] or any(c <= " " for c in text):
            return False
        return self.wanted.matches(text)


def url(value: object, options: Mapping[str, Json], path: Path) -> AddressText:
    """``{url: {path, origin, …}}``: an address, as rules about pages match it; whole, since a text
    has no origin."""
    return AddressText(UrlMatch.parse(value, path))


@dataclass(frozen=True, slots=True)
class PathGlob(Form):
    """A path of files: ``*`` and ``?`` stay within one folder, ``**`` is any number of them."""

    parts: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Whether the text is such a path; white space and case count in file names."""
        return bool(text) and _parts_match(self.parts, tuple(text.split("/")))


def _parts_match(wanted: tuple[str, ...], found: tuple[str, ...]) -> bool:
    # As glob does it with letters, here with folders: O(parts · parts).
    reach = {0}
    for part in wanted:
        if part == "**":
            reach = set(range(min(reach), len(found) + 1)) if reach else set()
        else:
            reach = {at + 1 for at in reach if at < len(found) and glob(part, found[at])}
    return len(found) in reach


def path_glob(value: object, options: Mapping[str, Json], path: Path) -> PathGlob:
    """``{path: "reports/**/*.csv"}``."""
    parts = tuple(text_of(value, path, "a path such as reports/*.csv").split("/"))
    if all(part == "**" for part in parts):
        raise SpecError(path, value, "a path that says something: this one would match every file")
    return PathGlob(parts)


@dataclass(frozen=True, slots=True)
class RegexPattern(Form):
    """A regular expression of the task's author, in linear time (RE2). ``exact``: it is about an
    address."""

    compiled: Any
    exact: bool

    def matches(self, text: str) -> bool:
        """Whether the whole text is of the pattern, its dashes and quotation marks as they are or
        as on a keyboard."""
        writings = (
            (literal(text),) if self.exact else dict.fromkeys((compose_text(text), normal(text)))
        )
        try:
            return any(third_party.is_full_match(self.compiled, one) for one in writings)
        except UnicodeEncodeError:  # half a character: no text
            return False

    def matches_json(self, value: object) -> bool:
        """Whether the JSON of a value is, be it a list or an object: so that nothing hides in
        one."""
        return self.matches(json_text(value))


def regex(value: object, options: Mapping[str, Json], path: Path) -> RegexPattern:
    """``{regex: "[A-Z]{2}-\\d+", ignore_case: false}``: the whole text, in RE2's syntax (no
    look-around, no back-references)."""
    pattern = text_of(value, path, f"a regular expression of at most {MAX_PATTERN} characters")
    if len(pattern) > MAX_PATTERN:
        raise SpecError(path, value, f"a regular expression of at most {MAX_PATTERN} characters")
    try:
        compiled = third_party.regex(pattern, options["ignore_case"])
    except (ValueError, UnicodeEncodeError) as error:
        raise SpecError(path, value, str(error)) from None
    if compiled.fullmatch("") is not None:
        raise SpecError(path, value, "a pattern that an empty text does not fulfil")
    return RegexPattern(compiled, "://" in pattern.replace("\\", ""))


@dataclass(frozen=True, slots=True)
class Fuzzy(Form):
    """A text that is nearly another, by a threshold that the task declares."""

    text: str
    threshold: float

    def matches(self, text: str) -> bool:
        """Whether the likeness reaches the threshold; case does not count, look-alike letters
        do."""
        folded = normal(text).casefold()
        if not len(self.text) / 2 <= len(folded) <= 2 * len(self.text):
            return False
        return third_party.likeness(self.text, folded) >= self.threshold


def fuzzy(value: object, options: Mapping[str, Json], path: Path) -> Fuzzy:
    """``{fuzzy: "Quest Lumaflex Band", threshold: 0.9}``; the threshold must be given, from 0.5 to
    1."""
    text = normal(text_of(value, path, "a text")).casefold()
    return Fuzzy(text, options["threshold"])


@dataclass(frozen=True, slots=True)
class AnyOf(Form):
    """Alternatives, each a text or a typed form."""

    matchers: tuple[TextMatch, ...]

    def matches(self, text: str) -> bool:
        """Whether one of the alternatives matches the text."""
        return any(matcher.matches(text) for matcher in self.matchers)

    def matches_json(self, value: object) -> bool:
        """Whether one of them matches the value."""
        return any(matcher.matches_json(value) for matcher in self.matchers)

    def text_keys(self) -> tuple[str, ...] | None:
        """Those of all alternatives, if each has some."""
        keys = [matcher.text_keys() for matcher in self.matchers]
        return None if None in keys else tuple(sorted({*chain.from_iterable(without_none(keys))}))


def any_of(value: object, options: Mapping[str, Json], path: Path) -> AnyOf:
    """``{any_of: [{date: 2024-05-06}, yesterday]}``."""
    return AnyOf(_matchers(value, path))


@dataclass(frozen=True, slots=True)
class AllOf(Form):
    """Several texts or typed forms at once."""

    matchers: tuple[TextMatch, ...]

    def matches(self, text: str) -> bool:
        """Whether every one of them matches."""
        return all(matcher.matches(text) for matcher in self.matchers)

    def matches_json(self, value: object) -> bool:
        """Whether every one of them matches the value."""
        return all(matcher.matches_json(value) for matcher in self.matchers)

    def text_keys(self) -> tuple[str, ...] | None:
        """Those of the first that has some."""
        return first_or_none(without_none(matcher.text_keys() for matcher in self.matchers))


def all_of(value: object, options: Mapping[str, Json], path: Path) -> AllOf:
    """``{all_of: [{contains: id=7}, {starts_with: "https://shop.example/"}]}``."""
    return AllOf(_matchers(value, path))


def _matchers(value: object, path: Path) -> tuple[TextMatch, ...]:
    if not isinstance(value, list) or not value:
        raise SpecError(path, value, "a list of texts or their matchers")
    return read_each(TextMatch.parse, value, path)
