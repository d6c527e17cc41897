"""Kinds of the journal itself and of the harness: the life of the episode, its sources, its
steps."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from detectors.model.kinds.kind import KindTable
from detectors.model.types import Json

JOURNAL = KindTable("journal")
STEPS = KindTable("steps")
PROBES = KindTable("probe")

Moment = Literal["start", "step", "close"]
"""When something was asked: at the episode's start, after a step, at its close."""


class ConvertedFrom(TypedDict):
    """What a recording was made of. ``declared_complete``: parts of which the user declared that
    the file hides nothing."""

    format: str
    version: NotRequired[str]
    sha256: str
    bytes: int
    declared_complete: NotRequired[list[str]]


@JOURNAL.kind("episode.opened")
class EpisodeOpened(TypedDict):
    """The daemon opened the episode's journal. `asked`: the kinds marked *asked* that its sources
    report; of the others the log shows nothing, so that what depends on one is not known.
    `catalogue`: the version of the table of kinds that the daemon had (1 if it is missing): kinds
    that were declared later are not known either.
    `converted`: {format, version?, sha256, bytes, declared_complete?}, where the recording was made
    of another program's file."""

    task: str
    digest: str
    asked: NotRequired[list[str]]
    catalogue: NotRequired[int]
    converted: NotRequired[ConvertedFrom]


@JOURNAL.kind("episode.closed")
class EpisodeClosed(TypedDict):
    """Nothing follows; end-of-episode milestones are decided. `truncated`: the harness cut it off,
    as at a limit of steps, so that its last state is no end of the task."""

    reason: str
    truncated: NotRequired[bool]


class PartOfSource(TypedDict):
    """What a gap or an alarm is about."""

    source: str
    part: NotRequired[str]


@JOURNAL.kind("gap.began")
class GapBegan(PartOfSource):
    """From here on the named source sees nothing; with `part` only of this part: a kind such as
    `page.title_changed`, a noun such as `request` (cdp), an application (ax), a probe, a path that
    is read (reader), the `text` copied (clipboard)."""

    reason: str


@JOURNAL.kind("gap.ended")
class GapEnded(PartOfSource):
    """The named source sees again, its baseline reported."""


@JOURNAL.kind("alarm.raised")
class AlarmRaised(PartOfSource):
    """A source works worse than it should; a person should look. Blinds nothing."""

    reason: str


@JOURNAL.kind("alarm.ended")
class AlarmEnded(PartOfSource):
    """What raised the alarm is over."""


@JOURNAL.kind("events.dropped")
class EventsDropped(TypedDict):
    """Observations were lost: `count` of them; without it the number is not known."""

    source: str
    count: NotRequired[int]
    reason: str


@JOURNAL.kind("reward.estimated")
class RewardEstimated(TypedDict):
    """What the daemon itself computed of a step: a hint that pays nothing."""

    step: int
    reward: float | None
    digest: str


class Commanded(TypedDict):
    """What a harness may have sent through the service: `command` is the command's number."""

    command: NotRequired[int]


@STEPS.kind("step.began")
class StepBegan(Commanded):
    """The harness begins step number `step`."""

    step: int
    action: NotRequired[Json]


@STEPS.kind("step.ended")
class StepEnded(Commanded):
    """The harness is done with the step's action."""

    step: int


@STEPS.kind("step.sealed")
class StepSealed(TypedDict):
    """All of the step's effects are in (`quiet`, `settle_ms` passed)."""

    step: int
    reason: str


@STEPS.kind("agent.answered")
class AgentAnswered(Commanded):
    """The agent gave a final answer."""

    text: str


@STEPS.kind("agent.tool_called")
class AgentToolCalled(Commanded):
    """The agent called a tool."""

    call: str
    tool: str
    arguments: Json


@STEPS.kind("agent.tool_returned")
class AgentToolReturned(Commanded):
    """The tool came back."""

    call: str
    ok: bool
    result: NotRequired[Json]
    error: NotRequired[Json]


@STEPS.kind("agent.evidence_submitted", since=2)
class AgentEvidenceSubmitted(Commanded):
    """The agent points to what shows that a criterion of the rubric is met: `events` by number,
    `pictures` by sha256. The service checked that they are in the log before this event; a claim
    all the same, which proves nothing alone."""

    criterion: str
    events: list[int]
    pictures: list[str]


class ProbeMoment(TypedDict):
    """Which probe, and when it was asked."""

    probe: str
    when: Moment
    step: NotRequired[int]


@PROBES.kind("probe.answered")
class ProbeAnswered(ProbeMoment):
    """A fact that the task asked for, read by the daemon: `when` is start, step or close; `value`
    any JSON, with `cut` not all of it. The one of the start is the baseline."""

    value: Json
    ms: int
    cut: NotRequired[bool]
    baseline: NotRequired[bool]


@PROBES.kind("probe.failed")
class ProbeFailed(ProbeMoment):
    """The fact could not be read; what leans on it is not known."""

    reason: str
    ms: int
