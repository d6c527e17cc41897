"""Recordings in the body of a request: inline, or a stored episode's."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Request
from pydantic import Field, model_validator

from api.auth.store import Principal
from api.core.errors import ForbiddenError
from api.core.settings import Limits
from api.episodes.store import Episodes
from api.http.support import READ, Body, parts_of
from api.log.segments import StoredSegments
from api.proposal.requested import MAX_EVENTS, RequestedRecording
from api.replay.task_tests import BadTestError
from detectors.model.json_value import JsonObject
from detectors.model.optional_values import entries_without_none

FRAMES = 2
"""How many times the largest size of a segment all recordings of a request may have."""


class SentRecording(Body):
    """A recorded run, inline as in a task's tests: ``frames`` is a .mrec file in base64, ``lines``
    the text of a .jsonl file; or ``episode``, the id of a closed one of the service. One of
    these."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]*$")]
    outcome: Literal["good", "bad"]
    frames: str | None = None
    lines: str | None = None
    episode: Annotated[str, Field(max_length=200)] | None = None

    @model_validator(mode="after")
    def check_content(self) -> SentRecording:
        """Refuse a recording with no content, or with two."""
        if sum(one is not None for one in (self.frames, self.lines, self.episode)) != 1:
            raise ValueError("expected one of frames, lines and episode")
        return self


@dataclass(frozen=True, slots=True)
class EpisodeRecordings:
    """What reads the recordings of stored episodes for one caller."""

    who: Principal
    episodes: Episodes
    segments: StoredSegments
    limits: Limits

    async def as_request(
        self, recordings: Sequence[SentRecording], instructions: Sequence[str | None]
    ) -> list[RequestedRecording]:
        """Return recordings as the process that reads them has them; ``instructions``: what the
        agent was told in each. Raises `BadTestError`, `ForbiddenError` for a token that may not
        read episodes, and `NotFoundError`."""
        left = FRAMES * self.limits.frame_bytes
        found: list[RequestedRecording] = []
        for n, (one, instruction) in enumerate(zip(recordings, instructions, strict=True)):
            texts = {"frames": one.frames, "lines": one.lines}
            content: JsonObject = entries_without_none(texts)
            if one.episode is not None:
                where = f"recordings[{n}].episode"
                frames = await self._read(one.episode, where, left)
                left -= len(frames)
                content = {"frames": base64.b64encode(frames).decode()}
            found.append(
                {
                    "name": one.name,
                    "outcome": one.outcome,
                    "content": content,
                    "instruction": instruction,
                }
            )
        return found

    async def _read(self, episode: str, where: str, most: int) -> bytes:
        """Return the frames of a closed episode, at most so many bytes."""
        if self.who.scope not in READ:
            raise ForbiddenError(
                f"{where}: the token's scope is {self.who.scope}, wanted one of"
                f" {', '.join(sorted(READ))}: it reads an episode"
            )
        await self.episodes.owned(self.who.tenant, episode)
        row = await self.episodes.get(episode)
        if row.status != "closed":
            raise BadTestError(where, row.status, "a closed episode")
        if row.through > MAX_EVENTS:
            raise BadTestError(where, row.through, f"at most {MAX_EVENTS} events")
        frames = bytearray()
        async for frame in self.segments.frames(episode):
            frames += frame
            if len(frames) > most:
                most_of_all = FRAMES * self.limits.frame_bytes
                raise BadTestError(
                    where, episode, f"at most {most_of_all} bytes of episodes in all"
                )
        await self.episodes.get(episode)  # else it was deleted, and this may be a part of it
        return bytes(frames)


@dataclass(frozen=True, slots=True)
class StoredRecordings:
    """What the recordings of stored episodes are read with."""

    episodes: Episodes
    segments: StoredSegments
    limits: Limits

    def read_for(self, who: Principal) -> EpisodeRecordings:
        """Return what reads them for one caller."""
        return EpisodeRecordings(who, self.episodes, self.segments, self.limits)


def _stored_recordings(request: Request) -> StoredRecordings:
    parts = parts_of(request)
    return StoredRecordings(parts.episodes, parts.segments, parts.settings.limits)


StoredRecordingsPart = Annotated[StoredRecordings, Depends(_stored_recordings)]
