"""Rewards as values: how tiers are blended, what the wire carries, what is answered while nothing
is final."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NotRequired, TypedDict

from detectors.model.codec import canonical
from detectors.model.types import Milestone, Reward, Stage, Status, Verdict

PARTLY = "only what a penalty was seen for is paid, the rest is not known: "
"""How the reason of a reward begins that is no more than a penalty, where its step would be
null."""


class MilestoneJson(TypedDict):
    """A milestone as the wire has it."""

    id: str
    rule: str
    version: int
    component: str
    step: int
    value: float
    worth: float
    evidence: list[int]
    cause_step: int | None
    baseline: bool


class VerdictJson(TypedDict):
    """One stage's word on a step as the wire has it."""

    stage: Stage
    score: float | None
    confidence: float
    why: str
    by: str
    cost: float


class RewardJson(TypedDict):
    """A reward as the wire has it."""

    episode: str
    step: int
    status: Status
    reward: float | None
    mask: bool
    reason: str | None
    components: dict[str, float | None]
    milestones: list[MilestoneJson]
    verdicts: list[VerdictJson]
    decided_by: str | None
    done: bool
    success: bool | None
    through: int
    digest: str
    objectives: NotRequired[dict[str, float | None]]


def total(parts: Iterable[float]) -> float:
    """The sum, correctly rounded (so that order does not matter) and then to 12 digits (so that 0.3
    reads 0.3)."""
    return round(math.fsum(parts), 12) + 0.0


def blend(verdicts: Iterable[Verdict], weights: Mapping[str, float]) -> float | None:
    """r̃ = Σ wᵢ·scoreᵢ / Σ wᵢ over the tiers that answered; None where none with a weight did."""
    answered = [(weights.get(v.stage, 0.0), v.score) for v in verdicts if v.score is not None]
    mass = math.fsum(w for w, _ in answered)
    return total(w * s / mass for w, s in answered) if mass > 0 else None


def settling(episode: str, step: int, through: int, digest: str, reason: str) -> Reward:
    """The answer while a step is not sealed: nothing is known, so nothing is paid and the step is
    masked."""
    return Reward(
        episode,
        step,
        "settling",
        None,
        True,
        reason,
        {},
        (),
        (),
        None,
        False,
        None,
        through,
        digest,
    )


def milestone_to_json(m: Milestone) -> MilestoneJson:
    """A milestone as the wire has it."""
    return {
        "id": m.id,
        "rule": m.rule,
        "version": m.version,
        "component": m.component,
        "step": m.step,
        "value": m.value,
        "worth": m.worth,
        "evidence": list(m.evidence),
        "cause_step": m.cause_step,
        "baseline": m.baseline,
    }


def milestone_from_json(spec: Mapping[str, Any]) -> Milestone:
    """Make a milestone of what `milestone_to_json` gave."""
    return Milestone(**{**spec, "evidence": tuple(spec["evidence"])})


def reward_from_json(spec: Mapping[str, Any]) -> Reward:
    """Make a reward of what `reward_to_json` gave."""
    milestones = tuple(milestone_from_json(m) for m in spec["milestones"])
    return Reward(
        **{
            **spec,
            "milestones": milestones,
            "verdicts": tuple(Verdict(**v) for v in spec["verdicts"]),
        }
    )


def episode_total(values: Iterable[float | None]) -> float | None:
    """Σ of an episode's rewards; None without any, and where one of them is not known."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return total(known) if listed and len(known) == len(listed) else None


def reward_to_json(r: Reward) -> RewardJson:
    """A reward as the wire has it; `objectives` only of a task that has some."""
    told: RewardJson = {
        "episode": r.episode,
        "step": r.step,
        "status": r.status,
        "reward": r.reward,
        "mask": r.mask,
        "reason": r.reason,
        "components": dict(r.components),
        "milestones": [milestone_to_json(m) for m in r.milestones],
        "verdicts": [
            {
                "stage": v.stage,
                "score": v.score,
                "confidence": v.confidence,
                "why": v.why,
                "by": v.by,
                "cost": v.cost,
            }
            for v in r.verdicts
        ],
        "decided_by": r.decided_by,
        "done": r.done,
        "success": r.success,
        "through": r.through,
        "digest": r.digest,
    }
    if r.objectives:
        told["objectives"] = dict(r.objectives)
    return told


def encode_reward(reward: Reward) -> bytes:
    """The canonical bytes of a reward: what is stored, sent and compared."""
    return canonical(reward_to_json(reward))
