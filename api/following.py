"""Follows an episode's log for a watcher: pages of events, and the live stream.

The stream reads one stored segment at a time and takes the next when the watcher has taken this one: a slow
watcher costs one segment of memory, however far it is behind.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson
import zstandard

from api.ledger import Ledger
from api.log import Log
from api.notify import Notifier, log_of
from api.store.episodes import Episodes
from detectors.codec import decode_segment
from detectors.types import Event

_SEGMENTS_A_LOOK = 16
_SEGMENTS_A_PAGE = 256


def decoded(frame: bytes) -> tuple[Event, ...]:
    """The events of a stored frame."""
    return decode_segment(zstandard.decompress(frame)).events


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as the wire has it."""
    return {"seq": event.seq, "at": event.at, "source": event.source, "kind": event.kind, "data": event.data}


class Follower:
    """Reads logs for people and programs that watch."""

    def __init__(self, log: Log, ledger: Ledger, episodes: Episodes, notifier: Notifier) -> None:
        self._log, self._ledger, self._episodes, self._notifier = log, ledger, episodes, notifier

    async def page(
        self, episode: str, after: int, limit: int, kinds: frozenset[str]
    ) -> tuple[list[dict[str, Any]], int | None]:
        """At most ``limit`` events beyond ``after``, and where the next page begins (None: at the log's end)."""
        found: list[dict[str, Any]] = []
        for _ in range(_SEGMENTS_A_PAGE // _SEGMENTS_A_LOOK):
            rows = await self._log.after(episode, after, _SEGMENTS_A_LOOK)
            for row in rows:
                for event in decoded(bytes(row.frame)):
                    if event.seq <= after or (kinds and event.kind not in kinds):
                        continue
                    if len(found) == limit:
                        return found, found[-1]["seq"]
                    found.append(event_to_json(event))
                after = row.last
            if len(rows) < _SEGMENTS_A_LOOK:
                return found, None
        return found, after

    async def events(self, episode: str) -> AsyncIterator[Event]:
        """Every event so far."""
        async for frame in self._log.frames(episode):
            for event in decoded(frame):
                yield event

    async def stream(self, episode: str, after: int, heartbeat_s: float) -> AsyncIterator[bytes]:
        """Server-sent events beyond ``after``; ends when the episode's end was sent or the service stops.

        Milestones and rewards of event ``after`` itself are sent again: the watcher may have got the event
        without them. They never change, so to see one twice does no harm.
        """
        for _, earned in await self._earned(episode, after, after):
            yield earned
        while True:
            changed = self._notifier.watch(log_of(episode))
            rows = await self._log.after(episode, after, 1)
            if rows:
                events = decoded(bytes(rows[0].frame))
                async for frame in self._segment(episode, events, after):
                    yield frame
                after = events[-1].seq
                if events[-1].kind == "episode.closed":
                    return
            elif not await self._notifier.wait(changed, heartbeat_s):
                if self._notifier.stopped:
                    return
                yield b": still here\n\n"

    async def _segment(self, episode: str, events: Sequence[Event], after: int) -> AsyncIterator[bytes]:
        earned = await self._earned(episode, max(after + 1, events[0].seq), events[-1].seq)
        place = 0
        for event in events:
            if event.seq > after:
                yield _frame("event", event.seq, orjson.dumps(event_to_json(event)))
            while place < len(earned) and earned[place][0] <= event.seq:
                yield earned[place][1]
                place += 1

    async def _earned(self, episode: str, first: int, last: int) -> list[tuple[int, bytes]]:
        milestones = await self._ledger.milestones_between(episode, first, last)
        rewards = await self._ledger.rewards_between(episode, first, last)
        frames = [(seq, 0, _frame("milestone", seq, body)) for seq, body in milestones]
        frames += [(seq, 1, _frame("reward", seq, body)) for seq, body in rewards]
        return [(seq, frame) for seq, _, frame in sorted(frames, key=lambda one: one[:2])]


def _frame(name: str, id: int, data: bytes) -> bytes:
    return b"event: %b\nid: %d\ndata: %b\n\n" % (name.encode(), id, data)
