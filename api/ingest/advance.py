"""What a segment brings its episode: the rows that are written in the segment's transaction, and
where it stands then.

Whoever works this out needs the engine and where the episode stood, and no database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from api.core.frames import NUMBERED
from api.episodes.position import EpisodePosition
from api.episodes.reached import reached_key
from api.ingest.placeholder_engine import Stranger
from api.rewards.ledger_rows import milestone_rows, reward_rows, stored_rewards
from detectors.engine.engine import Engine, EngineResult
from detectors.engine.resolution import waits_for_goal
from detectors.model.types import Alarm, Event, Segment
from detectors.task.ruleset import Ruleset

STATE_EVERY = 2_000
"""Events from one stored engine state to the next: at most so many are fed again in a rebuild."""

Write = Literal[
    "segment",
    "began",
    "milestones",
    "rewards",
    "state",
    "closing",
    "ended",
    "commands",
    "advance",
    "arrival",
    "ask",
    "no state",
    "release",
    "close",
    "close command",
    "sum",
]
"""Kinds of rows written with a segment: those that no other depends on, then in this order."""

Written = Mapping[Write, Sequence[Mapping[str, Any]]]


class Advance(NamedTuple):
    """The rows to write, the segment's own still without its frame, and where the episode stands
    once they are; ``alarms``: matchers that failed on it; ``asks_model``: the task's policy has the
    reward model."""

    rows: Written
    standing: EpisodePosition
    alarms: Sequence[Alarm] = ()
    asks_model: bool = False


def advance(engine: Engine | Stranger, at: EpisodePosition, segment: Segment, now: str) -> Advance:
    """Feed ``segment``, which continues ``at``, to an ``engine`` that stands there; ``now`` is the
    time for people."""
    outcome = engine.feed(segment.events)
    keep = segment.last - at.stored >= STATE_EVERY or engine.closed
    state = engine.dump() if keep else b""
    step = -1 if engine.step is None else engine.step
    reached = at.milestones + len(outcome.milestones)
    stored = segment.last if state else at.stored
    after = EpisodePosition(segment.last, segment.digest, engine.closed, step, reached, stored)
    rows = _rows(engine, at, after, segment, outcome, now)
    if state:
        rows["state"] = [{"episode": segment.episode, "through": after.through, "body": state}]
    elif keep:
        rows["no state"] = [{"of_episode": segment.episode}]
    return Advance(rows, after, outcome.alarms, _asks_model(engine.ruleset))


def _asks_model(rules: Ruleset | None) -> bool:
    """Whether the task asks the reward model anything."""
    policy = None if rules is None else rules.task.escalation
    return policy is not None and "model" in policy.tiers


def _rows(
    engine: Engine | Stranger,
    at: EpisodePosition,
    after: EpisodePosition,
    segment: Segment,
    outcome: EngineResult,
    now: str,
) -> dict[Write, Sequence[Mapping[str, Any]]]:
    """Return all rows that a segment adds or changes, by the statement that writes them."""
    episode, rules = segment.episode, engine.ruleset
    whose = {"of_episode": episode}
    sealed = outcome.rewards if rules is None else stored_rewards(rules, outcome)
    escalates = rules is not None and rules.task.escalation is not None
    success = engine.success
    if escalates and sealed and after.closed:
        success = sealed[-1].success
    position = {
        "id": episode,
        "through": after.through,
        "head": after.head,
        "step": engine.step,
        "success": success,
        "total": engine.total,
        "milestones": after.milestones,
    }
    stored = {"episode": episode, "first": segment.first, "last": segment.last}
    rows: dict[Write, Sequence[Mapping[str, object]]] = {
        "segment": [{**stored, "prev": segment.prev, "digest": segment.digest}],
        **_step_rows(segment, at.step),
        "milestones": milestone_rows(
            episode, at.milestones, segment.first, segment.last, outcome.milestones
        ),
        "rewards": reward_rows(sealed),
        "advance": [position],
        "ask": [
            {"episode": episode, "step": ask.step, "item": ask.item, "audit": ask.audit}
            for ask in outcome.asks
        ],
        "arrival": [{**stored, "earned": len(outcome.milestones) + len(outcome.rewards)}],
    }
    if after.closed:
        reached = None if isinstance(engine, Stranger) else reached_key(engine.reached)
        rows["close"] = [{**whose, "new_closed_at": now, "new_reached": reached}]
        rows["close command"] = [{**whose, "at_seq": segment.last}]
        rows["closing"] = [{"episode": episode, "queued_at": now}]
        if rules is not None and waits_for_goal(rules):
            rows["release"] = [whose]
    if escalates:
        rows["sum"] = [whose]
    return rows


def _step_rows(segment: Segment, step: int) -> Written:
    """The rows of steps that began or ended and of commands journalled; ``step`` began last."""
    episode = segment.episode
    began, ended, journalled = marks(segment.events, step)
    return {
        "began": [
            {"episode": episode, "step": step, "began": seq, "ended": ended.pop(step, None)}
            for step, seq in began.items()
        ],
        "ended": [{"episode": episode, "step": step, "ended": seq} for step, seq in ended.items()],
        "commands": [
            {"episode": episode, "number": number, "seq": seq} for number, seq in journalled.items()
        ],
    }


Marks = dict[int, int]


def marks(events: Sequence[Event], step: int) -> tuple[Marks, Marks, Marks]:
    """Of steps that began, of begun ones that ended and of commands that reached the journal: the
    first event of each.

    ``step`` is the last that began before."""
    began: Marks = {}
    ended: Marks = {}
    journalled: Marks = {}
    for event in events:
        if event.kind not in NUMBERED:
            continue
        if event.kind == "step.began" and event.data["step"] > step:
            step = event.data["step"]
            began[step] = event.seq
        elif event.kind == "step.ended" and event.data["step"] <= step:
            ended.setdefault(event.data["step"], event.seq)
        if type(event.data.get("command")) is int:
            journalled.setdefault(event.data["command"], event.seq)
    return began, ended, journalled
