"""What a judge may look up: answered from the log alone, so that asking again gives the same."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, localcontext
from typing import Any

from api.stages.base import Question
from api.stages.judge.facts import stepped
from detectors.model.types import Event

MAX_EVENTS = 20
MAX_DIGITS = 40
_MAX_POWER = 64
_CONTENT = "facts"
"""The field of `file.read` in which a file's content stands."""
_OPERATIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class ToolError(ValueError):
    """A call that can't be answered; the message goes to the judge."""


def events_between(question: Question, first: int, last: int) -> list[tuple[Event, int]]:
    """The events ``first`` to ``last`` with their steps, at most `MAX_EVENTS`."""
    if not 1 <= first <= last:
        raise ToolError(
            f"events {first} to {last}: wanted numbers from 1, the first not above the last"
        )
    # Their neighbours come along: what is suspicious only beside them would be shown alone.
    found = [
        (event, step)
        for event, step in stepped(question.events)
        if first - 2 <= event.seq <= last + 2
    ]
    if not found:
        raise ToolError(
            f"events {first} to {last}: the log has none; it ends with {question.events[-1].seq}"
        )
    return found[:MAX_EVENTS]


def file_events(question: Question, path: str) -> list[tuple[Event, int]]:
    """What the log says of the file ``path``: its last event, and the last one that has content of
    it."""
    last: dict[bool, tuple[Event, int]] = {}
    for event, step in stepped(question.events):
        data = event.data
        if path and path in (data.get("path"), data.get("name")):
            last[_CONTENT in data] = event, step
        elif (
            event.kind == "probe.answered"
            and path
            and path == _probed(question.task, data.get("probe"))
        ):
            last[True] = event, step
    if not last:
        raise ToolError(f"file {path!r}: the log has no event of it")
    return sorted(last.values(), key=lambda pair: pair[0].seq)


def _probed(task: Mapping[str, Any], probe: Any) -> Any:
    file = next(
        (spec.get("file") for spec in task.get("probes", ()) if spec.get("id") == probe), None
    )
    return file.get("path") if file else None


def text_at(question: Question, step: int) -> list[tuple[Event, int]]:
    """The texts that stood on pages when ``step`` was sealed, as the events by which they came."""
    standing: dict[tuple[Any, Any, Any], tuple[Event, int]] = {}
    for event, at in stepped(question.events):
        if at > step:
            break
        data = event.data
        key = (data.get("tab"), data.get("frame"), data.get("text"))
        if event.kind == "text.appeared":
            standing[key] = event, at
        elif event.kind == "text.disappeared":
            standing.pop(key, None)
        elif event.kind == "page.navigated" and not data.get("same_document"):
            for old in [
                k for k in standing if k[0] == key[0] and (data.get("main") or k[1] == key[1])
            ]:
                del standing[old]
        elif event.kind in ("tab.closed", "tab.crashed"):
            for old in [k for k in standing if k[0] == key[0]]:
                del standing[old]
    if not standing:
        raise ToolError(f"text at step {step}: none was observed")
    return list(standing.values())


def calculated(expression: str) -> str:
    """The value of an arithmetic ``expression`` of numbers, in decimals; a comparison gives true or
    false."""
    if len(expression) > 200:
        raise ToolError("calculate: longer than 200 characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        with localcontext() as context:
            context.prec = MAX_DIGITS
            value = _value(tree.body, expression)
    except (SyntaxError, ValueError, RecursionError, MemoryError, ArithmeticError) as error:
        raise ToolError(
            f"calculate {expression[:80]!r}: {str(error) or type(error).__name__}"
        ) from None
    return str(value).lower() if isinstance(value, bool) else format(value.normalize(), "f")


def _value(node: ast.AST, source: str) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        # From the source, not from the float that Python read: 0.1 is 0.1.
        return _bounded(
            Decimal((ast.get_source_segment(source.strip(), node) or "").replace("_", ""))
        )
    parts: Iterator[ast.AST]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, power = _value(node.left, source), _value(node.right, source)
        if power != int(power) or abs(power) > _MAX_POWER:
            raise ToolError(f"calculate: the power {power}, wanted a whole number to {_MAX_POWER}")
        return _bounded(base**power)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        parts = iter((node.left, node.right))
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
        parts = iter((node.operand,))
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATIONS:
        return bool(
            _OPERATIONS[type(node.ops[0])](
                _value(node.left, source), _value(node.comparators[0], source)
            )
        )
    else:
        raise ToolError(f"calculate: {type(node).__name__} is not arithmetic of numbers")
    return _bounded(_OPERATIONS[type(node.op)](*(_value(part, source) for part in parts)))


def _bounded(value: Any) -> Any:
    if (
        not isinstance(value, Decimal)
        or not value.is_finite()
        or abs(value.adjusted()) > MAX_DIGITS
    ):
        raise ToolError("calculate: the value is out of bounds")
    return value
