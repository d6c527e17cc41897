"""What a task may not say though each of its words is right: conditions that could never come true,
or always are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from detectors.model.types import Condition, MilestoneSpec
from detectors.model.validation import TaskReader
from detectors.sdk.arguments import Path, parse_args
from detectors.sdk.correlation import can_have
from detectors.sdk.registry import Rule, rules

_NESTED_NONE_OF = "something that happens, beside what must not: put none_of inside all_of"
_SINGLE_RULES = "single rules: of a condition made of conditions nobody knows what it is about"
_LAST_HAPPENS = "something that happens: what comes last ends a sequence"


def check_milestone(
    read: TaskReader, m: MilestoneSpec, path: Path, credit: Mapping[str, Any], origin: str | None
) -> None:
    """Refuse combinations that could never pay, or pay for nothing."""
    if not _positive(m.when):
        read.note((*path, "when"), m.when.rule, _NESTED_NONE_OF)
    if m.repeat > 1 and m.penalty is None:
        _check_repeat(read, m, path, credit, origin)
    if m.since is not None and m.within is None:
        read.note((*path, "since"), m.since, "within: {steps: …} or {seconds: …} beside it")
    if m.penalty is not None and (m.must_hold_at_end or m.revoke_on):
        read.note((*path, "penalty"), m.penalty, "a penalty without must_hold_at_end and revoke_on")
    if m.must_hold_at_end and m.component in credit:
        expected = f"progress credit: {m.component} is credited by level, at each step"
        read.note((*path, "must_hold_at_end"), True, expected)


def _check_repeat(
    read: TaskReader, m: MilestoneSpec, path: Path, credit: Mapping[str, Any], origin: str | None
) -> None:
    """Refuse a milestone that may be reached several times, where those can't be counted."""
    is_leaf = isinstance(rules()[m.when.rule], Rule)
    if not is_leaf or m.must_hold_at_end or m.component in credit:
        expected = "1, or a single rule that is credited by progress and need not hold at the end"
        read.note((*path, "repeat"), m.repeat, expected)
    elif _single(m.when, origin):
        read.note_new((*path, "repeat"), m.repeat, f"1, or `distinct` in {m.when.rule}: {_ONE}")


def check_parts(
    read: TaskReader,
    name: str,
    args: Mapping[str, Any],
    parts: Sequence[Condition],
    path: Path,
    origin: str | None,
) -> None:
    """Refuse parts of a composite with which it could never come true."""
    is_about_one = name == "same" or (name == "count" and args.get("distinct", True))
    if is_about_one and any(not isinstance(rules()[part.rule], Rule) for part in parts):
        read.note((*path, "of"), name, _SINGLE_RULES)
        return
    if name == "sequence" and not _positive(parts[-1]):
        last = (*path, "of", len(parts) - 1)
        read.note_new(last, parts[-1].rule, _LAST_HAPPENS)
    if name == "count" and is_about_one:
        _check_count(read, args["at_least"], parts, path, origin)
    if name == "same":
        _check_same(read, args, parts, path, origin)


def _check_count(
    read: TaskReader, at_least: int, parts: Sequence[Condition], path: Path, origin: str | None
) -> None:
    """Refuse to count more things than the parts can find."""
    if at_least > len(parts) and all(_single(part, origin) for part in parts):
        expected = f"at most {len(parts)}, or `distinct` in its parts, or distinct: false: {_ONE}"
        read.note_new((*path, "at_least"), at_least, expected)


def _check_same(
    read: TaskReader,
    args: Mapping[str, Any],
    parts: Sequence[Condition],
    path: Path,
    origin: str | None,
) -> None:
    """Refuse parts of `same` whose events don't have what is to be the same."""
    for n, part in enumerate(parts):
        key = "of_first" if n == 0 and args.get("of_first") is not None else "by"
        if not any(can_have(kind, args[key]) for kind in _heard_kinds(part, origin)):
            expected = (
                f"what events of {part.rule} have: tab, frame, file, app, window, value or a path"
                " into their data"
            )
            read.note_new((*path, key), args[key], expected)


_ONE = "all that it finds is one thing"


def _positive(condition: Condition) -> bool:
    """Whether something must happen for it to come true."""
    if condition.rule == "none_of":
        return False
    if condition.rule == "goal" and condition.args.get("requires"):
        return True
    positive = [_positive(part) for part in condition.of]
    if not positive:
        return True
    enough = all if condition.rule in ("any_of", "count") else any
    return enough(positive)


def _single(condition: Condition, origin: str | None) -> bool:
    """Whether all that the rule finds is one and the same thing."""
    found = rules()[condition.rule]
    return isinstance(found, Rule) and found.single(_args(found, condition, origin))


def _heard_kinds(condition: Condition, origin: str | None) -> tuple[str, ...]:
    found = rules()[condition.rule]
    assert isinstance(found, Rule)
    return found.heard_kinds(_args(found, condition, origin))


def _args(found: Rule, condition: Condition, origin: str | None) -> Any:
    return parse_args(found.args, condition.args, (condition.rule,), origin)
