"""What a judge may look up: answered from the log alone, so that asking again gives the same."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from typing import NamedTuple

from api.stages.base import Question
from api.stages.judge.facts import EventInStep, with_steps
from detectors.model.types import Event, Json

MAX_EVENTS = 20
MAX_DIGITS = 40
MAX_EXPRESSION = 200
_MAX_POWER = 64
Number = Decimal | bool
"""A value; a comparison gives a bool."""
_CONTENT = "facts"
"""The field of `file.read` in which a file's content stands."""
_OPERATIONS: dict[type[ast.AST], Callable[..., object]] = {
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


def events_between(question: Question, first: int, last: int) -> list[EventInStep]:
    """Return the events ``first`` to ``last`` with their steps, at most `MAX_EVENTS`."""
    if not 1 <= first <= last:
        raise ToolError(
            f"events {first} to {last}: wanted numbers from 1, the first not above the last"
        )
    # Their neighbours come along: what is suspicious only beside them would be shown alone.
    events = [
        (event, step)
        for event, step in with_steps(question.events)
        if first - 2 <= event.seq <= last + 2
    ]
    if not events:
        raise ToolError(
            f"events {first} to {last}: the log has none; it ends with {question.events[-1].seq}"
        )
    return events[:MAX_EVENTS]


def file_events(question: Question, path: str) -> list[EventInStep]:
    """Return what the log says of the file ``path``: its last event, and the last one that has
    content of it."""
    last: dict[bool, EventInStep] = {}
    for event, step in with_steps(question.events):
        has_content = _has_content(question, event, path)
        if has_content is not None:
            last[has_content] = event, step
    if not last:
        raise ToolError(f"file {path!r}: the log has no event of it")
    return sorted(last.values(), key=lambda pair: pair[0].seq)


def _has_content(question: Question, event: Event, path: str) -> bool | None:
    """Whether an event has content of the file; None for an event of something else."""
    if not path:
        return None
    if path in (event.data.get("path"), event.data.get("name")):
        return _CONTENT in event.data
    if event.kind != "probe.answered":
        return None
    is_of_file = path == _probed_path(question.task, event.data.get("probe"))
    return True if is_of_file else None


def _probed_path(task: Mapping[str, Json], probe: Json) -> str | None:
    """The path of the file that a task's probe reads; None where it reads none."""
    for spec in task.get("probes", ()):
        if spec.get("id") == probe:
            file = spec.get("file")
            return file.get("path") if file else None
    return None


class TextKey(NamedTuple):
    """What distinguishes a text on a page."""

    tab: str | None
    frame: str | None
    text: str | None


class Texts:
    """The texts that stand on pages, each as the event by which it came."""

    def __init__(self) -> None:
        self._standing: dict[TextKey, EventInStep] = {}

    def fold(self, event: Event, step: int) -> None:
        """Apply one more event to the facts that tools answer from."""
        data = event.data
        key = TextKey(data.get("tab"), data.get("frame"), data.get("text"))
        if event.kind == "text.appeared":
            self._standing[key] = event, step
        elif event.kind == "text.disappeared":
            self._standing.pop(key, None)
        elif event.kind in ("tab.closed", "tab.crashed"):
            self._remove(key.tab, None)
        elif event.kind == "page.navigated" and not data.get("same_document"):
            self._remove(key.tab, None if data.get("main") else key)

    def events(self) -> list[EventInStep]:
        """Return the events of the texts that stand now."""
        return list(self._standing.values())

    def _remove(self, tab: str | None, frame_of: TextKey | None) -> None:
        """Remove the texts of a tab, or those alone of the frame that ``frame_of`` is in."""
        for key in list(self._standing):
            is_in_frame = frame_of is None or key.frame == frame_of.frame
            if key.tab == tab and is_in_frame:
                del self._standing[key]


def text_at(question: Question, step: int) -> list[EventInStep]:
    """Return the texts that stood on pages when ``step`` was sealed, as the events by which they
    came."""
    texts = Texts()
    for event, event_step in with_steps(question.events):
        if event_step > step:
            break
        texts.fold(event, event_step)
    events = texts.events()
    if not events:
        raise ToolError(f"text at step {step}: none was observed")
    return events


def calculate(expression: str) -> str:
    """Return the value of an arithmetic ``expression`` of numbers, in decimals; a comparison gives
    true or false."""
    if len(expression) > MAX_EXPRESSION:
        raise ToolError(f"calculate: longer than {MAX_EXPRESSION} characters")
    source = expression.strip()
    try:
        with localcontext() as context:
            context.prec = MAX_DIGITS
            value = _evaluate(ast.parse(source, mode="eval").body, source)
    except (SyntaxError, ValueError, RecursionError, MemoryError, ArithmeticError) as error:
        why = str(error) or type(error).__name__
        raise ToolError(f"calculate {expression[:80]!r}: {why}") from None
    if isinstance(value, bool):
        return str(value).lower()
    return format(value.normalize(), "f")


def _evaluate(node: ast.AST, source: str) -> Number:
    """Evaluate one node of an expression; ``source`` is all of it."""
    evaluate = _EVALUATORS.get(type(node))
    if evaluate is None:
        raise _not_arithmetic(node)
    return evaluate(node, source)


def _not_arithmetic(node: ast.AST) -> ToolError:
    return ToolError(f"calculate: {type(node).__name__} is not arithmetic of numbers")


def _evaluate_constant(node: ast.Constant, source: str) -> Decimal:
    """Return a number as it is written, not as a float has it. Raises `ToolError` for other
    constants."""
    if type(node.value) not in (int, float):
        raise _not_arithmetic(node)
    # From the source, not from the float that Python read: 0.1 is 0.1.
    digits = ast.get_source_segment(source, node) or ""
    return _check_bounds(Decimal(digits.replace("_", "")))


def _evaluate_binary(node: ast.BinOp, source: str) -> Decimal:
    """Return a sum, product, power and the like. Raises `ToolError`."""
    is_power = isinstance(node.op, ast.Pow)
    operate = _raise_to if is_power else _OPERATIONS.get(type(node.op))
    if operate is None:
        raise _not_arithmetic(node)
    return _check_bounds(operate(_evaluate(node.left, source), _evaluate(node.right, source)))


def _evaluate_unary(node: ast.UnaryOp, source: str) -> Decimal:
    operate = _OPERATIONS.get(type(node.op))
    if operate is None:
        raise _not_arithmetic(node)
    return _check_bounds(operate(_evaluate(node.operand, source)))


def _evaluate_comparison(node: ast.Compare, source: str) -> bool:
    """Return whether a single comparison holds. Raises `ToolError`."""
    operate = _OPERATIONS.get(type(node.ops[0])) if len(node.ops) == 1 else None
    if operate is None:
        raise _not_arithmetic(node)
    return bool(operate(_evaluate(node.left, source), _evaluate(node.comparators[0], source)))


_EVALUATORS: dict[type[ast.AST], Callable[..., Number]] = {
    ast.Constant: _evaluate_constant,
    ast.BinOp: _evaluate_binary,
    ast.UnaryOp: _evaluate_unary,
    ast.Compare: _evaluate_comparison,
}


def _raise_to(base: Number, power: Number) -> Number:
    """Return a power, whole and not too large. Raises `ToolError`."""
    if power != int(power) or abs(int(power)) > _MAX_POWER:
        raise ToolError(f"calculate: the power {power}, wanted a whole number to {_MAX_POWER}")
    return base**power


def _check_bounds(value: object) -> Decimal:
    """Return a value that is finite and of a bounded length. Raises `ToolError`."""
    if not isinstance(value, Decimal) or not value.is_finite():
        raise ToolError("calculate: the value is out of bounds")
    exponent: int = value.adjusted()
    if abs(exponent) > MAX_DIGITS:
        raise ToolError("calculate: the value is out of bounds")
    return value
