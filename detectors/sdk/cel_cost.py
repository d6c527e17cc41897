"""What a CEL expression costs at most over an event of a given weight, by its syntax alone.

The library evaluates without a bound, and copies lists as `map` and `filter` make them longer:
their cost is quadratic. So the expression is read here once more, only as far as its cost is
concerned: `cost_of` makes of it a function from an event's weight to an upper bound in units of
`detectors.model.budget`. What the library reads and this does not is refused. It also tells the
loops that can be run one element at a time, at a cost that is linear (detectors/sdk/cel_plan.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from detectors.model.budget import MAX_EVENT, weight

LOOPS = frozenset(("all", "exists", "exists_one", "map", "filter"))
FUNCTIONS = frozenset(
    "size contains startsWith endsWith string int uint double bytes type dyn bool has min max"
    " timestamp duration getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek"
    " getHours getMinutes getSeconds getMilliseconds".split()
)
"""What an expression may call: each costs what its arguments weigh."""

HEAVY = frozenset(("string", "bytes", "type", "dyn", "min", "max"))
"""Those of them whose value may be as heavy as what they are given; all others give a number, a
time or a truth."""

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
_COMPARING = 2
"""Place of the comparisons among them."""


class Value(NamedTuple):
    """Bounds of a value: its weight, and the length of the longest list in it."""

    weight: int
    items: int


def value_of(value: object) -> Value:
    """The bounds of a value that is there."""
    return Value(*weight(value, MAX_EVENT))


class Cost(NamedTuple):
    """Bounds of an evaluation: its units, and its value's."""

    units: int
    value: Value


Scope = Mapping[str, Value]
Bound = Callable[[Scope], Cost]
SCALAR = Value(1, 1)


@dataclass(frozen=True, slots=True)
class Part:
    """``bound`` of a piece of an expression; ``of``: the name that it is a member of, or is itself,
    if nothing else."""

    bound: Bound
    of: str | None = None


class Name(NamedTuple):
    """A name where a value is meant: its place among the tokens, and the loop around it that binds
    it (-1: none)."""

    at: int
    name: str
    binder: int


class ComparedParts(NamedTuple):
    """Two parts of an expression and the operator between them: tokens ``start`` to ``mark`` and
    from behind it to ``end``."""

    start: int
    mark: int
    end: int


class Method(NamedTuple):
    """A method that is called on tokens ``start`` to ``dot``."""

    name: str
    start: int
    dot: int


@dataclass(slots=True)
class Loop:
    """A `map` or `filter`: tokens ``start`` to ``end``, those of what it is over up to ``dot``;
    ``depth``: loops around it; ``bodies``: the tokens of each."""

    makes: str
    variable: str
    start: int
    dot: int
    depth: int
    end: int = 0
    bodies: list[tuple[int, int]] = field(default_factory=list)


def cost_of(text: str) -> Bound:
    """The bound of an expression that the library has read. Raises `ValueError` for what has
    none."""
    return read_expression(text)[0]


def read_expression(text: str) -> tuple[Bound, ExpressionReader]:
    """The same, with what was met. Raises `ValueError`."""
    reader = ExpressionReader(text)
    part = reader.ternary()
    if reader.token is not None:
        raise ValueError(f"an expression that ends before {reader.token!r}")
    return part.bound, reader


class ExpressionReader:
    """Reads one expression; ``spans`` are its tokens' places in the text."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        self.spans: list[tuple[int, int]] = []
        self.names: list[Name] = []
        self.loops: list[Loop] = []
        self.comparisons: list[ComparedParts] = []
        self.methods: list[Method] = []
        self._bound: list[str] = []
        at = 0
        while (at := _BETWEEN.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            found = _TOKEN.match(text, at)
            if found is None or found.lastgroup is None:
                raise ValueError(f"an expression without {text[at : at + 20].strip()!r}")
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            self.spans.append(found.span(found.lastgroup))
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

    def words(self, start: int, end: int) -> list[tuple[str, str]]:
        """Return (sort, text) of the tokens from one place to another."""
        return self._tokens[start:end]

    def ternary(self) -> Part:
        """Read a whole expression, down to its `a ? b : c`."""
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
        start = self._at
        part = self._binary(level + 1)
        while self._kind in ("mark", "name") and self.token in _BINARY[level]:
            mark = self._at
            joins = self._take() == "+"
            part = Part(_both(part.bound, self._binary(level + 1).bound, joins))
            if level == _COMPARING:
                self.comparisons.append(ComparedParts(start, mark, self._at))
        return part

    def _unary(self) -> Part:
        signs = 0
        while self._kind == "mark" and self.token in ("!", "-"):
            self._take()
            signs += 1
        part = self._member()
        return part if not signs else Part(_call([part.bound], signs))

    def _member(self) -> Part:
        start = self._at
        part = self._primary()
        while self._kind == "mark" and self.token in (".", "["):
            dot = self._at
            if self._take() == "[":
                index = self.ternary()
                self._take("]")
                part = Part(_inside(part.bound, index.bound), part.of)
                continue
            name = self._name()
            if self.token != "(":
                part = Part(_inside(part.bound), part.of)
            elif name in LOOPS:
                part = self._loop(Loop(name, "", start, dot, len(self._bound)), part)
            else:
                self.methods.append(Method(name, start, dot))
                part = self._called(name, part)
        return part

    def _name(self) -> str:
        if self._kind != "name":
            raise ValueError(f"an expression with a name where {self.token or 'its end'} is")
        return self._take()

    def _called(self, name: str, on: Part | None) -> Part:
        self._take("(")
        if name not in FUNCTIONS:
            raise ValueError(f"{name}: not here; there are {', '.join(sorted(FUNCTIONS | LOOPS))}")
        given = self._read_until(")")
        return Part(
            _call([part.bound for part in ([on] if on else []) + given], heavy=name in HEAVY)
        )

    def _loop(self, loop: Loop, on: Part) -> Part:
        self._take("(")
        loop.variable = self._name()
        self._bound.append(loop.variable)
        bodies: list[Part] = []
        while self.token == ",":
            self._take(",")
            start = self._at
            bodies.append(self.ternary())
            loop.bodies.append((start, self._at))
        self._bound.pop()
        self._take(")")
        loop.end = self._at
        if not bodies:
            raise ValueError(f"{loop.makes}: a name and an expression")
        self.loops.append(loop)
        return Part(_looped(loop.makes, on.bound, loop.variable, bodies))

    def _read_until(self, end: str) -> list[Part]:
        """Read the parts of a call, a list or an object, up to the bracket that ends it."""
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
        if kind == "name" and self.token != "(":
            binder = max((n for n, name in enumerate(self._bound) if name == token), default=-1)
            self.names.append(Name(self._at - 1, token, binder))
            return Part(_named(token), token)
        if kind == "name":
            return self._called(token, None)
        if token == "(":
            part = self.ternary()
            self._take(")")
            return part
        if token in ("[", "{"):
            return Part(
                _build([part.bound for part in self._read_until("]" if token == "[" else "}")])
            )
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


def _call(parts: list[Bound], times: int = 1, heavy: bool = True) -> Bound:
    def bound(scope: Scope) -> Cost:
        costs = [part(scope) for part in parts]
        weight = 1 + sum(cost.value.weight for cost in costs)
        items = max((cost.value.items for cost in costs), default=1)
        return Cost(
            times + sum(cost.units for cost in costs) + weight,
            Value(weight, items) if heavy else SCALAR,
        )

    return bound


def _inside(part: Bound, index: Bound | None = None) -> Bound:
    """A member of a value is no heavier than the value; to reach it may copy it: to name `data`
    copies all of it."""

    def bound(scope: Scope) -> Cost:
        units, value = part(scope)
        more = index(scope).units if index is not None else 0
        return Cost(1 + units + more, value)

    return bound


def _build(parts: list[Bound]) -> Bound:
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
        # The elements together weigh no more than the list, and what a body costs grows at least as
        # fast as what it is about: all of them cost no more than if one had all the weight and the
        # others none.
        light = [body.bound({**scope, variable: SCALAR}) for body in bodies]
        heavy = [
            body.bound({**scope, variable: Value(over.weight, over.weight)}) for body in bodies
        ]
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
