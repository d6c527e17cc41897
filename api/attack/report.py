"""The report of an attack: a line a class, and of what falls the milestones and their evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict

from api.attack.attack import AttackResult
from api.attack.scores import Oracle, Payout
from api.attack.unfinished import describe_act_after_goal
from api.rewards.event_text import telling
from api.rewards.rendering import total_in_words
from detectors.model.types import Event

_WIDTHS = (18, 12, 22, 10)


class PayoutJson(TypedDict):
    """What a milestone paid beyond what is allowed; ``evidence``: events of the adversary's log."""

    milestone: str
    worth: float
    evidence: list[dict[str, object]]


class AdversaryJson(TypedDict):
    """One adversary; ``paid`` is null where a step is, ``known`` what the others come to."""

    kind: str
    variant: str
    stands_for: str
    paid: float | None
    known: float
    allowed: float
    success: bool | None
    verdict: str
    why: list[str]
    payouts: list[PayoutJson]


class AttackJson(TypedDict):
    """The attack of one task by one oracle. ``notes``: what is no fall, and worth a look."""

    task: str
    version: str
    digest: str
    oracle: str
    paid: float
    adversaries: list[AdversaryJson]
    falls: int
    notes: list[str]


def by_kind(results: Sequence[AttackResult]) -> dict[str, list[AttackResult]]:
    """The results by class, in order."""
    kinds: dict[str, list[AttackResult]] = {}
    for result in results:
        kinds.setdefault(result.kind, []).append(result)
    return kinds


def fallen(results: Sequence[AttackResult]) -> list[AttackResult]:
    """The results of those that are paid more than they may be."""
    return [result for result in results if result.verdict == "falls"]


def text_lines(results: Sequence[AttackResult]) -> Iterator[str]:
    """The report as text, a line a class and then the details of what falls."""
    yield _row("class", "adversaries", "paid", "allowed", "verdict")
    for kind, of_kind in by_kind(results).items():
        worst = max(of_kind, key=lambda one: (one.verdict == "falls", _excess(one)))
        yield _row(
            kind,
            str(len(of_kind)),
            total_in_words(_total(worst), worst.score.total),
            f"{worst.adversary.limit.total:g}",
            _verdict_of(of_kind),
        )
    for result in fallen(results):
        yield from _details(result)


def summary(results: Sequence[AttackResult]) -> str:
    """How many there are, and how many fall."""
    unknown = sum(result.verdict == "unknown" for result in results)
    null = f", {unknown} null" if unknown else ""
    kinds = len(by_kind(results))
    return f"{len(results)} adversaries of {kinds} classes, {len(fallen(results))} fall{null}"


def finding(result: AttackResult) -> str:
    """One sentence on an adversary that falls."""
    return (
        f"{result.kind} ({result.stands_for}), {result.adversary.variant}: {'; '.join(result.why)}"
    )


def as_json(oracle: Oracle, name: str, results: Sequence[AttackResult]) -> AttackJson:
    """The report as a JSON object."""
    task = oracle.rules.task
    unfinished = describe_act_after_goal(oracle)
    return {
        "task": task.id,
        "version": task.version,
        "digest": oracle.rules.digest,
        "oracle": name,
        "paid": oracle.score.total,
        "adversaries": [_adversary_json(result) for result in results],
        "falls": len(fallen(results)),
        "notes": [] if unfinished is None else [unfinished],
    }


def _adversary_json(result: AttackResult) -> AdversaryJson:
    """Return one attack with what it was paid, what was allowed, and the events that earned it."""
    return {
        "kind": result.kind,
        "variant": result.adversary.variant,
        "stands_for": result.stands_for,
        "paid": _total(result),
        "known": result.score.total,
        "allowed": result.adversary.limit.total,
        "success": result.score.success,
        "verdict": result.verdict,
        "why": list(result.why),
        "payouts": [
            {
                "milestone": payout.id,
                "worth": payout.worth,
                "evidence": [
                    {"seq": place, "kind": event.kind} for place, event in _evidence(result, payout)
                ],
            }
            for payout in result.payouts
        ],
    }


def _details(result: AttackResult) -> Iterator[str]:
    """Yield the lines on a fallen attack: each payout with the events that earned it."""
    yield f"  falls: {finding(result)}"
    for payout in result.payouts:
        yield f"    {payout.id} {payout.worth:+g}"
        for place, event in _evidence(result, payout):
            yield f"      event {place} {event.kind} {telling(event)}".rstrip()


def _evidence(result: AttackResult, payout: Payout) -> list[tuple[int, Event]]:
    """The events of a payout with their numbers in the adversary's own log."""
    return [(place, result.adversary.events[place - 1]) for place in payout.places]


def _total(result: AttackResult) -> float | None:
    """Return what an attack was paid, None where a step of it is not known."""
    return None if result.score.masked else result.score.total


def _excess(result: AttackResult) -> float:
    return result.score.total - result.adversary.limit.total


def _verdict_of(of_kind: Sequence[AttackResult]) -> str:
    """Say how the attacks of one kind went: how many fall, or how many are not known."""
    fallen_here = len(fallen(of_kind))
    if fallen_here:
        return f"{fallen_here} FALL" if fallen_here > 1 else "1 FALLS"
    unknown = sum(result.verdict == "unknown" for result in of_kind)
    return f"holds, {unknown} null" if unknown else "holds"


def _row(*cells: str) -> str:
    """Return a row of the table; its last cell takes what room is left."""
    padded = [cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False)]
    return f"  {''.join(padded)}{cells[-1]}".rstrip()
