"""Which cause an episode's failure and that of each step has: pure rules over what its log shows.

Only what failed has a cause. Where the events do not decide it, the cause is ``unknown``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypedDict

from api.blame.obstacles import Findings, Obstacle, ObstacleReader
from api.blame.signs import Cause, asks_for_login
from detectors.model.json_value import list_or_empty
from detectors.model.rewards import RewardJson
from detectors.model.types import Event, Json
from detectors.sdk.site import origin_of

DecidedBy = Literal["events", "agent", "task", "judge"]
"""``agent``: it rests on nothing but the agent's own word; ``task``: on that and on what the task
declares; ``judge``: the events left it open (api/blame/judged.py)."""
END_ITEMS = ("(outcome)", "(shaping)")
"""Milestones that are no deed of the agent's in the step in which they are paid."""
MAX_EVIDENCE = 20
_GAP = re.compile(r"(?:^|; )\S{1,200} (?:saw nothing from|at) event (\d{1,18}): ")
_EVENT = re.compile(r"\bevent (\d{1,18})\b")


class StepBlameJson(TypedDict):
    """A step's cause, null where the step did not fail."""

    step: int
    cause: Cause | None
    reason: str | None
    evidence: list[int]
    at_first_contact: bool


class FirstFailureJson(TypedDict):
    """Where an episode first went wrong."""

    step: int | None
    event: int


class EpisodeBlameJson(TypedDict):
    """An episode's cause, null where it did not fail."""

    cause: Cause | None
    decided_by: DecidedBy | None
    reason: str | None
    evidence: list[int]
    at_first_contact: bool
    first_failure: FirstFailureJson | None


class BlameJson(EpisodeBlameJson):
    """An episode's cause, and those of its steps."""

    steps: list[StepBlameJson]


def blame(
    task: Mapping[str, Json],
    events: Iterable[Event],
    rewards: Sequence[RewardJson],
    *,
    closed: bool,
    success: bool | None,
) -> BlameJson:
    """Find the causes in an episode's ``events`` and its ``rewards`` so far, which are those of
    its steps in order; ``task`` is its task as JSON."""
    reader = obstacle_reader(task)
    for event in events:
        reader.apply(event)
    return blame_findings(task, reader.findings(), rewards, closed=closed, success=success)


def obstacle_reader(task: Mapping[str, Json]) -> ObstacleReader:
    """Return what takes the events of an episode of ``task``."""
    hosts = (task.get("origin"), *list_or_empty(task.get("hosts")))
    origins = {origin_of(f"{str(host).rstrip('/')}/") for host in hosts if host}
    return ObstacleReader(origins, is_login_asked=asks_for_login(task))


def blame_findings(
    task: Mapping[str, Json],
    findings: Findings,
    rewards: Sequence[RewardJson],
    *,
    closed: bool,
    success: bool | None,
) -> BlameJson:
    """The same of what the events showed."""
    steps = [_blame_step(reward, findings) for reward in rewards]
    if not closed:
        return _no_cause("the episode is not closed", steps)
    if any(reward["status"] == "escalating" for reward in rewards):
        return _no_cause("a stage of the cascade has not answered yet", steps)
    if success is True:
        return _no_cause("the episode succeeded", steps)
    if not has_goal(task):
        return _no_cause("the task has no goal, so that no end of it is a failure", steps)
    if success is None:
        return _blame_unknown_end(findings, steps)
    return _blame_failure(findings, steps, rewards, is_infeasible=task.get("infeasible"))


def summarise(found: BlameJson) -> EpisodeBlameJson:
    """Return an episode's cause without those of its steps."""
    return {
        "cause": found["cause"],
        "decided_by": found["decided_by"],
        "reason": found["reason"],
        "evidence": found["evidence"],
        "at_first_contact": found["at_first_contact"],
        "first_failure": found["first_failure"],
    }


def has_goal(task: Mapping[str, Json]) -> bool:
    """Whether a task, as JSON, has a milestone that says when an episode succeeded."""
    return any("goal" in milestone["when"] for milestone in task["milestones"])


def penalised_events(reward: RewardJson) -> list[int]:
    """The events of what the agent did that cost it something."""
    found = (
        seq
        for m in reward["milestones"]
        if m["worth"] < 0 and m["id"] not in END_ITEMS
        for seq in m["evidence"]
    )
    return sorted(set(found))[:MAX_EVIDENCE]


def _blame_step(reward: RewardJson, findings: Findings) -> StepBlameJson:
    """Say who is to blame for a step: what stood in its way, a penalty, or nobody where it paid."""
    step, value = reward["step"], reward["reward"]
    if value is None:
        return _blame_null_step(reward)
    penalised = penalised_events(reward)
    if value <= 0 and penalised:
        return _step(step, "agent", "a penalty was observed", penalised)
    obstacle = findings.at_end.get(step)
    if value > 0 or obstacle is None:
        return _step(step, None, None, [])
    cause = obstacle.cause if obstacle.is_certain else "unknown"
    evidence = list(obstacle.evidence)
    return _step(step, cause, obstacle.reason(), evidence, obstacle.at_first_contact)


def _blame_null_step(reward: RewardJson) -> StepBlameJson:
    """A step whose reward is not known: a gap is the infrastructure's."""
    step, reason = reward["step"], reward["reason"] or ""
    if reward["status"] in ("settling", "escalating"):
        return _step(step, None, None, [])
    gaps = sorted({int(seq) for seq in _GAP.findall(reason)})[:MAX_EVIDENCE]
    if reward["status"] == "unobserved" and gaps:
        return _step(step, "infrastructure", "a source observed nothing", gaps)
    named = sorted({int(seq) for seq in _EVENT.findall(reason)})[:MAX_EVIDENCE]
    return _step(step, "unknown", "the reward is not known", named)


def _step(
    step: int,
    cause: Cause | None,
    reason: str | None,
    evidence: list[int],
    at_first_contact: bool = False,
) -> StepBlameJson:
    return {
        "step": step,
        "cause": cause,
        "reason": reason,
        "evidence": evidence,
        "at_first_contact": at_first_contact,
    }


def _blame_unknown_end(findings: Findings, steps: list[StepBlameJson]) -> BlameJson:
    """Blame an episode of which it is not known whether it succeeded."""
    for step in steps:
        if step["cause"] == "infrastructure":
            where: FirstFailureJson = {"step": step["step"], "event": min(step["evidence"])}
            reason = f"whether the goal was reached is not known: {step['reason']}"
            return _cause("infrastructure", reason, step["evidence"], where, steps)
    if findings.standing is not None:
        return _blame_obstacle(findings.standing, steps)
    reason = "whether the goal was reached is not known"
    return _cause("unknown", reason, [], None, steps)


def _blame_failure(
    findings: Findings,
    steps: list[StepBlameJson],
    rewards: Sequence[RewardJson],
    *,
    is_infeasible: bool | None,
) -> BlameJson:
    """Blame an episode that is known to have failed. ``is_infeasible``: what its task declares."""
    if findings.standing is not None:
        return _blame_obstacle(findings.standing, steps)
    if findings.claim:
        return _blame_claim(findings, steps, is_infeasible)
    if findings.overcome is not None:
        seq = findings.overcome.seq
        reason = f"{findings.overcome.reason()}, which was over before the end"
        at: FirstFailureJson = {"step": findings.overcome.step, "event": seq}
        return _cause("unknown", reason, [seq], at, steps)
    if any(reward["reward"] is None for reward in rewards):
        return _cause("unknown", "a step's reward is not known", [], None, steps)
    if not findings.began:
        return _cause("unknown", "no step began", [], None, steps)
    return _blame_agent(findings, steps, rewards)


def _blame_claim(
    findings: Findings, steps: list[StepBlameJson], is_infeasible: bool | None
) -> BlameJson:
    """Blame an episode whose agent declared the task infeasible."""
    where: FirstFailureJson = {"step": findings.claim_step, "event": findings.claim}
    evidence = [findings.claim]
    if is_infeasible is False:
        reason = "the agent declared the task infeasible, and the task says that it can be done"
        return {**_cause("agent", reason, evidence, where, steps), "decided_by": "task"}
    if is_infeasible is True:
        reason = "the agent declared the task infeasible, as the task does"
        return {**_cause("infeasible", reason, evidence, where, steps), "decided_by": "task"}
    reason = "the agent declared the task infeasible, and nothing else shows it"
    return {**_cause("infeasible", reason, evidence, where, steps), "decided_by": "agent"}


def _blame_agent(
    findings: Findings, steps: list[StepBlameJson], rewards: Sequence[RewardJson]
) -> BlameJson:
    """Nothing stood in the way and all was observed: the agent did not reach the goal."""
    for reward in rewards:
        if penalised := penalised_events(reward):
            where: FirstFailureJson = {"step": reward["step"], "event": penalised[0]}
            reason = "nothing stood in the way, and a penalty was observed"
            return _cause("agent", reason, penalised, where, steps)
    last = findings.answer or findings.last
    reason = "nothing stood in the way, and the goal was not reached"
    return _cause("agent", reason, [last], {"step": _last_step(rewards), "event": last}, steps)


def _last_step(rewards: Sequence[RewardJson]) -> int | None:
    """Return the number of the last step, None without any."""
    return rewards[-1]["step"] if rewards else None


def _blame_obstacle(obstacle: Obstacle, steps: list[StepBlameJson]) -> BlameJson:
    """Blame the obstacle that stood at the end, or say that it may be of one page alone."""
    where: FirstFailureJson = {"step": obstacle.step, "event": obstacle.seq}
    evidence = list(obstacle.evidence)
    if not obstacle.is_certain:
        reason = f"{obstacle.reason()}, which may be of this page alone"
        return _cause("unknown", reason, evidence, where, steps)
    made = _cause(obstacle.cause, obstacle.reason(), evidence, where, steps)
    return {**made, "at_first_contact": obstacle.at_first_contact}


def _cause(
    cause: Cause,
    reason: str,
    evidence: list[int],
    first_failure: FirstFailureJson | None,
    steps: list[StepBlameJson],
) -> BlameJson:
    return {
        "cause": cause,
        "decided_by": "events",
        "reason": reason,
        "evidence": evidence,
        "at_first_contact": False,
        "first_failure": first_failure,
        "steps": steps,
    }


def _no_cause(reason: str, steps: list[StepBlameJson]) -> BlameJson:
    return {
        "cause": None,
        "decided_by": None,
        "reason": reason,
        "evidence": [],
        "at_first_contact": False,
        "first_failure": None,
        "steps": steps,
    }
