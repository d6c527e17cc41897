"""What rescores take and give on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from api.http.shapes import Label, LabelName
from api.http.support import AnswerShape, Body

Id = Annotated[str, Field(min_length=1, max_length=64)]
TaskId = Annotated[str, Field(min_length=1, max_length=512)]
Version = Annotated[str, Field(min_length=1, max_length=256)]


class Select(Body):
    """Closed episodes: all conditions that are given must hold; with none, all of the tenant."""

    episodes: Annotated[list[Id], Field(min_length=1, max_length=10_000)] | None = None
    task: TaskId | None = None
    version: Version | None = None
    digest: Id | None = None
    labels: Annotated[dict[LabelName, Label], Field(default_factory=dict, max_length=64)]


class Rescore(Body):
    """Score stored episodes again: by `task` (as `POST /v1/tasks` takes it; it need not be
    registered), by the `registered` version of a task, or with neither each by its own task under
    this build's rules. A task without a `select.task` scores the episodes of its own id."""

    task: dict[str, object] | None = None
    registered: TaskVersion | None = None
    select: Select = Field(default_factory=lambda: Select(labels={}))


class TaskVersion(Body):
    """A registered task, of its latest version by default."""

    id: TaskId
    version: Version | None = None


class RescoreShape(AnswerShape):
    """A rescore: how far it is, and what it found so far. `scored` counts the episodes that are
    finished."""

    rescore: str
    status: Literal["queued", "running", "done"]
    episodes: int
    scored: int
    created_at: str
    finished_at: str | None
    request: dict[str, object]
    summary: RescoreSummaryShape


class RescoreSummaryShape(AnswerShape):
    """Counts of episodes by status; the pairs of rulesets (old, new) of those that changed; for
    each milestone how often it was gained, lost, changed or moved."""

    episodes: int
    same: int
    changed: int
    scored: int
    failed: int
    rulesets: list[list[str]]
    milestones: dict[str, dict[str, int]]


class RescoresShape(AnswerShape):
    """The latest rescores, newest first."""

    rescores: list[RescoreShape]


class RescoredShape(AnswerShape):
    """One episode's new result beside the old one, which stays; `differences` by step and
    milestone, and the events that speak for either side. `result` is the new one, whole."""

    number: int
    name: str
    content: str
    status: Literal["same", "changed", "failed"]
    episode: str | None
    old: dict[str, object] | None
    new: dict[str, object] | None
    differences: dict[str, object] | None
    evidence: dict[str, str] | None
    error: str | None
    result: dict[str, object] | None


class RescoredPageShape(AnswerShape):
    """A page of finished episodes. `next` is the `after` of the next page, null where there is none
    yet."""

    episodes: list[RescoredShape]
    next: int | None


Rescore.model_rebuild()
RescoreShape.model_rebuild()
