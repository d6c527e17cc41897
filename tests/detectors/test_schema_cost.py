"""What a JSON Schema of definitions that refer to each other costs: counted, it is never less than the library takes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from detectors.matchers.schema_places import read_schema
from detectors.matchers.third_party import (
    _remembering_schema,
    _validator,
    check_schema,
    conforms,
)
from detectors.model.budget import MAX_EVENT, metered
from detectors.model.errors import BudgetError
from tests.support.examples import examples

Json = dict[str, Any]
SEEDS = examples(100)
"""Schemas that are made up."""
UNIT_S = 20e-6
"""Seconds of processor time that a unit stands for, at most, on a slow machine."""
START_S = 0.2
LEAVES: list[Any] = [
    {"type": "string"},
    {"type": "integer"},
    True,
    {"type": "object"},
    {"minimum": 1},
]


class Schemas:
    """Schemas of chance: every word that applies another one, to the value itself and to what is in it."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._names = [f"d{n}" for n in range(self._chance.randint(1, 5))]

    def whole(self) -> Json:
        return {"$defs": {name: self.place(2) for name in self._names}, **self.place(2)}

    def place(self, depth: int) -> Json:
        place: Json = {}
        for _ in range(self._chance.randint(1, 3)):
            place |= self.beside(depth) if self._chance.random() < 0.5 else self.down(depth)
        return place

    def beside(self, depth: int) -> Json:
        """Applied to the same value: mostly what goes down, since circles are refused."""
        word = self._chance.choice(["allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas"])
        if word in ("allOf", "anyOf", "oneOf"):
            return {word: [self.next(depth) for _ in range(self._chance.randint(2, 3))]}
        if word == "if":
            return {"if": self.next(depth), "then": self.next(depth), "else": self.next(depth)}
        return {word: {"a": self.next(depth)} if word == "dependentSchemas" else self.next(depth)}

    def next(self, depth: int) -> Any:
        return self.down(depth) if self._chance.random() < 0.8 else self.any(depth)

    def down(self, depth: int) -> Json:
        word = self._chance.choice(
            [
                "properties",
                "items",
                "additionalProperties",
                "patternProperties",
                "prefixItems",
                "contains",
            ]
        )
        first, second = self.any(depth), self.any(depth)
        inner = {
            "properties": {"a": first, "b": second},
            "patternProperties": {"a": first, "^[ab]": second},
            "prefixItems": [first, second],
        }
        return {word: inner.get(word, first)}

    def any(self, depth: int) -> Any:
        if depth == 0 or self._chance.random() < 0.5:
            if self._chance.random() < 0.8:
                return {"$ref": f"#/$defs/{self._chance.choice(self._names)}"}
            return self._chance.choice(LEAVES)
        return self.place(depth - 1)

    def value(self, depth: int) -> Any:
        if depth == 0:
            return self._chance.choice(["x", 1, None, True, {}, []])
        many = self._chance.choice((1, 1, 1, 2))
        if self._chance.random() < 0.5:
            return {name: self.value(depth - 1) for name in self._chance.sample("abc", many)}
        return [self.value(depth - 1) for _ in range(many)]


def test_what_the_library_takes_is_no_more_than_what_was_counted() -> None:
    """Of those that are counted to be within their budget; of the others no more than that is counted."""
    decided = recurring = 0
    for seed in range(SEEDS):
        made = Schemas(seed)
        schema, value = (
            orjson.dumps(made.whole()),
            made.value(random.Random(seed).choice((4, 8, 12))),
        )
        try:
            check_schema(schema)
        except ValueError:
            continue
        recurring += 1
        with metered() as meter:
            began = time.process_time()
            try:
                conforms(schema, value)
            except BudgetError:
                assert meter.left == 0
            else:
                decided += 1
            took_s = time.process_time() - began
            units = MAX_EVENT - meter.left
        assert took_s < units * UNIT_S + START_S, (seed, units, took_s)
    assert recurring > 0.3 * SEEDS, "most are refused for a circle"
    assert decided > recurring / 2


def deep(depth: int, many: int) -> Json:
    """An object in an object, ``depth`` times, each of one of ``many`` kinds."""
    value: Json = {"n": 0}
    for n in range(depth):
        value = {"a": value, "n": n % many}
    return value


@pytest.mark.slow_where("16")
@pytest.mark.slow_where("8")
@pytest.mark.parametrize("many", [2, 4, 8, 16])
@pytest.mark.parametrize("word", ["oneOf", "anyOf", "allOf"])
def test_alternatives_that_each_go_down_are_counted_in_the_depth_once(word: str, many: int) -> None:
    """Twice as deep is twice as much, not its square, however many alternatives name each other."""
    any_of = {word: [{"$ref": f"#/$defs/d{n}"} for n in range(many)]}
    defs = {f"d{n}": {"properties": {"a": any_of, "n": {"const": n}}} for n in range(many)}
    schema = orjson.dumps({**any_of, "$defs": defs})
    units = []
    for depth in (30, 60):
        began = time.process_time()
        with metered() as meter:
            assert conforms(schema, deep(depth, many)) is (word != "allOf")
        units.append(MAX_EVENT - meter.left)
        assert time.process_time() - began < units[-1] * UNIT_S + START_S
    assert units[1] < 2.5 * units[0] < MAX_EVENT


def test_a_schema_that_remembers_its_references_takes_the_same_values() -> None:
    """Only what is in circles is remembered, and only where it has to be."""
    remembering = 0
    for seed in range(SEEDS):
        made = Schemas(seed)
        schema = orjson.dumps(made.whole())
        try:
            references = read_schema(orjson.loads(schema), lambda pattern: 1).references
        except ValueError:
            continue
        if all(target is None for _, target in references):
            continue
        remembering += 1
        for depth in range(8):
            value = made.value(depth)
            taken = _validator(orjson.loads(schema), 1 << 20).is_valid(value)
            assert _remembering_schema(schema).validator.is_valid(value) is taken, (seed, value)
    assert remembering > 0.3 * SEEDS


NAMED: dict[str, tuple[str, Callable[[Json], Json]]] = {
    "the root": ("#", lambda body: body),
    "an item": ("#/allOf/0", lambda body: {"allOf": [body]}),
    "a definition": ("#/$defs/d", lambda body: {"$defs": {"d": body}}),
    "an odd name": ("#/$defs/a~1b~0%20%C3%A4", lambda body: {"$defs": {"a/b~ \u00e4": body}}),
    "an anchor": ("#here", lambda body: {"$defs": {"d": {"$anchor": "here", **body}}}),
    "below an address": ("#/$defs/d", lambda body: {"$id": "http://a.test/", "$defs": {"d": body}}),
}


@pytest.mark.parametrize(("reference", "within"), NAMED.values(), ids=NAMED)
def test_whatever_a_reference_names_is_remembered(
    reference: str, within: Callable[[Json], Json]
) -> None:
    """A place that names itself below `a`, and holds a number below `n`."""
    body = {"properties": {"a": {"$ref": reference}, "n": {"type": "integer"}}}
    schema = within(body)
    if "$defs" in schema:
        schema["$ref"] = reference
    validator = _remembering_schema(orjson.dumps(schema)).validator
    assert validator.is_valid({"a": {"a": {"n": 1}}})
    assert not validator.is_valid({"a": {"a": {"n": "1"}}})


def test_a_name_like_a_reference_in_data_stays_as_it_is() -> None:
    """What a `const` compares with is no schema."""
    data = {"$ref": "#/$defs/d"}
    schema = {
        "$ref": "#/$defs/d",
        "$defs": {"d": {"properties": {"a": {"$ref": "#/$defs/d"}, "c": {"const": data}}}},
    }
    validator = _remembering_schema(orjson.dumps(schema)).validator
    assert validator.is_valid({"a": {"c": data}})
    assert not validator.is_valid({"a": {"c": {"$ref": "#/$defs/0.0"}}})
