"""What an episode's log of verdicts makes of newly scored steps: it is read, and nobody is
asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from detectors.engine.engine import Engine, EngineResult
from detectors.engine.resolution import Word, decide, escalating, unasked_reward, waits
from detectors.engine.unknown_milestones import (
    UnknownMilestones,
    UnobservedStep,
    find_revocable,
    find_undecided,
    find_unknown,
)
from detectors.model.rewards import episode_total
from detectors.model.types import Ask, Event, Reward, Segment, Verdict
from detectors.task.ruleset import Ruleset

GIVEN, DECIDED = "verdict.given", "step.decided"
"""The kinds of the log's events: a word of a stage or person; the value of a step, sealed by the
words before it."""


def words_of(events: Sequence[Mapping[str, Any]], *, audit: bool = False) -> list[Word]:
    """The words in a step's events, for `detectors.engine.resolution`; with ``audit`` those that
    change nothing instead."""
    return [
        Word(one["item"], Verdict(**one["verdict"]), tuple(one["evidence"]))
        for one in events
        if one["kind"] == GIVEN and one["audit"] == audit
    ]


class Recorded:
    """The events of one episode's log of verdicts, in order. ``decided``: steps that no reward was
    told of yet."""

    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        self._events = events
        self.decided = {event["step"]: event["seq"] for event in events if event["kind"] == DECIDED}
        self._told: list[Reward] = []

    def resolve(
        self, rules: Ruleset, rewards: Sequence[Reward], asks: Sequence[Ask]
    ) -> list[Reward]:
        """What newly sealed steps are worth: decided by what was said, or waiting where nothing
        was."""
        found = [
            self._resolve_one(rules, reward, [ask for ask in asks if ask.step == reward.step])
            for reward in rewards
        ]
        self._told += found
        return found

    def _resolve_one(self, rules: Ruleset, reward: Reward, asked: Sequence[Ask]) -> Reward:
        """Return a step's reward by the recorded words, as far as these decided it."""
        if not waits(asked):
            return unasked_reward(rules, reward)
        until = self.decided.pop(reward.step, None)
        if until is None:
            return escalating(rules, reward, asked)
        said = [one for one in self._events if one["step"] == reward.step and one["seq"] < until]
        return decide(rules, reward, asked, words_of(said))

    def total(self) -> float | None:
        """Σ of the rewards that were told."""
        return episode_total(reward.reward for reward in self._told)

    def success(self) -> bool | None:
        """What the last of them says of the goal."""
        return self._told[-1].success if self._told else None


class Playback:
    """One log under one ruleset, with what was said beyond the rules read back: all that replays
    goes this way.

    ``rewards`` are final, or `escalating` where a step was asked about and ``said`` decides
    nothing.
    """

    def __init__(
        self, rules: Ruleset, episode: str, said: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self.engine = Engine(rules, episode)
        self.rewards: list[Reward] = []
        self._unobserved: dict[int, UnobservedStep] = {}
        self._recorded = Recorded(said)

    def take(self, events: Sequence[Event]) -> EngineResult:
        """Go on; what the engine made of it."""
        return self._resolve(self.engine.feed(events))

    def take_segment(self, segment: Segment) -> EngineResult:
        """Go on with a segment, which may lack the events that nothing listens to."""
        return self._resolve(self.engine.feed_segment(segment))

    def _resolve(self, outcome: EngineResult) -> EngineResult:
        self._unobserved |= outcome.unobserved
        self.rewards += self._recorded.resolve(self.engine.ruleset, outcome.rewards, outcome.asks)
        return outcome

    def find_unknown(self) -> UnknownMilestones:
        """Return which milestones the steps leave unknown that are not known."""
        rules = self.engine.ruleset
        # Steps of one gap are many, and all unknown alike.
        sets = {why: find_unknown(rules, why) for why in set(self._unobserved.values())}
        unknown = {step: sets[why] for step, why in self._unobserved.items()}
        undecided = [r.step for r in self.rewards if r.reward is None and r.step not in unknown]
        if undecided:
            unknown |= dict.fromkeys(undecided, find_undecided(rules))
        return UnknownMilestones(unknown, find_revocable(rules))

    @property
    def total(self) -> float | None:
        """Σ of the rewards; None where one is not known."""
        if self.engine.ruleset.task.escalation is None:
            return self.engine.total
        return self._recorded.total()

    @property
    def success(self) -> bool | None:
        """Whether the goal was reached; None where nobody knows, or the log is open."""
        if self.engine.ruleset.task.escalation is None:
            return self.engine.success
        return self._recorded.success() if self.engine.closed else None
