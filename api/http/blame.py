"""Why an episode failed, and each of its steps."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response

from api.blame.signs import Cause
from api.http.authorization import requires
from api.http.dependencies import BlamesPart, EpisodesPart
from api.http.describe import problems
from api.http.parameters import EpisodeId
from api.http.support import READ, AnswerShape, answer

router = APIRouter(tags=["evidence"])


class StepBlameShape(AnswerShape):
    """Why a step failed."""

    step: int
    cause: Cause | None
    """Null where it did not fail, or is not complete."""
    reason: str | None
    evidence: list[int]
    """The numbers of the events that show it."""
    at_first_contact: bool
    """Whether the site had answered nothing before, so that the agent can't have provoked it."""


class FirstFailureShape(AnswerShape):
    """Where an episode first went wrong."""

    step: int | None
    """Null before the first step."""
    event: int


class BlameShape(AnswerShape):
    """Why an episode failed. `cause` is null while it is open, and where it did not fail."""

    episode: str
    through: int
    """The number of the log's last event that this was read from."""
    cause: Cause | None
    decided_by: Literal["events", "agent", "task", "judge"] | None
    """`agent`: it rests on nothing but the agent's own word; `task`: on that and on what the task
    declares; `judge`: the events left it open, and a judge has proven it."""
    reason: str | None
    evidence: list[int]
    """The numbers of the events that show it."""
    at_first_contact: bool
    """Whether the site had answered nothing before, so that the agent can't have provoked it."""
    first_failure: FirstFailureShape | None
    steps: list[StepBlameShape]


@router.get(
    "/v1/episodes/{episode}/blame",
    summary="Why an episode failed",
    response_model=BlameShape,
    responses=problems(401, 403, 404, 422),
    dependencies=[requires(READ)],
)
async def blame(episode: EpisodeId, episodes: EpisodesPart, blames: BlamesPart) -> Response:
    """The cause of the failure of an episode, and of each of its steps: a pure function of the log,
    its sealed rewards and, where the task has a judge asked (`escalate: [cause]`), of what that has
    said. `unknown` where none of them decides it."""
    row = await episodes.get(episode)
    found = await blames.of_episode(row)
    return answer({"episode": row.id, "through": row.through, **found})
