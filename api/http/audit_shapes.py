"""What the audit's routes answer, as models; a test holds that answers have these shapes."""

from __future__ import annotations

from typing import Literal

from api.http.support import AnswerShape


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


class ReportShape(AnswerShape):
    """A report over the selected episodes."""

    selection: dict[str, str]
    episodes: dict[Literal["open", "closing", "closed"], int]
    totals: dict[str, float]
    tasks: list[dict[str, object]]
    masks: list[dict[str, object]]
    tamper: list[dict[str, object]]
    edge: list[dict[str, object]]
    health: dict[str, object]
