"""What a JSON Schema costs over a value, counted before the library validates.

The library follows references without a bound: a few of them that stand side by side, each naming
the one before twice, take it 2^n evaluations. So a schema is read here into places, each pair of a
place and a value that it is applied to is counted once, and the evaluations of a pair are those of
all that it applies, added up: more than the library makes, for it stops at the first that fails and
remembers some, but never fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from detectors.model.budget import MAX_EVENT, Meter, weight

WHAT = "JSON Schema"
PAIR = 5
"""Units of a pair of place and value that is counted."""
EVALUATIONS = 16
"""Evaluations by the library that a unit pays for: each takes 0.04 microseconds."""
MAX_DEPTH = 4_000
"""Evaluations within evaluations: the library recurses."""
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

    def applied(self, value: Any) -> list[tuple[Place, Any]]:
        """The places that are applied where this one is, each with what it is applied to."""
        found = [(place, value) for place in self.same]
        if isinstance(value, dict):
            for key, member in value.items():
                found += [(place, key) for place in self.keys]
                found += [(place, member) for place in self.patterns]
                named = self.names.get(key)
                found += [(place, member) for place in (self.values if named is None else (named,))]
        elif isinstance(value, list | tuple):
            found += list(zip(self.prefix, value, strict=False))
            found += [(place, item) for item in value for place in self.items]
        return found

    def evaluations(self, value: Any) -> int:
        """Those of its own keywords over ``value``."""
        if isinstance(value, str):
            return self.own + self.text * (1 + (len(value) >> 5))
        if isinstance(value, dict):
            keys = sum(1 + (len(key) >> 5) for key in value) if self.key_text else 0
            return self.own + len(value) + self.key_text * keys
        if isinstance(value, list | tuple):
            # Up to 15 items, each with each.
            compared = weight(value, MAX_EVENT)[0] * 16 if self.unique else 0
            return self.own + len(value) + compared
        return self.own


def places_of(schema: Any, pattern_units: PatternUnits) -> Place:
    """A schema's root. Raises `ValueError` for what has no bound: references to elsewhere, and
    those that come back to where they stand."""
    _check_words(schema)
    made: dict[int, Place] = {}
    waiting = [schema]
    while waiting:
        spec = waiting.pop()
        if id(spec) in made:
            continue
        made[id(spec)] = Place()
        if isinstance(spec, dict):
            waiting.extend(_applied_by(spec, schema))
    for spec in _dicts(schema):
        if id(spec) in made:
            _fill(made[id(spec)], spec, schema, made, pattern_units)
    _check_cycles(made.values())
    return made[id(schema)]


def charge(root: Place, value: Any, spent: Meter) -> None:
    """Count what the schema takes over ``value``. Raises `BudgetError`."""
    spent.spend(weight(value, spent.left)[0], WHAT)
    # Evaluations of a pair, and how deep they go.
    counted: dict[tuple[int, int], tuple[int, int]] = {}
    waiting: list[tuple[Place, Any, list[tuple[Place, Any]] | None]] = [(root, value, None)]
    while waiting:
        place, one, applied = waiting.pop()
        pair = id(place), id(one)
        if pair in counted:
            continue
        if applied is None:
            applied = place.applied(one)
            spent.spend(PAIR + len(applied), WHAT)
            waiting.append((place, one, applied))
            waiting += [(inner, part, None) for inner, part in applied]
            continue
        found = [counted[id(inner), id(part)] for inner, part in applied]
        many = place.evaluations(one) + sum(evaluations for evaluations, _ in found)
        if place.repeats and isinstance(one, dict | list | tuple):
            many *= 1 + len(one)
        depth = 1 + max((depth for _, depth in found), default=0)
        if many // EVALUATIONS > spent.left or depth > MAX_DEPTH:
            spent.spend(spent.left + 1, WHAT)
        counted[pair] = many, depth
    spent.spend(counted[id(root), id(value)][0] // EVALUATIONS, WHAT)


def _dicts(schema: Any) -> Iterator[dict[str, Any]]:
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _check_words(schema: Any) -> None:
    """Whatever could make a reference mean another place than the one that it is read as here."""
    for spec in _dicts(schema):
        said = {word: value for word, value in spec.items() if isinstance(value, str)}
        if not said.get("$ref", "#").startswith("#"):
            raise ValueError("a JSON Schema without references to elsewhere: $ref begins with #")
        if "$dynamicRef" in said or "$recursiveRef" in said:
            raise ValueError("a JSON Schema without $dynamicRef and $recursiveRef")
        if "$id" in said and (spec is not schema or "json-schema.org" in said["$id"]):
            raise ValueError("a JSON Schema with an $id of its own at most, and none within it")
        if said.get("$schema", DIALECT).rstrip("#") != DIALECT:
            raise ValueError(f"a JSON Schema of draft 2020-12: $schema is {DIALECT}")


def _applied_by(spec: dict[str, Any], schema: Any) -> list[Any]:
    found = _same(spec, schema) + [
        spec[word] for word in (*_VALUES, "propertyNames") if word in spec
    ]
    for word in ("properties", "patternProperties"):
        found += _members(spec, word).values()
    return found + _prefix(spec) + _items(spec)


def _same(spec: dict[str, Any], schema: Any) -> list[Any]:
    found = [spec[word] for word in _ONE if word in spec]
    found += [one for word in _LISTS if isinstance(spec.get(word), list) for one in spec[word]]
    found += [
        one
        for word in _MAPS
        for one in _members(spec, word).values()
        if isinstance(one, dict | bool)
    ]
    return found + ([_target(spec["$ref"], schema)] if isinstance(spec.get("$ref"), str) else [])


def _members(spec: dict[str, Any], word: str) -> dict[str, Any]:
    found = spec.get(word)
    return found if isinstance(found, dict) else {}


def _prefix(spec: dict[str, Any]) -> list[Any]:
    return [
        one
        for word in ("prefixItems", "items")
        if isinstance(spec.get(word), list)
        for one in spec[word]
    ]


def _items(spec: dict[str, Any]) -> list[Any]:
    return [spec[word] for word in _ITEMS if isinstance(spec.get(word), dict | bool)]


def _target(reference: str, schema: Any) -> Any:
    """What a local reference names. Raises `ValueError`."""
    name = unquote(reference[1:])
    if name and not name.startswith("/"):
        found = [
            one for one in _dicts(schema) if name in (one.get("$anchor"), one.get("$dynamicAnchor"))
        ]
        if len(found) == 1:
            return found[0]
        raise ValueError(f"a JSON Schema whose references are there once: {reference}")
    at = schema
    for part in name.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(at, dict) and key in at:
            at = at[key]
        elif isinstance(at, list) and key.isdecimal() and int(key) < len(at):
            at = at[int(key)]
        else:
            raise ValueError(f"a JSON Schema whose references are there: {reference}")
    if not isinstance(at, dict | bool):
        raise ValueError(f"a JSON Schema whose references are schemas: {reference}")
    return at


def _fill(
    place: Place, spec: dict[str, Any], schema: Any, made: dict[int, Place], units: PatternUnits
) -> None:
    place.same = [made[id(one)] for one in _same(spec, schema)]
    place.names = {key: made[id(one)] for key, one in _members(spec, "properties").items()}
    place.patterns = [made[id(one)] for one in _members(spec, "patternProperties").values()]
    place.values = [made[id(spec[word])] for word in _VALUES if word in spec]
    place.keys = [made[id(spec["propertyNames"])]] if "propertyNames" in spec else []
    place.prefix = [made[id(one)] for one in _prefix(spec)]
    place.items = [made[id(one)] for one in _items(spec)]
    place.own = len(spec) + 1 + weight([spec.get("const"), spec.get("enum")], MAX_EVENT)[0]
    place.own += len(spec["required"]) if isinstance(spec.get("required"), list) else 0
    place.text = 1 + (units(spec["pattern"]) if isinstance(spec.get("pattern"), str) else 0)
    place.key_text = 2 * sum(units(pattern) for pattern in _members(spec, "patternProperties"))
    place.repeats = any(word in spec for word in _UNEVALUATED)
    place.unique = spec.get("uniqueItems") is True


def _check_cycles(places: Any) -> None:
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
