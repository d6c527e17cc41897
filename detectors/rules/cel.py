"""What no matcher says: an expression of the task's author over one event."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from detectors.matchers import third_party
from detectors.matchers.faults import Fault, report_fault
from detectors.model.budget import meter
from detectors.model.errors import UnseenError
from detectors.model.kinds.shapes import Path
from detectors.model.optional_values import drop_keys
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.cel_plan import FAILURES, plan_of
from detectors.sdk.cel_reads import calls, can_name, is_true_by_beginning, reads_of_cel
from detectors.sdk.cel_types import Need, explain_mismatch, is_unlike, needs_of_event
from detectors.sdk.condition_reads import Read, Reads, asks_of_reads, check_reads
from detectors.sdk.cut_off import Beginning, hangs_on, without
from detectors.sdk.decorators import by_script, check_kind, kind_rule
from detectors.sdk.kept_back import Hidden, find_hidden
from detectors.sdk.uploads import (
    assign_sizes,
    is_one_of,
    is_part_of,
)
from detectors.sdk.world import World

MAX_EXPRESSION = 1_000
MAX_NESTING = 16
MAX_LOOPS = 2
KNOWN = frozenset(("data", "kind", "url"))
_LOOP = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*(\w+)\s*,")
_LOOPS = re.compile(r"\b(?:all|exists|exists_one|map|filter)\s*\(")


@dataclass(frozen=True, slots=True)
class CelArgs:
    kind: str = arg("The kind of event, such as request.finished; docs/events.md lists them.")
    expression: str = arg(
        "A CEL expression that must be true: `data` is the event's data, `kind` its kind, `url` its"
        " frame's address."
    )
    distinct: str | None = arg(
        "A CEL expression whose value identifies an occurrence, for `repeat`.", None
    )
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )

    def __post_init__(self) -> None:
        check_kind(self.kind)
        _check(self.expression)
        if self.distinct is not None:
            _check(self.distinct)
        check_reads(self.kind, self.reads)

    def explain_mismatches(self) -> Iterator[tuple[str, str]]:
        """Yield the argument and what is expected for what compares things that are never alike."""
        for name, text in (("expression", self.expression), ("distinct", self.distinct)):
            is_condition = name == "expression"
            wrong = text and explain_mismatch(self.kind, text, is_condition=is_condition)
            if wrong:
                yield name, wrong

    @property
    def reads(self) -> Reads:
        """What it reads of an event."""
        return _reads(self.kind, self.expression, self.distinct)

    def asks(self) -> dict[str, list[Any]]:
        """What is told only because it is read here."""
        return asks_of_reads(self.kind, self.reads)


@lru_cache(maxsize=256)
def _reads(kind: str, expression: str, distinct: str | None) -> Reads:
    return reads_of_cel(kind, expression, *([distinct] if distinct else []))


@lru_cache(maxsize=256)
def _needs(kind: str, expression: str) -> tuple[Need, ...]:
    return needs_of_event(kind, expression)


def _check(text: str) -> None:
    """Raises `ValueError` for what is no bounded expression."""
    depth = most = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        most = max(most, depth)
    loops = len(_LOOPS.findall(text))
    if len(text) > MAX_EXPRESSION or most > MAX_NESTING or loops > MAX_LOOPS:
        raise ValueError(
            f"a CEL expression of at most {MAX_EXPRESSION} characters, {MAX_NESTING} brackets deep,"
            f" with at most {MAX_LOOPS} of all, exists, exists_one, map, filter"
        )
    program = third_party.cel(text)
    if unknown := set(program.variables()) - KNOWN - set(_LOOP.findall(text)):
        raise ValueError(f"{', '.join(sorted(unknown))}: no such name; there are data, kind, url")
    if "matches" in program.functions():
        # A pattern could be made of what a page says; the form `regex` takes the author's alone.
        raise ValueError("matches: not here; use the text form {regex: ...}")
    plan_of(text)


@kind_rule(args=CelArgs, version=8)
def cel(event: Event, world: World, args: CelArgs) -> Iterator[Reading]:
    """A CEL expression (Common Expression Language) is true for the event. Actions of a page's
    script (`trusted: false`) do not count, unless the expression itself reads `data.trusted`; nor
    does what a window contained when it opened (`initial`), unless it reads `data.initial`.

    The expression reads one event and nothing else: no clock, no other event, no file. If it
    fails, as on a missing key, it is not true; test with `has(data.key)` first. Nothing is
    converted: an expression that compares a number of the event's kind with a text is refused, and
    what came from elsewhere, such as a tool's result, raises the alarm `matcher_failed` where it is
    of another type than what it is compared with; write `int(...)`, `double(...)` or `string(...)`
    around it. The expression's cost for an
    event is bounded beforehand, by the expression and the size of the event: 500,000 values read
    or copied, for all rules of a task together. A `map` or `filter` whose body reads only its
    element costs as much as its elements; one that reads more copies its result for each of them.
    If the bound does not suffice, the step in which the expression could have paid is null. The
    step is also null if the expression depends on the `size` of a file in a request's body, or
    tests for it, or compares a whole file with an object, and the size is not known; on a secret
    that was kept back; or on the rest of a text or a list of which only the beginning was reported.
    """
    data = event.data
    if not _is_countable(event, args):
        return
    hidden = find_hidden(event, args.reads.places)
    kept = {path[0] for path in hidden.paths if len(path) == 1}
    shown = drop_keys(data, kept)
    known = {"data": shown, "kind": event.kind, "url": world.url(str(data.get("frame")))}
    value, is_hidden = _known_value(args.kind, args.expression, known, hidden)
    if not is_hidden and _is_mistyped(args.kind, args.expression, known):
        report_fault(Fault("comparison", "TypeError"))
    if value is not True and not is_hidden:
        return
    reading = Reading(1.0, "cel")
    if args.distinct:
        apart, is_apart_hidden = _known_value(args.kind, args.distinct, known, hidden)
        reading = Reading(1.0, f"cel:{_key(apart)}")
        is_hidden = is_hidden or is_apart_hidden
    if is_hidden:
        raise UnseenError(hidden.reason, reading)
    yield reading


def _is_countable(event: Event, args: CelArgs) -> bool:
    """Whether it is no doing of page script and no state of a window that opened, unless the
    expression reads that itself."""
    if by_script(event) and not args.reads.names("trusted"):
        return False
    return event.data.get("initial") is not True or args.reads.names("initial")


def _is_mistyped(kind: str, expression: str, known: dict[str, Any]) -> bool:
    """Whether what the expression gives hangs on something in the event that is of another type
    than what it is compared with."""
    unlike = {need.path for need in _needs(kind, expression) if is_unlike(known["data"], need)}
    if not unlike:
        return False
    rest = None if any("*" in path for path in unlike) else without(known["data"], unlike)
    return rest is None or _value(expression, {**known, "data": rest}) is None


def _known_value(
    kind: str, expression: str, known: dict[str, Any], hidden: Hidden
) -> tuple[object, bool]:
    """What the expression gives (None where it fails), and whether that may be another with what is
    ``hidden``."""
    value = _value(expression, known)
    if hidden.paths and _hangs_on_hidden(kind, expression, known, hidden.paths, value):
        return value, True
    return value, bool(hidden.open_ends) and _hangs_on_rest(kind, expression, known, hidden, value)


def _hangs_on_hidden(
    kind: str, expression: str, known: dict[str, Any], hidden: tuple[Path, ...], value: object
) -> bool:
    """Whether what the expression gives, ``value`` without the sizes that are ``hidden``, may be
    another with them.

    One that reads such a size fails, if `&&` or `||` did not decide without it. One that looks at
    whole files only can do nothing with their sizes but find two files alike.
    """
    places = _reads(kind, expression, None).places
    if any(is_one_of(place.path, hidden) and (value is None or not place.deep) for place in places):
        return True
    if not any(is_part_of(place, hidden) for place in places):
        return False
    ways = None if can_name(expression, "size") else assign_sizes(known["data"], hidden)
    if ways is None:
        return True
    values = [_value(expression, {**known, "data": data}) for data in ways]
    return len({_key(value) for value in values}) > 1


def _hangs_on_rest(
    kind: str, expression: str, known: dict[str, Any], hidden: Hidden, value: object
) -> bool:
    """Whether what the expression gives, ``value`` of the beginnings that are known, may be another
    of the whole.

    Not where it gives something without them, since what reads them fails then, and `&&` and `||`
    decide without what fails; nor where it is true of a beginning, and no rest can undo that.
    """
    read = [
        (place, beginning.path)
        for place in _reads(kind, expression, None).places
        if (beginning := _beginning_of(place, expression, hidden)) is not None
    ]
    if not read:
        return False
    paths = {path for _, path in read}
    is_part = any(len(place.path) < len(path) for place, path in read)
    if not is_part and not calls(expression, "has"):
        rest = without(known["data"], paths)
        if rest is not None and _value(expression, {**known, "data": rest}) is not None:
            return False
    return not (value is True and all(is_true_by_beginning(kind, expression, one) for one in paths))


def _beginning_of(place: Read, expression: str, hidden: Hidden) -> Beginning | None:
    """The beginning whose rest is looked at where the expression reads ``place``."""
    beginning = hangs_on(place.path, hidden.data, hidden.open_ends)
    if beginning is None or place.deep or len(place.path) > len(beginning.path):
        return beginning
    is_measured = len(place.path) == len(beginning.path) and calls(expression, "size")
    return beginning if is_measured else None


def _key(value: object) -> object:
    """What tells one value from another: the library gives the members of a map in an order of
    chance."""
    if not isinstance(value, dict | list):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # half a character, or a number beyond JSON's
        return None


def _value(expression: str, known: dict[str, object]) -> Any:
    """Evaluate an expression; None where it fails. Raises `BudgetError`."""
    try:
        return plan_of(expression).value(known, meter())
    except FAILURES:
        return None
