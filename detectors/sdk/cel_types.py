"""Which comparisons of a CEL expression can never hold, since one side is a number and the other a
text.

CEL converts nothing: a number equals no text, and to order them fails. What the payload of a kind
says of its fields is known beforehand, and such an expression is refused. What somebody else put
into an event (a tool's result, a probe's answer) is known with the event alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from detectors.model.kinds.shapes import ANY, Path, plain_types_at, shape_at
from detectors.sdk.cel_cost import ComparedParts, ExpressionReader, read_expression

Sorts = frozenset[str]
UNKNOWN: Sorts = frozenset()
NUMBER, TEXT, TRUTH = (frozenset((sort,)) for sort in ("a number", "a text", "true or false"))
_SORT_OF = {str: "a text", int: "a number", float: "a number", bool: "true or false"}
_RESULTS = {
    **dict.fromkeys(("size", "int", "uint", "double"), NUMBER),
    **dict.fromkeys(("bool", "has", "contains", "startsWith", "endsWith"), TRUTH),
    **dict.fromkeys(("all", "exists", "exists_one"), TRUTH),
    "string": TEXT,
}
"""What functions, methods and loops give, those that give one sort."""
_OF_TEXTS = ("startsWith", "endsWith")
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_OPERATORS = frozenset("|| && < <= > >= == != in + - * / % ? : ! ,".split())


class Operand(NamedTuple):
    """What one part of an expression can be: its ``sorts`` (empty: not known), and its ``path`` in
    the event's data if only the event tells them."""

    sorts: Sorts = UNKNOWN
    path: Path | None = None


class Need(NamedTuple):
    """What stands at ``path`` in an event is compared with what is one of the ``sorts``."""

    path: Path
    sorts: Sorts


def explain_mismatch(kind: str, expression: str, *, is_condition: bool) -> str | None:
    """Say what is expected where two sides of a comparison can never be alike, a text's method is
    called on what is none, or a condition is neither true nor false; None where nothing is wrong
    in every event of the kind. The library has compiled the expression."""
    walk = _TypedExpression(kind, expression)
    for comparison in walk.reader.comparisons:
        left, right = walk.sides(comparison)
        if left.sorts and right.sorts and not left.sorts & right.sorts:
            words = walk.words(comparison.start, comparison.end)
            return (
                f"{words}: {walk.words(comparison.start, comparison.mark)} is {_named(left.sorts)};"
                f" expected {_named(left.sorts)} to compare it with, got {_named(right.sorts)}"
            )
    for method in walk.reader.methods:
        on = walk.operand(method.start, method.dot)
        if method.name in (*_OF_TEXTS, "contains") and on.sorts and not on.sorts & TEXT:
            words = walk.words(method.start, method.dot)
            return f"{words}.{method.name}(...): expected a text, {words} is {_named(on.sorts)}"
    whole = walk.operand(0, len(walk.reader.spans)).sorts
    if is_condition and whole and not whole & TRUTH:
        return f"{expression}: expected an expression that is true or false, got {_named(whole)}"
    return None


def needs_of_event(kind: str, expression: str) -> tuple[Need, ...]:
    """What an event has to have for the comparisons to be able to hold, as far as the kind does not
    say it; a path that is compared with several sorts may be any of them."""
    walk = _TypedExpression(kind, expression)
    needs: dict[Path, Sorts] = {}
    for operand, sorts in (*walk.compared(), *walk.methods()):
        if operand.path is not None and sorts:
            needs[operand.path] = needs.get(operand.path, UNKNOWN) | sorts
    return tuple(Need(path, sorts) for path, sorts in needs.items())


def is_unlike(data: object, need: Need) -> bool:
    """Whether a plain value stands there that is of another sort."""
    return any(
        type(value) in _SORT_OF and _SORT_OF[type(value)] not in need.sorts
        for value in _values_at(data, need.path)
    )


def _values_at(data: object, path: Path) -> Iterator[object]:
    for n, step in enumerate(path):
        if step == "*":
            for item in data if isinstance(data, list | tuple) else ():
                yield from _values_at(item, path[n + 1 :])
            return
        if isinstance(data, list | tuple):
            is_index = step.isdecimal() and len(step) < 7 and int(step) < len(data)
            data = data[int(step)] if is_index else None
        else:
            data = data.get(step) if isinstance(data, dict) else None
    yield data


def _named(sorts: Sorts) -> str:
    return " or ".join(sorted(sorts))


class _TypedExpression:
    """One expression over events of one kind."""

    def __init__(self, kind: str, expression: str) -> None:
        self._kind, self._text = kind, expression
        self.reader: ExpressionReader = read_expression(expression)[1]
        self._tokens = self.reader.words(0, len(self.reader.spans))

    def words(self, start: int, end: int) -> str:
        """What the author wrote between two tokens."""
        return self._text[self.reader.spans[start][0] : self.reader.spans[end - 1][1]]

    def sides(self, comparison: ComparedParts) -> tuple[Operand, Operand]:
        """Both sides of a comparison; of `in` the right one stands for the items of the list."""
        left = self.operand(comparison.start, comparison.mark)
        if self._tokens[comparison.mark][1] == "in":
            return left, self._items(comparison.mark + 1, comparison.end)
        return left, self.operand(comparison.mark + 1, comparison.end)

    def compared(self) -> Iterator[tuple[Operand, Sorts]]:
        """Yield each side of each comparison with the sorts of the other."""
        for comparison in self.reader.comparisons:
            left, right = self.sides(comparison)
            yield left, right.sorts
            yield right, left.sorts

    def methods(self) -> Iterator[tuple[Operand, Sorts]]:
        """Yield what methods of texts are called on."""
        for method in self.reader.methods:
            if method.name in _OF_TEXTS:
                yield self.operand(method.start, method.dot), TEXT

    def operand(self, start: int, end: int) -> Operand:
        """What the tokens from ``start`` to ``end`` can be."""
        while self._tokens[start][1] == "(" and self._closing(start) == end - 1:
            start, end = start + 1, end - 1
        if self._tokens[start] == ("mark", "-") and self._tokens[start + 1][0] == "number":
            start += 1
        if end - start == 1:
            return self._single_operand(start)
        if self._has_operator(start, end) or self._tokens[start][0] != "name":
            return Operand()
        if self._tokens[end - 1][1] == ")":
            return Operand(_RESULTS.get(self._called(start, end), UNKNOWN))
        return self._operand_at(self._path(start, end))

    def _single_operand(self, at: int) -> Operand:
        """What one token can be: a literal, or a name."""
        sort, word = self._tokens[at]
        if sort in ("text", "number"):
            return Operand(_literal(sort, word))
        if sort != "name" or word == "null":
            return Operand()
        if word in ("true", "false"):
            return Operand(TRUTH)
        if word in ("url", "kind") and self._loop_of(at) is None:
            return Operand(TEXT)
        return self._operand_at(self._path(at, at + 1))

    def _operand_at(self, path: Path | None) -> Operand:
        """What stands at a path in the event's data; nothing is known of None."""
        if path is None:
            return Operand()
        try:
            shape = shape_at(self._kind, path)
        except LookupError:
            return Operand()
        if shape is ANY:
            return Operand(path=path)
        return Operand(frozenset(_SORT_OF[each] for each in plain_types_at(self._kind, path)))

    def _items(self, start: int, end: int) -> Operand:
        """What the items of a list can be that is written there, or stands in the event."""
        if self._tokens[start][1] != "[":
            path = self._path(start, end)
            return self._operand_at((*path, "*")) if path and self._is_list(path) else Operand()
        sorts = UNKNOWN
        n = start + 1
        while n < end - 1:
            after = self._next_comma(n, end - 1)
            item = self.operand(n, after).sorts
            if not item:
                return Operand()
            sorts, n = sorts | item, after + 1
        return Operand(sorts)

    def _path(self, start: int, end: int) -> Path | None:
        """The path in the event's data that a chain of members leads to; None where it is none."""
        path = self._root(start)
        n = start + 1
        while path is not None and n < end:
            word = self._tokens[n][1]
            if word == "." and self._tokens[n + 1][0] == "name":
                path, n = (*path, self._tokens[n + 1][1]), n + 2
            elif word == "[":
                after = self._closing(n)
                step = self._step(n + 1, after, path)
                path, n = None if step is None else (*path, step), after + 1
            else:
                return None
        return path

    def _root(self, at: int) -> Path | None:
        """Where in the data a name begins: `data`, or the variable of a loop over a list."""
        loop = self._loop_of(at)
        if loop is None:
            return () if self._tokens[at][1] == "data" else None
        over = self._path(*loop)
        return (*over, "*") if over is not None and self._is_list(over) else None

    def _loop_of(self, at: int) -> tuple[int, int] | None:
        """The tokens of what the loop is over that binds the name at a place."""
        around = [
            loop
            for loop in self.reader.loops
            if loop.dot < at < loop.end and loop.variable == self._tokens[at][1]
        ]
        inner = max(around, key=lambda loop: loop.dot, default=None)
        return None if inner is None else (inner.start, inner.dot)

    def _step(self, start: int, end: int, path: Path) -> str | None:
        sort, word = self._tokens[start]
        if end - start == 1 and sort == "number":
            return word
        if end - start == 1 and sort == "text" and "\\" not in word and word[0] in "\"'":
            return word.strip(word[0])
        return "*" if self._is_list(path) else None

    def _is_list(self, path: Path) -> bool:
        try:
            shape = shape_at(self._kind, path)
        except LookupError:
            return False
        return shape is ANY or isinstance(shape, list)

    def _called(self, start: int, end: int) -> str:
        """The name of the function, method or loop whose call the tokens end with."""
        opening = next(n for n in range(start, end) if self._closing(n) == end - 1)
        sort, word = self._tokens[opening - 1] if opening > start else ("", "")
        return word if sort == "name" else ""

    def _closing(self, at: int) -> int:
        """The bracket that closes the one at a place; -1 where none opens there."""
        depth = 0
        for n in range(at, len(self._tokens)):
            sort, word = self._tokens[n]
            if sort == "mark":
                depth += (word in _OPENING) - (word in _CLOSING)
            if depth == 0:
                return n if n > at else -1
        return -1

    def _next_comma(self, start: int, end: int) -> int:
        n = start
        while n < end and self._tokens[n] != ("mark", ","):
            n = max(self._closing(n), n) + 1
        return min(n, end)

    def _has_operator(self, start: int, end: int) -> bool:
        """Whether an operator stands there outside all brackets."""
        n = start
        while n < end:
            sort, word = self._tokens[n]
            if sort != "text" and word in _OPERATORS:
                return True
            n = max(self._closing(n), n) + 1
        return False


def _literal(sort: str, word: str) -> Sorts:
    if sort == "number":
        return NUMBER
    return UNKNOWN if word[0] in "bB" or word[:2].lower() == "rb" else TEXT
