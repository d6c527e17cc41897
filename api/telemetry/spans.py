"""An episode's log and rewards as spans and evaluations of OpenTelemetry: a pure function.

Names are those of the semantic conventions for generative AI (docs/telemetry.md). Trace and span
ids depend on the episode and its opener's `traceparent` alone, so that what is sent again is the
same span. A reward that is not known is an evaluation without a score.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from api.telemetry.attributes import (
    EPISODE_REWARD,
    EPISODE_SUCCESS,
    MAX_TEXT,
    PROVIDER,
    Attributes,
    TracedOutcome,
    Value,
    attribute_text,
    label_attributes,
    message_attributes,
    milestone_evaluation,
    mirrored_outcome,
    mirrored_reward,
    missing_evaluation,
    reward_evaluation,
    success_evaluation,
    tool_attributes,
    total_evaluation,
)
from api.telemetry.outline import CallTimes, LogOutline, StepTimes
from common.trace_context import TraceParent
from detectors.model.rewards import RewardJson
from detectors.model.types import Json

STEP_TOOL, OTHER_TOOL = "step", "tool"
TOOL_FAILED = "tool_error"
_TOOL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,63}")


@dataclass(frozen=True, slots=True)
class TracedEpisode:
    """What is known of an episode beside its log. ``opened_ns``: when it was opened, in nanoseconds
    since 1970; ``instruction`` is its task's."""

    episode: str
    task: str
    version: str
    ruleset: str
    opened_ns: int
    parent: TraceParent | None = None
    labels: Mapping[str, Json] = field(default_factory=dict)
    instruction: str | None = None

    @property
    def trace_id(self) -> bytes:
        """The trace of the episode's opener, else one of its own."""
        if self.parent is not None:
            return bytes.fromhex(self.parent.trace_id)
        return hashlib.sha256(self.episode.encode()).digest()[:16]

    def span_id(self, part: str) -> bytes:
        """Return the id of a span: ``part`` names it within the episode."""
        return hashlib.sha256(f"{self.episode}\n{part}".encode()).digest()[:8]


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """A span; ``error`` says what failed. Times are nanoseconds since 1970."""

    span_id: bytes
    parent_id: bytes | None
    name: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    error: str | None = None
    has_remote_parent: bool = False


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An event `gen_ai.evaluation.result` of the span ``span_id``; ``uid`` is the same whenever it
    is sent."""

    span_id: bytes
    uid: str
    at_ns: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class EpisodeTrace:
    """The spans and evaluations of one trace, or of a part of it."""

    trace_id: bytes
    spans: tuple[TraceSpan, ...]
    evaluations: tuple[Evaluation, ...]


def unix_ns(utc: str) -> int:
    """Return a UTC time text such as ``2026-11-25T21:20:00.123Z`` in nanoseconds since 1970. Raises
    `ValueError`."""
    moment = datetime.fromisoformat(utc)
    if moment.tzinfo is None:
        raise ValueError("expected a time with its offset, such as 2026-11-25T21:20:00Z")
    return round(moment.timestamp() * 1_000) * 1_000_000


def trace_episode(
    episode: TracedEpisode,
    log: LogOutline,
    rewards: Iterable[RewardJson],
    outcome: TracedOutcome | None,
    *,
    content: bool = False,
) -> EpisodeTrace:
    """Return the spans of the steps and tool calls in ``log``, the evaluations of ``rewards``, and
    the root span with the evaluations of the whole episode where there is an ``outcome``.

    A reward whose step is not in ``log``, as that of the episode's close, is the root span's; a
    step without a reward gets an evaluation without a score. ``content``: with actions, arguments,
    results, the answer and what judges say, which are texts of agent and page.
    """
    return _Tracer(episode, log, content).trace(
        {reward["step"]: reward for reward in rewards}, outcome
    )


class _Tracer:
    def __init__(self, episode: TracedEpisode, log: LogOutline, content: bool) -> None:
        self._episode, self._log, self._content = episode, log, content
        self._root = episode.span_id("episode")
        self._spans: list[TraceSpan] = []
        self._evaluations: list[Evaluation] = []

    def trace(
        self, rewards: Mapping[int, RewardJson], outcome: TracedOutcome | None
    ) -> EpisodeTrace:
        """Return the trace: a span a step and call, an evaluation a reward, the root with the
        outcome."""
        for call in self._log.calls:
            self._add_call(call, self._root, self._log.last_at)
        for step in sorted({*self._log.steps, *rewards}):
            outline, reward = self._log.steps.get(step), rewards.get(step)
            span_id = self._root if outline is None else self._add_step(outline, reward)
            at = self._log.last_at if outline is None else self._end_of(outline)
            if reward is None:
                is_over = outcome is not None and outcome.closed
                missing = {**missing_evaluation(step, is_over=is_over), **self._of_episode()}
                self._evaluate(span_id, at, f"step {step}", missing)
            else:
                self._add_reward(reward, span_id, at)
        if outcome is not None:
            self._add_root(outcome)
        return EpisodeTrace(self._episode.trace_id, tuple(self._spans), tuple(self._evaluations))

    def _end_of(self, step: StepTimes) -> int:
        return self._log.last_at if step.completed_at is None else step.completed_at

    def _ns(self, at: int) -> int:
        return self._episode.opened_ns + at

    def _add_step(self, step: StepTimes, reward: RewardJson | None) -> bytes:
        """Add a step's span with its calls, and return its id."""
        span_id = self._episode.span_id(f"step {step.step}")
        end = self._end_of(step) if step.ended_at is None else step.ended_at
        attributes: dict[str, Value] = {
            **tool_attributes(STEP_TOOL),
            **self._of_episode(),
            "milestoned.step": step.step,
            **mirrored_reward(reward),
        }
        if self._content and step.action is not None:
            attributes["gen_ai.tool.call.arguments"] = attribute_text(step.action)
        for call in step.calls:
            self._add_call(call, span_id, end, step.step)
        name = f"execute_tool {STEP_TOOL}"
        self._spans.append(
            TraceSpan(span_id, self._root, name, self._ns(step.began_at), self._ns(end), attributes)
        )
        return span_id

    def _add_call(self, call: CallTimes, parent: bytes, end: int, step: int | None = None) -> None:
        """Add a tool call; one that did not return ends with its step, whose ``end`` is given."""
        tool = call.tool if _TOOL_NAME.fullmatch(call.tool) or self._content else OTHER_TOOL
        tool = tool[:MAX_TEXT]
        attributes: dict[str, Value] = {**tool_attributes(tool), **self._of_episode()}
        attributes["milestoned.event"] = call.seq
        if step is not None:
            attributes["milestoned.step"] = step
        if self._content:
            attributes["gen_ai.tool.call.id"] = call.call[:MAX_TEXT]
            attributes["gen_ai.tool.call.arguments"] = attribute_text(call.arguments)
            if call.ok is not None:
                attributes["gen_ai.tool.call.result"] = attribute_text(call.result)
        error = TOOL_FAILED if call.ok is False else None
        if error is not None:
            attributes["error.type"] = error
        ended = max(call.began_at, end) if call.ended_at is None else call.ended_at
        self._spans.append(
            TraceSpan(
                self._episode.span_id(f"call {call.seq}"),
                parent,
                f"execute_tool {tool}",
                self._ns(call.began_at),
                self._ns(ended),
                attributes,
                error,
            )
        )

    def _add_reward(self, reward: RewardJson, span_id: bytes, at: int) -> None:
        step = reward["step"]
        for number, milestone in enumerate(reward["milestones"]):
            earned = {**milestone_evaluation(milestone, reward), **self._of_episode()}
            self._evaluate(span_id, at, f"step {step} milestone {number}", earned)
        evaluated = {**reward_evaluation(reward, self._content), **self._of_episode()}
        self._evaluate(span_id, at, f"step {step}", evaluated)

    def _add_root(self, outcome: TracedOutcome) -> None:
        """Add the episode's span, which names its task, labels and outcome."""
        episode = self._episode
        end = self._log.last_at if self._log.closed_at is None else self._log.closed_at
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": PROVIDER,
            "gen_ai.agent.name": episode.task,
            **self._of_episode(),
            "milestoned.task": episode.task,
            "milestoned.task_version": episode.version,
            "milestoned.closed": outcome.closed,
            **label_attributes(episode.labels),
            **mirrored_outcome(outcome),
        }
        if self._content:
            attributes |= message_attributes(episode.instruction, self._log.answer)
        parent = None if episode.parent is None else bytes.fromhex(episode.parent.span_id)
        self._spans.append(
            TraceSpan(
                self._root,
                parent,
                f"invoke_agent {episode.task}",
                episode.opened_ns,
                self._ns(end),
                attributes,
                has_remote_parent=parent is not None,
            )
        )
        for name, evaluated in (
            (EPISODE_REWARD, total_evaluation(outcome)),
            (EPISODE_SUCCESS, success_evaluation(outcome)),
        ):
            self._evaluate(self._root, end, name, {**evaluated, **self._of_episode()})

    def _evaluate(self, span_id: bytes, at: int, part: str, attributes: Attributes) -> None:
        named = f"{self._episode.episode}\nevaluation {part}"
        uid = hashlib.sha256(named.encode()).hexdigest()[:32]
        self._evaluations.append(Evaluation(span_id, uid, self._ns(at), attributes))

    def _of_episode(self) -> Attributes:
        return {
            "gen_ai.conversation.id": self._episode.episode,
            "milestoned.episode": self._episode.episode,
            "milestoned.ruleset": self._episode.ruleset,
        }
