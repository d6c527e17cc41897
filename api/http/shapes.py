"""What the wire carries, as models: requests are checked by them, answers only described.

Answers are built from bytes that are stored or canonical already; a test holds that they have these
shapes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from api.core.frames import MAX_NUMBER
from api.http.sandbox_shapes import LeaseShape
from api.http.support import Body
from detectors.engine.attribution import Credit

NO_NUL = r"^[^\x00]*$"
"""Postgres has no character of that number in a text."""
LabelName = Annotated[str, Field(min_length=1, max_length=128, pattern=NO_NUL)]
Label = Annotated[str, Field(max_length=1_024, pattern=NO_NUL)] | int | float | bool | None
Wait = Annotated[int, Field(ge=0, le=50_000, description="Milliseconds to wait at most.")]
Text = Annotated[str, Field(max_length=65_536)]
Name = Annotated[str, Field(min_length=1, max_length=256)]


class OpenEpisode(Body):
    """Open an episode of a registered task, of its latest version by default."""

    task: Annotated[str, Field(min_length=1, max_length=512)]
    version: Annotated[str, Field(max_length=256)] | None = None
    labels: Annotated[dict[LabelName, Label], Field(default_factory=dict, max_length=64)]
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    sandbox: Annotated[
        Literal["any"]
        | Annotated[dict[Name, Annotated[str, Field(max_length=256)]], Field(max_length=32)]
        | None,
        Field(description="Have a sandbox of the fleet work on it: any, or one with these labels."),
    ] = None


class BeginStep(Body):
    """Begin a step: the next one by default; the one that began last again changes nothing."""

    step: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None
    action: Any = None
    wait_ms: Wait = 10_000


class EndStep(Body):
    """End the step that began last."""

    wait_ms: Wait = 10_000


class Answer(Body):
    """The agent's final answer."""

    text: Text
    wait_ms: Wait = 10_000


class CallTool(Body):
    """The agent calls a tool; `call` names the call."""

    call: Name
    tool: Name
    arguments: Any = None
    wait_ms: Wait = 10_000


class ReturnTool(Body):
    """The tool came back."""

    call: Name
    ok: bool
    result: Any = None
    error: Text | None = None
    wait_ms: Wait = 10_000


class Close(Body):
    """Close the episode. `truncated`: it was cut off, as at a limit of steps, and its last state is
    no end of it."""

    reason: Annotated[str, Field(min_length=1, max_length=1_024)] = "asked"
    truncated: bool = False
    wait_ms: Wait = 10_000


class Item(Body):
    """One step of one episode."""

    episode: Annotated[str, Field(max_length=64)]
    step: Annotated[int, Field(ge=0, le=MAX_NUMBER)]


class Query(Body):
    """Many rewards at once."""

    items: Annotated[list[Item], Field(max_length=1_000)]
    wait_ms: Wait = 0
    credit_to: Annotated[
        Credit,
        Field(
            description=(
                "`cause`: give `credit` beside each reward, what its step set in motion credited"
                " to it."
            )
        ),
    ] = "as_paid"


class ProblemShape(BaseModel):
    """RFC 9457 problem details. Members beside these are named where they occur."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None
    wanted: Any = None
    through: int | None = None
    head: str | None = None


class StatementShape(BaseModel):
    """What a tombstone says of a deleted episode."""

    episode: str
    task: str
    version: str
    digest: str
    status: str
    through: int
    head: str
    opened_at: str
    closed_at: str | None
    reason: str
    deleted_by: str
    deleted_at: str


class TombstoneShape(BaseModel):
    """A deleted episode's statement, and what proves it: Ed25519, in base64."""

    tombstone: StatementShape
    signature: str
    key: str


class TaskShape(BaseModel):
    """A registered task."""

    id: str
    version: str
    digest: str
    attainable: float
    task: dict[str, Any] | None = None


class TasksShape(BaseModel):
    """Every version of every task, in the order of registration."""

    tasks: list[TaskShape]


class PlanShape(BaseModel):
    """What the daemon may know of the task."""

    episode: str
    task: str
    digest: str
    hears: list[str]
    quiet_ms: int
    settle_ms: int
    text: bool
    request_bodies: list[Any]
    origin: str | None


class OpenedShape(BaseModel):
    """An opened episode; `token` can append to it and do nothing else, and is told only here."""

    episode: str
    task: str
    version: str
    digest: str
    token: str
    plan: PlanShape
    sandbox: LeaseShape | None = None


class ListedEpisodeShape(BaseModel):
    """An episode as lists have it. `through` is the last event in the log, `head` its last
    segment's digest; `total` and `success` are null where they are not known."""

    episode: str
    task: str
    version: str
    digest: str
    labels: dict[str, Any]
    seed: int | None
    status: Literal["open", "closing", "closed"]
    through: int
    head: str
    step: int | None
    success: bool | None
    total: float | None
    opened_at: str
    closed_at: str | None


class EpisodeShape(ListedEpisodeShape):
    """Where an episode stands. `at` is the time of its last event in ns since the episode opened,
    null while there is none."""

    at: int | None


class SightShape(BaseModel):
    """A source of the daemon; `reason`: why it does not see, null where it does."""

    source: str
    sees: bool
    reason: str | None


class ReadyShape(BaseModel):
    """Whether every source sees that the daemon was given or that the task needs, so that a step
    can begin.

    `waiting` names those that do not, each with the reason; before a daemon has begun, and once it
    is silent, `agentd` or `sandbox`, of a closed episode `episode`. `through`: the log's last event
    that this was read from.
    """

    episode: str
    status: Literal["open", "closing", "closed"]
    through: int
    ready: bool
    waiting: dict[str, str]
    sources: list[SightShape]


class AppendedShape(BaseModel):
    """The log holds everything up to `through`, on the disk.

    `followed`: somebody looks at it live. What a daemon then sees is wanted soon; else with the
    step that it is of.
    """

    through: int
    head: str
    followed: bool


class CommandShape(BaseModel):
    """What the daemon shall journal, with `command` in its data."""

    command: int
    kind: str
    data: dict[str, Any]


class CommandsShape(BaseModel):
    """Commands beyond the number asked for."""

    commands: list[CommandShape]


class NotedShape(BaseModel):
    """In the log as event `seq` of `step`, or (202) still queued."""

    command: int | None
    step: int | None
    seq: int | None = None
    status: Literal["queued"] | None = None


class MilestoneShape(BaseModel):
    """What was earned, with the events that earned it."""

    id: str
    rule: str
    version: int
    component: str
    step: int
    value: float
    worth: float
    evidence: list[int]
    cause_step: int | None
    baseline: bool


class RewardShape(BaseModel):
    """A step's reward; null and masked wherever it is not known."""

    episode: str
    step: int
    status: Literal["settling", "escalating", "sealed", "unobserved", "unscored"]
    reward: float | None
    mask: bool
    reason: str | None
    components: dict[str, float | None]
    milestones: list[MilestoneShape]
    verdicts: list[dict[str, Any]]
    decided_by: str | None
    done: bool
    success: bool | None
    through: int
    digest: str


class CreditedShape(RewardShape):
    """A reward, and what the view that was asked for credits to its step: null while the episode is
    not closed, and where the reward is."""

    credit: float | None


class RefusedShape(BaseModel):
    """One item's problem."""

    error: ProblemShape


class RewardsShape(BaseModel):
    """Rewards in the order asked."""

    rewards: list[RewardShape | CreditedShape | RefusedShape]


class ClosedShape(BaseModel):
    """A closed episode, or (202) one that is closing."""

    episode: str
    status: Literal["closing", "closed"]
    success: bool | None = None
    total: float | None = None
    last_step: int | None = None
    rewards: list[RewardShape] | None = None


class EventShape(BaseModel):
    """One event of the log."""

    seq: int
    at: int
    source: str
    kind: str
    data: dict[str, Any]


class EventsShape(BaseModel):
    """A page of events. `next` is the `after` of the next page, null at the end of the log."""

    events: list[EventShape]
    through: int
    next: int | None


class VerdictsShape(BaseModel):
    """An episode's log of verdicts, and the items that wait for an answer."""

    verdicts: list[dict[str, Any]]
    waiting: list[dict[str, Any]]


class TransitionShape(BaseModel):
    """One step as (o, a, r, o'). `credit` is the reward's number, or what the view `credit_to`
    makes of it."""

    step: int
    action: Any
    observation: dict[str, Any]
    next_observation: dict[str, Any] | None
    reward: RewardShape | None
    credit: float | None
    first: int
    last: int
    done: bool


class TrajectoryShape(BaseModel):
    """The episode as transitions."""

    episode: str
    steps: list[TransitionShape]
