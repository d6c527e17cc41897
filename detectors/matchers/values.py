"""Numbers in ranges, HTTP statuses, and the named fields of a request's body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal
from urllib.parse import parse_qsl

import orjson

from detectors.matchers.faults import answers
from detectors.matchers.masked import BodyVerdict, judge_json
from detectors.matchers.masked_text import MASK, judge_text
from detectors.matchers.text import TEXT_FORM, TextMatch
from detectors.matchers.typed_base import KeyedForm, Option, json_text
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema, checked_type, fields_schema
from detectors.model.safe_json import mapping, read_json
from detectors.model.three_valued import any_verdict
from detectors.model.types import Json

BodyType = Literal["form", "json"]
Repeated = Literal["last", "first", "any"]
"""Which value of a form's field that stands there more than once counts, as the site's framework
takes it: PHP, Rails and Django the last, Java servlets, Go and Flask the first."""


@dataclass(frozen=True, slots=True)
class IntRange:
    """A whole number: exactly ``n``, or ``{min?, max?}`` inclusive."""

    least: int
    most: int

    WANTED: ClassVar[str] = "a whole number, or {min?, max?} of whole numbers"

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of a range."""
        return {"anyOf": [_WHOLE.schema(), _LIMITS.schema()]}

    @classmethod
    def parse(
        cls, spec: object, path: tuple[str | int, ...], origin: str | None = None
    ) -> IntRange:
        """Make a range of its JSON form. Raises `SpecError`."""
        if type(spec) is int:
            return cls(spec, spec)
        limits = _LIMITS.read(spec, path)
        if limits["min"] > limits["max"]:
            raise SpecError(path, spec, cls.WANTED + ", min not above max")
        return cls(limits["min"], limits["max"])

    @answers(False)
    def matches(self, value: object) -> bool:
        """Whether ``value`` is a whole number in the range."""
        return type(value) is int and self.least <= value <= self.most


_WHOLE = checked_type(lambda n: type(n) is int, "a whole number", {"type": "integer"}, int)
_LIMITS = KeyedForm(
    IntRange.WANTED, {"min": Option(_WHOLE, 0), "max": Option(_WHOLE, 2**63)}, minimum=1
)


@dataclass(frozen=True, slots=True)
class StatusMatch:
    """HTTP statuses: a number, a class such as ``2xx``, or a list of them."""

    ranges: tuple[tuple[int, int], ...]

    WANTED: ClassVar[str] = "a status such as 201, a class such as 2xx, or a list of them"

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of a status, a class of them, or a list."""
        number: Schema = {"type": "integer", "minimum": 100, "maximum": 599}
        status: list[Schema] = [number, {"type": "string", "pattern": "^[1-5]xx$"}]
        return {"anyOf": [*status, {"type": "array", "minItems": 1, "items": {"anyOf": status}}]}

    @classmethod
    def parse(
        cls, spec: object, path: tuple[str | int, ...], origin: str | None = None
    ) -> StatusMatch:
        """Make a matcher of its JSON form. Raises `SpecError`."""
        listed = spec if isinstance(spec, list) and spec else [spec]
        return cls(tuple(cls._parse_item(item, spec, path) for item in listed))

    @classmethod
    def _parse_item(
        cls, item: object, spec: object, path: tuple[str | int, ...]
    ) -> tuple[int, int]:
        if type(item) is int and 100 <= item <= 599:
            return item, item
        if isinstance(item, str) and len(item) == 3 and item[0] in "12345" and item[1:] == "xx":
            return int(item[0]) * 100, int(item[0]) * 100 + 99
        raise SpecError(path, spec, cls.WANTED)

    @answers(False)
    def matches(self, status: object) -> bool:
        """Whether ``status`` is one of the wanted."""
        return type(status) is int and any(low <= status <= high for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class BodyMatch:
    """Named fields that a request's body must carry; others may stand beside them.

    A name is a form field, a key of a JSON object, or a dotted path into one (``customer.name``,
    ``items.0.id``). A JSON array there matches as a whole, or if one of its items does.
    """

    fields: tuple[tuple[str, TextMatch], ...]

    WANTED: ClassVar[str] = "an object of field names and texts"

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of names of fields and their texts."""
        return fields_schema(TEXT_FORM)

    @classmethod
    def parse(
        cls, spec: object, path: tuple[str | int, ...], origin: str | None = None
    ) -> BodyMatch:
        """Make a matcher of its JSON form. Raises `SpecError`."""
        if not isinstance(spec, dict) or not spec:
            raise SpecError(path, spec, cls.WANTED)
        fields = []
        for name, text in sorted(spec.items()):
            fields.append((str(name), TextMatch.parse(text, (*path, name))))
        return cls(tuple(fields))

    @answers(False)
    def matches(
        self, body: object, read_as: BodyType | None = None, repeated: Repeated = "last"
    ) -> bool:
        """``body`` as in ``request.finished``: {text, mime?, cut?}. A cut body matches nothing, and
        one that its content type does not call a form or JSON neither, unless ``read_as`` says what
        it is."""
        return self.judge_body(body, read_as, repeated).is_so is True

    @answers(BodyVerdict(False))
    def judge_body(
        self, body: object, read_as: BodyType | None = None, repeated: Repeated = "last"
    ) -> BodyVerdict:
        """As `matches`; None, with the names of these fields, where that hangs on what the daemon
        masked."""
        whole = whole_body(body)
        if whole is None:
            return BodyVerdict(False)
        if is_all_masked(*whole, read_as):
            return BodyVerdict(None, tuple(name for name, _ in self.fields))
        values_of = body_fields(*whole, read_as, repeated)
        return BodyVerdict.of_all(
            (name, any_verdict(_judge(matcher, value) for value in values_of(name)))
            for name, matcher in self.fields
        )


def whole_body(body: object) -> tuple[str, str] | None:
    """Text and content type of a body as in ``request.finished``; None where it is not there, or
    not all of it."""
    if not isinstance(body, Mapping) or body.get("cut"):
        return None
    text = body.get("text")
    return (text, str(body.get("mime") or "")) if isinstance(text, str) else None


def is_all_masked(text: str, mime: str, read_as: BodyType | None) -> bool:
    """Whether nothing was let through of a body that is a form or JSON: of parts without the
    boundary between them. What its content type calls neither has no fields, whatever it holds."""
    return text.strip() == MASK and (read_as or body_type(mime)) is not None


def body_type(mime: str) -> BodyType | None:
    """What the content type says that a body is; None where it calls it neither a form nor JSON."""
    essence = mime.partition(";")[0].strip().lower()
    if essence in ("application/x-www-form-urlencoded", "multipart/form-data"):
        return "form"
    if essence in ("application/json", "text/json") or essence.endswith("+json"):
        return "json"
    return None


def answer_type(body: object) -> BodyType | None:
    """What the body of an answer is read as. It is the server's own word, and servers call JSON by
    other names: where the content type says neither, JSON is told by its first character."""
    known = mapping(body)
    looks = str(known.get("text") or "").lstrip()[:1] in ("{", "[")
    return body_type(str(known.get("mime") or "")) or ("json" if looks else None)


def body_fields(
    text: str, mime: str, read_as: BodyType | None = None, repeated: Repeated = "last"
) -> Callable[[str], Sequence[Json]]:
    """A function from a field's name to the values that the body has for it and that count: texts
    of a form, values of JSON."""
    kind = read_as or body_type(mime)
    if kind == "json":
        try:
            root = read_json(text)
        except orjson.JSONDecodeError:
            return lambda name: ()
        return lambda name: _json_values(root, name)
    by_name: dict[str, list[str]] = {}
    if kind == "form":
        for name, value in form_pairs(text, mime):
            by_name.setdefault(name, []).append(value)
    return lambda name: counted_values(name, tuple(by_name.get(name, ())), repeated)


def counted_values(name: str, values: tuple[str, ...], repeated: Repeated) -> tuple[str, ...]:
    """Which of the values that one name has in a form count; those of a name that ends in [] are a
    list, and all do."""
    if repeated == "any" or name.endswith("[]"):
        return values
    return values[-1:] if repeated == "last" else values[:1]


def form_pairs(text: str, mime: str) -> list[tuple[str, str]]:
    """Names and values of a form's body, in order; files left out."""
    if "multipart/form-data" in mime.lower():
        return _multipart(text)
    return parse_qsl(text, keep_blank_values=True)


def _judge(wanted: TextMatch, value: object) -> bool | None:
    """Whether a form's text or a JSON value is as wanted; 7 is "7" too, since in a form it would
    be. None where that hangs on what was masked."""
    if isinstance(value, str):
        return judge_text(wanted, value)
    if isinstance(value, dict | list):
        return judge_json(wanted, value)
    return wanted.matches_json(value) or wanted.matches(json_text(value))


def _json_values(root: Json, name: str) -> tuple[Json, ...]:
    found = root
    for part in name.split("."):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return ()
    return (found, *found) if isinstance(found, list) else (found,)


def _multipart(text: str) -> list[tuple[str, str]]:
    boundary, _, _ = text.partition("\n")
    pairs = []
    for part in text.split(boundary.strip() or "\0")[1:]:
        head, gap, value = part.replace("\r\n", "\n").partition("\n\n")
        name = head.partition('name="')[2].partition('"')[0]
        if gap and name and "filename=" not in head:
            pairs.append((name, value.removesuffix("\n")))
    return pairs
