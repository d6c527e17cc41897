"""The journal: gives events their one order and keeps them until the service has them, on sqlite3.

Invariants, each held by tests/agentd/test_journal.py:

1. Numbers are 1, 2, 3 … without gaps. A number is given only to an event that is kept; what cannot
   be kept is counted, and the count is journalled as ``events.dropped`` before the next boundary
   or when space returns. Where gaps begin and end is not dropped but pending: it is journalled
   then, late. What the service would refuse with its whole segment, and all that follows with that
   (`agentd.core.wire_limits`), is counted and not kept either.
2. What `flush` returned for is on disk: a killed process loses at most what was appended since. (A
   power cut may lose the last commits: the service is then ahead, see `adopt`.)
3. A segment's bounds and digest are on disk before anybody may ship it, and its text is made of the
   stored lines: sent again it is the same bytes.
4. Segments follow each other without gap or overlap, each naming the digest before it.
5. A journal that an older build began goes on in this build's wire version: what that build put
   into segments stays as it wrote it, and is converted where it is read; the rest is rewritten.
6. An acknowledgement is one number. Rows leave only when they are acknowledged and the cap presses,
   and never those of the journal and the steps: from them a restarted daemon rebuilds its state.

``synchronous=NORMAL`` with a WAL: commits reach the kernel at once and the disk at checkpoints.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from agentd.core.clock import boot_id
from agentd.core.disk_errors import room_in
from agentd.core.errors import JournalError
from agentd.core.settings import KEEP_BYTES
from agentd.core.wire_limits import UnfitError, line_of
from agentd.journal.pending_gaps import PendingGaps
from agentd.journal.store import STATE_SOURCES, JournalRow, JournalStore
from detectors.model.codec import GENESIS, encode_event, join_segment, sha256
from detectors.model.types import Event
from detectors.model.wire_versions import WIRE, current

SEGMENT_EVENTS = 500
SEGMENT_BYTES = 1 << 20
RESERVE_BYTES = 1 << 20
"""By how much steps and the journal's own events may exceed the cap: to record that it is full."""


class Cut(NamedTuple):
    """A segment fixed for shipping: its bounds, the digest before it and its own."""

    first: int
    last: int
    prev: str
    digest: str


class Journal:
    """One episode's journal in the file ``path``; raises `JournalError` if that holds another
    episode's, `AgentdError` where there is no room to begin."""

    def __init__(self, path: Path, episode: str, *, max_bytes: int = KEEP_BYTES) -> None:
        self.episode = episode
        self.max_bytes = max_bytes
        self._folder = path.parent
        with room_in(self._folder):
            self.store = JournalStore(path)
            self._claim(path)
        self.through: int
        self.head: str
        self.through, self.head = self._read_head()
        self._versions = self._take_over(path)
        self.acknowledged = max(int(self.store.get("acknowledged", b"0")), 0)
        self._tail = [row.line for row in self.store.rows(after=self.through)]
        self._tail_bytes = sum(map(len, self._tail))
        self.last = self.through + len(self._tail)
        self._pending: list[JournalRow] = []
        self._bytes = self.store.size()
        self._pruned = 0
        self._fresh: tuple[int, bytes] = (0, b"")
        self.full: str | None = None
        self._dropped: Counter[tuple[str, str]] = Counter()
        self._pending_gaps = PendingGaps()

    def _claim(self, path: Path) -> None:
        """Make a new file this episode's own; raises `JournalError` where it is another's."""
        owner = self.store.get("episode", b"").decode()
        if not owner:
            self.store.put({"episode": self.episode.encode(), "wire": orjson.dumps([[0, WIRE]])})
        elif owner != self.episode:
            self.store.close()
            raise JournalError(
                f"{path}: holds the journal of episode {owner!r}, wanted {self.episode!r}"
            )

    def _read_head(self) -> tuple[int, str]:
        """Return through which event segments are cut, and the digest of the last one."""
        through, head = orjson.loads(self.store.get("base", orjson.dumps([0, GENESIS])))
        last_cut = self.store.last_cut()
        if last_cut is not None and last_cut[1] > through:
            return last_cut[1], last_cut[3]
        return through, head

    def _take_over(self, path: Path) -> list[tuple[int, int]]:
        """Return from which event on lines are of which wire version, the newest first; what an
        older build left in no segment is rewritten. Raises `JournalError` for a newer build's."""
        stored = orjson.loads(self.store.get("wire", orjson.dumps([[0, 1]])))
        versions = [(int(after), int(wire)) for after, wire in stored]
        newest = versions[0][1]
        if newest > WIRE:
            self.store.close()
            raise JournalError(
                f"{path}: its wire version is {newest}, this build reads up to {WIRE}; wanted the"
                " build that wrote it, or a newer one"
            )
        if newest < WIRE:
            rows = [
                JournalRow(event.seq, event.source, event.kind, _encode(event))
                for event in self._decode(self.store.rows(after=self.through), [(0, newest)])
            ]
            versions.insert(0, (self.through, WIRE))
            with room_in(self._folder):
                self.store.rewrite(rows, {"wire": orjson.dumps(versions)})
        return versions

    def _decode(
        self, rows: Iterable[JournalRow], versions: list[tuple[int, int]]
    ) -> Iterator[Event]:
        """Yield rows as events of this build's wire version."""
        for row in rows:
            seq, at, source, kind, data = orjson.loads(row.line)
            event = Event(self.episode, seq, source, kind, at, data)
            yield from current((event,), _wire_of(seq, versions))

    # -- the clock's memory

    def clock_marks(self) -> tuple[int | None, str, int]:
        """Return the origin on record (None: a new journal), its boot, and the last event's time.

        Times are nanoseconds.
        """
        origin = self.store.get("origin", b"")
        boot = self.store.get("boot", b"").decode()
        line = self.store.last_line()
        last = max(orjson.loads(line)[1] if line else 0, int(self.store.get("base_at", b"0")))
        return (int(origin) if origin else None), boot, last

    def set_clock(self, origin: int) -> None:
        """Remember the clock's origin and the running boot."""
        with room_in(self._folder):
            self.store.put({"origin": str(origin).encode(), "boot": boot_id().encode()})

    # -- writing

    def append(self, source: str, kind: str, data: Mapping[str, object], at: int) -> int | None:
        """Number an event and keep it in memory until `flush`; returns its number.

        None: it could not be kept, which is counted.
        """
        if source in STATE_SOURCES:
            self._record_losses(at)
        try:
            line = line_of(self.last + 1, source, kind, at, data)
        except UnfitError as error:
            self._dropped[source, f"{kind}: {error}"] += 1
            return None
        if self.full is None and self._fits(source, len(line)):
            self._keep(source, kind, line)
            return self.last
        if not self._pending_gaps.take(kind, data):
            reason = self.full or f"the journal reached its cap of {self.max_bytes} bytes"
            self._dropped[source, reason] += 1
        return None

    def _keep(self, source: str, kind: str, line: bytes) -> None:
        self.last += 1
        self._pending.append(JournalRow(self.last, source, kind, line))
        self._tail.append(line)
        self._tail_bytes += len(line)
        self._bytes += len(line)

    def _fits(self, source: str, size: int) -> bool:
        """Return whether ``size`` more bytes fit below the cap, deleting what is acknowledged."""
        limit = self.max_bytes
        if source in STATE_SOURCES:
            limit += RESERVE_BYTES
        elif source == "visual":  # what was seen leaves half of the room to what happened
            limit //= 2
        if self._bytes + size <= limit:
            return True
        self._prune()
        return self._bytes + size <= limit

    def _prune(self) -> None:
        """Forget events that the service has taken, if there are any since the last time."""
        if self.acknowledged > self._pruned:
            with self._disk():
                self._bytes -= self.store.forget(self.acknowledged)
                self._pruned = self.acknowledged

    def _record_losses(self, at: int) -> None:
        """Journal what was dropped so far, one event a source and reason, and the pending gaps.

        Nothing while the disk is full.
        """
        if self.full is not None:
            return
        dropped = [
            ("events.dropped", {"source": source, "count": count, "reason": reason})
            for (source, reason), count in sorted(self._dropped.items())
        ]
        self._dropped.clear()
        for kind, data in (*dropped, *self._pending_gaps.take_all()):
            self._keep("journal", kind, line_of(self.last + 1, "journal", kind, at, data))

    @property
    def pending(self) -> int:
        """The number of events that are numbered but not flushed."""
        return len(self._pending)

    @property
    def uncut(self) -> int:
        """The number of events that are in no segment yet."""
        return len(self._tail)

    @property
    def dropped(self) -> int:
        """The number of observations that were lost and not yet journalled as lost."""
        return self._dropped.total()

    def flush(self, at: int | None = None) -> bool:
        """Commit everything pending, and segments that are full; False: the disk refuses, try again
        later.

        ``at``: the time of a ``events.dropped``, written when the disk takes data again.
        """
        written = self._write([])
        has_losses = bool(self._dropped or self._pending_gaps)
        if written and at is not None and has_losses and self._bytes <= self.max_bytes:
            self._record_losses(at)
        return self._write(self._plan(SEGMENT_EVENTS, whole=False))

    def cut(self) -> bool:
        """Commit everything pending and put all of it into segments, durably; False as in
        `flush`."""
        return self._write(self._plan(1, whole=True))

    def _plan(self, least: int, *, whole: bool) -> list[tuple[Cut, bytes]]:
        """Return the segments to cut, with their texts, while ``least`` events are left.

        ``whole``: without regard to their bytes.
        """
        plan: list[tuple[Cut, bytes]] = []
        done = 0
        head = self.head
        left = self._tail_bytes
        while len(self._tail) - done >= least or (left >= SEGMENT_BYTES and not whole):
            count = fit(self._tail, done)
            lines = self._tail[done : done + count]
            first = self.through + done + 1
            text = join_segment(self.episode, first, lines, head)
            cut = Cut(first, first + count - 1, head, sha256(text))
            plan.append((cut, text))
            left -= sum(map(len, lines))
            done += count
            head = cut.digest
        return plan

    def _write(self, plan: list[tuple[Cut, bytes]]) -> bool:
        """Commit pending events and planned segments; returns False where the disk is full."""
        if not self._pending and not plan and self.full is None:
            return True
        with self._disk():
            self.store.write(self._pending, [cut for cut, _ in plan], self.acknowledged)
            self._pending.clear()
            for cut, text in plan:
                del self._tail[: cut.last - cut.first + 1]
                self.through, self.head = cut.last, cut.digest
                self._fresh = (cut.first, text)
            if plan:
                self._tail_bytes = sum(map(len, self._tail))
        return self.full is None

    @contextlib.contextmanager
    def _disk(self) -> Iterator[None]:
        """Set `full` where the disk takes no more, clear it where it does; other errors pass."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise
            self.full = f"the disk took no more: {error}"
        else:
            self.full = None

    # -- shipping

    def next_cut(self, after: int) -> Cut | None:
        """Return the segment that begins at ``after`` + 1, if one is cut there."""
        row = self.store.cut_from(after + 1)
        return Cut(*row) if row else None

    def text(self, cut: Cut) -> bytes:
        """Return a segment's text; raises `JournalError` if its rows are gone or were changed on
        disk."""
        if self._fresh[0] == cut.first:
            return self._fresh[1]
        lines = [row.line for row in self.store.rows(after=cut.first - 1, through=cut.last)]
        wire = _wire_of(cut.first, self._versions)
        text = join_segment(self.episode, cut.first, lines, cut.prev, wire)
        if sha256(text) != cut.digest:
            raise JournalError(
                f"journal: the rows of segment {cut.first}–{cut.last} do not give its digest any"
                " more"
            )
        return text

    def acknowledge(self, through: int) -> None:
        """Remember that the service has everything up to ``through``; on disk with the next
        commit."""
        self.acknowledged = max(self.acknowledged, through)

    def stands_at(self, through: int, head: str) -> bool:
        """Return whether a log of ``through`` events that ends in digest ``head`` is the beginning
        of this journal."""
        if through == 0:
            return True
        base = orjson.loads(self.store.get("base", b"[0,null]"))
        return base == [through, head] or self.store.has_cut(through, head)

    def adopt(self, through: int, head: str, at: int = 0) -> int:
        """Go on after the service's log where that is longer than this journal.

        ``at``: the time of the log's last event, before which no time follows; 0 where that is not
        known. Returns how many events this journal lacks.
        """
        lacking = through - self.last
        self._pending.clear()
        self._tail.clear()
        self._tail_bytes = 0
        base = {"base": orjson.dumps([through, head]), "base_at": str(at).encode()}
        with room_in(self._folder):
            self.store.put(base | {"acknowledged": str(through).encode()})
        self.through = self.last = self.acknowledged = through
        self.head = head
        return lacking

    # -- reading back

    def rows(self, source: str | None = None) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Yield flushed events of ``source`` (None: of all) as (seq, kind, data), in order."""
        for event in self._decode(self.store.rows(source=source), self._versions):
            yield event.seq, event.kind, dict(event.data)

    def events(self, after: int) -> Iterator[Event]:
        """Yield flushed events beyond number ``after``, in order."""
        return self._decode(self.store.rows(after=after), self._versions)

    def close(self) -> None:
        """Close the file, without a flush."""
        self.store.close()

    def remove(self) -> None:
        """Delete the journal from disk; only for a closed and acknowledged episode."""
        self.store.remove()


def _encode(event: Event) -> bytes:
    return encode_event(event.seq, event.source, event.kind, event.at, event.data)


def _wire_of(seq: int, versions: Sequence[tuple[int, int]]) -> int:
    """Return the wire version of event ``seq``."""
    return next(wire for after, wire in versions if seq > after)


def fit(lines: Sequence[bytes], start: int) -> int:
    """Return how many lines from ``start`` on make one segment: at least one."""
    size = 0
    for count, line in enumerate(lines[start : start + SEGMENT_EVENTS]):
        size += len(line)
        if size > SEGMENT_BYTES and count:
            return count
    return min(SEGMENT_EVENTS, len(lines) - start)
