"""What a JSON Schema costs over a value, counted before the library validates.

The library follows references without a bound: a few of them that stand side by side, each naming
the one before twice, take it 2^n evaluations. So a schema is read here into places, each pair of a
place and a value that it is applied to is counted once, and the evaluations of a pair are those of
all that it applies, added up: more than the library makes, for it stops at the first that fails and
remembers some, but never fewer.

Where that is too much, what the library remembers is counted, too: of each reference that comes
back to where it stands, the outcome for each object or list. So between two that are remembered no
place is evaluated within itself. Which of a circle's references the library takes for the one that
comes back is its own affair, so each place that a reference names in a circle is counted as if it
were remembered for every object and list, and as if it were evaluated anew wherever no circle is
closed. A schema with `unevaluatedProperties` or `unevaluatedItems` is not counted so: those are
evaluated beside what is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from detectors.model.budget import MAX_EVENT, Meter, weight

WHAT = "JSON Schema"
PAIR = 5
"""Units of a pair of place and value that is counted."""
EVALUATIONS = 16
"""Evaluations by the library that a unit pays for: each takes 0.04 microseconds."""
MAX_EVALUATIONS = EVALUATIONS * (MAX_EVENT + 1)
"""More are not told apart: they are over any budget."""
MAX_DEPTH = 4_000
"""Evaluations within evaluations: the library recurses."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"

_ONE = ("not", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf")
_MAPS = ("dependentSchemas", "dependencies")
_VALUES = ("additionalProperties", "unevaluatedProperties")
_ITEMS = ("items", "contains", "unevaluatedItems", "additionalItems")
_CONTAINERS = (dict, list, tuple)
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
    recurs: bool = False
    """Whether a reference names it, in a circle of references."""

    def applied(self, value: object) -> list[tuple[Place, Any]]:
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

    def inner(self) -> list[Place]:
        """All places that it may apply."""
        places = [*self.same, *self.names.values(), *self.patterns, *self.values, *self.keys]
        return places + self.prefix + self.items

    def evaluations(self, value: object) -> int:
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


def places_of(schema: object, pattern_units: PatternUnits) -> Place:
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
    if not any(place.repeats for place in made.values()):
        circles = _find_circles(made.values())
        for spec in _dicts(schema):
            if id(spec) in made and isinstance(spec.get("$ref"), str):
                target = made[id(_target(spec["$ref"], schema))]
                target.recurs = id(target) in circles
    return made[id(schema)]


def charge(root: Place, value: object, spent: Meter) -> None:
    """Count what the schema takes over ``value``. Raises `BudgetError`."""
    spent.spend(weight(value, spent.left)[0], WHAT)
    units = _Count(spent, remembers=False).evaluations(root, value) // EVALUATIONS
    if units > spent.left:
        units = _Count(spent, remembers=True).evaluations(root, value) // EVALUATIONS
    spent.spend(units, WHAT)


_Pair = tuple[Place, Any, frozenset[int]]
"""A place, what it is applied to, and those within which it is evaluated and which recur."""


class _Count:
    """Counts the evaluations of a schema over a value; ``remembers``: but for those whose outcome
    the library remembers."""

    def __init__(self, spent: Meter, *, remembers: bool) -> None:
        self._spent, self._remembers = spent, remembers
        self._counted: dict[tuple[int, int, frozenset[int]], tuple[int, int]] = {}
        """Evaluations of a pair, and how deep they go."""
        self._begun: set[tuple[int, int]] = set()
        self._waiting: list[tuple[Place, Any]] = []
        """Pairs that are remembered, and that are yet to be counted for themselves."""

    def evaluations(self, root: Place, value: object) -> int:
        """All of them, at most `MAX_EVALUATIONS`. Raises `BudgetError`."""
        self._waiting.append((root, value))
        many = 0
        while self._waiting and many < MAX_EVALUATIONS:
            place, one = self._waiting.pop()
            many += self._evaluations_from(place, one)
        return many

    def _evaluations_from(self, root: Place, value: object) -> int:
        within: frozenset[int] = frozenset()
        waiting: list[tuple[_Pair, list[_Pair] | None]] = [((root, value, within), None)]
        while waiting:
            pair, applied = waiting.pop()
            key = _key_of(pair)
            if key in self._counted:
                continue
            if applied is None:
                applied = self._applied(pair)
                waiting.append((pair, applied))
                waiting += [(inner, None) for inner in applied]
            else:
                self._counted[key] = self._add_up(pair, applied)
        return self._counted[id(root), id(value), within][0]

    def _applied(self, pair: _Pair) -> list[_Pair]:
        """The pairs that are evaluated within the pair, but for a circle that it closes."""
        place, value, within = pair
        self._spent.spend(PAIR + len(within), WHAT)
        if _closes_circle(pair):
            return []
        applied = place.applied(value)
        self._spent.spend(len(applied), WHAT)
        if not self._remembers:
            return [(inner, part, within) for inner, part in applied]
        for inner, part in applied:
            if inner.recurs and isinstance(part, _CONTAINERS):
                entry = id(inner), id(part)
                if entry not in self._begun:
                    self._begun.add(entry)
                    self._waiting.append((inner, part))
        if place.recurs:
            within |= {id(place)}
        return [(inner, part, within) for inner, part in applied]

    def _add_up(self, pair: _Pair, applied: list[_Pair]) -> tuple[int, int]:
        place, value, _ = pair
        if _closes_circle(pair):
            return 1, 1
        found = [self._counted[_key_of(inner)] for inner in applied]
        many = place.evaluations(value) + sum(evaluations for evaluations, _ in found)
        if place.repeats and isinstance(value, _CONTAINERS):
            many *= 1 + len(value)
        depth = 1 + max((depth for _, depth in found), default=0)
        if depth > MAX_DEPTH:
            self._spent.spend(self._spent.left + 1, WHAT)
        return min(many, MAX_EVALUATIONS), depth


def _closes_circle(pair: _Pair) -> bool:
    """Whether its outcome is remembered by now: of an object or list, in a place within itself."""
    place, value, within = pair
    return id(place) in within and isinstance(value, _CONTAINERS)


def _key_of(pair: _Pair) -> tuple[int, int, frozenset[int]]:
    place, value, within = pair
    return id(place), id(value), within


def _dicts(schema: object) -> Iterator[dict[str, Any]]:
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _check_words(schema: object) -> None:
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


def _applied_by(spec: dict[str, object], schema: object) -> list[Any]:
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


def _members(spec: dict[str, object], word: str) -> dict[str, Any]:
    found = spec.get(word)
    return found if isinstance(found, dict) else {}


def _prefix(spec: dict[str, Any]) -> list[Any]:
    return [
        one
        for word in ("prefixItems", "items")
        if isinstance(spec.get(word), list)
        for one in spec[word]
    ]


def _items(spec: dict[str, object]) -> list[Any]:
    return [spec[word] for word in _ITEMS if isinstance(spec.get(word), dict | bool)]


def _target(reference: str, schema: object) -> Any:
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
