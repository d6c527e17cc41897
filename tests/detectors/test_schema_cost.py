"""What a JSON Schema of definitions that refer to each other costs: counted, it is never less than the library takes."""

from __future__ import annotations

import random
import time
from typing import Any

import orjson
import pytest

from detectors.matchers.third_party import check_schema, conforms
from detectors.model.budget import MAX_EVENT, metered
from detectors.model.errors import BudgetError

Json = dict[str, Any]
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
    for seed in range(100):
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
    assert recurring > 30, "most are refused for a circle"
    assert decided > recurring / 2


@pytest.mark.parametrize("many", [2, 3, 4])
@pytest.mark.parametrize("word", ["oneOf", "anyOf", "allOf"])
def test_alternatives_that_each_go_down_are_counted_in_the_depth_once(word: str, many: int) -> None:
    """Twice as deep is twice as much, not its square."""
    any_of = {word: [{"$ref": f"#/$defs/d{n}"} for n in range(many)]}
    defs = {f"d{n}": {"properties": {"a": any_of, "n": {"const": n}}} for n in range(many)}
    schema = orjson.dumps({**any_of, "$defs": defs})
    units = []
    for depth in (30, 60):
        value: Json = {"n": 0}
        for n in range(depth):
            value = {"a": value, "n": n % many}
        with metered() as meter:
            conforms(schema, value)
        units.append(MAX_EVENT - meter.left)
    assert units[1] < 2.5 * units[0] < MAX_EVENT
