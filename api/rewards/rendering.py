"""In words: what a milestone waits for, as `milestoned task explain` prints it, and what an episode
came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from detectors.engine.stakes import goal_worth, most_of_steps, spread_over
from detectors.model.rewards import PARTLY
from detectors.model.types import Condition
from detectors.sdk.registry import Rule, rules
from detectors.sdk.window import Window
from detectors.task.language import MilestoneSpec
from detectors.task.ruleset import Ruleset

_COMPOSITES = {
    "all_of": "all of these, in any order",
    "any_of": "one of these",
    "none_of": "none of these",
    "sequence": "these, one after the other",
    "count": "these, counted",
    "hold": "these, for a while",
    "same": "these, about the same thing",
    "goal": "the goal",
}

GOAL = {True: "reached", False: "not reached", None: "not known"}
"""An episode's success, in words."""


def number_in_words(value: float) -> str:
    """A number for people: 0.4 for 0.400000000001, which sums of thirds come to; whole ones as they
    are."""
    is_finite = value - value == 0
    if isinstance(value, int) or not is_finite:
        return str(value)
    is_tiny = abs(value) < 1e-6
    text = f"{value:g}" if is_tiny else f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def total_in_words(total: float | None, seen: float | None = None) -> str:
    """A total in words; of one that nobody knows, what was ``seen`` of it."""
    if total is not None:
        return number_in_words(total)
    return "not known" if seen is None else f"not known (seen: {number_in_words(seen)})"


def is_beside_penalty(worth: float, reason: str | None) -> bool:
    """Whether a milestone's ``worth`` is 0 only because nothing but a penalty is known of its step,
    whose reward has this ``reason``: what it earned is not known."""
    return worth == 0 and (reason or "").startswith(PARTLY)


def unpaid_in_words(
    status: str | None, *, mask: bool, worth: float, reason: str | None = None
) -> str:
    """Why a milestone that came true has not paid what it is worth; empty where it has.

    ``worth`` is the milestone's own; ``status`` (None: not sealed), ``mask`` and ``reason`` are of
    its step's reward.
    """
    if is_beside_penalty(worth, reason):
        return "not paid: only a penalty is known of the step"
    if status is None or status in ("settling", "escalating"):
        return "not paid yet: the step is not decided"
    return "not paid: the step is masked" if mask else ""


def tiers_in_words(rules: Ruleset) -> Iterator[str]:
    """What a reward model and a judge may add under a task; nothing where they are not asked about
    steps."""
    policy = rules.task.escalation
    if policy is None:
        return
    is_blend = policy.route == "blend"
    is_asked_of_steps = {"unscored", "low_confidence"} & set(policy.escalate)
    if is_blend or is_asked_of_steps:
        most = most_of_steps(rules)
        steps = spread_over(rules)
        yield (
            f"steps: {most:g} in all by model and judge, {most / steps:g} a step over {steps}"
            f" steps, nothing once the goal is reached (share {policy.share:g} of"
            f" {goal_worth(rules):g})"
        )
    if is_blend:
        weights = " + ".join(f"{weight:g} {name}" for name, weight in policy.weights.items())
        yield f"steps: {weights}"
    if "goal" in policy.escalate:
        yield "the goal: what is left of its worth, less what steps were offered"


def waits_for(condition: Condition, depth: int = 0) -> Iterator[str]:
    """Lines that say a condition, its parts indented below it."""
    rule = rules()[condition.rule]
    indent = "  " * depth
    arguments = _arguments_in_words(condition)
    if isinstance(rule, Rule):
        summary = " ".join(rule.doc.split("\n\n")[0].split())
        sentence = summary.split(". ")[0].rstrip(".")
        yield f"{indent}{condition.rule}: {sentence}{arguments}"
        return
    yield f"{indent}{_COMPOSITES.get(condition.rule, condition.rule)}{arguments}"
    for part in condition.of:
        yield from waits_for(part, depth + 1)


def _arguments_in_words(condition: Condition) -> str:
    """Return a condition's arguments in brackets, to follow its name; empty where it has none."""
    # A list is alternatives everywhere, but for a goal: that requires all of it.
    by = " and " if condition.rule == "goal" else " or "
    arguments = []
    for name, value in condition.args.items():
        arguments.append(f"{name} {value_in_words(value, by)}")
    return f" ({', '.join(arguments)})" if arguments else ""


def terms(m: MilestoneSpec) -> Iterator[str]:
    """What else a milestone asks for, or does."""
    if m.penalty is not None:
        yield f"costs {m.penalty:g} each time, up to {m.repeat}"
    elif m.repeat > 1:
        yield f"pays for {m.repeat} distinct things"
    if m.after:
        yield f"only after {', '.join(m.after)}"
    if m.before:
        yield f"only before {', '.join(m.before)}"
    if m.within is not None:
        yield f"within {window_in_words(m.within)} of {m.since or 'the start'}"
    if m.must_hold_at_end:
        yield "decided by the close"
    if m.only_if is not None:
        yield f"only while {_in_one_line(m.only_if)}"
    if m.revoke_on is not None:
        yield f"taken back by {_in_one_line(m.revoke_on)}"


def _in_one_line(condition: Condition) -> str:
    """Return what a condition waits for, its parts one after the other."""
    return "; ".join(line.strip() for line in waits_for(condition))


def window_in_words(window: Window) -> str:
    """Render a window as ``2 steps and 30 seconds``."""
    parts = []
    if window.steps is not None:
        parts.append(f"{window.steps:g} steps")
    if window.seconds is not None:
        parts.append(f"{window.seconds:g} seconds")
    return " and ".join(parts)


def value_in_words(value: object, by: str = " or ") -> str:
    """A matcher as a task has it, in words; long ones are cut."""
    text = _whole_value_in_words(value, by)
    return text if len(text) <= 200 else text[:199] + "…"


def _whole_value_in_words(value: object, by: str) -> str:
    """Return a value in words; long lists end in dots."""
    if isinstance(value, Mapping):
        return _members_in_words(value)
    if isinstance(value, list | tuple):
        more = f"{by}…" if len(value) > 8 else ""
        return by.join(map(value_in_words, value[:8])) + more
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number_in_words(value)
    if isinstance(value, str):
        return f"“{value}”"
    return str(value)


def _members_in_words(value: Mapping[object, object]) -> str:
    """Return an object's members, in braces where there are several."""
    members = ", ".join(f"{key} {value_in_words(part)}" for key, part in value.items())
    return f"{{{members}}}" if len(value) > 1 else members
