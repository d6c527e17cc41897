"""What the wire carries, as frozen dataclasses; numbers and names are those of the wire. Generated
by `make docs` from the OpenAPI document; edit the descriptions in api/http.

Fields that a newer service adds are ignored, so an older client goes on working.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from milestoned_client.json_values import Json, JsonObject
from milestoned_client.model_bases import NotedBase, RewardBase, SampleBase

CreditTo: TypeAlias = Literal["as_paid", "cause", "spread", "siblings"]
"""
Which step a milestone is credited to: the one in which it was paid, or the one that set it
in motion; then each reward has a `credit` beside it. `spread`: evenly those that led to it;
`siblings`: the step by what other episodes earned from the same point on.
"""


Fold: TypeAlias = Literal["sum", "last", "discounted", "known"]
"""
How an episode's step rewards become one number: Σ r_t, the last one, Σ γ^t r_t, or Σ of
those that are known.
"""


Pick: TypeAlias = Literal["any", "success", "failure", "near_miss", "novel"]
"""
Which closed episodes are drawn. `near_miss`: failures that earned at least the share `near`
of what the task can pay; `novel`: any, rare sets of milestones are likelier.
"""


Basis: TypeAlias = Literal["rank", "reward"]
"""
What advantages are computed from: the score of the rank, in which ties that a tier broke
differ, or the reward alone.
"""


Scale: TypeAlias = Literal["std", "none"]
"""`std` divides advantages by the group's standard deviation, `none` does not."""


MaskCause: TypeAlias = Literal[
    "site_refused",
    "captcha",
    "login_wall",
    "rate_limited",
    "infrastructure",
    "unknown",
    "start_state",
]


@dataclass(frozen=True, slots=True)
class Registered:
    """A task as the service registered it."""

    id: str
    version: str
    digest: str
    """Of the task, the versions of the rules and the engine: the same recording under the same
    digest gives the same rewards."""

    attainable: float
    """The highest sum of rewards that the task can pay."""

    task: JsonObject | None = None
    """The task itself, where one version of it was asked for."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Which sandbox of the fleet works on an episode."""

    episode: str
    state: Literal["queued", "held", "ended", "lost"]
    """`queued`: none yet; `lost`: the episode was closed without it."""

    why: str | None
    """Why it was lost."""

    sandbox: JsonObject | None
    """Its name and labels, and the address that its daemon reported."""

    ready: bool | None = None
    """Whether a step can begin; absent where that was not asked for."""

    waiting: Mapping[str, str] | None = None
    """What is awaited before a step can begin, each with the reason; absent where `ready` is."""


@dataclass(frozen=True, slots=True)
class EpisodeStatus:
    """Where an episode stands."""

    episode: str
    task: str
    version: str
    digest: str
    labels: JsonObject
    seed: int | None
    status: Literal["open", "closing", "closed"]
    through: int
    """The number of the last event in the log; 0 while there is none."""

    head: str
    """The digest of the last segment in the log."""

    step: int | None
    """The number of the current step, or of the last one; None before the first."""

    success: bool | None
    """Whether the goals were reached; None while the episode is open, and where it is not known."""

    total: float | None
    """The sum of the rewards so far; None before the first, and where one of them is not known."""

    opened_at: str
    """When the episode was opened: a time in UTC, as of RFC 3339."""

    closed_at: str | None
    at: int | None
    """The time of the event `through`, in nanoseconds since the episode opened; None while there
    is none."""

    guided: bool | None = False
    """Whether hints were given in it."""


@dataclass(frozen=True, slots=True)
class SourceReadiness:
    """A source of the daemon, and whether it observes."""

    source: str
    sees: bool
    reason: str | None
    """Why it does not observe; None where it does."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether every source observes that the daemon was given or that the task needs, so that a
    step can begin."""

    episode: str
    status: Literal["open", "closing", "closed"]
    through: int
    """The number of the log's last event that this was read from."""

    ready: bool
    waiting: Mapping[str, str]
    """The sources that do not observe yet, each with the reason. Before a daemon has begun, and
    once it is silent, `agentd` or `sandbox`; of a closed episode `episode`."""

    sources: tuple[SourceReadiness, ...]


@dataclass(frozen=True, slots=True)
class Noted(NotedBase):
    """A step boundary, answer or tool call, as the journal numbered it, or still queued."""

    command: int | None
    """Its number in the service's queue; None where it was in the log already."""

    step: int | None
    """The step that it belongs to; None before step 0."""

    seq: int | None = None
    """The number of its event in the log; None while it is queued."""

    status: Literal["queued"] | None = None


@dataclass(frozen=True, slots=True)
class Milestone:
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

    evidence: tuple[int, ...]
    """The numbers of the events that earned it."""

    cause_step: int | None
    """The step that set it in motion, where that is another one."""

    baseline: bool
    """Whether it was met by what held before the agent acted, which pays nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one stage of the cascade says of a step."""

    stage: Literal["rule", "model", "judge", "person"]
    score: float | None
    """The rules' is the reward that they give the step, another stage's from 0 to 1; None where it
    abstains."""

    confidence: float
    """From 0 to 1."""

    why: str
    by: str
    """Who answered: the digest of the ruleset, model or judge, or a person."""

    cost: float
    """What the answer cost, in the unit of the budgets."""


@dataclass(frozen=True, slots=True)
class SiblingCredit:
    """What the view `siblings` estimated a step's credit from: other episodes of the same ruleset
    and policy that came to the same point."""

    n: int
    """Other episodes that had reached the same milestones as this one before the step."""

    value: float | None
    """The mean of what they earned from there on; None where they are too few."""

    next_n: int | None
    """The same of what was reached after the step; None after the last step."""

    next_value: float | None
    """The mean of what those earned from there on; 0 after the last step."""

    low: float | None
    """The credit's 95 % interval begins here."""

    high: float | None
    """The credit's 95 % interval ends here."""

    reason: str | None
    """Why the credit is not known."""

    first_wrong: bool | None
    """Whether the step is the episode's first whose credit is surely below 0; None where that is
    not known of it, or of one before it."""


@dataclass(frozen=True, slots=True)
class StepShaping:
    """What a tier's scores add to a step as a potential, γ·Φ(s') - Φ(s); of an episode its
    discounted sum is 0."""

    value: float | None
    """To be added to the step's reward; None where one of the potentials is not known."""

    potential: float | None
    """Φ before the step: 0 before the first one."""

    next_potential: float | None
    """Φ after the step: 0 after the last one of a closed episode."""

    by: str | None
    """The model, with its digest, that scored the step."""

    reason: str | None
    """Why the value is not known."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the log."""

    seq: int
    at: int
    """Nanoseconds since the episode opened."""

    source: str
    kind: str
    data: JsonObject


@dataclass(frozen=True, slots=True)
class Sample(SampleBase):
    """What is to be scored: a step of an episode, a whole one, or an answer on its own under a
    task; named by its own members, or by a label as the data set carries it."""

    episode: str | None = None
    step: int | None = None
    task: str | None = None
    version: str | None = None
    label: Json | None = None
    """Instead of the members above: a text, or an object with `episode_id` or `task_id`."""

    answer: str | None = None
    """The final answer of the agent, of which a sample without an episode is scored."""


@dataclass(frozen=True, slots=True)
class Score:
    """What a sample was worth. `reward` is None where it is not known: then `mask_sample` is true
    and the failure says why, in NeMo Gym's words."""

    reward: float | None
    reward_components: Mapping[str, float | None]
    """What each component was credited with; None where that is not known."""

    step_rewards: tuple[float | None, ...]
    known_share: float | None
    """The share of `step_rewards` that are known, from 0 to 1; None while the episode is not
    closed."""

    milestones: int
    """How many were reached."""

    success: bool | None
    """Whether the goals were reached; None while the episode is open, and where it is not known."""

    done: bool
    """Whether the episode ended with it."""

    episode: str | None
    step: int | None
    task: str | None
    digest: str | None
    """Of the task, the versions of the rules and the engine."""

    mask_sample: bool
    """Whether the sample is to be left out."""

    failure_kind: str | None = None
    failure_reason: str | None = None


@dataclass(frozen=True, slots=True)
class ListedEpisode:
    """An episode as lists have it."""

    episode: str
    task: str
    version: str
    digest: str
    labels: JsonObject
    seed: int | None
    status: Literal["open", "closing", "closed"]
    through: int
    """The number of the last event in the log; 0 while there is none."""

    head: str
    """The digest of the last segment in the log."""

    step: int | None
    """The number of the current step, or of the last one; None before the first."""

    success: bool | None
    """Whether the goals were reached; None while the episode is open, and where it is not known."""

    total: float | None
    """The sum of the rewards so far; None before the first, and where one of them is not known."""

    opened_at: str
    """When the episode was opened: a time in UTC, as of RFC 3339."""

    closed_at: str | None
    guided: bool | None = False
    """Whether hints were given in it."""


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """A page of the list of episodes."""

    episodes: tuple[ListedEpisode, ...]
    next: str | None
    """The `cursor` of the next page; None at the end."""


@dataclass(frozen=True, slots=True)
class DrawnEpisodes:
    """A sample of episodes."""

    pool: int
    """How many episodes there were to draw from."""

    episodes: tuple[ListedEpisode, ...]
    """In the order in which they were drawn."""

    reason: str | None
    """Why there are fewer than were asked for; None where there are not."""


@dataclass(frozen=True, slots=True)
class TierScore:
    """What a tier says of an episode in a tie."""

    episode: str
    tier: str
    score: float | None
    """None where it abstains, and `why` says why."""

    confidence: float
    """From 0 to 1."""

    why: str
    by: str
    """Who answered: the digest of the model or judge, or a person."""

    evidence: tuple[int, ...]
    """The numbers of the events on which it depends."""

    used: bool
    """Whether the tie was ordered by it."""


@dataclass(frozen=True, slots=True)
class Tie:
    """Episodes to which the rules paid the same."""

    episodes: tuple[str, ...]
    reward: float
    by: tuple[str, ...]
    """The tiers that order some of them, in turn."""

    verdicts: tuple[TierScore, ...]
    reason: str | None
    """Why those that are still equal are."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One episode of a group. `rank`, `score` and `advantage` are None while the group is not
    complete, and for ever where `mask_sample` is true."""

    episode: str
    reward: float | None
    known_share: float | None
    success: bool | None
    milestones: tuple[str, ...]
    """The ids of those that were reached."""

    rank: int | None
    """1 is the best."""

    score: float | None
    """The share of the other known episodes that it is better than, an equal one counting half;
    from 0 to 1."""

    advantage: float | None
    mask_sample: bool
    failure_kind: str | None
    failure_reason: str | None


@dataclass(frozen=True, slots=True)
class Group:
    """A scored group of episodes of one task."""

    task: str
    version: str
    digest: str
    complete: bool
    """False while an episode is open or something was not answered in time: ask again."""

    known: int
    """How many rewards are known."""

    results: tuple[GroupMember, ...]
    """In the order in which the episodes were named."""

    ties: tuple[Tie, ...]


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """A task under a policy, over its newest closed episodes (`window`).

    `success` is the share of successes among those whose success is known, `low` and `high` its 95
    % interval (Wilson). `mean_reward` and `reward_entropy` (bits) are of the known totals.
    `flat_groups` is the share of groups in which all known totals are equal. `learning_progress`:
    the mean outcome of the newer half less that of the older. `weight` sums to 1 over all tasks.
    None is what is not known."""

    task: str
    version: str
    episodes: int
    known: int
    success: float | None
    low: float | None
    high: float | None
    mean_reward: float | None
    reward_entropy: float | None
    flat_groups: float | None
    learning_progress: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class CurriculumPage:
    """The latest version of every task, in the order of registration."""

    tasks: tuple[TaskProgress, ...]


@dataclass(frozen=True, slots=True)
class PreferenceLines:
    """What a reward model can be trained on."""

    episodes: int
    """How many closed episodes were looked at."""

    lines: tuple[JsonObject, ...]
    """Lines of pref/1, whose JSON Schema `milestoned rm schema` prints."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A milestone that is not reached yet."""

    milestone: str
    worth: float
    waits_for: tuple[str, ...]
    """What it waits for, in words."""

    nearest: tuple[str, ...]
    """What came nearest, and what of it was otherwise; or why nobody can know."""


@dataclass(frozen=True, slots=True)
class Hints:
    """Hints on an episode; an open one counts as guided from now on."""

    episode: str
    through: int
    """The number of the log's last event that this was read from."""

    guided: bool
    """Whether hints were given before its close."""

    hints: tuple[Hint, ...]


@dataclass(frozen=True, slots=True)
class StepBlame:
    """Why a step failed."""

    step: int
    cause: (
        Literal[
            "agent",
            "site_refused",
            "captcha",
            "login_wall",
            "rate_limited",
            "infeasible",
            "infrastructure",
            "unknown",
        ]
        | None
    )
    """None where it did not fail, or is not complete."""

    reason: str | None
    evidence: tuple[int, ...]
    """The numbers of the events that show it."""

    at_first_contact: bool
    """Whether the site had answered nothing before, so that the agent can't have provoked it."""


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """Where an episode first went wrong."""

    step: int | None
    """None before the first step."""

    event: int


@dataclass(frozen=True, slots=True)
class Blame:
    """Why an episode failed. `cause` is None while it is open, and where it did not fail."""

    episode: str
    through: int
    """The number of the log's last event that this was read from."""

    cause: (
        Literal[
            "agent",
            "site_refused",
            "captcha",
            "login_wall",
            "rate_limited",
            "infeasible",
            "infrastructure",
            "unknown",
        ]
        | None
    )
    decided_by: Literal["events", "agent", "task", "judge"] | None
    """`agent`: it rests on nothing but the agent's own word; `task`: on that and on what the task
    declares; `judge`: the events left it open, and a judge has proven it."""

    reason: str | None
    evidence: tuple[int, ...]
    """The numbers of the events that show it."""

    at_first_contact: bool
    """Whether the site had answered nothing before, so that the agent can't have provoked it."""

    first_failure: FirstFailure | None
    steps: tuple[StepBlame, ...]


@dataclass(frozen=True, slots=True)
class StartFinding:
    """One fact by which an episode began unlike the others of its task, or unlike its `start`."""

    part: Literal["tabs", "files", "probes", "windows"]
    difference: Literal["extra", "missing", "changed", "other"]
    """`extra`: it had what others had not; `missing`; `changed`: others had another content;
    `other`: the part has too many facts to name one."""

    name: str | None
    """Such as the path of a file below its watched folder."""

    agree: int | None
    """How many others began otherwise; None, as `others`, where the task expects another start."""

    others: int | None
    text: str


@dataclass(frozen=True, slots=True)
class StartState:
    """How an episode began: the tabs, files, answers of probes and windows before its first
    step."""

    episode: str
    digest: str | None
    """Of all that stood; None before the first step."""

    facts: JsonObject | None
    """Part → its digest, the count of its facts and, of at most 500, these by name."""

    others: int
    """With how many closed episodes of the same version of the task it was compared."""

    refused: bool
    """The task refuses such a start (`on_mismatch: refuse`): no step of the episode is known."""

    findings: tuple[StartFinding, ...]


Status: TypeAlias = Literal["settling", "escalating", "sealed", "unobserved", "unscored", "masked"]


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened episode."""

    episode: str
    task: str
    version: str
    digest: str
    token: str
    """The daemon's: it can append to this episode and do nothing else. No other answer has it."""

    plan: JsonObject
    """What the daemon needs to know of the task."""

    sandbox: Lease | None = None
    """The sandbox of the fleet, where one was asked for."""

    owner_silence_s: float | None = None
    """The episode ends, masked, once its owner is silent for this long; absent: it never does."""


@dataclass(frozen=True, slots=True)
class Reward(RewardBase):
    """A step's reward. `reward` is None wherever it is not known, and then `mask` is true."""

    episode: str
    step: int
    status: Status
    """`settling`: the step is not complete, or its events have not reached the log; `escalating`: a
    stage of the cascade has not answered yet. The others are final. `unobserved`: what happened
    can't be known well enough; `unscored`: no stage decided it. `masked`: sealed, but None in this
    view, which masks its cause."""

    reward: float | None
    """What the step was worth. None is not zero: leave such a step out of the loss."""

    mask: bool
    reason: str | None
    """Why the reward is not known, or is no more than a penalty that was observed."""

    components: Mapping[str, float | None]
    """What each component was credited with; None where that is not known."""

    milestones: tuple[Milestone, ...]
    verdicts: tuple[Verdict, ...]
    """One of each stage that was asked."""

    decided_by: str | None
    """The stage that decided the step."""

    done: bool
    """Whether the episode ended with this step."""

    success: bool | None
    """Whether the goals were reached; None while the episode is open, and where it is not known."""

    through: int
    """The number of the event that sealed the step; while it is not sealed, of the log's last."""

    digest: str
    """Of the task, the versions of the rules and the engine."""

    objectives: Mapping[str, float | None] | None = None
    """What the step adds to each objective of the task, beside the reward; None where the rules do
    not know it, and as a whole where the task has none or the step is not sealed."""

    credit: float | None = None
    """What the view credits to the step; None while the episode is not closed, and where the reward
    is."""

    siblings: SiblingCredit | None = None
    """What the view `siblings` estimated the credit from; of other views None."""


@dataclass(frozen=True, slots=True)
class Advanced(NotedBase):
    """The step that began, and the reward of the step before it."""

    command: int | None
    """Its number in the service's queue; None where it was in the log already."""

    step: int | None
    """The step that it belongs to; None before step 0."""

    reward: Reward
    """The reward of the step that ended; ask again while it is `settling` or `escalating`."""

    seq: int | None = None
    """The number of its event in the log; None while it is queued."""

    status: Literal["queued"] | None = None


@dataclass(frozen=True, slots=True)
class Sealed:
    """The step that ended, and its reward."""

    command: int | None
    """Its number in the service's queue; None where it was in the log already."""

    step: int | None
    """The step that it belongs to; None before step 0."""

    reward: Reward
    """Its reward; ask again while it is `settling` or `escalating`."""

    seq: int | None = None
    """The number of its event in the log; None while it is queued."""

    status: Literal["queued"] | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """How an episode ended, or that it is still closing."""

    episode: str
    status: Literal["closing", "closed"]
    success: bool | None = None
    """Whether the goals were reached; None where it is not known."""

    total: float | None = None
    """The sum of all rewards; None where one of them is not known."""

    last_step: int | None = None
    rewards: tuple[Reward, ...] = ()
    """Of all steps, in order; empty while it is closing."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One step as a learner wants it: (o, a, r, o')."""

    step: int
    action: Json
    observation: JsonObject
    next_observation: JsonObject | None
    """None while the step is open."""

    reward: Reward | None
    """None while the step is open."""

    credit: float | None
    """The reward's number, or what the view `credit_to` credits to the step."""

    first: int
    """The number of the step's first event."""

    last: int
    """The number of the step's last event."""

    done: bool
    """Whether the episode ended with this step."""

    siblings: SiblingCredit | None = None
    """What the view `siblings` estimated the credit from; of other views None."""

    shaping: StepShaping | None = None
    """What `shape_by` adds to the step; None without it."""
