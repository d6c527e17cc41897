"""Tasks that are proposed from recordings."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field, model_validator

from api.auth.store import Principal
from api.core.errors import InvalidError
from api.http.answer_shapes import ProposalShape
from api.http.authorization import requires
from api.http.dependencies import LimitsPart, ProposerPart
from api.http.describe import problems, takes
from api.http.support import AUTHOR, Body, answer, parse_body, read_body
from api.proposal.apart import ApartProposer
from api.proposal.requested import ProposalRequest, RequestedProposal
from api.replay.task_tests import BadTestError

router = APIRouter(tags=["tasks"])
MAX_RECORDINGS = 20
TEXT = r"^[^\x00]*$"
FRAMES = 2
"""How many times the largest size of a segment a request may have."""


class ProposalRecording(Body):
    """A recorded run, inline as in a task's tests: ``frames`` is a .mrec file in base64, ``lines``
    the text of a .jsonl file; one of both."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]*$")]
    outcome: Literal["good", "bad"]
    frames: str | None = None
    lines: str | None = None
    instruction: Annotated[str, Field(min_length=1, max_length=10_000, pattern=TEXT)] | None = None
    """What the agent was told in it, of recordings of several instances of a template; then each
    recording says so."""

    @model_validator(mode="after")
    def check_content(self) -> ProposalRecording:
        """Refuse a recording with no content, or with two."""
        if (self.frames is None) == (self.lines is None):
            raise ValueError("expected either frames or lines")
        return self


class ProposeTask(Body):
    """Recordings of successes and failures, and what the agent was told: where the recordings have
    instructions of their own, the template of these with slots such as ``{amount}``; empty, it is
    found."""

    recordings: Annotated[list[ProposalRecording], Field(min_length=1, max_length=MAX_RECORDINGS)]
    instruction: Annotated[str, Field(max_length=10_000, pattern=TEXT)] = ""
    id: Annotated[str, Field(min_length=1, max_length=512)] = "proposal"
    origin: Annotated[str, Field(max_length=2_000)] | None = None
    """The site; by default where most pages were opened."""


async def _read_content(
    request: Request, who: Annotated[Principal, requires(AUTHOR)], limits: LimitsPart
) -> bytes:
    """Read a request, which is larger than other bodies may be."""
    return await read_body(request, FRAMES * limits.frame_bytes)


@router.post(
    "/v1/tasks:propose",
    summary="Propose a task from recordings",
    response_model=ProposalShape,
    responses=problems(401, 403, 413, 422, 500),
    openapi_extra=takes(ProposeTask),
)
async def propose(
    who: Annotated[Principal, requires(AUTHOR)],
    content: Annotated[bytes, Depends(_read_content)],
    proposer: ProposerPart,
) -> Response:
    """Make a task file of what recorded successes share and failures lack, as `milestoned task
    propose` does: with a template's slots where the recordings say what the agent was told in each,
    and with the recordings as its tests, by their names. Nothing is stored: a read, so it may be
    repeated."""
    return answer(dict(await propose_requested(proposer, who.tenant, content)))


async def propose_requested(
    proposer: ApartProposer, tenant: str, content: bytes
) -> RequestedProposal:
    """Return the proposal that a request's body asks for. Raises `InvalidError`,
    and `ProposerCrashError`."""
    body = await asyncio.to_thread(parse_body, ProposeTask, content)
    request = {
        "recordings": [
            {
                "name": one.name,
                "outcome": one.outcome,
                "content": {
                    key: text
                    for key, text in (("frames", one.frames), ("lines", one.lines))
                    if text is not None
                },
                "instruction": one.instruction,
            }
            for one in body.recordings
        ],
        "instruction": body.instruction,
        "id": body.id,
        "origin": body.origin,
    }
    try:
        return await proposer.propose(tenant, cast(ProposalRequest, request))
    except BadTestError as error:
        raise InvalidError(str(error)[:1_000], errors=[error.as_problem()]) from None
