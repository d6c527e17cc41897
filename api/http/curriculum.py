"""What to train on next: each task's progress under a policy, and its sampling weight."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel

from api.auth.store import Principal
from api.http.authorization import requires
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.parameters import DIGITS
from api.http.support import READ, answer, parts_of
from api.rewards.curriculum import Curriculum, TaskProgressShape

router = APIRouter(tags=["tasks"], route_class=JsonRoute)
MAX_WINDOW = 10_000


class CurriculumShape(BaseModel):
    """The latest version of every task, in the order of registration."""

    tasks: list[TaskProgressShape]


async def _curriculum(request: Request) -> Curriculum:
    return parts_of(request).curriculum


@router.get(
    "/v1/curriculum",
    summary="Progress and sampling weight of each task",
    response_model=CurriculumShape,
    responses=problems(401, 403, 422),
)
async def read_curriculum(
    who: Annotated[Principal, requires(READ)],
    curriculum: Annotated[Curriculum, Depends(_curriculum)],
    policy: Annotated[
        str | None, Query(max_length=1_024, description="The value of the label `policy`.")
    ] = None,
    group: Annotated[
        str, Query(max_length=128, description="The label whose value names an episode's group.")
    ] = "group",
    window: Annotated[
        int, Query(ge=1, le=MAX_WINDOW, description="Of each task its newest episodes."), DIGITS
    ] = 200,
    guided: Annotated[bool, Query(description="Also episodes in which hints were given.")] = False,
) -> Response:
    """Read how a policy does on each task, and how likely the task should come next."""
    progress = await curriculum.read(who.tenant, policy, group, window, guided=guided)
    return answer({"tasks": [task.model_dump() for task in progress]})
