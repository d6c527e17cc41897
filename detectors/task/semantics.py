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


def check_milestone(
    read: TaskReader, m: MilestoneSpec, path: Path, credit: Mapping[str, Any], origin: str | None
) -> None:
    """Refuse combinations that could never pay, or pay for nothing."""
    found = rules()[m.when.rule]
    if not _positive(m.when):
        read.note(
            (*path, "when"),
            m.when.rule,
            "something that happens, beside what must not: put none_of inside all_of",
        )
    leaf = isinstance(found, Rule)
    if (
        m.repeat > 1
        and m.penalty is None
        and (not leaf or m.must_hold_at_end or m.component in credit)
    ):
        read.note(
            (*path, "repeat"),
            m.repeat,
            "1, or a single rule that is credited by progress and need not hold at the end",
        )
    elif m.repeat > 1 and m.penalty is None and _single(m.when, origin):
        read.note_new((*path, "repeat"), m.repeat, f"1, or `distinct` in {m.when.rule}: {_ONE}")
    if m.since is not None and m.within is None:
        read.note((*path, "since"), m.since, "within: {steps: …} or {seconds: …} beside it")
    if m.penalty is not None and (m.must_hold_at_end or m.revoke_on):
        read.note((*path, "penalty"), m.penalty, "a penalty without must_hold_at_end and revoke_on")
    if m.must_hold_at_end and m.component in credit:
        read.note(
            (*path, "must_hold_at_end"),
            True,
            f"progress credit: {m.component} is credited by level, at each step",
        )


def check_parts(
    read: TaskReader,
    name: str,
    args: Mapping[str, Any],
    parts: Sequence[Condition],
    path: Path,
    origin: str | None,
) -> None:
    """Refuse parts of a composite with which it could never come true."""
    single = name == "same" or (name == "count" and args.get("distinct", True))
    if single and any(not isinstance(rules()[part.rule], Rule) for part in parts):
        read.note(
            (*path, "of"),
            name,
            "single rules: of a condition made of conditions nobody knows what it is about",
        )
        return
    if name == "sequence" and not _positive(parts[-1]):
        read.note_new(
            (*path, "of", len(parts) - 1),
            parts[-1].rule,
            "something that happens: what comes last ends a sequence",
        )
    if (
        name == "count"
        and single
        and args["at_least"] > len(parts)
        and all(_single(part, origin) for part in parts)
    ):
        wanted = f"at most {len(parts)}, or `distinct` in its parts, or distinct: false: {_ONE}"
        read.note_new((*path, "at_least"), args["at_least"], wanted)
    for n, part in enumerate(parts if name == "same" else ()):
        first = n == 0 and args.get("of_first") is not None
        by = args["of_first"] if first else args["by"]
        if not any(can_have(kind, by) for kind in _heard_kinds(part, origin)):
            wanted = (
                f"what events of {part.rule} have: tab, frame, file, app, window, value or a path"
                " into their data"
            )
            read.note_new((*path, "of_first" if first else "by"), by, wanted)


_ONE = "all that it finds is one thing"


def _positive(condition: Condition) -> bool:
    if condition.rule == "none_of":
        return False
    if condition.rule == "goal" and condition.args.get("requires"):
        return True
    kinds = [_positive(part) for part in condition.of]
    return not kinds or (all(kinds) if condition.rule in ("any_of", "count") else any(kinds))


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
