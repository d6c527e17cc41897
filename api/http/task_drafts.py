"""Tasks that are drafted from an instruction alone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from api.auth.store import Principal
from api.core.errors import ConflictError, InvalidError, UnavailableError
from api.http.answer_shapes import TaskDraftShape
from api.http.authorization import requires
from api.http.dependencies import JudgePart
from api.http.describe import problems
from api.http.draft_gate import DraftGate, DraftGatePart
from api.http.json_route import JsonRoute
from api.http.support import AUTHOR, Body, answer, bad_task
from api.proposal.drafting import TaskDraftError, draft_at_judge, find_named_origin
from api.proposal.tested_task import check_head
from api.proposal.writing import TaskHead
from api.stages.judge.judge import Judge
from api.stages.peer import RefusedError, UnreachableError
from api.tasks.task_files import BadTaskError

router = APIRouter(tags=["tasks"], route_class=JsonRoute)


class DraftTask(Body):
    """What an agent is told to do, and the task's id."""

    instruction: Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")]
    id: Annotated[str, Field(min_length=1, max_length=512)] = "draft"
    origin: Annotated[str, Field(max_length=2_000)] | None = None
    """The site; by default the one that the instruction names with its whole address."""


@router.post(
    "/v1/tasks:draft",
    summary="Draft a task from an instruction",
    response_model=TaskDraftShape,
    responses=problems(401, 403, 409, 413, 422, 503),
)
async def draft(
    who: Annotated[Principal, requires(AUTHOR)],
    judge: JudgePart,
    gate: DraftGatePart,
    body: DraftTask,
) -> Response:
    """Have the judge's endpoint write milestones for an instruction, as `milestoned task propose
    --instruction` does. It is a draft, marked as one until recordings confirm it: nothing is
    stored. How often a tenant may ask is bounded (`serve --drafts-per-hour`), and what it takes is
    charged to the tenant's and the day's budget (`serve --budget`)."""
    return answer(await draft_requested(judge, gate, who.tenant, body))


async def draft_requested(
    judge: Judge | None, gate: DraftGate, tenant: str, body: DraftTask
) -> dict[str, str]:
    """Return the drafted task file and who wrote it. Raises `InvalidError`, `ConflictError` where
    there is no judge or a budget is spent, `TooManyError` where the tenant has asked for an hour's
    worth, and `UnavailableError` where the endpoint can't be asked."""
    origin = body.origin or find_named_origin(body.instruction)
    head = TaskHead(body.id, body.instruction, origin)
    try:
        check_head(head)
    except BadTaskError as error:
        raise bad_task(error) from None
    if judge is None:
        raise ConflictError("draft: the service has no judge that writes it; start it with --judge")
    try:
        async with gate.admit(tenant, judge.settings) as bill:
            text = await draft_at_judge(judge.settings, head, bill)
    except TaskDraftError as error:
        raise InvalidError(f"instruction: no task can be drafted from it: {error}") from None
    except (UnreachableError, RefusedError) as error:
        raise UnavailableError(f"draft: the judge's endpoint can't be asked: {error}") from None
    return {"yaml": text, "status": "draft", "by": judge.settings.model}
