"""Reads an episode's log back for people and programs: pages of events, all events. Streams:
api/live/streams.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson

from api.log.frames import decode_frame
from api.log.segments import StoredSegments
from common.frames import unpack
from detectors.model.types import Event

_SEGMENTS_A_LOOK = 16
_SEGMENTS_A_PAGE = 256


def event_to_json(event: Event) -> dict[str, object]:
    """An event as the wire has it."""
    return {
        "seq": event.seq,
        "at": event.at,
        "source": event.source,
        "kind": event.kind,
        "data": event.data,
    }


def _last_at(frame: bytes) -> int:
    text = unpack(frame).rstrip(b"\n")
    _, at, *_ = orjson.loads(text[text.rfind(b"\n") + 1 :])
    return int(at)


class Follower:
    """Reads logs back."""

    def __init__(self, segments: StoredSegments) -> None:
        self._segments = segments

    async def page(
        self, episode: str, after: int, limit: int, kinds: frozenset[str]
    ) -> tuple[list[dict[str, Any]], int | None]:
        """At most ``limit`` events beyond ``after``, and where the next page begins (None: at the
        log's end)."""
        found: list[dict[str, Any]] = []
        for _ in range(_SEGMENTS_A_PAGE // _SEGMENTS_A_LOOK):
            rows = await self._segments.list_after(episode, after, _SEGMENTS_A_LOOK)
            for row in rows:
                for event in decode_frame(bytes(row.frame)):
                    if event.seq <= after or (kinds and event.kind not in kinds):
                        continue
                    if len(found) == limit:
                        return found, found[-1]["seq"]
                    found.append(event_to_json(event))
                after = row.last
            if len(rows) < _SEGMENTS_A_LOOK:
                return found, None
        return found, after

    async def between(self, episode: str, first: int, last: int) -> list[Event]:
        """The events ``first`` to ``last``, as far as they are there; of the log no more is read
        than holds them."""
        found: list[Event] = []
        after = first - 1
        while after < last and (
            rows := await self._segments.list_after(episode, after, _SEGMENTS_A_LOOK)
        ):
            for row in rows:
                if row.first <= last:
                    found += [
                        event
                        for event in decode_frame(bytes(row.frame))
                        if first <= event.seq <= last
                    ]
            after = rows[-1].last
        return found

    async def last_at(self, episode: str, through: int) -> int | None:
        """The ``at`` of the last event, ``through``; None while there is none.

        A daemon that lost its journal goes on from there: time must not run backwards in a log.
        """
        rows = await self._segments.list_after(episode, through - 1, 1) if through else ()
        return await asyncio.to_thread(_last_at, bytes(rows[0].frame)) if rows else None

    async def events(self, episode: str) -> AsyncIterator[Event]:
        """Every event that is stored so far, in order."""
        async for frame in self._segments.frames(episode):
            for event in decode_frame(frame):
                yield event
