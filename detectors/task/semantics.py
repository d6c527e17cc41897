"""What a condition may not say though each of its words is right: it could never come true, or
always is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from detectors.model.types import Condition, Json
from detectors.model.validation import Path, TaskReader
from detectors.sdk.arguments import parse_args
from detectors.sdk.correlation import can_have
from detectors.sdk.registry import Rule, rules

_SINGLE_RULES = "single rules: of a condition made of conditions nobody knows what it is about"
_LAST_HAPPENS = "something that happens: what comes last ends a sequence"


def check_parts(
    read: TaskReader,
    name: str,
    args: Mapping[str, Json],
    parts: Sequence[Condition],
    path: Path,
) -> None:
    """Refuse parts of a composite with which it could never come true."""
    is_about_one = name == "same" or (name == "count" and args.get("distinct", True))
    if is_about_one and any(not isinstance(rules()[part.rule], Rule) for part in parts):
        read.note((*path, "of"), name, _SINGLE_RULES)
        return
    if name == "sequence" and not is_positive(parts[-1]):
        last = (*path, "of", len(parts) - 1)
        read.note_new(last, parts[-1].rule, _LAST_HAPPENS)
    if name == "count" and is_about_one:
        _check_count(read, args["at_least"], parts, path)
    if name == "same":
        _check_same(read, args, parts, path)


def _check_count(read: TaskReader, at_least: int, parts: Sequence[Condition], path: Path) -> None:
    """Refuse to count more things than the parts can find."""
    if at_least > len(parts) and all(is_single(part, read.origin) for part in parts):
        expected = (
            f"at most {len(parts)}, or `distinct` in its parts, or distinct: false: {ONE_THING}"
        )
        read.note_new((*path, "at_least"), at_least, expected)


def _check_same(
    read: TaskReader,
    args: Mapping[str, Json],
    parts: Sequence[Condition],
    path: Path,
) -> None:
    """Refuse parts of `same` whose events don't have what is to be the same."""
    for n, part in enumerate(parts):
        key = "of_first" if n == 0 and args.get("of_first") is not None else "by"
        if not any(can_have(kind, args[key]) for kind in _heard_kinds(part, read.origin)):
            expected = (
                f"what events of {part.rule} have: tab, frame, file, app, window, value or a path"
                " into their data"
            )
            read.note_new((*path, key), args[key], expected)


ONE_THING = "all that it finds is one thing"


def is_positive(condition: Condition) -> bool:
    """Whether something must happen for it to come true."""
    if condition.rule == "none_of":
        return False
    if condition.rule == "goal" and condition.args.get("requires"):
        return True
    positive = [is_positive(part) for part in condition.of]
    if not positive:
        return True
    enough = all if condition.rule in ("any_of", "count", "share") else any
    return enough(positive)


def is_single(condition: Condition, origin: str | None) -> bool:
    """Whether all that the rule finds is one and the same thing."""
    found = rules()[condition.rule]
    return isinstance(found, Rule) and found.single(_args(found, condition, origin))


def _heard_kinds(condition: Condition, origin: str | None) -> tuple[str, ...]:
    found = rules()[condition.rule]
    assert isinstance(found, Rule)
    return found.heard_kinds(_args(found, condition, origin))


def _args(found: Rule, condition: Condition, origin: str | None) -> Any:
    return parse_args(found.args, condition.args, (condition.rule,), origin)
