"""What the audit's routes answer, as models; a test holds that answers have these shapes."""

from __future__ import annotations

from typing import Literal

from api.http.support import AnswerShape
from api.labelling.ratings import VersionRatingShape


class ExplanationShape(AnswerShape):
    """Why a step was worth what it was.

    `milestones` have what the task declares and the events that are the evidence; `edge` is what
    the daemon had computed, a hint; `signed` the closed episode's statement and checkpoints."""

    episode: str
    step: int
    task: dict[str, object]
    ruleset: str
    labels: dict[str, object]
    opened: dict[str, object]
    began: int | None
    ended: int | None
    reward: dict[str, object]
    milestones: list[dict[str, object]]
    verdicts: list[dict[str, object]]
    said: list[dict[str, object]]
    edge: dict[str, object] | None
    signed: dict[str, object] | None


class DifferenceShape(AnswerShape):
    """One thing that is stored otherwise than the log or a signature says."""

    episode: str
    what: str
    found: str
    wanted: str


class VerificationShape(AnswerShape):
    """An episode recomputed from its segments and its task. `key` is what signatures were checked
    with."""

    episode: str
    verified: bool
    events: int
    rewards: int
    key: str
    differences: list[DifferenceShape]


class CheckpointsShape(AnswerShape):
    """Signed notes, the oldest first, and the key that signs them."""

    key: str
    checkpoints: list[str]


class HealthShape(AnswerShape):
    """Counts of each policy version in the order of their first episodes, and the alarms."""

    selection: dict[str, str]
    label: str
    versions: list[dict[str, object]]
    alarms: list[dict[str, str]]
    starts: list[dict[str, object]]
    """Of the selected episodes' tasks, the starts that are unlike the others or not expected."""


class EstimateShape(AnswerShape):
    """A figure with its 95 % interval; null where too little is known to give one."""

    value: float | None
    low: float | None
    high: float | None


class ActionsShape(AnswerShape):
    """Shares of the steps that earned (reward above 0), were idle (0) and were wrong (below 0), of
    `known_steps`; `unknown_steps` have no known reward."""

    earned: float | None
    idle: float | None
    wrong: float | None
    known_steps: int
    unknown_steps: int


class TriesShape(AnswerShape):
    """Means over the `tasks` with at least `k` episodes whose success is known: of the chance that
    `any` of k episodes succeeds (pass@k), and that `all` do (consistency)."""

    k: int
    tasks: int
    any: EstimateShape
    all: EstimateShape


class PolicyEvaluationShape(AnswerShape):
    """Closed episodes of one version, or of one value of the `split` label.

    `success` is of the `known` episodes whose success is known; `reward` is the mean share of what
    tasks can give, of episodes whose total is known."""

    version: str
    split: str | None
    episodes: int
    known: int
    success: EstimateShape
    reward: EstimateShape
    actions: ActionsShape
    pass_at: list[TriesShape]


class EvaluationShape(AnswerShape):
    """How good each policy version is, in the order of their first episodes, and which one people
    preferred, the best first."""

    selection: dict[str, str]
    label: str
    split: str | None
    versions: list[PolicyEvaluationShape]
    guided_left_out: int
    """Closed episodes that are not counted, as hints were given in them."""
    preferred: list[VersionRatingShape]


class ReportShape(AnswerShape):
    """A report over the selected episodes."""

    selection: dict[str, str]
    episodes: dict[Literal["open", "closing", "closed"], int]
    totals: dict[str, float]
    tasks: list[dict[str, object]]
    masks: list[dict[str, object]]
    tamper: list[dict[str, object]]
    edge: list[dict[str, object]]
    starts: list[dict[str, object]]
    """Starts that are unlike the others of their task, of all its closed episodes."""
    health: dict[str, object]
    evaluation: dict[str, object]
