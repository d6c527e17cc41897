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

Stage = Literal["rule", "model", "judge", "person"]
Status = Literal["settling", "escalating", "sealed", "unobserved", "unscored", "masked"]
"""``settling``: not final yet. ``escalating``: complete, and a model, judge or person is asked.
``sealed``: final. ``unobserved``: final, and nobody can know the value. ``unscored``: final, and no
tier was sure of it. ``masked``: in a view alone, whose reader masks what it rests on."""


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
    ``prev``. ``events`` lacks those that its reader did not want (`decode_segment`)."""

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


class Alarm(NamedTuple):
    """A matcher of ``rule`` failed on what event ``seq`` has from agent or page. The names of
    matcher and error; no word of the text."""

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

    stage: Stage
    score: float | None
    confidence: float
    why: str
    by: str
    cost: float = 0.0


class Reward(NamedTuple):
    """What the trainer gets for one step; ``reward`` is None wherever it is not known, and then
    ``mask``. ``objectives``: what stands beside the reward, by name; None where the rules alone
    do not know the step."""

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
    objectives: Mapping[str, float | None] = {}
