"""What the service answers, as frozen dataclasses; numbers and names are those of the wire.

Fields that a newer service adds are ignored, so an older client goes on working.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, TypeVar

from milestoned_client.errors import ProblemError, UnexpectedAnswerError, problem_from_json

T = TypeVar("T")
CreditTo = Literal["as_paid", "cause"]
"""Which step a milestone is credited to: the one in which it was paid, or the one that set it in
motion."""
Status = Literal["settling", "escalating", "sealed", "unobserved", "unscored"]


@dataclass(frozen=True, slots=True)
class Registered:
    """A task as the service registered it; ``attainable`` is the highest total that it can pay."""

    id: str
    version: str
    digest: str
    attainable: float | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened episode. ``token`` is the daemon's: it can append to this episode and nothing
    else."""

    episode: str
    task: str
    version: str
    digest: str
    token: str
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lease:
    """Which sandbox works on an episode that asked for one.

    ``queued``: none yet; ``held``; ``ended``; ``lost``: closed without it, for the reason ``why``.
    ``sandbox`` has its name, labels and the address that its daemon told.
    """

    episode: str
    state: Literal["queued", "held", "ended", "lost"]
    why: str | None = None
    sandbox: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class EpisodeStatus:
    """Where an episode stands. ``through``: last event number in the log; ``step``: the current
    one."""

    episode: str
    task: str
    version: str
    digest: str
    status: Literal["open", "closing", "closed"]
    through: int
    labels: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    step: int | None = None
    success: bool | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether every source sees that the episode's daemon was given or that its task needs.

    ``waiting`` names those that do not, each with the reason; before a daemon has begun, and once
    it is silent, ``agentd`` or ``sandbox``, of a closed episode ``episode``. ``through``: the log's
    last event that this was read from.
    """

    episode: str
    status: Literal["open", "closing", "closed"]
    ready: bool
    waiting: Mapping[str, str]
    through: int = 0


@dataclass(frozen=True, slots=True)
class Noted:
    """A boundary, answer or tool call, as the journal numbered it.

    ``seq`` is None while it waits in the service's queue, because the daemon has not fetched it
    yet.
    """

    step: int | None = None
    seq: int | None = None
    command: int | None = None

    @property
    def queued(self) -> bool:
        """True while the daemon has not yet written it into the journal."""
        return self.seq is None


@dataclass(frozen=True, slots=True)
class Milestone:
    """What was earned, and the event numbers that earned it. ``worth`` is its part of the step's
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """One stage's word on one step; ``score`` is None where it abstains."""

    stage: str
    score: float | None
    confidence: float
    why: str = ""
    by: str = ""
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Reward:
    """One step's reward. ``reward`` is None wherever it is not known, and then ``mask`` is true.

    ``body`` holds the bytes that the service sent, empty where the reward came among others.
    ``credit``: what the view that `rewards` was asked for credits to the step.
    """

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
    body: bytes = field(default=b"", repr=False, compare=False)
    credit: float | None = None

    @property
    def settled(self) -> bool:
        """True once the reward is final: it will never change again."""
        return self.status not in ("settling", "escalating")


@dataclass(frozen=True, slots=True)
class Closing:
    """How an episode ended; ``rewards`` are those of all its steps; ``closing``: not yet."""

    episode: str
    status: Literal["closing", "closed"]
    success: bool | None = None
    total: float | None = None
    last_step: int | None = None
    rewards: tuple[Reward, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the log. ``at`` is in nanoseconds since the episode opened."""

    seq: int
    at: int
    source: str
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Transition:
    """One step as a learner wants it: (o, a, r, o'). ``reward`` is None while the step is open.

    ``first`` and ``last`` are the numbers of the step's first and last event. ``credit``: the
    reward's number, or what the view `credit_to` credits to the step.
    """

    step: int
    action: Any
    observation: Any
    next_observation: Any
    reward: Reward | None
    first: int
    last: int
    done: bool
    credit: float | None = None


@dataclass(frozen=True, slots=True)
class StreamItem:
    """One server-sent event: ``event`` (`Event`), ``milestone`` (`Milestone`) or ``reward``
    (`Reward`)."""

    kind: str
    seq: int | None
    item: Event | Milestone | Reward | Mapping[str, Any]


def build(kind: type[T], document: Any, **given: Any) -> T:
    """A ``kind`` from a JSON object. Raises `UnexpectedAnswerError` naming the field that is
    missing."""
    if not isinstance(document, Mapping):
        raise UnexpectedAnswerError(
            f"wanted a JSON object for {kind.__name__}, got {str(document)[:120]!r}"
        )
    values = dict(given)
    for spec in fields(kind):  # type: ignore[arg-type]
        if spec.name in values:
            continue
        if spec.name in document:
            values[spec.name] = document[spec.name]
        elif spec.default is MISSING and spec.default_factory is MISSING:
            raise UnexpectedAnswerError(
                f"the answer has no field {spec.name!r}, which {kind.__name__} needs"
            )
    return kind(**values)


def milestone(document: Any) -> Milestone:
    """Make a `Milestone` of its JSON form."""
    return build(Milestone, document, evidence=tuple(document.get("evidence", ())))


def reward(document: Any, body: bytes = b"") -> Reward:
    """Make a `Reward` of its JSON form."""
    if not isinstance(document, Mapping):
        raise UnexpectedAnswerError(f"wanted a JSON object for Reward, got {str(document)[:120]!r}")
    return build(
        Reward,
        document,
        milestones=tuple(milestone(one) for one in document.get("milestones", ())),
        verdicts=tuple(build(Verdict, one) for one in document.get("verdicts", ())),
        body=body,
    )


def transition(document: Any) -> Transition:
    """Make a `Transition` of its JSON form."""
    if not isinstance(document, Mapping):
        raise UnexpectedAnswerError(
            f"wanted a JSON object for Transition, got {str(document)[:120]!r}"
        )
    given = document.get("reward")
    return build(Transition, document, reward=None if given is None else reward(given))


def reward_or_problem(document: Any) -> Reward | ProblemError:
    """One entry of a batch: a reward, or why there is none."""
    if isinstance(document, Mapping) and isinstance(document.get("error"), Mapping):
        return problem_from_json(document["error"], 500)
    return reward(document)


def closing(document: Any) -> Closing:
    """Make a `Closing` of its JSON form."""
    if not isinstance(document, Mapping):
        raise UnexpectedAnswerError(
            f"wanted a JSON object for Closing, got {str(document)[:120]!r}"
        )
    return build(
        Closing, document, rewards=tuple(reward(one) for one in document.get("rewards") or ())
    )


def stream_item(kind: str, seq: int | None, document: Any) -> StreamItem:
    """A `StreamItem` from a server-sent event's name, id and data; unknown names keep their raw
    data."""
    if kind == "event":
        return StreamItem(kind, seq, build(Event, document))
    if kind == "milestone":
        return StreamItem(kind, seq, milestone(document))
    if kind == "reward":
        return StreamItem(kind, seq, reward(document))
    return StreamItem(kind, seq, document)
