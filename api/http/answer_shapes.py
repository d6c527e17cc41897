"""The bodies of answers, as models that describe them in the OpenAPI document.

Answers are built from bytes that are stored or canonical already; a test holds that they have these
shapes. The client's models are generated from these (tools/client_models.py), docstrings included.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from api.http.sandbox_shapes import LeaseShape
from api.http.support import AnswerShape


class ProblemShape(AnswerShape):
    """RFC 9457 problem details. Members beside these are named where they occur."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, object]] | None = None
    wanted: object = None
    through: int | None = None
    head: str | None = None


class StatementShape(AnswerShape):
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


class TombstoneShape(AnswerShape):
    """A deleted episode's statement, and what proves it: Ed25519, in base64."""

    tombstone: StatementShape
    signature: str
    key: str


class TaskShape(AnswerShape):
    """A task as the service registered it."""

    id: str
    version: str
    digest: str
    """Of the task, the versions of the rules and the engine: the same recording under the same
    digest gives the same rewards."""
    attainable: float
    """The highest sum of rewards that the task can pay."""
    task: dict[str, object] | None = None
    """The task itself, where one version of it was asked for."""


class TasksShape(AnswerShape):
    """Every version of every task, in the order of registration."""

    tasks: list[TaskShape]


class PlanShape(AnswerShape):
    """What the daemon may know of the task."""

    episode: str
    task: str
    digest: str
    hears: list[str]
    quiet_ms: int
    settle_ms: int
    text: bool
    request_bodies: list[object]
    origin: str | None


class OpenedShape(AnswerShape):
    """An opened episode."""

    episode: str
    task: str
    version: str
    digest: str
    token: str
    """The daemon's: it can append to this episode and do nothing else. No other answer has it."""
    plan: PlanShape
    """What the daemon needs to know of the task."""
    sandbox: LeaseShape | None = None
    """The sandbox of the fleet, where one was asked for."""
    owner_silence_s: float | None = None
    """The episode ends, masked, once its owner is silent for this long; absent: it never does."""


class HeartbeatShape(AnswerShape):
    """What became of episodes whose owner sent a heartbeat."""

    episodes: dict[str, Literal["open", "closing", "closed", "unknown"]]
    """Each episode's status; `unknown`: there is none of that name, or it was deleted."""


class ListedEpisodeShape(AnswerShape):
    """An episode as lists have it."""

    episode: str
    task: str
    version: str
    digest: str
    labels: dict[str, object]
    seed: int | None
    status: Literal["open", "closing", "closed"]
    through: int
    """The number of the last event in the log; 0 while there is none."""
    head: str
    """The digest of the last segment in the log."""
    step: int | None
    """The number of the current step, or of the last one; null before the first."""
    success: bool | None
    """Whether the goals were reached; null while the episode is open, and where it is not known."""
    total: float | None
    """The sum of the rewards so far; null before the first, and where one of them is not known."""
    opened_at: str
    """When the episode was opened: a time in UTC, as of RFC 3339."""
    closed_at: str | None
    guided: bool = False
    """Whether hints were given in it."""


class EpisodeShape(ListedEpisodeShape):
    """Where an episode stands."""

    at: int | None
    """The time of the event `through`, in nanoseconds since the episode opened; null while there
    is none."""


class SightShape(AnswerShape):
    """A source of the daemon, and whether it observes."""

    source: str
    sees: bool
    reason: str | None
    """Why it does not observe; null where it does."""


class ReadyShape(AnswerShape):
    """Whether every source observes that the daemon was given or that the task needs, so that a
    step can begin."""

    episode: str
    status: Literal["open", "closing", "closed"]
    through: int
    """The number of the log's last event that this was read from."""
    ready: bool
    waiting: dict[str, str]
    """The sources that do not observe yet, each with the reason. Before a daemon has begun, and
    once it is silent, `agentd` or `sandbox`; of a closed episode `episode`."""
    sources: list[SightShape]


class AppendedShape(AnswerShape):
    """The log holds everything up to `through`, on the disk.

    `followed`: somebody looks at it live. What a daemon then sees is wanted soon; else with the
    step that it is of.
    """

    through: int
    head: str
    followed: bool


class CommandShape(AnswerShape):
    """What the daemon shall journal, with `command` in its data."""

    command: int
    kind: str
    data: dict[str, object]


class CommandsShape(AnswerShape):
    """Commands beyond the number asked for."""

    commands: list[CommandShape]
    followed: bool
    """Somebody looks at the episode live: what its daemon sees is wanted soon."""


class NotedShape(AnswerShape):
    """A step boundary, answer or tool call, as the journal numbered it, or still queued."""

    command: int | None
    """Its number in the service's queue; null where it was in the log already."""
    step: int | None
    """The step that it belongs to; null before step 0."""
    seq: int | None = None
    """The number of its event in the log; null while it is queued."""
    status: Literal["queued"] | None = None


class MilestoneShape(AnswerShape):
    """What was earned, with the events that earned it."""

    id: str
    rule: str
    version: int
    """The version of the rule."""
    component: str
    """The part of the reward that it is credited to."""
    step: int
    """The step in which it was reached."""
    value: float
    """The level that is new in this step, from 0 to 1."""
    worth: float
    """What it adds to the step's reward."""
    evidence: list[int]
    """The numbers of the events that earned it."""
    cause_step: int | None
    """The step that set it in motion, where that is another one."""
    baseline: bool
    """Whether it was met by what held before the agent acted, which pays nothing."""


class VerdictShape(AnswerShape):
    """What one stage of the cascade says of a step."""

    stage: Literal["rule", "model", "judge", "person"]
    score: float | None
    """The rules' is the reward that they give the step, another stage's from 0 to 1; null where it
    abstains."""
    confidence: float
    """From 0 to 1."""
    why: str
    by: str
    """Who answered: the digest of the ruleset, model or judge, or a person."""
    cost: float
    """What the answer cost, in the unit of the budgets."""


class RewardShape(AnswerShape):
    """A step's reward. `reward` is null wherever it is not known, and then `mask` is true."""

    episode: str
    step: int
    status: Literal["settling", "escalating", "sealed", "unobserved", "unscored", "masked"]
    """`settling`: the step is not complete, or its events have not reached the log; `escalating`: a
    stage of the cascade has not answered yet. The others are final. `unobserved`: what happened
    can't be known well enough; `unscored`: no stage decided it. `masked`: sealed, but null in this
    view, which masks its cause."""
    reward: float | None
    """What the step was worth. Null is not zero: leave such a step out of the loss."""
    mask: bool
    reason: str | None
    """Why the reward is not known, or is no more than a penalty that was observed."""
    components: dict[str, float | None]
    """What each component was credited with; null where that is not known."""
    milestones: list[MilestoneShape]
    verdicts: list[VerdictShape]
    """One of each stage that was asked."""
    decided_by: str | None
    """The stage that decided the step."""
    done: bool
    """Whether the episode ended with this step."""
    success: bool | None
    """Whether the goals were reached; null while the episode is open, and where it is not known."""
    through: int
    """The number of the event that sealed the step; while it is not sealed, of the log's last."""
    digest: str
    """Of the task, the versions of the rules and the engine."""
    objectives: dict[str, float | None] | None = None
    """What the step adds to each objective of the task, beside the reward; null where the rules do
    not know it, and as a whole where the task has none or the step is not sealed."""


class SiblingCreditShape(AnswerShape):
    """What the view `siblings` estimated a step's credit from: other episodes of the same ruleset
    and policy that came to the same point."""

    n: int
    """Other episodes that had reached the same milestones as this one before the step."""
    value: float | None
    """The mean of what they earned from there on; null where they are too few."""
    next_n: int | None
    """The same of what was reached after the step; null after the last step."""
    next_value: float | None
    """The mean of what those earned from there on; 0 after the last step."""
    low: float | None
    """The credit's 95 % interval begins here."""
    high: float | None
    """The credit's 95 % interval ends here."""
    reason: str | None
    """Why the credit is not known."""
    first_wrong: bool | None
    """Whether the step is the episode's first whose credit is surely below 0; null where that is
    not known of it, or of one before it."""


class CreditedShape(RewardShape):
    """A reward of a batch that was asked for with a view."""

    credit: float | None
    """What the view credits to the step; null while the episode is not closed, and where the reward
    is."""
    siblings: SiblingCreditShape | None = None
    """What the view `siblings` estimated the credit from; of other views null."""


class DroppedCriterionShape(AnswerShape):
    """A proposed criterion that is not in the draft's rubric."""

    id: str
    text: str
    why: str


class RubricDraftShape(AnswerShape):
    """A rubric that was drafted from an instruction, and that nobody has confirmed."""

    schema_: Annotated[Literal["rubric-draft/1"], Field(alias="schema")]
    status: Literal["draft"]
    digest: str
    by: str
    """The model that proposed it, and the version of what it was asked."""
    instruction: str
    rubric: dict[str, list[dict[str, object]]]
    """`goal` and `step`, as `escalation.rubric` of a task has them."""
    uncontrollable: list[str]
    """What no agent can help: no criteria, but causes to mask."""
    dropped: list[DroppedCriterionShape]


class ProposedMilestoneShape(AnswerShape):
    """What a milestone of a proposal rests on."""

    id: str
    in_good: int
    """Successes that met it."""
    in_bad: int
    """Failures that met it."""
    recording: str
    event: int
    """The number of the event in that recording of which it was made."""
    support: float
    lift: float
    weight: float | None
    """None: it is a penalty."""


class OracleTestShape(AnswerShape):
    """A success as a test: it reaches all that the task pays."""

    oracle: str
    """The name of the recording's file."""


class AdversarialTestShape(AnswerShape):
    """A failure as a test: it earns so much at most."""

    adversarial: str
    """The name of the recording's file."""
    at_most: float


class TaskDraftShape(AnswerShape):
    """A task file that a model wrote from an instruction, and that no recording has confirmed."""

    yaml: str
    status: Literal["draft"]
    by: str
    """The model that wrote it."""


class ProposalShape(AnswerShape):
    """A task file that was proposed from recordings, with its evidence. It is a draft."""

    yaml: str
    good: int
    """Successes that were compared."""
    bad: int
    """Failures that were compared."""
    decided: bool
    """Whether every success met the goal, and no failure did, of which all steps are known."""
    notes: list[str]
    """What could not be found out."""
    milestones: list[ProposedMilestoneShape]
    limits: dict[str, float | None]
    """What each failure earns under the task, by the recording's name; null where a step of it is
    not known."""
    tests: list[OracleTestShape | AdversarialTestShape]
    """The tests in ``yaml``, which `milestoned task test` runs where the recordings are files of
    these names beside it. Of a template they are of the example's values alone."""


class ConfirmedMilestoneShape(AnswerShape):
    """A milestone of a draft that stays."""

    id: str
    in_good: int
    """Successes that reached it."""
    in_bad: int
    """Failures that reached it."""
    unknown_bad: int
    """Failures in which it is not known whether they reached it."""


class DroppedMilestoneShape(AnswerShape):
    """A milestone of a draft that some success is not known to reach."""

    id: str
    why: str


class ConfirmationShape(AnswerShape):
    """A drafted task file that recordings confirm, without its mark: no draft any more."""

    yaml: str
    good: int
    """Successes that it was held against."""
    bad: int
    """Failures that it was held against."""
    milestones: list[ConfirmedMilestoneShape]
    left_out: list[DroppedMilestoneShape]
    notes: list[str]
    """Which recordings would fail as a test of the task, and so are none."""
    limits: dict[str, float | None]
    """What each failure earns under the task, by the recording's name; null where a step of it is
    not known."""
    tests: list[OracleTestShape | AdversarialTestShape]
    """The tests in ``yaml``, as those of a proposal."""


class PreferencesShape(AnswerShape):
    """What a reward model can be trained on."""

    episodes: int
    """How many closed episodes were looked at."""
    lines: list[dict[str, object]]
    """Lines of pref/1, whose JSON Schema `milestoned rm schema` prints."""


class AdvancedShape(NotedShape):
    """The step that began, and the reward of the step before it."""

    reward: RewardShape
    """The reward of the step that ended; ask again while it is `settling` or `escalating`."""


class SealedShape(NotedShape):
    """The step that ended, and its reward."""

    reward: RewardShape
    """Its reward; ask again while it is `settling` or `escalating`."""


class RefusedShape(AnswerShape):
    """One item's problem."""

    error: ProblemShape


class RewardsShape(AnswerShape):
    """Rewards in the order asked."""

    rewards: list[RewardShape | CreditedShape | RefusedShape]


class ClosedShape(AnswerShape):
    """How an episode ended, or that it is still closing."""

    episode: str
    status: Literal["closing", "closed"]
    success: bool | None = None
    """Whether the goals were reached; null where it is not known."""
    total: float | None = None
    """The sum of all rewards; null where one of them is not known."""
    last_step: int | None = None
    rewards: Annotated[list[RewardShape], Field(default_factory=list)]
    """Of all steps, in order; empty while it is closing."""


class EventShape(AnswerShape):
    """One event of the log."""

    seq: int
    at: int
    """Nanoseconds since the episode opened."""
    source: str
    kind: str
    data: dict[str, object]


class EventsShape(AnswerShape):
    """A page of events. `next` is the `after` of the next page, null at the end of the log."""

    events: list[EventShape]
    through: int
    next: int | None


class VerdictsShape(AnswerShape):
    """An episode's log of verdicts, and the items that wait for an answer."""

    verdicts: list[dict[str, object]]
    waiting: list[dict[str, object]]


class ShapingShape(AnswerShape):
    """What a tier's scores add to a step as a potential, γ·Φ(s') - Φ(s); of an episode its
    discounted sum is 0."""

    value: float | None
    """To be added to the step's reward; null where one of the potentials is not known."""
    potential: float | None
    """Φ before the step: 0 before the first one."""
    next_potential: float | None
    """Φ after the step: 0 after the last one of a closed episode."""
    by: str | None
    """The model, with its digest, that scored the step."""
    reason: str | None
    """Why the value is not known."""


class TransitionShape(AnswerShape):
    """One step as a learner wants it: (o, a, r, o')."""

    step: int
    action: object
    observation: dict[str, object]
    next_observation: dict[str, object] | None
    """Null while the step is open."""
    reward: RewardShape | None
    """Null while the step is open."""
    credit: float | None
    """The reward's number, or what the view `credit_to` credits to the step."""
    siblings: SiblingCreditShape | None = None
    """What the view `siblings` estimated the credit from; of other views null."""
    shaping: ShapingShape | None = None
    """What `shape_by` adds to the step; null without it."""
    first: int
    """The number of the step's first event."""
    last: int
    """The number of the step's last event."""
    done: bool
    """Whether the episode ended with this step."""


class TrajectoryShape(AnswerShape):
    """The episode as transitions."""

    episode: str
    steps: list[TransitionShape]
