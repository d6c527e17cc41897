"""What one episode is worth under one ruleset, as plain JSON: the form in which results are kept and compared.

``{episode, ruleset, task, version, head, through, closed, success, total, rewards, baseline}``: ``rewards`` as the
wire has them, ``baseline`` the milestones that were so already and earned nothing. The same log under the same ruleset
gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from api.cascade.recorded import Recorded
from detectors.codec import canonical
from detectors.engine import Engine
from detectors.rewards import milestone_to_json, reward_to_json
from detectors.ruleset import Ruleset, compile_task
from detectors.task_json import task_from_json, task_to_json
from detectors.types import Milestone, Reward, Segment, Task

Result = dict[str, Any]


def task_bytes(task: Task) -> bytes:
    """The canonical form in which a task travels to whoever scores by it."""
    return canonical(task_to_json(task))


@lru_cache(maxsize=256)
def ruleset_of(task: bytes) -> Ruleset:
    """The compiled rules of a task in its canonical form. Raises `TaskError` if this build does not have them."""
    return compile_task(task_from_json(orjson.loads(task)))


def score(segments: Iterable[Segment], *rulesets: Ruleset, said: Sequence[Mapping[str, Any]] = ()) -> list[Result]:
    """Score an episode's whole log (at least one segment) from nothing under each of ``rulesets``.

    ``said`` beyond the rules (the events of its log of verdicts) is read back, and nobody is asked.

    Segments are taken as they come and not kept: events that are fed while they are in the cache cost less.
    """
    scorings: list[_Scoring] = []
    for segment in segments:
        scorings = scorings or [_Scoring(Engine(rules, segment.episode), said) for rules in rulesets]
        for scoring in scorings:
            scoring.take(segment)
    return [scoring.result() for scoring in scorings]


class _Scoring:
    """One engine over one log."""

    def __init__(self, engine: Engine, said: Sequence[Mapping[str, Any]]) -> None:
        self._engine, self._recorded = engine, Recorded(said)
        self._head = ""
        self._rewards: list[Reward] = []
        self._baseline: list[Milestone] = []

    def take(self, segment: Segment) -> None:
        outcome = self._engine.feed(segment.events)
        self._rewards.extend(self._recorded.told(self._engine.ruleset, outcome.rewards, outcome.asks))
        self._baseline.extend(m for m in outcome.milestones if m.baseline)
        self._head = segment.digest

    def result(self) -> Result:
        engine = self._engine
        rules = engine.ruleset
        success, total = engine.success, engine.total
        if rules.task.escalation is not None:
            success, total = self._recorded.success() if engine.closed else None, self._recorded.total()
        return {
            "episode": engine.state.episode,
            "ruleset": rules.digest,
            "task": rules.task.id,
            "version": rules.task.version,
            "head": self._head,
            "through": engine.through,
            "closed": engine.closed,
            "success": success,
            "total": total,
            "rewards": [reward_to_json(reward) for reward in self._rewards],
            "baseline": [milestone_to_json(m) for m in self._baseline],
        }


def stored_result(row: Any, rewards: Iterable[bytes], milestones: Iterable[bytes]) -> Result:
    """The same of what the service stored as the episode ran: its row, sealed rewards and milestones."""
    told = (orjson.loads(body) for body in milestones)
    return {
        "episode": row.id,
        "ruleset": row.digest,
        "task": row.task,
        "version": row.version,
        "head": row.head,
        "through": row.through,
        "closed": row.status == "closed",
        "success": row.success,
        "total": row.total,
        "rewards": [orjson.loads(body) for body in rewards],
        "baseline": [m for m in told if m["baseline"]],
    }
