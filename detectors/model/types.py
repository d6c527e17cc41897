"""The vocabulary that the daemon, the service and replay share; a leaf, it imports nothing of ours.

Numbers: ``at`` is in nanoseconds since the episode opened (monotonic), ``seq`` counts from 1
without gaps within an episode, steps count from 0, ``level`` and ``confidence`` lie in [0, 1],
rewards are unitless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Json = Any
"""What orjson decodes to: None, bool, int, float, str, list, dict."""

Status = Literal["settling", "escalating", "sealed", "unobserved", "unscored"]
"""``settling``: not final yet. ``escalating``: complete, and a model, judge or person is asked.
``sealed``: final. ``unobserved``: final, and nobody can know the value. ``unscored``: final, and no
tier was sure of it."""

Decisive = Literal["positive", "negative", "both", "none"]
"""In which direction a rule's word is proof: ``positive``: that it is met, ``negative``: that it is
not."""


class Observation(NamedTuple):
    """What a source saw: ``kind`` is one of `detectors.model.kinds.KINDS`, ``data`` has that kind's
    fields."""

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
    """Contiguous events of one episode; ``digest`` = sha256 of the encoded text, which contains
    ``prev``."""

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

    ``evidence`` names events beside the one at hand, ``cause`` the step that set the fact in
    motion.
    """

    level: float
    key: str = ""
    evidence: tuple[int, ...] = ()
    cause: int | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """A rule with its arguments as canonical JSON, or a composite over further conditions
    (``of``)."""

    rule: str
    args: Mapping[str, Json] = field(default_factory=dict)
    of: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """How far apart two moments may be: at most so many steps, and so many seconds; None: any
    number."""

    steps: int | None = None
    seconds: float | None = None

    def holds(self, steps: int, nanoseconds: int) -> bool:
        """Whether a distance of ``steps`` and ``nanoseconds`` is within it."""
        return (self.steps is None or steps <= self.steps) and (
            self.seconds is None or nanoseconds <= self.seconds * SECOND
        )

    def passed(self, steps: int, nanoseconds: int) -> bool:
        """Whether a distance of ``steps`` and ``nanoseconds`` is at least it, in all that it
        says."""
        return (self.steps is None or steps >= self.steps) and (
            self.seconds is None or nanoseconds >= self.seconds * SECOND
        )


SECOND = 1_000_000_000
"""In nanoseconds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the end is worth, beside the way there: r = α·process + (1 − α)·[t = T]·outcome; both
    whole without α."""

    alpha: float | None = None
    success: float = 1.0
    failure: float = 0.0

    @property
    def scale(self) -> float:
        """What the outcome is multiplied by."""
        return 1.0 if self.alpha is None else 1.0 - self.alpha


@dataclass(frozen=True, slots=True)
class Efficiency:
    """A bonus for success: ``weight`` whole up to ``best`` steps, nothing from ``worst`` on, linear
    in between."""

    weight: float
    best: int
    worst: int


@dataclass(frozen=True, slots=True)
class Shaping:
    """γΦ(s') − Φ(s) in place of the pay of ``components`` (Ng, Harada and Russell 1999)."""

    gamma: float
    components: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MilestoneSpec:
    """One declared milestone of a task. ``weight`` is relative within its component; see
    docs/tasks.md."""

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
    only_if: Condition | None = None
    within: Window | None = None
    since: str | None = None
    credit_to: Literal["occurrence", "cause"] = "occurrence"
    decisive: Decisive | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be asked of stages: calls of a judge, and money of all; None: no limit."""

    calls: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One criterion of a rubric. ``required``: without it there is no success."""

    id: str
    text: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Escalation:
    """Which steps go beyond the rules, to whom, and who of them decides (docs/cascade.md).

    ``escalate``: of unscored, goal, low_confidence; ``audit``: the share of others that are judged
    as well, without effect; ``confident``: from which confidence on a word decides; ``weights``:
    the tiers' in a blend; ``decisive``: of milestones that do not say it; ``share``: the part of
    the goal's worth that tiers may add by their words on steps, all steps of an episode together
    (detectors/engine/stakes.py); ``patience_s``: after which a stage that can't be reached counts
    as one that abstains.
    """

    route: Literal["cascade", "blend"] = "cascade"
    escalate: tuple[str, ...] = ("unscored",)
    audit: float = 0.01
    confident: float = 0.7
    tiers: tuple[str, ...] = ("model", "judge")
    weights: Mapping[str, float] = field(
        default_factory=lambda: {"rule": 0.5, "model": 0.3, "judge": 0.2}
    )
    decisive: Decisive = "positive"
    share: float = 0.2
    patience_s: float = 900.0
    goal: tuple[Line, ...] = ()
    step: tuple[Line, ...] = ()
    budget: Mapping[str, Budget] = field(default_factory=dict)


class Alarm(NamedTuple):
    """A matcher of ``rule`` failed on what event ``seq`` has from agent or page: it counted as no
    match. The names of matcher and error; no word of the text."""

    seq: int
    rule: str
    matcher: str
    error: str


class Ask(NamedTuple):
    """What is asked about a sealed step: ``item`` is ``step``, ``goal`` or the id of a milestone
    that a tier decides.

    ``audit``: the rules have decided; what is said changes nothing. ``stake``, of a step and a
    goal: what a score of 1 is worth beyond what the rules paid, known when the step is sealed
    (detectors/engine/stakes.py).
    """

    step: int
    item: str
    tiers: tuple[str, ...]
    audit: bool = False
    stake: float = 0.0


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """One fact that the daemon reads for the task: ``kind`` says how, ``args`` what
    (detectors/task/probes.py)."""

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
    hosts: tuple[str, ...] = ()
    credit: Mapping[str, Literal["progress", "level"]] = field(default_factory=dict)
    penalty_floor: float = -1.0
    quiet_ms: int = 50
    settle_ms: int = 1000
    probes: tuple[ProbeSpec, ...] = ()
    limits: Window | None = None
    outcome: Outcome | None = None
    efficiency: Efficiency | None = None
    shaping: Shaping | None = None
    escalation: Escalation | None = None

    @property
    def process(self) -> float:
        """What milestones and penalties are multiplied by: α, or 1."""
        return 1.0 if self.outcome is None or self.outcome.alpha is None else self.outcome.alpha

    @property
    def shaped(self) -> tuple[str, ...]:
        """The components that pay by their potential."""
        return () if self.shaping is None else self.shaping.components

    @property
    def endings(self) -> tuple[str, ...]:
        """What the task pays for beside its milestones, as components of the reward."""
        parts = {"outcome": self.outcome, "efficiency": self.efficiency, "shaping": self.shaping}
        return tuple(name for name, part in parts.items() if part is not None)


class Milestone(NamedTuple):
    """What was earned. ``value``: newly credited level; ``worth``: what it adds to the step's
    reward."""

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


class Verdict(NamedTuple):
    """One stage's word on one step; ``score`` is None where the stage abstains."""

    stage: Literal["rule", "model", "judge", "person"]
    score: float | None
    confidence: float
    why: str
    by: str
    cost: float = 0.0


class Reward(NamedTuple):
    """What the trainer gets for one step; ``reward`` is None wherever it is not known, and then
    ``mask``."""

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
