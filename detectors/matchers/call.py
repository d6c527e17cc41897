"""One request to a site: its address with the query as pairs, and named facts of a body, compared
leniently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import orjson

from detectors.matchers import third_party
from detectors.matchers.faults import answers
from detectors.matchers.lenient import PATTERN, PATTERNS, LenientPatterns
from detectors.matchers.location import base_of, query_of
from detectors.matchers.masked import BodyVerdict, hides_choice, judge_part
from detectors.matchers.masked_text import (
    MASK,
    SECRETS_OF_ADDRESS,
    is_made_of,
    put_for_masks,
    split_at_masks,
)
from detectors.matchers.path_filters import chooses_by_equality
from detectors.matchers.structure import PART, Nothing, StructureMatch, part
from detectors.matchers.typed_base import (
    FLAG_OFF,
    JSON_PATH,
    KeyedForm,
    Option,
    list_type,
    parsed_type,
    read_each,
)
from detectors.matchers.url import MAX_URL, place_of_long
from detectors.matchers.values import (
    BodyType,
    Repeated,
    body_type,
    counted_values,
    form_pairs,
    is_all_masked,
    whole_body,
)
from detectors.model.caches import BODIES_BYTES, PARSED, cache_by_size
from detectors.model.errors import SpecError
from detectors.model.json_types import MapOf, Schema, checked_type
from detectors.model.safe_json import read_json
from detectors.model.three_valued import all_verdict, any_verdict
from detectors.model.types import Json

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Address:
    """``base``: origin and path of an address, case and a slash at its end not counting, or a
    pattern for both."""

    base: str | LenientPatterns
    query: Mapping[str, Any]
    plain: str

    def is_at(self, url: str, encoded: bool) -> bool:
        """Whether ``url`` is at this place, whatever its query."""
        if isinstance(self.base, LenientPatterns):
            place = url.partition("#")[0].partition("?")[0]
            # A slash at its end and %61 for a are other writings of the same place, to a pattern as
            # to an address.
            return self.base.matches_any(
                dict.fromkeys((place, place.rstrip("/"), base_of(place, encoded)))
            )
        return self.base == base_of(url, encoded)

    def judge_place(self, url: str, encoded: bool) -> bool | None:
        """As `is_at`; None where that hangs on what the daemon masked in the path."""
        is_so = self.is_at(url, encoded)
        place = url.partition("#")[0].partition("?")[0]
        if MASK not in place:
            return is_so
        if isinstance(self.base, LenientPatterns):
            filled = [put_for_masks(place, secret) for secret in SECRETS_OF_ADDRESS]
            is_sure = is_so and all(self.is_at(one, encoded) for one in filled)
            return True if is_sure and not self.base.none else None
        if is_so:
            return True
        return None if _may_be_at(self.base, place, encoded) else False


def _may_be_at(base: str, place: str, encoded: bool) -> bool:
    """Whether a place of which the daemon masked a part may be the one that ``base`` names."""
    written = base_of(place, encoded)
    if not written or is_made_of(base, split_at_masks(written)):
        return True  # without a written address the masked part may be its scheme and host
    # A part in base64 is none of the path, and a masked one may be such a part.
    shown = "/".join(one for one in place.split("/") if MASK not in one)
    return encoded and base == base_of(shown, encoded)


@dataclass(frozen=True, slots=True)
class AddressesMatch:
    """Alternatives of one address. A parameter of the query that is missing and one that is empty
    are the same; one that is not named must be missing, unless ``ignore`` names it. ``encoded``:
    parts of the path may be base64. ``scope``: what a daemon is told to listen at, where a pattern
    does not say it."""

    alternatives: tuple[_Address, ...]
    ignore: tuple[LenientPatterns, ...]
    encoded: bool
    scope: tuple[str, ...]

    WANTED: ClassVar[str] = (
        "{any: [{address: a whole address, or pattern, query?: {name: values of a kind}}], ignore?:"
        " [patterns], encoded?: true or false, scope?: [addresses]}"
    )

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of alternatives of an address with their queries."""
        return _ADDRESSES.schema()

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> AddressesMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        given = _ADDRESSES.read(spec, path)
        read_address = partial(_address, encoded=given["encoded"])
        return cls(
            read_each(read_address, given["any"], (*path, "any")),
            given["ignore"],
            given["encoded"],
            tuple(map(str, given["scope"])),
        )

    @answers(False)
    def may_be_at(self, url: str) -> bool:
        """Whether the address without its query is one of these, or may be: a part of its path was
        masked."""
        place = url if len(url) <= MAX_URL else place_of_long(url)
        if place is None:
            return False
        return any(
            address.judge_place(place, self.encoded) is not False for address in self.alternatives
        )

    @answers(False)
    def matches(self, url: str) -> bool:
        """Whether the address, with its query, is one of these."""
        return self.judge(url) is True

    @answers(False)
    def judge(self, url: str) -> bool | None:
        """As `matches`; None where that hangs on the query of an address that is longer than
        `MAX_URL`, or on what the daemon masked in it."""
        if len(url) > MAX_URL:
            return None if self.may_be_at(url) else False
        return any_verdict(self._judge_alternative(address, url) for address in self.alternatives)

    def _judge_alternative(self, address: _Address, url: str) -> bool | None:
        is_there = address.judge_place(url, self.encoded)
        if is_there is False:
            return False
        if is_there is None and self.encoded:
            return None  # the masked part may be a query in base64
        return all_verdict((is_there, self._judge_query(address, url)))

    def _judge_query(self, address: _Address, url: str) -> bool | None:
        query = query_of(url, self.encoded)
        return all_verdict(
            self._judge_parameter(address.query.get(name), name, query.get(name, ""))
            for name in {*query, *address.query}
        )

    def _judge_parameter(self, expected: Any, name: str, value: str) -> bool | None:
        """Whether a parameter has the value that is expected, or, where None is, need not be
        missing."""
        if expected is not None:
            return judge_part(expected, value)
        return not value or any(pattern.matches(name) for pattern in self.ignore)

    @property
    def plan_addresses(self) -> list[object]:
        """What a daemon may know, as its plan has addresses: origin and path, or ``scope`` for a
        pattern."""
        return [*self.scope, *(one.plain for one in self.alternatives if one.plain)]


def _address(spec: Json, path: Path, encoded: bool) -> _Address:
    is_pattern = isinstance(spec, Mapping) and "pattern" in spec
    given = (_BY_PATTERN if is_pattern else _BY_ADDRESS).read(spec, path)
    query = given["query"]
    if is_pattern:
        return _Address(given["pattern"], query, "")
    address = given["address"]
    base = base_of(address, encoded)
    if not base:
        raise SpecError((*path, "address"), address, _WHOLE_ADDRESS)
    return _Address(base, query, address.partition("?")[0])


_ALTERNATIVE = "{address or pattern, query?: {name: values of a kind}}"
_WHOLE_ADDRESS = "a whole address, such as https://shop.example/cart"
_STRING: Schema = {"type": "string"}
_PART = parsed_type(part, StructureMatch.WANTED, PART)
_QUERY = Option(MapOf(_PART, "an object of parameter names and values of a kind"), {})
_BY_ADDRESS = KeyedForm(
    _ALTERNATIVE,
    {
        "address": Option(
            checked_type(lambda value: isinstance(value, str), _WHOLE_ADDRESS, _STRING, str),
            required=True,
        ),
        "query": _QUERY,
    },
)
_BY_PATTERN = KeyedForm(_ALTERNATIVE, {"pattern": Option(PATTERN, required=True), "query": _QUERY})
_ADDRESSES = KeyedForm(
    AddressesMatch.WANTED,
    {
        "any": Option(
            list_type(
                "a list of at least one address or pattern",
                {"anyOf": [_BY_ADDRESS.schema(), _BY_PATTERN.schema()]},
                minimum=1,
            ),
            required=True,
        ),
        "ignore": PATTERNS,
        "encoded": FLAG_OFF,
        "scope": Option(list_type("a list of addresses", _STRING), ()),
    },
)


@dataclass(frozen=True, slots=True)
class _Fact:
    """``name``: a field, ``json``: a JSON Path, ``pattern``: for the field's name; one of them."""

    name: str
    json: str
    pattern: LenientPatterns | None
    wanted: Any

    @property
    def place(self) -> str:
        """Where the fact is asked for, as the task has it; "a field" for a pattern."""
        return self.name or self.json or "a field"

    def judge(self, document: Mapping[str, object]) -> bool | None:
        """Whether one of the values there is the wanted one, or nothing is there where nothing is
        to be; None where that hangs on what the daemon masked."""
        values = list(self._values(document))
        is_sure = False
        if isinstance(self.wanted, Nothing):
            is_so: bool | None = all(value is None for value in values)
        else:
            verdicts = [judge_part(self.wanted, value) for value in values]
            is_sure = True in verdicts and chooses_by_equality(self.json)
            if self.json and len(values) > 1:
                verdicts.append(judge_part(self.wanted, values))
            is_so = any_verdict(verdicts)
        # A path that chooses by what was masked may lead to more than was found, or to less.
        if self.json and not is_sure and self._hides_choice(document):
            return None
        return is_so

    def _hides_choice(self, document: Mapping[str, object]) -> bool:
        return any(hides_choice(self.json, one) for one in (document, _opened(document)))

    def _values(self, document: Mapping[str, object]) -> Iterator[object]:
        if self.json:
            found = third_party.json_values(self.json, document)
            yield from found or third_party.json_values(self.json, _opened(document))
            return
        for name, value in document.items():
            if not self._is_named(name):
                continue
            if isinstance(value, Several):
                yield from value.values
            else:
                yield value

    def _is_named(self, name: str) -> bool:
        return name == self.name if self.pattern is None else self.pattern.matches(name)


@dataclass(frozen=True, slots=True)
class Several:
    """The values of a form's field of which more than one counts."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContentMatch:
    """Named facts of a form or of JSON: of an array one of its objects must have them all."""

    facts: tuple[_Fact, ...]

    WANTED: ClassVar[str] = (
        "a list of {name, json or pattern, and is: null, {items: …} or values of a kind}"
    )

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of a list of facts about a body."""
        facts = [form.schema() for form in _FACTS.values()]
        return {"type": "array", "minItems": 1, "items": {"anyOf": facts}}

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> ContentMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        if not isinstance(spec, list) or not spec:
            raise SpecError(path, spec, cls.WANTED)
        return cls(read_each(cls._fact, spec, path))

    @classmethod
    def _fact(cls, spec: Json, path: Path) -> _Fact:
        places = [place for place in _FACTS if isinstance(spec, Mapping) and place in spec]
        if len(places) != 1:
            raise SpecError(path, spec, cls.WANTED)
        given = _FACTS[places[0]].read(spec, path)
        return _Fact(
            given.get("name", ""), given.get("json", ""), given.get("pattern"), given["is"]
        )

    @answers(False)
    def matches(
        self, body: object, read_as: BodyType | None = None, repeated: Repeated = "last"
    ) -> bool:
        """``body`` as in ``request.finished``; a cut one matches nothing, and one that its content
        type does not call a form or JSON neither, unless ``read_as`` says what it is."""
        return self.judge_body(body, read_as, repeated).is_so is True

    @answers(BodyVerdict(False))
    def judge_body(
        self, body: object, read_as: BodyType | None = None, repeated: Repeated = "last"
    ) -> BodyVerdict:
        """As `matches`; None, with the places of these facts, where that hangs on what the daemon
        masked."""
        whole = whole_body(body)
        if whole is None:
            return BodyVerdict(False)
        text, mime = whole
        if is_all_masked(text, mime, read_as):
            return BodyVerdict(None, tuple(fact.place for fact in self.facts))
        unknown = BodyVerdict(False)
        for document in documents_of(text, mime, read_as or body_type(mime), repeated):
            verdict = self.judge_document(document)
            if verdict.is_so:
                return verdict
            unknown = verdict if unknown.is_so is False else unknown
        return unknown

    @answers(False)
    def holds(self, document: Mapping[str, object]) -> bool:
        """Whether all facts are so in one object."""
        return self.judge_document(document).is_so is True

    @answers(BodyVerdict(False))
    def judge_document(self, document: Mapping[str, object]) -> BodyVerdict:
        """Whether all facts are so in one object; None where that hangs on what was masked."""
        return BodyVerdict.of_all((fact.place, fact.judge(document)) for fact in self.facts)

    @property
    def names(self) -> list[str]:
        """The names that are asked for."""
        return [fact.name for fact in self.facts if fact.name]


_NAME = checked_type(lambda value: isinstance(value, str), "a field's name", _STRING, str)
_FACTS = {
    place: KeyedForm(
        ContentMatch.WANTED,
        {place: Option(type, required=True), "is": Option(_PART, required=True)},
    )
    for place, type in (("name", _NAME), ("json", JSON_PATH), ("pattern", PATTERN))
}


@cache_by_size(BODIES_BYTES, lambda _, text, *more: PARSED * len(text), keeps_last=True)
def documents_of(
    text: str, mime: str, kind: BodyType | None, repeated: Repeated = "last"
) -> tuple[Mapping[str, object], ...]:
    """The objects that a body is: one, or those of an array; none where it is nothing of the
    kind."""
    if kind is None:
        return ()
    if kind == "json":
        try:
            found = read_json(text)
        except orjson.JSONDecodeError:
            return ()
        listed = found if isinstance(found, list) else [found]
        return tuple(document for document in listed if isinstance(document, dict) and document)
    many: dict[str, list[str]] = {}
    for name, value in form_pairs(text, mime):
        many.setdefault(name, []).append(value)
    document: dict[str, object] = {}
    for name, values in many.items():
        kept = counted_values(name, tuple(values), repeated)
        document[name] = kept[0] if len(kept) == 1 else Several(kept)
    return (document,) if document else ()


def _opened(document: Mapping[str, object]) -> Mapping[str, object]:
    """The document with the texts in it that are JSON read as such."""
    opened = dict(document)
    for name, value in document.items():
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                opened[name] = read_json(value)
            except orjson.JSONDecodeError:
                continue
    return opened
