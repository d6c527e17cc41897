"""Step scores of a reward model or judge as a potential: how a tier may shape a trainer's rewards
without changing which policy is best (pure).

F_t = γ·Φ(s_t+1) - Φ(s_t) (Ng, Harada and Russell 1999), with Φ of the state after step t the tier's
recorded score of that step times the scale, 0 before the first step and 0 after the last (Grześ
2017). So the discounted sum of an episode is 0 whatever the scores say, and up to any step it is at
most the scale, which is less than the goal is worth (decision 25). A model that is replaced between
two steps makes Φ depend on time, which leaves the best policy as well (Devlin and Kudenko 2012),
since each state's Φ is the same number in both of its terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypedDict

from detectors.engine.stakes import goal_worth
from detectors.model.json_value import JsonObject, is_number, require_object
from detectors.task.ruleset import Ruleset

ShapingTier = Literal["none", "model", "judge"]
STEP = "step"


class ShapingJson(TypedDict):
    """The shaping of one step as the wire has it."""

    value: float | None
    potential: float | None
    next_potential: float | None
    by: str | None
    reason: str | None


class StepScore(NamedTuple):
    """What a tier said of a step, in [0, 1], and which model under which digest."""

    score: float
    by: str


def shaping_scale(rules: Ruleset) -> float:
    """Return what Φ is at most: the share of the goal's worth that tiers may add to steps."""
    policy = rules.task.escalation
    return 0.0 if policy is None else policy.share * goal_worth(rules)


def scores_of(verdicts: Sequence[JsonObject], tier: str) -> dict[int, StepScore]:
    """Return the last score that a tier gave each step, of a log of verdicts; audits count, since
    they change no sealed reward either."""
    found: dict[int, StepScore] = {}
    for event in verdicts:
        if event.get("kind") != "verdict.given" or event.get("item") != STEP:
            continue
        verdict = require_object(event["verdict"], "verdict")
        step, score = event["step"], verdict.get("score")
        if verdict.get("stage") == tier and is_number(score) and isinstance(step, int):
            found[step] = StepScore(float(score), str(verdict.get("by")))
    return found


def shape_steps(
    steps: Sequence[int],
    scores: Mapping[int, StepScore],
    gamma: float,
    scale: float,
    *,
    is_closed: bool,
) -> dict[int, ShapingJson]:
    """Return the shaping of each of an episode's ``steps``, which are in their order; null with a
    reason where Φ before or after the step is not known. ``is_closed``: the last step ends the
    episode."""
    found: dict[int, ShapingJson] = {}
    before: float | None = 0.0
    why_before = ""
    for place, step in enumerate(steps):
        said = scores.get(step)
        is_last = is_closed and place == len(steps) - 1
        after = 0.0 if is_last else None if said is None else scale * said.score
        why = "" if after is not None else f"nobody scored step {step}"
        value = None
        if before is not None and after is not None:
            value = round(gamma * after - before, 12) + 0.0
        reason = " and ".join(part for part in (why_before, why) if part)
        found[step] = ShapingJson(
            value=value,
            potential=before,
            next_potential=after,
            by=None if said is None or is_last else said.by,
            reason=reason or None,
        )
        before, why_before = after, why
    return found
