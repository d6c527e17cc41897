"""Numbers in ranges, HTTP statuses, and the named fields of a request's body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import parse_qsl

import orjson

from detectors.errors import SpecError
from detectors.matchers.text import TextMatch


@dataclass(frozen=True, slots=True)
class IntRange:
    """A whole number: exactly ``n``, or ``{min?, max?}`` inclusive."""

    least: int
    most: int

    WANTED: ClassVar[str] = "a whole number, or {min?, max?} of whole numbers"

    @classmethod
    def parse(cls, spec: Any, path: tuple[str | int, ...], origin: str | None = None) -> IntRange:
        """Make a range of its JSON form. Raises `SpecError`."""
        if type(spec) is int:
            return cls(spec, spec)
        if not isinstance(spec, dict) or not spec or set(spec) - {"min", "max"}:
            raise SpecError(path, spec, cls.WANTED)
        least, most = spec.get("min", 0), spec.get("max", 2**63)
        if type(least) is not int or type(most) is not int or least > most:
            raise SpecError(path, spec, cls.WANTED + ", min not above max")
        return cls(least, most)

    def matches(self, value: Any) -> bool:
        """Whether ``value`` is a whole number in the range."""
        return type(value) is int and self.least <= value <= self.most


@dataclass(frozen=True, slots=True)
class StatusMatch:
    """HTTP statuses: a number, a class such as ``2xx``, or a list of them."""

    ranges: tuple[tuple[int, int], ...]

    WANTED: ClassVar[str] = "a status such as 201, a class such as 2xx, or a list of them"

    @classmethod
    def parse(cls, spec: Any, path: tuple[str | int, ...], origin: str | None = None) -> StatusMatch:
        """Make a matcher of its JSON form. Raises `SpecError`."""
        listed = spec if isinstance(spec, list) and spec else [spec]
        return cls(tuple(cls._one(item, spec, path) for item in listed))

    @classmethod
    def _one(cls, item: Any, spec: Any, path: tuple[str | int, ...]) -> tuple[int, int]:
        if type(item) is int and 100 <= item <= 599:
            return item, item
        if isinstance(item, str) and len(item) == 3 and item[0] in "12345" and item[1:] == "xx":
            return int(item[0]) * 100, int(item[0]) * 100 + 99
        raise SpecError(path, spec, cls.WANTED)

    def matches(self, status: Any) -> bool:
        """Whether ``status`` is one of the wanted."""
        return type(status) is int and any(low <= status <= high for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class BodyMatch:
    """Named fields that a request's body must carry; others may stand beside them.

    A name is a form field, a key of a JSON object, or a dotted path into one (``customer.name``, ``items.0.id``).
    A repeated form field matches if the wanted text is among its values.
    """

    fields: tuple[tuple[str, TextMatch], ...]

    WANTED: ClassVar[str] = "an object of field names and texts"

    @classmethod
    def parse(cls, spec: Any, path: tuple[str | int, ...], origin: str | None = None) -> BodyMatch:
        """Make a matcher of its JSON form. Raises `SpecError`."""
        if not isinstance(spec, dict) or not spec:
            raise SpecError(path, spec, cls.WANTED)
        return cls(tuple((str(n), TextMatch.parse(v, (*path, n))) for n, v in sorted(spec.items())))

    def matches(self, body: Any) -> bool:
        """``body`` as in ``request.finished``: {text, mime?, cut?}. A cut body matches nothing."""
        if not isinstance(body, Mapping) or body.get("cut") or not isinstance(body.get("text"), str):
            return False
        values = body_fields(body["text"], str(body.get("mime") or ""))
        return all(any(m.matches(v) for v in values(name)) for name, m in self.fields)


def body_fields(text: str, mime: str) -> Any:
    """A function from a field's name to the texts that the body has for it."""
    if "json" in mime or text[:1] in ("{", "["):
        try:
            root = orjson.loads(text)
        except orjson.JSONDecodeError:
            return lambda name: ()
        return lambda name: _json_values(root, name)
    pairs = form_pairs(text, mime)
    return lambda name: tuple(v for n, v in pairs if n == name)


def form_pairs(text: str, mime: str) -> list[tuple[str, str]]:
    """Names and values of a form's body, in order; files left out."""
    return _multipart(text) if "multipart/form-data" in mime else parse_qsl(text, keep_blank_values=True)


def _json_values(root: Any, name: str) -> tuple[str, ...]:
    found: Any = root
    for part in name.split("."):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return ()
    items = found if isinstance(found, list) else [found]
    return tuple(_plain(item) for item in items if not isinstance(item, (dict, list)))


def _plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(orjson.dumps(value), "utf-8")
    return str(value)


def _multipart(text: str) -> list[tuple[str, str]]:
    boundary, _, _ = text.partition("\n")
    pairs = []
    for part in text.split(boundary.strip() or "\0")[1:]:
        head, gap, value = part.replace("\r\n", "\n").partition("\n\n")
        name = head.partition('name="')[2].partition('"')[0]
        if gap and name and "filename=" not in head:
            pairs.append((name, value.removesuffix("\n")))
    return pairs
