"""How a CEL expression is evaluated at a cost that is linear in its loops.

The library copies what `map` and `filter` have made once for each element. A loop whose body is
about its element alone (`data.files.filter(f, f.size > 10)`) needs none of that: it is taken out of
the expression, its body is asked of one element after the other, and the list that comes of it
stands in the expression under a name of its own. What is left, and a loop that looks at more than
its element, is the library's, within the bound of `detectors.sdk.cel_cost`.

Where a loop that was taken out fails, its name is left undefined: that fails where it is needed, as
in the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from detectors.matchers import third_party
from detectors.model.budget import MAX_EVENT, Meter, weight
from detectors.model.caches import cache_by_size
from detectors.model.optional_values import pick_keys
from detectors.sdk.cel_cost import Bound, ExpressionReader, Loop, read_expression, value_of

WHAT = "CEL"
FAILURES = (ValueError, TypeError, RuntimeError, LookupError, ArithmeticError)
"""What an expression that fails raises, as on a missing key."""
OVERHEAD = 4
"""Units of asking the library once."""
_UNLIKE = frozenset(("uint", "bytes", "type", "timestamp", "duration", "dyn"))
"""Functions whose values don't come back from the library as they were."""


@dataclass(frozen=True, slots=True)
class Apart:
    """A loop that is taken out: a list of what ``wanted`` (if any) is true of, or of what ``makes``
    gives."""

    name: str
    over: Plan
    variable: str
    wanted: Plan | None
    makes: Plan | None


@dataclass(frozen=True, slots=True)
class Plan:
    """An expression whose loops are ``apart``; ``path``: it is nothing but this path."""

    text: str
    bound: Bound
    names: frozenset[str]
    path: tuple[str, ...]
    apart: tuple[Apart, ...]

    def value(self, known: Mapping[str, object], spent: Meter) -> Any:
        """Its value over the values of its names. Raises `BudgetError`, and what is in
        `FAILURES`."""
        given = pick_keys(known, self.names)
        for loop in self.apart:
            try:
                given[loop.name] = _looped(loop, known, spent)
            except FAILURES:
                given.pop(loop.name, None)
        if self.path:
            spent.spend(len(self.path), WHAT)
            return _value_at(self.path, given)
        scope = {name: value_of(value) for name, value in given.items()}
        spent.spend(OVERHEAD + 2 * sum(value.weight for value in scope.values()), WHAT)
        units, result = self.bound(scope)
        spent.spend(units + 2 * result.weight, WHAT)
        return third_party.cel(self.text).execute(given)


PLAN_BYTES = 192
"""Bytes of a plan for each character of its expression, at most."""


@cache_by_size(16 << 20, lambda _, text: PLAN_BYTES * len(text))
def plan_of(text: str) -> Plan:
    """The plan of an expression. Raises `ValueError`."""
    _, reader = read_expression(text)
    chosen = _outermost([loop for loop in reader.loops if _is_linear(loop, reader)])
    pieces, apart, at = [], [], 0
    for n, loop in enumerate(chosen):
        start, end = reader.spans[loop.start][0], reader.spans[loop.end - 1][1]
        name = f"loop_{n}"
        while name in text:
            name += "_"
        pieces += [text[at:start], name]
        apart.append(_take_out(name, loop, text, reader))
        at = end
    rest = "".join([*pieces, text[at:]])
    bound, left = read_expression(rest)
    names = frozenset(one.name for one in left.names if one.binder < 0)
    return Plan(rest, bound, names, _path(left), tuple(apart))


def _take_out(name: str, loop: Loop, text: str, reader: ExpressionReader) -> Apart:
    """Plan a loop by itself; ``name``: what stands for it in the rest of the expression."""

    def plan(start: int, end: int) -> Plan:
        return plan_of(text[reader.spans[start][0] : reader.spans[end - 1][1]])

    over, *bodies = plan(loop.start, loop.dot), *(plan(*body) for body in loop.bodies)
    wanted = bodies[0] if loop.makes == "filter" or len(bodies) == 2 else None
    makes = None if loop.makes == "filter" else bodies[-1]
    return Apart(name, over, loop.variable, wanted, makes)


def _is_linear(loop: Loop, reader: ExpressionReader) -> bool:
    """Whether it is over what no other loop binds, and its body about nothing but its element, in
    types of JSON."""
    if len(loop.bodies) > _MAX_BODIES.get(loop.makes, -1):
        return False
    for name in reader.names:
        if loop.start <= name.at < loop.dot and 0 <= name.binder < loop.depth:
            return False
        if loop.dot <= name.at < loop.end and name.binder < loop.depth:
            return False
    return not any(_is_beyond_json(sort, word) for sort, word in reader.words(loop.start, loop.end))


_MAX_BODIES = {"map": 2, "filter": 1}
"""The loops that may be taken out, and how many expressions each may have."""


def _is_beyond_json(sort: str, word: str) -> bool:
    """Whether a word of an expression makes a value of a type that JSON does not have."""
    if sort == "name":
        return word in _UNLIKE
    if sort == "number":
        return word[-1] in "uU"
    if sort == "text":
        return word[0] in "bB" or word[:2].lower() == "rb"
    return False


def _outermost(loops: list[Loop]) -> list[Loop]:
    loops = sorted(loops, key=lambda loop: (loop.start, -loop.end))
    found: list[Loop] = []
    for loop in loops:
        if not found or loop.start >= found[-1].end:
            found.append(loop)
    return found


def _path(reader: ExpressionReader) -> tuple[str, ...]:
    """``a``, ``b`` and ``c`` of an expression that is `a.b.c`, which needs no library; else
    nothing."""
    words = reader.words(0, len(reader.spans))
    names, dots = words[::2], words[1::2]
    plain = all(sort == "name" for sort, _ in names) and all(word == "." for _, word in dots)
    literal = words[0][1] in ("true", "false", "null")
    return tuple(word for _, word in names) if plain and not literal and len(words) % 2 else ()


def _value_at(path: tuple[str, ...], known: Mapping[str, object]) -> object:
    value: Any = known
    for name in path:
        if not isinstance(value, Mapping):
            raise TypeError(f"{name}: in no map")
        value = value[name]
    return value


def _looped(loop: Apart, known: Mapping[str, object], spent: Meter) -> list[object]:
    over = loop.over.value(known, spent)
    if not isinstance(over, list | tuple | dict):
        raise TypeError("a loop over what is no list")
    found: list[Any] = []
    for item in sorted(over) if isinstance(over, dict) else over:
        units, _ = weight(item, MAX_EVENT)
        spent.spend(OVERHEAD + units, WHAT)
        about = {loop.variable: item}
        if loop.wanted is not None and not _is_true(loop.wanted.value(about, spent)):
            continue
        found.append(item if loop.makes is None else loop.makes.value(about, spent))
    return found


def _is_true(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("a condition that is neither true nor false")
    return value
