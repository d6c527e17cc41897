"""Tasks that are proposed from recordings."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from api.auth.store import Principal
from api.core.errors import InvalidError
from api.http.answer_shapes import ConfirmationShape, ProposalShape
from api.http.authorization import requires
from api.http.dependencies import LimitsPart, ProposerPart
from api.http.describe import problems, takes
from api.http.sent_recordings import FRAMES, EpisodeRecordings, SentRecording, StoredRecordingsPart
from api.http.support import AUTHOR, Body, answer, parse_body, read_body
from api.proposal.apart import ApartProposer
from api.proposal.requested import (
    ConfirmationRequest,
    ProposalRequest,
    RequestedConfirmation,
    RequestedProposal,
)
from api.replay.task_tests import BadTestError

router = APIRouter(tags=["tasks"])
MAX_RECORDINGS = 20
TEXT = r"^[^\x00]*$"


class ProposalRecording(SentRecording):
    """A recorded run, with what the agent was told in it where it is of a template."""

    instruction: Annotated[str, Field(min_length=1, max_length=10_000, pattern=TEXT)] | None = None
    """What the agent was told in it, of recordings of several instances of a template; then each
    recording says so."""


class ProposeTask(Body):
    """Recordings of successes and failures, and what the agent was told: where the recordings have
    instructions of their own, the template of these with slots such as ``{amount}``; empty, it is
    found."""

    recordings: Annotated[list[ProposalRecording], Field(min_length=1, max_length=MAX_RECORDINGS)]
    instruction: Annotated[str, Field(max_length=10_000, pattern=TEXT)] = ""
    id: Annotated[str, Field(min_length=1, max_length=512)] = "proposal"
    origin: Annotated[str, Field(max_length=2_000)] | None = None
    """The site; by default where most pages were opened."""


class ConfirmDraft(Body):
    """A drafted task file, and the recordings that are to confirm it: each success has to reach its
    goal, and no failure."""

    draft: Annotated[str, Field(min_length=1)]
    recordings: Annotated[list[SentRecording], Field(min_length=1, max_length=MAX_RECORDINGS)]


async def _read_content(
    request: Request, who: Annotated[Principal, requires(AUTHOR)], limits: LimitsPart
) -> bytes:
    """Read a request, which is larger than other bodies may be."""
    return await read_body(request, FRAMES * limits.frame_bytes)


@router.post(
    "/v1/tasks:propose",
    summary="Propose a task from recordings",
    response_model=ProposalShape,
    responses=problems(401, 403, 404, 413, 422, 500),
    openapi_extra=takes(ProposeTask),
)
async def propose(
    who: Annotated[Principal, requires(AUTHOR)],
    content: Annotated[bytes, Depends(_read_content)],
    proposer: ProposerPart,
    stored: StoredRecordingsPart,
) -> Response:
    """Make a task file of what recorded successes share and failures lack, as `milestoned task
    propose` does: with a template's slots where the recordings say what the agent was told in each,
    and with the recordings as its tests, by their names. Nothing is stored: a read, so it may be
    repeated."""
    recordings = stored.read_for(who)
    return answer(dict(await propose_requested(proposer, recordings, content)))


async def propose_requested(
    proposer: ApartProposer, recordings: EpisodeRecordings, content: bytes
) -> RequestedProposal:
    """Return the proposal that a request's body asks for. Raises `InvalidError`,
    `ProposerCrashError`, and what reading an episode does."""
    body = await asyncio.to_thread(parse_body, ProposeTask, content)
    told = [one.instruction for one in body.recordings]
    try:
        request: ProposalRequest = {
            "recordings": await recordings.as_request(body.recordings, told),
            "instruction": body.instruction,
            "id": body.id,
            "origin": body.origin,
        }
        return await proposer.propose(recordings.who.tenant, request)
    except BadTestError as error:
        raise InvalidError(str(error)[:1_000], errors=[error.as_problem()]) from None


@router.post(
    "/v1/tasks:confirm",
    summary="Confirm a drafted task by recordings",
    response_model=ConfirmationShape,
    responses=problems(401, 403, 404, 413, 422, 500),
    openapi_extra=takes(ConfirmDraft),
)
async def confirm(
    who: Annotated[Principal, requires(AUTHOR)],
    content: Annotated[bytes, Depends(_read_content)],
    proposer: ProposerPart,
    stored: StoredRecordingsPart,
) -> Response:
    """Hold a draft against recordings, as `milestoned task propose --draft` does. What all
    successes reached stays; the task is no draft any more, and has the recordings as its tests. A
    recording that does not confirm it is named. Nothing is stored: a read, so it may be
    repeated."""
    recordings = stored.read_for(who)
    return answer(dict(await confirm_requested(proposer, recordings, content)))


async def confirm_requested(
    proposer: ApartProposer, recordings: EpisodeRecordings, content: bytes
) -> RequestedConfirmation:
    """Return the confirmed task that a request's body asks for. Raises as `propose_requested`."""
    body = await asyncio.to_thread(parse_body, ConfirmDraft, content)
    size = len(body.draft.encode("utf-8", "replace"))
    most = recordings.limits.task_bytes
    try:
        if size > most:
            raise BadTestError("draft", f"{size} bytes", f"at most {most}")
        told = [None] * len(body.recordings)
        request: ConfirmationRequest = {
            "draft": body.draft,
            "recordings": await recordings.as_request(body.recordings, told),
        }
        return await proposer.confirm(recordings.who.tenant, request)
    except BadTestError as error:
        raise InvalidError(str(error)[:1_000], errors=[error.as_problem()]) from None
