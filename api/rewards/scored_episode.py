"""What one episode is worth under one ruleset, as plain JSON: the form in which results are kept
and compared.

``{episode, ruleset, task, version, head, through, closed, success, total, rewards, baseline}``:
``rewards`` as the wire has them, ``baseline`` the milestones that were so already and earned
nothing. The same log under the same ruleset gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import orjson

from api.episodes.rows import EpisodeRow
from api.verdicts.recorded import Playback
from detectors.engine.unknown_milestones import UnknownMilestones
from detectors.model.caches import cache_by_size
from detectors.model.codec import canonical
from detectors.model.rewards import MilestoneJson, RewardJson, milestone_to_json, reward_to_json
from detectors.model.types import Milestone, Segment
from detectors.task.language import Task
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json, task_to_json

RULES_BYTES = 64 * 1024 * 1024
"""Bytes of the compiled rules that are kept, with their texts."""
REWARD_FIELDS = (
    "status",
    "reward",
    "mask",
    "reason",
    "components",
    "decided_by",
    "done",
    "success",
    "through",
)
"""What a step's reward says but for its milestones, verdicts and digests, as the wire names it."""
Said = Sequence[Mapping[str, object]]
"""The events of a log of verdicts."""


class ResultSummary(TypedDict):
    """What one episode is worth under one ruleset, without its steps."""

    episode: str
    ruleset: str
    task: str
    version: str
    head: str
    through: int
    closed: bool
    success: bool | None
    total: float | None


class Result(ResultSummary):
    """What one episode is worth under one ruleset, step by step. ``baseline``: the milestones that
    were met at baseline."""

    rewards: list[RewardJson]
    baseline: list[MilestoneJson]


def task_bytes(task: Task) -> bytes:
    """The canonical form in which a task travels to whoever scores by it."""
    return canonical(task_to_json(task))


@cache_by_size(RULES_BYTES, lambda rules, _: rules.shared.bytes)
def ruleset_of(task: bytes) -> Ruleset:
    """The compiled rules of a task in its canonical form. Raises `TaskError` if this build does not
    have them."""
    return compile_task(task_from_json(orjson.loads(task), stored=True))


def score(segments: Iterable[Segment], *rulesets: Ruleset, said: Said = ()) -> list[Result]:
    """Score an episode's whole log (at least one segment) from nothing under each of ``rulesets``.

    ``said`` beyond the rules (the events of its log of verdicts) is read back, and nobody is asked.
    """
    return [
        scored.result() for scored in score_each(segments, [(rules, said) for rules in rulesets])
    ]


def score_each(
    segments: Iterable[Segment], sides: Sequence[tuple[Ruleset, Said]]
) -> list[ScoredPlayback]:
    """The same with each ruleset's own words; a result is made of it where one is wanted.

    Segments are taken as they come and not kept: events that are fed while they are in the cache
    cost less.
    """
    found: list[ScoredPlayback] = []
    for segment in segments:
        found = found or [
            ScoredPlayback(Playback(rules, segment.episode, said)) for rules, said in sides
        ]
        for scored in found:
            scored.take(segment)
        del segment  # before the next one is read: of a bomb no two are in memory
    return found


class ScoredPlayback:
    """One playback of one log."""

    def __init__(self, playback: Playback) -> None:
        self._playback = playback
        self._head = ""
        self._baseline: list[Milestone] = []

    def take(self, segment: Segment) -> None:
        """Play the next segment of the log."""
        outcome = self._playback.take_segment(segment)
        self._baseline.extend(m for m in outcome.milestones if m.baseline)
        self._head = segment.digest

    def summary(self) -> ResultSummary:
        """Return the result so far without rewards and milestones."""
        engine = self._playback.engine
        rules = engine.ruleset
        return {
            "episode": engine.state.episode,
            "ruleset": rules.digest,
            "task": rules.task.id,
            "version": rules.task.version,
            "head": self._head,
            "through": engine.through,
            "closed": engine.closed,
            "success": self._playback.success,
            "total": self._playback.total,
        }

    def find_unknown(self) -> UnknownMilestones:
        """Return which milestones the steps leave unknown that are not known."""
        return self._playback.find_unknown()

    def result(self) -> Result:
        """Return the result so far, rewards and baseline milestones included."""
        return {
            **self.summary(),
            "rewards": [reward_to_json(reward) for reward in self._playback.rewards],
            "baseline": [milestone_to_json(m) for m in self._baseline],
        }


def stored_result(row: EpisodeRow, rewards: Iterable[bytes], milestones: Iterable[bytes]) -> Result:
    """The same of what the service stored as the episode ran: its row, sealed rewards and
    milestones."""
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
