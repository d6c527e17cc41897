"""What a CEL expression costs at most over an event of a given weight, by its syntax alone.

The library evaluates without a bound, and copies lists as `map` and `filter` make them longer: their cost is quadratic.
So the expression is read here once more, only as far as its cost is concerned: `cost_of` makes of it a function from an
event's weight to an upper bound in units of `detectors.budget`. What the library reads and this does not is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

LOOPS = frozenset(("all", "exists", "exists_one", "map", "filter"))
FUNCTIONS = frozenset(
    "size contains startsWith endsWith string int uint double bytes type dyn bool has min max timestamp duration "
    "getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek getHours getMinutes getSeconds "
    "getMilliseconds".split()
)
"""What an expression may call: each costs what its arguments weigh."""

MAX_TOKENS = 400
"""Words and signs of an expression: what is nested by them is bounded by as much."""

_TOKEN = re.compile(
    r"""(?:
    (?P<text>[rRbB]{0,2}(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:[0-9]+\.[0-9]+|[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>&&|\|\||<=|>=|==|!=|[-+*/%<>!?:.,()\[\]{}])
    )""",
    re.VERBOSE | re.DOTALL,
)
_BETWEEN = re.compile(r"(?:\s|//[^\n]*+)*+")
_BINARY = ({"||"}, {"&&"}, {"<", "<=", ">", ">=", "==", "!=", "in"}, {"+", "-"}, {"*", "/", "%"})
"""Operators from the weakest to the strongest."""


class Value(NamedTuple):
    """Bounds of a value: its weight, and the length of the longest list in it."""

    weight: int
    items: int


class Cost(NamedTuple):
    """Bounds of an evaluation: its units, and its value's."""

    units: int
    value: Value


Scope = Mapping[str, Value]
Bound = Callable[[Scope], Cost]
SCALAR = Value(1, 1)


@dataclass(frozen=True, slots=True)
class Part:
    """``bound`` of a piece of an expression; ``of``: the name that it is a member of, or is itself, if nothing else."""

    bound: Bound
    of: str | None = None


def cost_of(text: str) -> Bound:
    """The bound of an expression that the library has read. Raises `ValueError` for what has none."""
    reader = _Reader(text)
    part = reader.ternary()
    if reader.token is not None:
        raise ValueError(f"an expression that ends before {reader.token!r}")
    return part.bound


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at = 0
        while (at := _BETWEEN.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise ValueError(f"an expression without {text[at : at + 20].strip()!r}")
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
            if len(self._tokens) > MAX_TOKENS:
                raise ValueError(f"an expression of at most {MAX_TOKENS} words and signs")
        self._at = 0

    @property
    def token(self) -> str | None:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else None

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str | None = None) -> str:
        token = self.token
        if token is None or (wanted is not None and token != wanted):
            raise ValueError(f"an expression with {wanted or 'more'} where {token or 'its end'} is")
        self._at += 1
        return token

    def ternary(self) -> Part:
        parts = [self._binary(0)]
        if self.token != "?":
            return parts[0]
        while self.token == "?":
            self._take("?")
            parts.append(self._binary(0))
            self._take(":")
            parts.append(self._binary(0))
        return Part(_either([part.bound for part in parts]))

    def _binary(self, level: int) -> Part:
        if level == len(_BINARY):
            return self._unary()
        part = self._binary(level + 1)
        while self._kind in ("mark", "name") and self.token in _BINARY[level]:
            joins = self._take() == "+"
            part = Part(_both(part.bound, self._binary(level + 1).bound, joins))
        return part

    def _unary(self) -> Part:
        signs = 0
        while self._kind == "mark" and self.token in ("!", "-"):
            self._take()
            signs += 1
        part = self._member()
        return part if not signs else Part(_call([part.bound], signs))

    def _member(self) -> Part:
        part = self._primary()
        while self._kind == "mark" and self.token in (".", "["):
            if self._take() == "[":
                index = self.ternary()
                self._take("]")
                part = Part(_inside(part.bound, index.bound), part.of)
                continue
            name = self._name()
            part = self._called(name, part) if self.token == "(" else Part(_inside(part.bound), part.of)
        return part

    def _name(self) -> str:
        if self._kind != "name":
            raise ValueError(f"an expression with a name where {self.token or 'its end'} is")
        return self._take()

    def _called(self, name: str, on: Part | None) -> Part:
        self._take("(")
        if on is not None and name in LOOPS:
            return self._loop(name, on)
        if name not in FUNCTIONS:
            raise ValueError(f"{name}: not here; there are {', '.join(sorted(FUNCTIONS | LOOPS))}")
        given = self._until(")")
        return Part(_call([part.bound for part in ([on] if on else []) + given]))

    def _loop(self, name: str, on: Part) -> Part:
        variable = self._name()
        bodies: list[Part] = []
        while self.token == ",":
            self._take(",")
            bodies.append(self.ternary())
        self._take(")")
        if not bodies:
            raise ValueError(f"{name}: a name and an expression")
        return Part(_looped(name, on.bound, variable, bodies))

    def _until(self, end: str) -> list[Part]:
        parts: list[Part] = []
        while self.token != end:
            parts.append(self.ternary())
            if self.token not in (",", ":"):
                break
            self._take()
        self._take(end)
        return parts

    def _primary(self) -> Part:
        kind, token = self._kind, self._take()
        if kind == "text":
            return Part(_literal(Value(1 + (len(token) >> 8), 1)))
        if kind == "number" or token in ("true", "false", "null"):
            return Part(_literal(SCALAR))
        if kind == "name":
            return self._called(token, None) if self.token == "(" else Part(_named(token), token)
        if token == "(":
            part = self.ternary()
            self._take(")")
            return part
        if token in ("[", "{"):
            return Part(_made([part.bound for part in self._until("]" if token == "[" else "}")]))
        raise ValueError(f"an expression without {token!r} there")


def _literal(value: Value) -> Bound:
    return lambda scope: Cost(1, value)


def _named(name: str) -> Bound:
    return lambda scope: Cost(1, scope.get(name, SCALAR))


def _either(parts: list[Bound]) -> Bound:
    def bound(scope: Scope) -> Cost:
        costs = [part(scope) for part in parts]
        weight, items = (max(cost.value[n] for cost in costs) for n in (0, 1))
        return Cost(1 + sum(cost.units for cost in costs), Value(weight, items))

    return bound


def _both(one: Bound, other: Bound, joins: bool) -> Bound:
    def bound(scope: Scope) -> Cost:
        left, right = one(scope), other(scope)
        both = Value(left.value.weight + right.value.weight, left.value.items + right.value.items)
        return Cost(1 + left.units + right.units + both.weight, both if joins else SCALAR)

    return bound


def _call(parts: list[Bound], times: int = 1) -> Bound:
    def bound(scope: Scope) -> Cost:
        costs = [part(scope) for part in parts]
        weight = 1 + sum(cost.value.weight for cost in costs)
        items = max((cost.value.items for cost in costs), default=1)
        return Cost(times + sum(cost.units for cost in costs) + weight, Value(weight, items))

    return bound


def _inside(part: Bound, index: Bound | None = None) -> Bound:
    """A member of a value is no heavier than the value; to reach it may copy it."""

    def bound(scope: Scope) -> Cost:
        units, value = part(scope)
        more = index(scope).units if index is not None else 0
        return Cost(1 + units + more, value)

    return bound


def _made(parts: list[Bound]) -> Bound:
    def bound(scope: Scope) -> Cost:
        costs = [part(scope) for part in parts]
        weight = 1 + sum(cost.value.weight for cost in costs)
        items = max([len(parts), *(cost.value.items for cost in costs)])
        return Cost(1 + sum(cost.units for cost in costs) + weight, Value(weight, items))

    return bound


def _looped(name: str, on: Bound, variable: str, bodies: list[Part]) -> Bound:
    makes = name in ("map", "filter")

    def bound(scope: Scope) -> Cost:
        units, over = on(scope)
        # The elements together weigh no more than the list, and what a body costs grows at least as fast as what it is
        # about: all of them cost no more than if one had all the weight and the others none.
        light = [body.bound({**scope, variable: SCALAR}) for body in bodies]
        heavy = [body.bound({**scope, variable: Value(over.weight, over.weight)}) for body in bodies]
        units += over.weight + over.items * (2 + _units(light)) + _units(heavy)
        if not makes:
            return Cost(units, SCALAR)
        own = name == "filter" or bodies[-1].of == variable
        total = over.weight + over.items
        if not own:
            total = 1 + over.items * (1 + light[-1].value.weight) + heavy[-1].value.weight
        items = over.items if own else max(over.items, heavy[-1].value.items)
        return Cost(units + over.items * total, Value(total, items))  # it is copied for each item

    return bound


def _units(costs: list[Cost]) -> int:
    return sum(cost.units for cost in costs)
