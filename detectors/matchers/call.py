"""One request to a site: its address with the query as pairs, and named facts of a body, compared
leniently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from detectors.matchers import third_party
from detectors.matchers.faults import answers
from detectors.matchers.lenient import LenientPatterns
from detectors.matchers.location import base_of, query_of
from detectors.matchers.structure import FLAG_OFF, PART, Nothing, part
from detectors.matchers.url import MAX_URL
from detectors.matchers.values import BodyType, Repeated, body_type, counted, form_pairs
from detectors.model.caches import BODIES_BYTES, PARSED, cache_by_size
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema, object_schema

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
        text: Schema = {"type": "string"}
        pattern = LenientPatterns.schema()
        query: Schema = {"type": "object", "additionalProperties": PART}
        alternatives = [
            object_schema({"address": text, "query": query}, ["address"]),
            object_schema({"pattern": pattern, "query": query}, ["pattern"]),
        ]
        return object_schema(
            {
                "any": {"type": "array", "minItems": 1, "items": {"anyOf": alternatives}},
                "ignore": {"type": "array", "items": pattern},
                "encoded": FLAG_OFF,
                "scope": {"type": "array", "items": text},
            },
            ["any"],
        )

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> AddressesMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        if (
            not isinstance(spec, Mapping)
            or set(spec) - {"any", "ignore", "encoded", "scope"}
            or not spec.get("any")
        ):
            raise SpecError(path, spec, cls.WANTED)
        listed = (spec["any"], spec.get("ignore", []), spec.get("scope", []))
        if not all(isinstance(one, list) for one in listed) or not isinstance(
            spec.get("encoded", False), bool
        ):
            raise SpecError(path, spec, cls.WANTED)
        encoded = spec.get("encoded", False)
        found = tuple(_address(one, (*path, "any", n), encoded) for n, one in enumerate(listed[0]))
        ignore = tuple(
            LenientPatterns.parse(one, (*path, "ignore", n)) for n, one in enumerate(listed[1])
        )
        return cls(found, ignore, encoded, tuple(map(str, listed[2])))

    @answers(False)
    def is_at(self, url: str) -> bool:
        """Whether the address without its query is one of these."""
        return len(url) <= MAX_URL and any(
            one.is_at(url, self.encoded) for one in self.alternatives
        )

    @answers(False)
    def matches(self, url: str) -> bool:
        """Whether the address, with its query, is one of these."""
        if len(url) > MAX_URL:
            return False
        return any(
            one.is_at(url, self.encoded) and self._asks(one, url) for one in self.alternatives
        )

    def _asks(self, one: _Address, url: str) -> bool:
        said = query_of(url, self.encoded)
        for name in {*said, *one.query}:
            wanted = one.query.get(name)
            if wanted is None and any(pattern.matches(name) for pattern in self.ignore):
                continue
            value = said.get(name, "")
            if not (wanted.matches(value) if wanted is not None else value == ""):
                return False
        return True

    @property
    def plan_addresses(self) -> list[object]:
        """What a daemon may know, as its plan has addresses: origin and path, or ``scope`` for a
        pattern."""
        return [*self.scope, *(one.plain for one in self.alternatives if one.plain)]


def _address(spec: Any, path: Path, encoded: bool) -> _Address:
    keys = {"address", "pattern"} & set(spec if isinstance(spec, Mapping) else ())
    if (
        len(keys) != 1
        or set(spec) - {*keys, "query"}
        or not isinstance(spec.get("query", {}), Mapping)
    ):
        raise SpecError(path, spec, "{address or pattern, query?: {name: values of a kind}}")
    query = {name: part(one, (*path, "query", name)) for name, one in spec.get("query", {}).items()}
    if "pattern" in spec:
        return _Address(LenientPatterns.parse(spec["pattern"], (*path, "pattern")), query, "")
    base = base_of(spec["address"], encoded) if isinstance(spec["address"], str) else ""
    if not base:
        raise SpecError(
            (*path, "address"),
            spec["address"],
            "a whole address, such as https://shop.example/cart",
        )
    return _Address(base, query, spec["address"].partition("?")[0])


@dataclass(frozen=True, slots=True)
class _Fact:
    """``name``: a field, ``json``: a JSON Path, ``pattern``: for the field's name; one of them."""

    name: str
    json: str
    pattern: LenientPatterns | None
    wanted: Any

    def holds(self, document: Mapping[str, object]) -> bool:
        """Whether one of the values there is the wanted one, or nothing is there where nothing is
        to be."""
        values = list(self._values(document))
        if isinstance(self.wanted, Nothing) or not values:
            return isinstance(self.wanted, Nothing) and all(value is None for value in values)
        return any(self.wanted.matches(value) for value in values) or (
            bool(self.json) and len(values) > 1 and self.wanted.matches(values)
        )

    def _values(self, document: Mapping[str, object]) -> Iterator[object]:
        if self.json:
            found = third_party.json_values(self.json, document) or third_party.json_values(
                self.json, _opened(document)
            )
            yield from found
        else:
            for name, value in document.items():
                if self.pattern.matches(name) if self.pattern is not None else name == self.name:
                    yield from value.values if isinstance(value, Several) else [value]


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
        text: Schema = {"type": "string"}
        places = {"name": text, "json": text, "pattern": LenientPatterns.schema()}
        facts = [
            object_schema({place: schema, "is": PART}, [place, "is"])
            for place, schema in places.items()
        ]
        return {"type": "array", "minItems": 1, "items": {"anyOf": facts}}

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> ContentMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        if not isinstance(spec, list) or not spec:
            raise SpecError(path, spec, cls.WANTED)
        return cls(tuple(cls._fact(one, (*path, n)) for n, one in enumerate(spec)))

    @classmethod
    def _fact(cls, spec: Any, path: Path) -> _Fact:
        keys = {"name", "json", "pattern"} & set(spec if isinstance(spec, Mapping) else ())
        if len(keys) != 1 or set(spec) != {*keys, "is"}:
            raise SpecError(path, spec, cls.WANTED)
        for key in keys - {"pattern"}:
            if not isinstance(spec[key], str):
                raise SpecError((*path, key), spec[key], "a text: a field's name, or a JSON Path")
        if "json" in spec:
            try:
                third_party.json_path(spec["json"])
            except ValueError as error:
                raise SpecError((*path, "json"), spec["json"], str(error)) from None
        pattern = (
            LenientPatterns.parse(spec["pattern"], (*path, "pattern"))
            if "pattern" in spec
            else None
        )
        return _Fact(
            spec.get("name", ""), spec.get("json", ""), pattern, part(spec["is"], (*path, "is"))
        )

    @answers(False)
    def matches(
        self, body: object, read_as: BodyType | None = None, repeated: Repeated = "last"
    ) -> bool:
        """``body`` as in ``request.finished``; a cut one matches nothing, and one that its content
        type does not call a form or JSON neither, unless ``read_as`` says what it is."""
        if (
            not isinstance(body, Mapping)
            or body.get("cut")
            or not isinstance(body.get("text"), str)
        ):
            return False
        mime = str(body.get("mime") or "")
        return any(
            map(self.holds, documents_of(body["text"], mime, read_as or body_type(mime), repeated))
        )

    @answers(False)
    def holds(self, document: Mapping[str, object]) -> bool:
        """Whether all facts are so in one object."""
        return all(fact.holds(document) for fact in self.facts)

    @property
    def names(self) -> list[str]:
        """The names that are asked for."""
        return [fact.name for fact in self.facts if fact.name]


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
            found = orjson.loads(text)
        except orjson.JSONDecodeError:
            return ()
        return tuple(
            one
            for one in (found if isinstance(found, list) else [found])
            if isinstance(one, dict) and one
        )
    many: dict[str, list[str]] = {}
    for name, value in form_pairs(text, mime):
        many.setdefault(name, []).append(value)
    if not many:
        return ()
    known = {name: counted(name, tuple(values), repeated) for name, values in many.items()}
    return (
        {
            name: values[0] if len(values) == 1 else Several(values)
            for name, values in known.items()
        },
    )


def _opened(document: Mapping[str, object]) -> Mapping[str, object]:
    """The document with the texts in it that are JSON read as such."""
    opened = dict(document)
    for name, value in document.items():
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                opened[name] = orjson.loads(value)
            except orjson.JSONDecodeError:
                continue
    return opened
