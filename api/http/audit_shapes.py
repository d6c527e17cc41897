"""What the audit's routes answer, as models; a test holds that answers have these shapes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel


class ExplanationShape(BaseModel):
    """Why a step was worth what it was.

    `milestones` have what the task declares and the events that are the evidence; `edge` is what
    the daemon had computed, a hint; `signed` the closed episode's statement and checkpoints."""

    episode: str
    step: int
    task: dict[str, Any]
    ruleset: str
    labels: dict[str, Any]
    opened: dict[str, Any]
    began: int | None
    ended: int | None
    reward: dict[str, Any]
    milestones: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]
    said: list[dict[str, Any]]
    edge: dict[str, Any] | None
    signed: dict[str, Any] | None


class DifferenceShape(BaseModel):
    """One thing that is stored otherwise than the log or a signature says."""

    episode: str
    what: str
    found: str
    wanted: str


class VerificationShape(BaseModel):
    """An episode recomputed from its segments and its task. `key` is what signatures were checked
    with."""

    episode: str
    verified: bool
    events: int
    rewards: int
    key: str
    differences: list[DifferenceShape]


class CheckpointsShape(BaseModel):
    """Signed notes, the oldest first, and the key that signs them."""

    key: str
    checkpoints: list[str]


class HealthShape(BaseModel):
    """Counts of each policy version in the order of their first episodes, and the alarms."""

    selection: dict[str, str]
    label: str
    versions: list[dict[str, Any]]
    alarms: list[dict[str, str]]


class ReportShape(BaseModel):
    """A report over the selected episodes."""

    selection: dict[str, str]
    episodes: dict[Literal["open", "closing", "closed"], int]
    totals: dict[str, float]
    tasks: list[dict[str, Any]]
    masks: list[dict[str, Any]]
    tamper: list[dict[str, Any]]
    edge: list[dict[str, Any]]
    health: dict[str, Any]
