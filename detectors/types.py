"""The vocabulary that the daemon, the service and replay share; a leaf, it imports nothing of ours.

Numbers: ``at`` is in nanoseconds since the episode opened (monotonic), ``seq`` counts from 1 without gaps
within an episode, steps count from 0, ``level`` and ``confidence`` lie in [0, 1], rewards are unitless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Json = Any
"""What orjson decodes to: None, bool, int, float, str, list, dict."""

Status = Literal["settling", "sealed", "unobserved"]
"""``settling``: not final yet. ``sealed``: final. ``unobserved``: final, and nobody can know the value."""


class Observation(NamedTuple):
    """What a source saw: ``kind`` is one of `detectors.kinds.KINDS`, ``data`` has that kind's fields."""

    source: str
    kind: str
    at: int
    data: Mapping[str, Json]


class Event(NamedTuple):
    """An observation with its place in the one order that the journal gives."""

    episode: str
    seq: int
    source: str
    kind: str
    at: int
    data: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Segment:
    """Contiguous events of one episode; ``digest`` = sha256 of the encoded text, which contains ``prev``."""

    episode: str
    first: int
    count: int
    prev: str
    digest: str
    events: tuple[Event, ...]

    @property
    def last(self) -> int:
        """The seq of the segment's last event."""
        return self.first + self.count - 1


class Reading(NamedTuple):
    """What a rule says of one event: how true its fact is now (``level``), about what (``key``).

    ``evidence`` names events beside the one at hand, ``cause`` the step that set the fact in motion.
    """

    level: float
    key: str = ""
    evidence: tuple[int, ...] = ()
    cause: int | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """A rule with its arguments as canonical JSON, or a composite over further conditions (``of``)."""

    rule: str
    args: Mapping[str, Json] = field(default_factory=dict)
    of: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class MilestoneSpec:
    """One declared milestone of a task. ``weight`` is relative within its component; see docs/tasks.md."""

    id: str
    when: Condition
    component: str
    weight: float = 1.0
    penalty: float | None = None
    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    repeat: int = 1
    baseline: Literal["never", "transition"] = "never"
    must_hold_at_end: bool = False
    revoke_on: Condition | None = None


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """One fact that the daemon reads for the task: ``kind`` says how, ``args`` what (detectors/probes.py)."""

    id: str
    kind: Literal["script", "get", "file", "command"]
    args: Mapping[str, Json]
    when: tuple[str, ...]
    budget_ms: int


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of the agent and what counts, as the service registered it."""

    id: str
    version: str
    instruction: str
    milestones: tuple[MilestoneSpec, ...]
    weights: Mapping[str, float]
    origin: str | None = None
    credit: Mapping[str, Literal["progress", "level"]] = field(default_factory=dict)
    penalty_floor: float = -1.0
    blend: Mapping[str, float] = field(default_factory=lambda: {"rule": 1.0})
    quiet_ms: int = 50
    settle_ms: int = 1000
    probes: tuple[ProbeSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class Milestone:
    """What was earned. ``value``: newly credited level; ``worth``: what it adds to the step's reward."""

    id: str
    rule: str
    version: int
    component: str
    step: int
    value: float
    worth: float
    evidence: tuple[int, ...]
    cause_step: int | None = None
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """One stage's word on one step; ``score`` is None where the stage abstains."""

    stage: Literal["rule", "model", "judge", "person"]
    score: float | None
    confidence: float
    why: str
    by: str
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Reward:
    """What the trainer gets for one step; ``reward`` is None wherever it is not known, and then ``mask``."""

    episode: str
    step: int
    status: Status
    reward: float | None
    mask: bool
    reason: str | None
    components: Mapping[str, float | None]
    milestones: tuple[Milestone, ...]
    verdicts: tuple[Verdict, ...]
    decided_by: str | None
    done: bool
    success: bool | None
    through: int
    digest: str
