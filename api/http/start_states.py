"""How an episode began, beside the other episodes of its task."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from api.http.authorization import requires
from api.http.dependencies import EpisodesPart
from api.http.describe import problems
from api.http.parameters import EpisodeId
from api.http.support import READ, AnswerShape, answer, parts_of
from api.start_states.comparison import Difference
from api.start_states.facts import Part
from api.start_states.store import StartGuard

router = APIRouter(tags=["evidence"])


async def _guard(request: Request) -> StartGuard:
    return parts_of(request).start_guard


class StartFindingShape(AnswerShape):
    """One fact by which an episode began unlike the others of its task, or unlike its `start`."""

    part: Part
    difference: Difference
    """`extra`: it had what others had not; `missing`; `changed`: others had another content;
    `other`: the part has too many facts to name one."""
    name: str | None
    """Such as the path of a file below its watched folder."""
    agree: int | None
    """How many others began otherwise; null, as `others`, where the task expects another start."""
    others: int | None
    text: str


class StartShape(AnswerShape):
    """How an episode began: the tabs, files, answers of probes and windows before its first
    step."""

    episode: str
    digest: str | None
    """Of all that stood; null before the first step."""
    facts: dict[str, object] | None
    """Part → its digest, the count of its facts and, of at most 500, these by name."""
    others: int
    """With how many closed episodes of the same version of the task it was compared."""
    refused: bool
    """The task refuses such a start (`on_mismatch: refuse`): no step of the episode is known."""
    findings: list[StartFindingShape]


@router.get(
    "/v1/episodes/{episode}/start",
    summary="How an episode began",
    response_model=StartShape,
    responses=problems(401, 403, 404, 422),
    dependencies=[requires(READ)],
)
async def start(
    episode: EpisodeId, episodes: EpisodesPart, guard: Annotated[StartGuard, Depends(_guard)]
) -> Response:
    """How an episode began, and what of that is unlike the closed episodes of the same version of
    its task. Later episodes may change the comparison; the facts are the log's."""
    row = await episodes.get(episode)
    return answer({"episode": row.id, **await guard.of_episode(row)})
