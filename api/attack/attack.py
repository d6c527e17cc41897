"""Attacks a task: every adversary is made of a recording that solves it, replayed, and held to what
it may be paid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from api.attack.adversaries import CLASSES, Adversary
from api.attack.scores import TOLERANCE, Limit, LogScore, Oracle, Payout, score_log
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset

Verdict = Literal["holds", "falls", "unknown"]
OTHER = "other"
OTHER_STANDS_FOR = "another task's episode"


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What one adversary came to. ``verdict``: it holds, it falls, or a step is null and nothing
    more than allowed is paid in the others; ``why``: sentences on a fall; ``payouts``: those
    beyond what is allowed."""

    kind: str
    stands_for: str
    adversary: Adversary
    score: LogScore
    verdict: Verdict
    why: tuple[str, ...]
    payouts: tuple[Payout, ...]


class NoOracleError(ValueError):
    """A recording does not solve the task: nothing can be derived from it."""


def make_oracle(rules: Ruleset, events: Sequence[Event]) -> Oracle:
    """LogScore a recording that is to solve the task. Raises `NoOracleError` if it does not."""
    oracle = Oracle(rules, events)
    score = oracle.score
    if not score.closed:
        raise NoOracleError("the recording ends before its episode does")
    null = f"; null: steps {', '.join(map(str, score.masked))}" if score.masked else ""
    if rules.has_goal and score.success is not True:
        raise NoOracleError(f"it pays {score.total:g} and does not reach the goal{null}")
    if not score.payouts:
        raise NoOracleError(f"no milestone is paid{null}")
    return oracle


def attack(oracle: Oracle, others: Sequence[Sequence[Event]] = ()) -> Iterator[AttackResult]:
    """Run every adversary of the oracle, class by class. ``others``: logs of other tasks'
    episodes."""
    for kind in CLASSES:
        for adversary in kind.adversaries(oracle):
            yield _run(oracle, kind.name, kind.stands_for, adversary)
    for number, events in enumerate(others, 1):
        adversary = Adversary(f"recording {number}", list(events), _without_goal(oracle))
        yield _run(oracle, OTHER, OTHER_STANDS_FOR, adversary)


def _without_goal(oracle: Oracle) -> Limit:
    """What is earned on the way to a goal that is not reached."""
    return oracle.limit_untouched((), goal=False)


def _run(oracle: Oracle, kind: str, stands_for: str, adversary: Adversary) -> AttackResult:
    """Score one adversary, and say whether it falls: reaches the goal, or is paid more than its
    limit allows."""
    score = score_log(oracle.rules, adversary.events)
    limit = adversary.limit
    paid = {id: score.paid(id) for id in score.ids if id in oracle.rules.index}
    beyond = [id for id in paid if paid[id] > limit.by_milestone.get(id, 0.0) + TOLERANCE]
    why: list[str] = []
    if score.success is True and not limit.success:
        why.append("the goal is reached")
    if score.total > limit.total + TOLERANCE:
        why.append(f"it pays {score.total:g}, at most {limit.total:g} is allowed")
    if beyond:
        why.append(f"paid beyond what is allowed: {', '.join(beyond)}")
    verdict: Verdict = "falls" if why else "unknown" if score.masked else "holds"
    shown = beyond or (score.ids if why else [])
    return AttackResult(
        kind,
        stands_for,
        adversary,
        score,
        verdict,
        tuple(why),
        tuple(payout for payout in score.payouts if payout.id in shown),
    )
