"""Asks the owner of a selection for its text, as any program does that pastes, in bounded time and
size.

The owner may have hung, may have gone, may send piece by piece without end. Whoever owns the
selection keeps it.
"""

from __future__ import annotations

import codecs
import hashlib
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from agentd.core.patience import Patience
from agentd.sources.clipboard.display import Arrived, ClipboardDisplay, Owned, Written

ANSWER_S = 1.0
"""How long the owner may take for an answer, and for each further piece, in seconds."""
WHOLE_S = 5.0
"""How long all of it may take, in seconds."""
LARGEST = 32 << 20
"""A text of more bytes than this is not read to its end."""
KEPT = 64 << 10
"""Characters of a text that are kept, to be masked and cut; the rest is counted and hashed only."""

_TEXTS = (
    "UTF8_STRING",
    "text/plain;charset=utf-8",
    "text/plain",
    "STRING",
    "TEXT",
    "text/uri-list",
)
_SECRET = "x-kde-passwordManagerHint"
_PROPERTIES = 64
_MAX_TYPES = 40
_NO_TYPES = frozenset(
    ("TARGETS", "MULTIPLE", "TIMESTAMP", "SAVE_TARGETS", "DELETE", "INSERT_SELECTION")
)


Answer = Arrived | Written


class SelectionReading(NamedTuple):
    """What a selection holds.

    ``start``: as much of the text as is kept; ``unread``: why there is no text.
    """

    types: tuple[str, ...] = ()
    start: str | None = None
    length: int = 0
    sha256: str = ""
    unread: str | None = None


class _NotReadError(Exception):
    """The owner's text can't be had; carries the reason."""


class Reader:
    """``pause(s)`` waits for the display, at most so many seconds. What else happens meanwhile is
    in ``others``."""

    def __init__(
        self,
        display: ClipboardDisplay,
        pause: Callable[[float], object],
        stopping: Callable[[], bool],
        patience: Patience,
    ) -> None:
        self._patience = patience
        self._display = display
        self._pause = pause
        self._stopping = stopping
        self.others: deque[Owned] = deque()
        # A late answer to an earlier question must not be taken for this one's: each has a property
        # of its own until it is answered. The one that was asked longest ago comes first.
        self._free = deque(
            display.atom(f"AGENTD_SELECTION_{number}") for number in range(_PROPERTIES)
        )
        self._open: deque[int] = deque()
        self._current = 0

    def read(self, selection: int, at: int) -> SelectionReading:
        """Read a selection from its present owner, for as long as it stays the owner.

        ``at``: the X server's time at which it became that.
        """
        until = time.monotonic() + self._patience.extend(WHOLE_S)
        types: tuple[str, ...] = ()
        try:
            types = self._types(selection, at, until)
            if _SECRET in types:
                return SelectionReading(types, unread="secret")
            target = next((name for name in _TEXTS if name in types), None)
            if target is None:
                return SelectionReading(types, unread="no text")
            return self._text(selection, target, at, until)._replace(types=types)
        except _NotReadError as reason:
            return SelectionReading(types, unread=str(reason))
        finally:
            self._current = 0

    def take_in(self) -> Iterator[Answer]:
        """Yield answers that came in; new owners are put aside, and late answers dropped."""
        for happening in self._display.happenings():
            if isinstance(happening, Owned):
                self.others.append(happening)
            elif isinstance(happening, Arrived) and self._is_late(happening.property):
                self._open.remove(happening.property)
                self._free.append(happening.property)
                self._display.forget(happening.property)
            else:
                yield happening

    def _is_late(self, name: int) -> bool:
        """Whether an answer is to a question that was given up."""
        return name in self._open and name != self._current

    def _types(self, selection: int, at: int, until: float) -> tuple[str, ...]:
        """Return the names of the types that the owner offers, without those that are no
        content."""
        _, pieces = self._ask(selection, "TARGETS", at, until)
        listed = b"".join(pieces)[: 4 * 4 * _MAX_TYPES]
        atoms = [int.from_bytes(listed[n : n + 4], "little") for n in range(0, len(listed), 4)]
        names = dict.fromkeys(map(self._display.atom_name, atoms))
        return tuple(name for name in names if name and name not in _NO_TYPES)[:_MAX_TYPES]

    def _text(self, selection: int, target: str, at: int, until: float) -> SelectionReading:
        """Read the text in one type, by the encoding that the answer has."""
        form, pieces = self._ask(selection, target, at, until)
        is_latin = self._display.atom_name(form) in ("STRING", "COMPOUND_TEXT")
        return digest(pieces, "latin-1" if is_latin else "utf-8")

    def _ask(
        self, selection: int, target: str, at: int, until: float
    ) -> tuple[int, Iterable[bytes]]:
        """Ask the owner for its selection as ``target``; returns the answer's form and pieces."""
        display = self._display
        into = self._free.popleft() if self._free else self._open.popleft()
        self._open.append(into)
        self._current = into
        asked = Arrived(into, display.atom(target))
        display.convert(selection, asked.target, into, at)
        came = self._await(asked, selection, until)
        self._open.remove(into)
        self._free.append(into)
        if not came.property:
            raise _NotReadError("refused")
        form, pieces = display.take(into)
        if form != display.atom("INCR"):
            return form, pieces
        # Deleted by the taking: that is the owner's sign to send the first piece.
        deque(pieces, maxlen=0)
        self._await(Written(into), selection, until)
        form, pieces = display.take(into)
        return form, self._incremental(pieces, selection, into, until)

    def _incremental(
        self, first: Iterable[bytes], selection: int, into: int, until: float
    ) -> Iterator[bytes]:
        """Yield pieces that come one after the other, until an empty one ends them."""
        pieces = first
        while True:
            empty = True
            for piece in pieces:
                empty = empty and not piece
                yield piece
            if empty:
                return
            self._await(Written(into), selection, until)
            _, pieces = self._display.take(into)

    def _await(self, wanted: Answer, selection: int, until: float) -> Answer:
        """Wait for ``wanted``, or a refusal of it (property 0)."""
        good = (wanted, wanted._replace(property=0))
        until = min(until, time.monotonic() + self._patience.extend(ANSWER_S))
        while True:
            # The types differ where the tuples may be equal.
            answers = [
                answer
                for answer in self.take_in()
                if type(answer) is type(wanted) and answer in good
            ]
            if any(other.selection == selection for other in self.others):
                # From here on it would be the next owner's text.
                raise _NotReadError("superseded")
            if answers:
                return answers[0]
            left = until - time.monotonic()
            if left <= 0 or self._stopping():
                raise _NotReadError("timeout")
            self._pause(left)


def digest(pieces: Iterable[bytes], charset: str) -> SelectionReading:
    """Read a text of any size: its length in characters, its hash and its start."""
    decode = codecs.getincrementaldecoder(charset)("replace").decode
    start = ""
    length = 0
    size = 0
    digest_ = hashlib.sha256()
    for piece in itertools.chain(pieces, (None,)):
        size += len(piece or b"")
        if size > LARGEST:
            raise _NotReadError("large")
        text = decode(piece or b"", piece is None)
        start += text[: KEPT - len(start)]
        length += len(text)
        digest_.update(text.encode())
    return SelectionReading((), start, length, digest_.hexdigest())
