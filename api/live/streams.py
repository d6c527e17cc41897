"""The live streams: what one episode tells and earns, or what all do, as server-sent events that
can be resumed.

Each piece of the log is read and rendered once for all who watch (api/live/fanout.py). The id of an
event of one episode is its number; of all episodes it is sealed, the place of its segment among all
that arrived, and its number (api/live/stream_ids.py). What ends the stream of one has the number
that no event of it will ever have: who comes back with that has got everything.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from api.core.errors import GoneError, NotFoundError
from api.core.notify import ANY_LOG, Change, Notifier, log_of
from api.episodes.label_index import label_text
from api.episodes.store import Episodes
from api.live.fanout import Shared
from api.live.live_subscribers import Followers
from api.live.stream_ids import StreamIds
from api.log.arrivals import START, Arrivals, LogPlace
from api.log.frames import decode_frame
from api.log.reader import event_to_json
from api.log.rows import ArrivalRow
from api.log.segments import StoredSegments
from api.rewards.ledger import ASIDE, Ledger

KINDS = ("event", "milestone", "reward")
SOON = frozenset(("event", "milestone"))
"""What may come before its step is sealed: a daemon with a subscriber does not hold it back."""
KEPT_BYTES = 32 * 1024 * 1024
"""Rendered pieces that are kept for those who come a little later."""
FRAME_BYTES = 256
"""Bytes of a piece's frame beside its body."""
LAGGING_AFTER = 64
"""Segments that a watcher gets one upon the other before it is told how far behind it is."""
MAX_SEQ = 2**63 - 1
AGAIN_S = 0.05
"""How soon to look again where a transaction that still runs holds arrivals back."""


class LiveFrame(NamedTuple):
    """One thing to tell: ``seq`` is the number of the event that it is, or that earned it."""

    seq: int
    rank: int
    body: bytes

    @property
    def name(self) -> str:
        """The frame's kind as it is sent, one of `KINDS`."""
        return KINDS[self.rank]

    def message(self) -> bytes:
        """Encode it as a server-sent event of its episode's stream."""
        return _sent(self.name, self.seq, self.body)


class Piece(NamedTuple):
    """A stored segment as it is told. ``closed``: the episode's end is in it."""

    last: int
    closed: bool
    frames: Sequence[LiveFrame]


@dataclass(slots=True)
class _EpisodeCursor:
    """How far one subscriber of an episode is: beyond event ``after`` nothing was sent.

    ``decided``: the steps whose reward was sent since it was decided; ``is_over``: nothing will
    come beyond ``after``, as of so many ``deletions``.
    """

    episode: str
    after: int
    kinds: frozenset[str]
    is_over: bool = False
    decided: set[int] = field(default_factory=set)
    pieces_at_once: int = 0
    deletions: int = 0

    def select(self, frames: Iterable[LiveFrame]) -> Iterator[bytes]:
        """Yield the messages of those frames whose kind the subscriber asked for."""
        return (frame.message() for frame in frames if frame.name in self.kinds)


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
        ids: StreamIds,
        heartbeat_s: float,
    ) -> None:
        self._segments = segments
        self._ledger = ledger
        self._episodes = episodes
        self._arrivals = arrivals
        self._notifier = notifier
        self._followers = followers
        self.ids = ids
        self._heartbeat_s = heartbeat_s
        self.pieces: Shared[Piece] = Shared(
            lambda piece: sum(len(frame.body) + FRAME_BYTES for frame in piece.frames), KEPT_BYTES
        )
        self.decided: Shared[Sequence[int]] = Shared(len, 0)  # asked together, never kept
        self.pages: Shared[Sequence[ArrivalRow]] = Shared(lambda rows: 512 * len(rows), KEPT_BYTES)
        self._deletions = 0

    def forget(self) -> None:
        """Forget what was read: an episode was deleted."""
        self._deletions += 1
        self.pieces.forget()
        self.pages.forget()

    # -- of one episode

    async def of_one(self, episode: str, after: int, kinds: frozenset[str]) -> AsyncIterator[bytes]:
        """Stream what comes beyond event ``after``, until all was sent, which it says, the episode
        is deleted or the service stops.

        Milestones and rewards of event ``after`` itself are sent again: the subscriber may have got
        the event without them. They never change, so to see one twice does no harm.
        """
        try:
            async for message in self._stream_episode(_EpisodeCursor(episode, after, kinds)):
                yield message
        except (GoneError, NotFoundError):
            return

    async def _stream_episode(self, cursor: _EpisodeCursor) -> AsyncIterator[bytes]:
        """Yield an episode's messages from the cursor on, until all is decided or the caller
        goes."""
        async for message in self._resume_episode(cursor):
            yield message
        while True:
            if cursor.kinds & SOON:
                self._followers.note(cursor.episode)
            changed = self._notifier.watch(log_of(cursor.episode))
            piece = None
            if not cursor.is_over:
                piece = await self._piece(cursor.episode, cursor.after, changed)
            # Asked before decided rewards are read: what is decided in between is then sent before
            # the end.
            is_complete = cursor.is_over and not await self._has_undecided_rewards(cursor)
            async for message in self._stream_decided(cursor, changed):
                yield message
            if is_complete:
                yield _sent("ended", cursor.after + 1, b'{"through":%d}' % cursor.after)
                return
            if piece is not None:
                async for message in self._stream_piece(cursor, piece):
                    yield message
            elif not await self._wait_for_change(cursor, changed):
                if self._notifier.stopped:
                    return
                cursor.is_over = await self._is_over(cursor.episode, cursor.after)
                yield b": still here\n\n"

    async def _resume_episode(self, cursor: _EpisodeCursor) -> AsyncIterator[bytes]:
        """Send again what event ``after`` earned, and look whether anything is still to come.

        Who begins at the beginning has the end before them; many come at once, and each would ask
        the database.
        """
        cursor.deletions = self._deletions
        if not cursor.after:
            return
        for message in cursor.select(
            await self._earned(cursor.episode, cursor.after, cursor.after)
        ):
            yield message
        cursor.is_over = await self._is_over(cursor.episode, cursor.after)

    async def _has_undecided_rewards(self, cursor: _EpisodeCursor) -> bool:
        return "reward" in cursor.kinds and await self._ledger.escalating(cursor.episode)

    async def _stream_decided(
        self, cursor: _EpisodeCursor, changed: Change
    ) -> AsyncIterator[bytes]:
        """Send rewards that were decided after their segment was sent, under the number that was
        sent last, so that nobody resumes further back."""
        if "reward" not in cursor.kinds:
            return
        for step in await self._decided(cursor.episode, cursor.after, changed):
            if step in cursor.decided:
                continue
            body = await self._ledger.sealed(cursor.episode, step)
            if body is not None:
                cursor.decided.add(step)
                yield _sent("reward", cursor.after, body)

    async def _stream_piece(self, cursor: _EpisodeCursor, piece: Piece) -> AsyncIterator[bytes]:
        """Yield the wanted messages of a piece, and now and then how far behind the caller is."""
        for message in cursor.select(piece.frames):
            yield message
        cursor.after = piece.last
        cursor.pieces_at_once += 1
        if piece.closed:
            cursor.is_over = True
        elif cursor.pieces_at_once % LAGGING_AFTER == 0:
            yield await self._lagging(cursor.episode, cursor.after)

    async def _wait_for_change(self, cursor: _EpisodeCursor, changed: Change) -> bool:
        """Wait for news of the episode; False where none came within a heartbeat."""
        cursor.pieces_at_once = 0
        if cursor.deletions != self._deletions:
            cursor.deletions = self._deletions
            cursor.is_over = await self._is_over(cursor.episode, cursor.after)
        return await self._notifier.wait(changed, self._heartbeat_s)

    async def _is_over(self, episode: str, after: int) -> bool:
        """Whether nothing will come beyond event ``after``. Raises `GoneError`, `NotFoundError`."""
        row = await self._episodes.get(episode)
        return bool(row.status == "closed" and row.through <= after)

    async def _lagging(self, episode: str, after: int) -> bytes:
        row = await self._episodes.get(episode)
        return _sent("lagging", after, orjson.dumps({"after": after, "through": row.through}))

    async def _piece(self, episode: str, after: int, since: Change | None) -> Piece | None:
        return await self.pieces.get((episode, after), since, lambda: self._read(episode, after))

    async def _decided(self, episode: str, after: int, since: Change) -> Sequence[int]:
        """Return the steps that were decided after ``after``, read once for all who wait."""

        async def read() -> Sequence[int] | None:
            return await self._ledger.decided(episode, after) or None

        return await self.decided.get((episode, after), since, read) or ()

    async def _read(self, episode: str, after: int) -> Piece | None:
        """Read the next segment as messages with what it earned; None where there is none yet."""
        rows = await self._segments.list_after(episode, after, 1)
        if not rows:
            return None
        events = [event for event in decode_frame(bytes(rows[0].frame)) if event.seq > after]
        frames = [LiveFrame(event.seq, 0, orjson.dumps(event_to_json(event))) for event in events]
        frames += await self._earned(episode, events[0].seq, events[-1].seq)
        is_closed = events[-1].kind == "episode.closed"
        return Piece(rows[0].last, is_closed, sorted(frames, key=_order))

    async def _earned(self, episode: str, first: int, last: int) -> list[LiveFrame]:
        """Return the milestones and rewards of a range of events as messages in their order."""
        milestones = await self._ledger.milestones_between(episode, first, last)
        rewards = await self._ledger.rewards_between(episode, first, last)
        frames = [LiveFrame(seq, 1, body) for seq, body in milestones]
        frames += [LiveFrame(seq, 2, body) for seq, body in rewards]
        return sorted(frames, key=_order)

    # -- of all

    async def of_all(
        self, query: WatchQuery, place: LogPlace | None, after: int
    ) -> AsyncIterator[bytes]:
        """What comes beyond event ``after`` of the segment at ``place``, and then beyond that;
        None: from now on.

        What lies so far back that its order is forgotten, or was lost with a database that a backup
        replaced, is told by a ``lost`` event; the episodes still have what there is.
        """
        newest = await self._arrivals.last()
        if place is not None:
            async for message in self._resume_all(query, place, after, newest):
                yield message
        place = newest if place is None else min(place, newest)
        sent_at = time.monotonic()
        while True:
            if query.kinds & SOON:
                self._followers.note_all(query.tenant)
            changed = self._notifier.watch(ANY_LOG)
            rows = await self._page(place, changed)
            for row in rows or ():
                place = LogPlace(row.xact, row.position)
                async for message in self._render(query, row, 0):
                    sent_at = time.monotonic()
                    yield message
            if rows is None:
                # No longer than to the next heartbeat: it comes by the clock alone, and does not
                # tell that others' arrivals woke this stream.
                left = sent_at + self._heartbeat_s - time.monotonic()
                await self._notifier.wait(changed, max(left, 0.0))
            if self._notifier.stopped:
                return
            if time.monotonic() - sent_at >= self._heartbeat_s:
                sent_at = time.monotonic()
                # Its id lets a subscriber who is sent little resume from here and not from what it
                # was sent last.
                yield _sent("place", self.ids.of_place(query.tenant, place), b"{}")

    async def moved(self, tenant: str, place: LogPlace, seconds: float) -> LogPlace:
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
            place = LogPlace(rows[-1].xact, rows[-1].position)
            if any(row.tenant == tenant for row in rows):
                break
        return place

    async def _resume_all(
        self, query: WatchQuery, place: LogPlace, after: int, newest: LogPlace
    ) -> AsyncIterator[bytes]:
        """Send the rest of the segment at ``place``, or what is lost where it is not kept."""
        next_kept = _next_kept(place, await self._arrivals.first(), newest)
        if next_kept is not None:
            ids = self.ids
            until = b'{"until":"%b"}' % ids.of_event(query.tenant, next_kept, 0)
            yield _sent("lost", ids.of_event(query.tenant, place, after), until)
            return
        if place == START:
            return
        for row in await self._page(LogPlace(place.xact, place.position - 1), None) or ():
            if (row.xact, row.position) == place:
                async for message in self._render(query, row, after):
                    yield message

    async def _page(self, place: LogPlace, since: Change | None) -> Sequence[ArrivalRow] | None:
        """Return the next arrivals of all episodes, read once for all who wait."""

        async def read() -> Sequence[ArrivalRow] | None:
            """Read arrivals; where one is not settled yet, look again a little later."""
            rows = await self._arrivals.list_after(place)
            if not rows and await self._arrivals.unsettled(place):
                asyncio.get_running_loop().call_later(AGAIN_S, self._notifier.wake, ANY_LOG)
            return rows or None

        return await self.pages.get(place, since, read)

    async def _render(self, query: WatchQuery, row: ArrivalRow, after: int) -> AsyncIterator[bytes]:
        """Yield the messages of one arrival that the query wants, each with its place in the
        stream."""
        labels = orjson.loads(row.labels)
        if not _is_wanted(query, row, labels):
            return
        frames = await self._frames(row)
        head = orjson.dumps({"episode": row.episode, "task": row.task, "labels": labels})[:-1]
        for frame in frames:
            # What event `after` earned is sent again: its subscriber may have got the event without
            # it.
            is_new = frame.seq > after or (frame.seq == after and frame.rank > 0)
            if is_new and frame.name in query.kinds:
                body = b'%b,"%b":%b}' % (head, frame.name.encode(), frame.body)
                id = self.ids.of_event(row.tenant, LogPlace(row.xact, row.position), frame.seq)
                yield _sent(frame.name, id, body)

    async def _frames(self, row: ArrivalRow) -> Sequence[LiveFrame]:
        """What one arrival tells: a segment, or the reward of a step that was decided."""
        if row.first == ASIDE:
            body, _ = await self._ledger.stored(row.episode, row.last)
            return () if body is None else (LiveFrame(MAX_SEQ, 2, body),)
        piece = await self._piece(row.episode, row.first - 1, None)
        return () if piece is None else piece.frames


def _order(frame: LiveFrame) -> tuple[int, int]:
    return frame.seq, frame.rank


def _next_kept(place: LogPlace, oldest: LogPlace | None, newest: LogPlace) -> LogPlace | None:
    """Where to go on from a ``place`` that is not kept, or no longer; None where it is kept."""
    if place > newest:
        return newest
    if oldest is not None and START < place < oldest:
        return oldest
    return None


def _is_wanted(query: WatchQuery, row: ArrivalRow, labels: Mapping[str, object]) -> bool:
    """Whether the arrival may have something for the watcher: ``labels`` are its episode's."""
    if row.tenant != query.tenant:
        return False
    if "event" not in query.kinds and not row.earned:
        return False
    return all(
        key in labels and label_text(labels[key]) == value for key, value in query.labels.items()
    )


def _sent(name: str, id: int | bytes, body: bytes) -> bytes:
    """Encode a server-sent event with its name, its id and one line of data."""
    encoded_id = id if isinstance(id, bytes) else b"%d" % id
    return b"event: %b\nid: %b\ndata: %b\n\n" % (name.encode(), encoded_id, body)
