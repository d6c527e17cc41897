"""The live streams: what one episode tells and earns, or what all do, as server-sent events that
can be resumed.

Each piece of the log is read and rendered once for all who watch (api/live/fanout.py). The id of an
event of one episode is its number; of all episodes it is the place of its segment among all that
arrived, and its number. What ends the stream of one has the number that no event of it will ever
have: who comes back with that has got everything.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from api.core.errors import GoneError, NotFoundError
from api.core.notify import ANY_LOG, Notifier, log_of
from api.episodes.label_index import label_text
from api.episodes.store import Episodes
from api.live.fanout import Shared
from api.live.live_subscribers import Followers
from api.log.arrivals import START, Arrivals, Place
from api.log.reader import decoded, event_to_json
from api.log.segments import StoredSegments
from api.rewards.ledger import ASIDE, Ledger

KINDS = ("event", "milestone", "reward")
SOON = frozenset(("event", "milestone"))
"""What may come before its step is sealed: a daemon that knows that somebody follows does not hold it back."""
KEPT_BYTES = 32 * 1024 * 1024
"""Rendered pieces that are kept for those who come a little later."""
LAGGING_AFTER = 64
"""Segments that a watcher gets one upon the other before it is told how far behind it is."""
MAX_SEQ = 2**63 - 1
AGAIN_S = 0.05
"""How soon to look again where a transaction that still runs holds arrivals back."""


class Frame(NamedTuple):
    """One thing to tell: ``seq`` is the number of the event that it is, or that earned it."""

    seq: int
    rank: int
    body: bytes

    @property
    def name(self) -> str:
        """Its kind."""
        return KINDS[self.rank]


class Piece(NamedTuple):
    """A stored segment as it is told. ``closed``: the episode's end is in it."""

    last: int
    closed: bool
    frames: Sequence[Frame]


class WatchQuery(NamedTuple):
    """What a watcher of all episodes asks for."""

    tenant: str
    kinds: frozenset[str]
    labels: Mapping[str, str]


class Streams:
    """The streams of one replica."""

    def __init__(
        self,
        segments: StoredSegments,
        ledger: Ledger,
        episodes: Episodes,
        arrivals: Arrivals,
        notifier: Notifier,
        followers: Followers,
        heartbeat_s: float,
    ) -> None:
        self._segments, self._ledger, self._episodes, self._arrivals = (
            segments,
            ledger,
            episodes,
            arrivals,
        )
        self._notifier, self._followers, self._heartbeat_s = notifier, followers, heartbeat_s
        self.pieces: Shared[Piece] = Shared(
            lambda piece: sum(len(one.body) for one in piece.frames), KEPT_BYTES
        )
        self.decided: Shared[Sequence[int]] = Shared(len, 0)  # asked together, never kept
        self.pages: Shared[Sequence[Any]] = Shared(lambda rows: 512 * len(rows), KEPT_BYTES)
        self._deletions = 0

    def forget(self) -> None:
        """Forget what was read: an episode was deleted."""
        self._deletions += 1
        self.pieces.forget()
        self.pages.forget()

    # -- of one episode

    async def of_one(self, episode: str, after: int, kinds: frozenset[str]) -> AsyncIterator[bytes]:
        """What comes beyond event ``after``; ends when everything was sent, which it says, when the
        episode is deleted or the service stops.

        Milestones and rewards of event ``after`` itself are sent again: the watcher may have got
        the event without them. They never change, so to see one twice does no harm.
        """
        try:
            async for sent in self._of_one(episode, after, kinds):
                yield sent
        except (GoneError, NotFoundError):
            return

    async def _of_one(
        self, episode: str, after: int, kinds: frozenset[str]
    ) -> AsyncIterator[bytes]:
        for frame in await self._earned(episode, after, after) if after else ():
            if frame.name in kinds:
                yield _sent(frame.name, frame.seq, frame.body)
        at_once, decided, known = 0, set[int](), self._deletions
        # Who begins at the beginning has the end before them; many come at once, and each would ask
        # the database.
        closed = after > 0 and await self._is_over(episode, after)
        while True:
            if kinds & SOON:
                self._followers.note(episode)
            changed = self._notifier.watch(log_of(episode))
            piece = None if closed else await self._piece(episode, after, changed)
            # Asked before what is decided is read: what is decided in between is then told, before
            # the end.
            waits = closed and "reward" in kinds and await self._ledger.escalating(episode)
            # Decided after its segment was told: under the number that was told last, so that
            # nobody goes back by it.
            for step in await self._decided(episode, after, changed) if "reward" in kinds else ():
                if (
                    step not in decided
                    and (body := await self._ledger.sealed(episode, step)) is not None
                ):
                    decided.add(step)
                    yield _sent("reward", after, body)
            if closed and not waits:
                yield _sent("ended", after + 1, b'{"through":%d}' % after)
                return
            if piece is not None:
                for frame in piece.frames:
                    if frame.name in kinds:
                        yield _sent(frame.name, frame.seq, frame.body)
                after, at_once = piece.last, at_once + 1
                if piece.closed:
                    closed = True
                    continue
                if at_once % LAGGING_AFTER == 0:
                    yield await self._lagging(episode, after)
            else:
                at_once = 0
                if known != self._deletions:
                    known, closed = self._deletions, await self._is_over(episode, after)
                if not await self._notifier.wait(changed, self._heartbeat_s):
                    if self._notifier.stopped:
                        return
                    closed = await self._is_over(episode, after)
                    yield b": still here\n\n"

    async def _is_over(self, episode: str, after: int) -> bool:
        """Whether nothing will come beyond event ``after``. Raises `GoneError`, `NotFoundError`."""
        row = await self._episodes.get(episode)
        return bool(row.status == "closed" and row.through <= after)

    async def _lagging(self, episode: str, after: int) -> bytes:
        row = await self._episodes.get(episode)
        return _sent("lagging", after, orjson.dumps({"after": after, "through": row.through}))

    async def _piece(self, episode: str, after: int, since: asyncio.Event | None) -> Piece | None:
        return await self.pieces.get((episode, after), since, lambda: self._read(episode, after))

    async def _decided(self, episode: str, after: int, since: asyncio.Event) -> Sequence[int]:
        async def read() -> Sequence[int] | None:
            return await self._ledger.decided(episode, after) or None

        return await self.decided.get((episode, after), since, read) or ()

    async def _read(self, episode: str, after: int) -> Piece | None:
        rows = await self._segments.list_after(episode, after, 1)
        if not rows:
            return None
        events = [event for event in decoded(bytes(rows[0].frame)) if event.seq > after]
        told = [Frame(event.seq, 0, orjson.dumps(event_to_json(event))) for event in events]
        earned = await self._earned(episode, events[0].seq, events[-1].seq)
        return Piece(
            rows[0].last,
            events[-1].kind == "episode.closed",
            sorted([*told, *earned], key=lambda f: f[:2]),
        )

    async def _earned(self, episode: str, first: int, last: int) -> list[Frame]:
        milestones = await self._ledger.milestones_between(episode, first, last)
        rewards = await self._ledger.rewards_between(episode, first, last)
        found = [Frame(seq, 1, body) for seq, body in milestones] + [
            Frame(seq, 2, body) for seq, body in rewards
        ]
        return sorted(found, key=lambda frame: frame[:2])

    # -- of all

    async def of_all(
        self, wanted: WatchQuery, place: Place | None, after: int
    ) -> AsyncIterator[bytes]:
        """What comes beyond event ``after`` of the segment at ``place``, and then beyond that;
        None: from now on.

        What lies so far back that its order is forgotten, or was lost with a database that a backup
        replaced, is told by a ``lost`` event; the episodes still have what there is.
        """
        first, last = await self._arrivals.first(), await self._arrivals.last()
        if place is None:
            place = last
        elif place > last:
            yield _sent("lost", _id(place, after), b'{"until":"%b"}' % _id(last, 0))
            place = last
        elif place != START and first is not None and place < first:
            yield _sent("lost", _id(place, after), b'{"until":"%b"}' % _id(first, 0))
        elif place != START:
            async for sent in self._resumed(wanted, place, after):
                yield sent
        told = time.monotonic()
        while True:
            if wanted.kinds & SOON:
                self._followers.note_all(wanted.tenant)
            changed = self._notifier.watch(ANY_LOG)
            rows = await self._page(place, changed)
            for row in rows or ():
                place = Place(row.xact, row.position)
                async for sent in self._render(wanted, row, 0):
                    told = time.monotonic()
                    yield sent
            if rows is None:
                await self._notifier.wait(changed, self._heartbeat_s)
            if self._notifier.stopped:
                return
            if time.monotonic() - told >= self._heartbeat_s:
                told = time.monotonic()
                # Its id lets a watcher who is told little go on from here and not from what it was
                # told last.
                yield _sent("place", _id(place, MAX_SEQ), b"{}")

    async def moved(self, tenant: str, place: Place, seconds: float) -> Place:
        """Wait until something beyond ``place`` arrived of the tenant, for so many seconds at most;
        how far all is.

        What arrives of others wakes nobody who waits here: not even that it did is theirs to know.
        """
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._notifier.stopped:
            changed = self._notifier.watch(ANY_LOG)
            rows = await self._page(place, changed)
            if rows is None:
                await self._notifier.wait(changed, left)
                continue
            place = Place(rows[-1].xact, rows[-1].position)
            if any(row.tenant == tenant for row in rows):
                break
        return place

    async def _resumed(self, wanted: WatchQuery, place: Place, after: int) -> AsyncIterator[bytes]:
        for row in await self._page(Place(place.xact, place.position - 1), None) or ():
            if (row.xact, row.position) == place:
                async for sent in self._render(wanted, row, after):
                    yield sent

    async def _page(self, place: Place, since: asyncio.Event | None) -> Sequence[Any] | None:
        async def read() -> Sequence[Any] | None:
            rows = await self._arrivals.list_after(place)
            if not rows and await self._arrivals.unsettled(place):
                asyncio.get_running_loop().call_later(AGAIN_S, self._notifier.wake, ANY_LOG)
            return rows or None

        return await self.pages.get(place, since, read)

    async def _render(self, wanted: WatchQuery, row: Any, after: int) -> AsyncIterator[bytes]:
        labels = orjson.loads(row.labels)
        if row.tenant != wanted.tenant or not _has(labels, wanted.labels):
            return
        if "event" not in wanted.kinds and not row.earned:
            return
        frames = await self._frames(row)
        head = orjson.dumps({"episode": row.episode, "task": row.task, "labels": labels})[:-1]
        for frame in frames:
            # What event `after` earned is told again: its watcher may have got the event without
            # it.
            if frame.name in wanted.kinds and (
                frame.seq > after or (frame.seq == after and frame.rank)
            ):
                body = b'%b,"%b":%b}' % (head, frame.name.encode(), frame.body)
                yield _sent(frame.name, _id(Place(row.xact, row.position), frame.seq), body)

    async def _frames(self, row: Any) -> Sequence[Frame]:
        """What one arrival tells: a segment, or the reward of a step that was decided."""
        if row.first == ASIDE:
            body, _ = await self._ledger.stored(row.episode, row.last)
            return () if body is None else (Frame(MAX_SEQ, 2, body),)
        piece = await self._piece(row.episode, row.first - 1, None)
        return () if piece is None else piece.frames


def place_of(id: str) -> tuple[Place, int]:
    """The place and event number in an id of the stream of all. Raises `ValueError`."""
    xact, position, seq = map(int, id.split("."))
    return Place(xact, position), seq


def _id(place: Place, seq: int) -> bytes:
    return b"%d.%d.%d" % (*place, seq)


def _has(labels: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return all(key in labels and label_text(labels[key]) == value for key, value in wanted.items())


def _sent(name: str, id: int | bytes, body: bytes) -> bytes:
    told = id if isinstance(id, bytes) else b"%d" % id
    return b"event: %b\nid: %b\ndata: %b\n\n" % (name.encode(), told, body)
