"""JSON Schemas and values that chance makes: references in and out, combinators over them,
patterns, deep values.

`python -m tests.fuzz.hostile_schemas CASES` validates so many of them under the limits of its own
process, and says how many it answered.
"""

from __future__ import annotations

import resource
import sys
from collections import Counter
from typing import Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detectors.matchers.third_party import check_schema, conforms
from detectors.model.budget import metered
from detectors.model.errors import BudgetError

MEMORY = 2 << 30
CPU_S = 120
NAMES = st.sampled_from(("a", "b", "c"))
REFERENCES = st.sampled_from(
    ("#", "#/$defs/a", "#/$defs/b", "#/$defs/c", "#/$defs/a/items", "#c", "#/$defs", "x")
)
PATTERNS = st.sampled_from(("a", "^[ab]*$", "(.*1.{50}){4}$", "(a|b|ab)*c", r"\w{9}", "(x+x+)+y"))
LEAVES = st.one_of(
    st.builds(lambda name: {"$ref": name}, REFERENCES),
    st.builds(lambda pattern: {"pattern": pattern}, PATTERNS),
    st.sampled_from(
        (
            {"type": "string"},
            {"type": "object"},
            {"required": ["a"]},
            {"const": {"a": [1]}},
            {"uniqueItems": True},
        )
    ),
    st.booleans(),
)


def _combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=4)
    named = st.dictionaries(NAMES, inner, max_size=3)
    one = st.sampled_from(
        (
            "not",
            "if",
            "then",
            "items",
            "contains",
            "additionalProperties",
            "unevaluatedProperties",
            "unevaluatedItems",
        )
    )
    return st.one_of(
        st.builds(
            lambda word, places: {word: places},
            st.sampled_from(("allOf", "anyOf", "oneOf")),
            several,
        ),
        st.builds(lambda places: {"prefixItems": places}, several),
        st.builds(
            lambda word, places: {word: places},
            st.sampled_from(("properties", "dependentSchemas")),
            named,
        ),
        st.builds(lambda place: {"patternProperties": {"^[ab]": place, "b|c": place}}, inner),
        st.dictionaries(one, inner, min_size=1, max_size=3),
        st.builds(lambda one, other: _both(one, other), inner, inner),
    )


def _both(one: Any, other: Any) -> Any:
    return {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else one


PLACES = st.recursive(LEAVES, _combined, max_leaves=8)


def _chain(long: int, word: str, last: Any) -> Any:
    """Each names the one before it twice."""
    defs = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n - 1}"}] * 2} for n in range(1, long + 1)}
    return {
        "$defs": {**defs, "d0": last, "a": True, "b": True, "c": True},
        "$ref": f"#/$defs/d{long}",
    }


SCHEMAS = st.one_of(
    st.builds(
        lambda root, defs: {"$defs": defs, **root} if isinstance(root, dict) else root,
        PLACES,
        st.fixed_dictionaries({"a": PLACES, "b": PLACES, "c": PLACES}),
    ),
    st.builds(_chain, st.integers(1, 60), st.sampled_from(("allOf", "anyOf", "oneOf")), PLACES),
)


def _deep(depth: int, wide: int, inner: Any) -> Any:
    value = inner
    for n in range(depth):
        value = {"a": value, "b": "ab" * wide} if n % 3 else [value, "c" * wide, [1] * wide]
    return value


VALUES = st.builds(
    _deep,
    st.integers(0, 60),
    st.integers(0, 40),
    st.sampled_from((1, "ab" * 5_000, {"a": {"b": []}})),
)


def validate(cases: int) -> None:
    """Validate as many values against schemas; what became of them is counted in `ANSWERS`."""
    bounds = settings(
        max_examples=cases,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    bounds(given(SCHEMAS, VALUES)(_validate_one))()


def _validate_one(schema: Any, value: Any) -> None:
    text = orjson.dumps(schema)
    try:
        check_schema(text)
    except ValueError:
        ANSWERS["refused"] += 1
        return
    try:
        with metered():
            conforms(text, value)
        ANSWERS["answered"] += 1
    except BudgetError:
        ANSWERS["over"] += 1


ANSWERS: Counter[str] = Counter()

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    validate(int(sys.argv[1]))
    print(orjson.dumps(ANSWERS).decode())
