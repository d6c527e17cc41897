"""Group scoring of the Open Reward Standard: `/ors/{environment}/score_group`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from api.http.adapters.ors import (
    STREAMED,
    KeyedStream,
    OpenRewardPart,
    SessionPart,
    Trainer,
)
from api.http.json_route import JsonRoute
from api.http.support import Body
from api.ors.groups import Candidate, identify_group
from api.ors.streaming import stream_call

MAX_CANDIDATES = 256
router = APIRouter(prefix="/ors", tags=["adapters"], route_class=JsonRoute)


class CandidateMessage(BaseModel):
    """A turn of a candidate. Of its blocks the texts are read."""

    model_config = ConfigDict(extra="ignore")

    role: Annotated[str, Field(max_length=64)]
    blocks: Annotated[list[dict[str, object]], Field(default_factory=list)]


class CandidateMetadata(BaseModel):
    """The trainer's own. `episode`: what `metadata.episode` of a tool call's answer names."""

    model_config = ConfigDict(extra="allow")

    episode: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class CandidateBody(Body):
    """One rollout of the session's task: its episode, or else its final answer alone."""

    messages: list[CandidateMessage]
    metadata: CandidateMetadata | None = None

    def candidate(self) -> Candidate:
        """Return it as it is scored; the answer is the text of the last message of the agent."""
        spoken = [message for message in self.messages if message.role == "assistant"]
        texts = [block.get("text") for block in spoken[-1].blocks] if spoken else []
        answer = "".join(text for text in texts if isinstance(text, str))
        if self.metadata is None:
            return Candidate(None, answer, None)
        sent = self.metadata.model_dump(exclude_unset=True)
        return Candidate(self.metadata.episode, answer, sent)


class GroupOfCandidates(Body):
    """Candidates, or (``task_id``) the same ones again whose stream was lost."""

    candidates: Annotated[list[CandidateBody], Field(max_length=MAX_CANDIDATES)]
    task_id: Annotated[str, Field(max_length=64)] | None = None


@router.post(
    "/{environment}/score_group", summary="Open Reward Standard: score a group", **STREAMED
)
async def score_group(
    _who: Trainer,
    session: SessionPart,
    parts: OpenRewardPart,
    sent: GroupOfCandidates,
    stream: KeyedStream,
) -> Response:
    """The candidates compared, as a stream. A score's `reward` is the share of the other known
    candidates that it is better than, from 0 to 1, or null, and `metadata` says why."""
    candidates = [body.candidate() for body in sent.candidates]
    id = identify_group(session, candidates)

    async def body() -> AsyncIterator[bytes]:
        """Stream the scoring of a group under its id, or that of a call which runs already."""
        if sent.task_id not in (None, id):
            async for event in stream_call(id, None):
                yield event
            return
        scoring = asyncio.create_task(parts.groups.score(session, id, candidates))
        try:
            async for event in stream_call(id, scoring):
                yield event
        finally:  # whoever comes back has it scored again: what was begun goes on
            scoring.cancel()

    return stream.response(body())
