"""An episode's rows in each table: a pure function of its log, its result and what the service
knows of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson

from api.blame.causes import BlameJson, StepBlameJson, blame
from api.blame.judged import with_judged
from api.exporting.returns import returns_to_go
from api.replay.recordings import read_frames, read_said
from api.rewards.scored_episode import Result, ruleset_of, score
from api.rewards.siblings import CreditEstimate, SiblingEpisode, SiblingReturns, policy_of
from api.rewards.trajectory import transitions
from detectors.engine.attribution import Credit, OwnCredit, credit, credited_to_cause
from detectors.model.codec import canonical
from detectors.model.rewards import MilestoneJson, RewardJson
from detectors.model.types import Segment

Row = dict[str, object]
Rows = dict[str, list[Row]]
_OF_EPISODE = ("episode", "task", "version", "ruleset", "head", "closed", "success", "total")
_OF_STEP = ("step", "first", "last", "done")
_OF_REWARD = (
    "step",
    "status",
    "reward",
    "mask",
    "reason",
    "decided_by",
    "done",
    "success",
    "through",
)
_OF_MILESTONE = (
    "id",
    "rule",
    "version",
    "component",
    "value",
    "worth",
    "evidence",
    "cause_step",
    "baseline",
)


class Exported(NamedTuple):
    """An episode to write: its frames, its result where it has one, and the canonical task, by
    which it is scored where it has none; ``facts`` are labels, seed and times, where a service
    knows them."""

    name: str
    content: bytes
    result: bytes | None = None
    task: bytes | None = None
    facts: Mapping[str, object] = {}


def tables(
    episodes: Sequence[Exported],
    gammas: Sequence[float],
    credit_to: Credit = "as_paid",
    siblings: SiblingReturns | None = None,
) -> Rows:
    """The rows of ``episodes``, table by table; ``credit_to``: the view that `credit` and
    returns-to-go are of. ``siblings``: for the view `siblings`, what is exported, noted by
    `note_siblings`.

    Raises `RecordingError`, `TaskError`.
    """
    found: Rows = {name: [] for name in ("episodes", "steps", "rewards", "milestones", "returns")}
    for one in episodes:
        segments = list(read_frames(one.content, one.name))
        result = scored_result(one, segments)
        causes = _blame(one, segments, result)
        found["episodes"].append(_episode(one, result, causes))
        found["steps"].extend(_steps(segments, result))
        estimates: Mapping[int, CreditEstimate] = {}
        if credit_to == "siblings":
            assert siblings is not None, "the view needs the other episodes"
            estimates = siblings.credit(sibling_of(one, result))
            credits = {step: estimate.credit for step, estimate in estimates.items()}
        else:
            credits = _own_credit(one, result, credit_to)
        found["rewards"].extend(
            _reward(result, reward, credits[reward["step"]], cause, estimates.get(reward["step"]))
            for reward, cause in zip(
                result["rewards"], _causes_of_steps(result, causes), strict=True
            )
        )
        found["milestones"].extend(_milestones(result))
        found["returns"].extend(_returns(result, gammas, credits))
    return found


def note_siblings(episodes: Iterable[Exported]) -> SiblingReturns:
    """Return what each of ``episodes`` earned, for the view `siblings`; a few numbers an episode
    are kept. Raises `RecordingError`, `TaskError`."""
    noted = SiblingReturns()
    for one in episodes:
        segments = [] if one.result is not None else list(read_frames(one.content, one.name))
        noted.add(sibling_of(one, scored_result(one, segments)))
    return noted


def sibling_of(one: Exported, result: Result) -> SiblingEpisode:
    """Return an episode as siblings are compared."""
    return SiblingEpisode(
        result["episode"],
        (result["ruleset"], policy_of(one.facts.get("labels"))),
        result["closed"],
        result["rewards"],
        [m["id"] for m in result["baseline"] if m["step"] < 0],
    )


def _own_credit(one: Exported, result: Result, credit_to: OwnCredit) -> dict[int, float | None]:
    to_cause = credited_to_cause(orjson.loads(one.task)) if one.task is not None else frozenset()
    return credit(result["rewards"], to_cause, credit_to, closed=result["closed"])


def scored_result(one: Exported, segments: Sequence[Segment]) -> Result:
    """Return the episode's result: as it is stored, or by scoring ``segments``, which are its log.

    Raises `RecordingError`, `TaskError`.
    """
    if one.result is not None:
        stored: Result = orjson.loads(one.result)
        return stored
    assert one.task is not None, "what has no result comes with its task"
    (result,) = score(segments, ruleset_of(one.task), said=read_said(one.content, one.name))
    return result


def _blame(one: Exported, segments: Sequence[Segment], result: Result) -> BlameJson | None:
    """Why the episode and its steps failed; None of what comes without its task."""
    if one.task is None:
        return None
    events = (event for segment in segments for event in segment.events)
    found = blame(
        orjson.loads(one.task),
        events,
        result["rewards"],
        closed=result["closed"],
        success=result["success"],
    )
    if found["cause"] != "unknown":
        return found
    return with_judged(found, read_said(one.content, one.name))


def _causes_of_steps(
    result: Result, causes: BlameJson | None
) -> Sequence[StepBlameJson] | Sequence[None]:
    return [None] * len(result["rewards"]) if causes is None else causes["steps"]


def _episode(one: Exported, result: Result, causes: BlameJson | None) -> Row:
    """Return an episode's row: its result, facts and labels, and what was to blame."""
    rewards = result["rewards"]
    facts = {name: one.facts.get(name) for name in ("seed", "opened_at", "closed_at")}
    return {
        **_select(result, _OF_EPISODE),
        "name": one.name,
        "events": result["through"],
        "steps": len(rewards),
        "masked": sum(reward["mask"] for reward in rewards),
        "labels": canonical(one.facts.get("labels", {})).decode(),
        **facts,
        "cause": causes and causes["cause"],
        "cause_reason": causes and causes["reason"],
        "cause_evidence": causes and causes["evidence"],
        **_first_failure(causes),
    }


def _first_failure(causes: BlameJson | None) -> Row:
    """Return where an episode first failed, by step and event; null for one that did not."""
    where = causes and causes["first_failure"]
    return {
        "first_failure_step": where and where["step"],
        "first_failure_event": where and where["event"],
    }


def _steps(segments: Sequence[Segment], result: Result) -> list[Row]:
    """Return a row a step, with action and observations as JSON."""
    events = (event for segment in segments for event in segment.events)
    rewards = {reward["step"]: reward for reward in result["rewards"]}
    return [
        {
            "episode": result["episode"],
            **_select(step, _OF_STEP),
            "action": _json(step["action"]),
            "observation": _json(step["observation"]),
            "next_observation": _json(step["next_observation"]),
        }
        for step in transitions(events, rewards)
    ]


def _reward(
    result: Result,
    reward: RewardJson,
    credited: float | None,
    cause: StepBlameJson | None,
    estimate: CreditEstimate | None,
) -> Row:
    """Return a step's row: its reward, credit, components, and what was to blame."""
    components = sorted(reward["components"].items())
    return {
        "episode": result["episode"],
        "ruleset": result["ruleset"],
        **_select(reward, _OF_REWARD),
        "credit": credited,
        "credit_low": estimate and estimate.basis["low"],
        "credit_high": estimate and estimate.basis["high"],
        "credit_reason": estimate and estimate.basis["reason"],
        "siblings": estimate and estimate.basis["n"],
        "next_siblings": estimate and estimate.basis["next_n"],
        "first_wrong": estimate and estimate.basis["first_wrong"],
        "components": components,
        "objectives": sorted(reward.get("objectives", {}).items()),
        "cause": cause and cause["cause"],
        "cause_reason": cause and cause["reason"],
        "cause_evidence": cause and cause["evidence"],
    }


def _milestones(result: Result) -> list[Row]:
    """Every milestone; ``paid`` says whether its worth is in a reward: that of a masked step is
    not."""
    told: list[tuple[MilestoneJson, bool]] = [(m, False) for m in result["baseline"]]
    told += [(m, not reward["mask"]) for reward in result["rewards"] for m in reward["milestones"]]
    return [
        {
            "episode": result["episode"],
            "step": m["step"],
            **_select(m, _OF_MILESTONE),
            "paid": paid,
        }
        for m, paid in told
    ]


def _returns(
    result: Result, gammas: Sequence[float], credits: Mapping[int, float | None]
) -> list[Row]:
    """Return the discounted return from each step on, for each gamma."""
    rewards = result["rewards"]
    values = [credits[reward["step"]] for reward in rewards]
    return [
        {
            "episode": result["episode"],
            "step": reward["step"],
            "gamma": gamma,
            "return_to_go": one.value,
            "seen": one.seen,
            "unknown": one.unknown,
        }
        for gamma in gammas
        for reward, one in zip(rewards, returns_to_go(values, gamma, result["closed"]), strict=True)
    ]


def _select(values: Mapping[str, object], names: Sequence[str]) -> Row:
    return {name: values[name] for name in names}


def _json(value: object) -> str | None:
    return None if value is None else canonical(value).decode()
