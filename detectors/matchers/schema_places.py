"""A JSON Schema read into places: what each of its parts applies, and to which part of a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from detectors.matchers.schema_circles import MAX_REMEMBERED, Reference, Spec, is_reference
from detectors.model.budget import MAX_EVENT, weight
from detectors.model.types import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_ONE = ("not", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf")
_MAPS = ("dependentSchemas", "dependencies")
_VALUES = ("additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "contains", "unevaluatedItems", "additionalItems")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")

PatternUnits = Callable[[str], int]
"""Evaluations that a pattern takes for 32 characters of text. Raises `ValueError` for a pattern
that is too large."""


@dataclass(eq=False, slots=True)
class Place:
    """A schema within a schema, by what it applies to which part of a value."""

    same: list[Place] = field(default_factory=list)
    """Applied to the value itself."""
    remembered: Place | None = None
    """Applied to the value itself, by a reference whose outcome the library remembers."""
    names: dict[str, Place] = field(default_factory=dict)
    patterns: list[Place] = field(default_factory=list)
    values: list[Place] = field(default_factory=list)
    """Applied to the members that are not in ``names``."""
    keys: list[Place] = field(default_factory=list)
    prefix: list[Place] = field(default_factory=list)
    items: list[Place] = field(default_factory=list)
    own: int = 1
    """Evaluations of its own keywords, `const` and `enum` with what they compare with."""
    text: int = 0
    """Evaluations for each 32 characters of a text."""
    key_text: int = 0
    """Evaluations for each 32 characters of a member's name."""
    repeats: bool = False
    """Whether what it applies is evaluated anew for each member: `unevaluatedProperties`,
    `unevaluatedItems`."""
    unique: bool = False

    def applied(self, value: Json) -> list[tuple[Place, Json]]:
        """The places that are applied where this one is, each with what it is applied to, but for
        the one that is remembered."""
        applied = [(place, value) for place in self.same]
        if isinstance(value, dict):
            for key, member in value.items():
                applied += [(place, key) for place in self.keys]
                applied += [(place, member) for place in self._of_member(key)]
        elif isinstance(value, list | tuple):
            applied += list(zip(self.prefix, value, strict=False))
            applied += [(place, item) for item in value for place in self.items]
        return applied

    def _of_member(self, key: str) -> list[Place]:
        """The places that are applied to an object's member."""
        named = self.names.get(key)
        if named is None:
            return self.patterns + self.values
        return [*self.patterns, named]

    def inner(self) -> list[Place]:
        """All places that it may apply."""
        places = [*self.same, *self.names.values(), *self.patterns, *self.values, *self.keys]
        return places + self.prefix + self.items

    def evaluations(self, value: Json) -> int:
        """Those of its own keywords over ``value``."""
        if isinstance(value, str):
            return self.own + self.text * _lines(value)
        if isinstance(value, dict):
            keys = sum(map(_lines, value)) if self.key_text else 0
            return self.own + len(value) + self.key_text * keys
        if isinstance(value, list | tuple):
            # Up to 15 items, each with each.
            compared = weight(value, MAX_EVENT)[0] * 16 if self.unique else 0
            return self.own + len(value) + compared
        return self.own


def _lines(text: str) -> int:
    """How often 32 characters a text has, begun ones too."""
    return 1 + (len(text) >> 5)


class ReadSchema(NamedTuple):
    """A schema by its places, with its references: those with a target are remembered."""

    root: Place
    references: list[Reference]


class _Parts(NamedTuple):
    """The schemas that one schema applies, by what it applies them to; as in `Place`."""

    same: list[Json]
    names: dict[str, Json]
    patterns: list[Json]
    values: list[Json]
    keys: list[Json]
    prefix: list[Json]
    items: list[Json]

    def every(self) -> list[Json]:
        """All schemas that it applies, to the value itself and to what is in it."""
        parts = [*self.same, *self.names.values(), *self.patterns, *self.values, *self.keys]
        return parts + self.prefix + self.items


def read_schema(schema: Json, pattern_units: PatternUnits) -> ReadSchema:
    """Read the places of ``schema``. Raises `ValueError` for what has no bound: references to
    elsewhere, and those that come back to where they stand."""
    _check_words(schema)
    made: dict[int, Place] = {}
    specs: list[tuple[Spec, _Parts]] = []
    waiting = [schema]
    while waiting:
        spec = waiting.pop()
        if id(spec) in made:
            continue
        made[id(spec)] = Place()
        if isinstance(spec, dict):
            parts = _parts_of(spec, schema)
            specs.append((spec, parts))
            waiting.extend(parts.every())
    for spec, parts in specs:
        _fill(made[id(spec)], spec, parts, made, pattern_units)
    _check_cycles(made.values())
    references = _find_references([spec for spec, _ in specs], schema, made)
    for spec, target in references:
        if target is not None:
            place = made[id(spec)]
            place.remembered = made[id(target)]
            place.same.remove(place.remembered)
    return ReadSchema(made[id(schema)], references)


def _find_references(
    specs: Iterable[Spec], schema: Json, made: Mapping[int, Place]
) -> list[Reference]:
    """Each schema that has a `$ref`, with what that names where the library is to remember it."""
    circles: set[int] = set()
    if not any(place.repeats for place in made.values()):
        circles = _find_circles(made.values())
    targets = [(spec, _target(spec["$ref"], schema)) for spec in specs if is_reference(spec)]
    named = {id(target) for _, target in targets if id(made[id(target)]) in circles}
    if len(named) > MAX_REMEMBERED:
        named.clear()
    return [(spec, target if id(target) in named else None) for spec, target in targets]


def _dicts(schema: Json) -> Iterator[Spec]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _check_words(schema: Json) -> None:
    """Whatever could make a reference mean another place than the one that it is read as here."""
    for spec in _dicts(schema):
        words = {word: value for word, value in spec.items() if isinstance(value, str)}
        if not words.get("$ref", "#").startswith("#"):
            raise ValueError("a JSON Schema without references to elsewhere: $ref begins with #")
        if "$dynamicRef" in words or "$recursiveRef" in words:
            raise ValueError("a JSON Schema without $dynamicRef and $recursiveRef")
        if "$id" in words and (spec is not schema or "json-schema.org" in words["$id"]):
            raise ValueError("a JSON Schema with an $id of its own at most, and none within it")
        if words.get("$schema", DIALECT).rstrip("#") != DIALECT:
            raise ValueError(f"a JSON Schema of draft 2020-12: $schema is {DIALECT}")


def _parts_of(spec: Spec, schema: Json) -> _Parts:
    """What ``spec`` applies. Raises `ValueError` for a reference to what is not there."""
    same = _values_of(spec, _ONE) + _listed(spec, _LISTS)
    for word in _MAPS:
        same += [part for part in _members(spec, word).values() if isinstance(part, dict | bool)]
    if is_reference(spec):
        same.append(_target(spec["$ref"], schema))
    return _Parts(
        same=same,
        names=_members(spec, "properties"),
        patterns=list(_members(spec, "patternProperties").values()),
        values=_values_of(spec, _VALUES),
        keys=_values_of(spec, ("propertyNames",)),
        prefix=_listed(spec, ("prefixItems", "items")),
        items=[part for part in _values_of(spec, _ITEMS) if isinstance(part, dict | bool)],
    )


def _values_of(spec: Spec, words: Iterable[str]) -> list[Json]:
    return [spec[word] for word in words if word in spec]


def _listed(spec: Spec, words: Iterable[str]) -> list[Json]:
    lists = [part for part in _values_of(spec, words) if isinstance(part, list)]
    return [item for items in lists for item in items]


def _members(spec: Spec, word: str) -> Spec:
    members = spec.get(word)
    return members if isinstance(members, dict) else {}


def _target(reference: str, schema: Json) -> Json:
    """What a local reference names. Raises `ValueError`."""
    name = unquote(reference[1:])
    if name and not name.startswith("/"):
        return _anchored(name, reference, schema)
    part = schema
    for step in name.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict) and key in part:
            part = part[key]
        elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
            part = part[int(key)]
        else:
            raise ValueError(f"a JSON Schema whose references are there: {reference}")
    if not isinstance(part, dict | bool):
        raise ValueError(f"a JSON Schema whose references are schemas: {reference}")
    return part


def _anchored(name: str, reference: str, schema: Json) -> Spec:
    """The one schema of that anchor. Raises `ValueError`."""
    found = [
        spec for spec in _dicts(schema) if name in _values_of(spec, ("$anchor", "$dynamicAnchor"))
    ]
    if len(found) != 1:
        raise ValueError(f"a JSON Schema whose references are there once: {reference}")
    return found[0]


def _fill(
    place: Place, spec: Spec, parts: _Parts, made: Mapping[int, Place], units: PatternUnits
) -> None:
    def places(specs: Iterable[Json]) -> list[Place]:
        return [made[id(part)] for part in specs]

    place.same, place.patterns = places(parts.same), places(parts.patterns)
    place.values, place.keys = places(parts.values), places(parts.keys)
    place.prefix, place.items = places(parts.prefix), places(parts.items)
    place.names = dict(zip(parts.names, places(parts.names.values()), strict=True))
    place.own = len(spec) + 1 + weight([spec.get("const"), spec.get("enum")], MAX_EVENT)[0]
    place.own += len(_listed(spec, ("required",)))
    place.text = 1
    if isinstance(spec.get("pattern"), str):
        place.text += units(spec["pattern"])
    place.key_text = 2 * sum(map(units, _members(spec, "patternProperties")))
    place.repeats = any(word in spec for word in _UNEVALUATED)
    place.unique = spec.get("uniqueItems") is True


def _find_circles(places: Iterable[Place]) -> set[int]:
    """The ids of the places that may be within themselves: what is left once none is without one
    within it, and none is within no other."""
    inner = {id(place): [id(part) for part in place.inner()] for place in places}
    outer: dict[int, list[int]] = {place: [] for place in inner}
    for place, within in inner.items():
        for part in within:
            outer[part].append(place)
    left = set(inner)
    _discard_ends(left, inner, outer)
    _discard_ends(left, outer, inner)
    return left


def _discard_ends(left: set[int], onward: dict[int, list[int]], back: dict[int, list[int]]) -> None:
    """Discard from ``left``, one after the other, each place from which none that is left is
    reached ``onward``; ``back`` has the same edges the other way."""
    remaining = {place: sum(part in left for part in onward[place]) for place in left}
    ends = [place for place in left if not remaining[place]]
    while ends:
        end = ends.pop()
        left.discard(end)
        for place in back[end]:
            if place not in left:
                continue
            remaining[place] -= 1
            if not remaining[place]:
                ends.append(place)


def _check_cycles(places: Iterable[Place]) -> None:
    """Raises `ValueError` for a place that is applied to the value that it is applied to
    already."""
    done: set[int] = set()
    for start in places:
        open_: set[int] = set()
        waiting = [(start, False)]
        while waiting:
            place, left = waiting.pop()
            if left:
                open_.discard(id(place))
                done.add(id(place))
            elif id(place) in open_:
                raise ValueError(
                    "a JSON Schema whose references do not come back before they descend into the"
                    " value"
                )
            elif id(place) not in done:
                open_.add(id(place))
                waiting.append((place, True))
                waiting += [(inner, False) for inner in place.same]
