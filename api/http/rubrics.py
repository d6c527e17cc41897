"""Rubrics that are drafted from an instruction."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from api.auth.store import Principal
from api.core.errors import ConflictError, InvalidError, UnavailableError
from api.http.answer_shapes import RubricDraftShape
from api.http.authorization import requires
from api.http.dependencies import JudgePart
from api.http.describe import problems
from api.http.draft_gate import DraftGatePart
from api.http.json_route import JsonRoute
from api.http.support import AUTHOR, Body, answer
from api.stages.judge.drafting import DraftError, draft_rubric
from api.stages.peer import RefusedError, UnreachableError

router = APIRouter(tags=["tasks"], route_class=JsonRoute)


class DraftRubric(Body):
    """The instruction of a task that is to be judged."""

    instruction: Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")]


@router.post(
    "/v1/rubrics:draft",
    summary="Draft a rubric",
    response_model=RubricDraftShape,
    responses=problems(401, 403, 409, 413, 422, 503),
)
async def draft(
    who: Annotated[Principal, requires(AUTHOR)],
    judge: JudgePart,
    gate: DraftGatePart,
    body: DraftRubric,
) -> Response:
    """Have the judge's endpoint propose criteria for an instruction, taken apart by code: outcome
    and process, what the agent can help and what it can't, none that says what another says. It is
    a draft: nothing is stored, and no task uses it before somebody registers it in one. How often a
    tenant may ask is bounded (`serve --drafts-per-hour`), and what it takes is charged to the
    tenant's and the day's budget (`serve --budget`)."""
    if judge is None:
        raise ConflictError("rubric: the service has no judge; start it with --judge")
    settings = judge.settings
    try:
        async with gate.admit(who.tenant, settings) as bill:
            found = await draft_rubric(judge.endpoint, settings.model, body.instruction, bill)
    except DraftError as error:
        raise InvalidError(f"instruction: no rubric can be drafted from it: {error}") from None
    except (UnreachableError, RefusedError) as error:
        raise UnavailableError(f"rubric: the judge's endpoint can't be asked: {error}") from None
    return answer(dict(found.as_json()))
