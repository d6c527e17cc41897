"""Captures of AT-SPI and inotify events as JSON lines, ``{t, src, …}``, through the folds of the
daemon's own sources.

A step for each input that was sent; one for all where the capture has none. What stood when its
mark says ``ready`` is baseline. A capture knows no file's content but at its very end: a file's
last change is told with that, and a change before it blinds its step for rules about files.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentd.masking import Masker
from agentd.readers.mime import mime_of
from agentd.sources.ax.fold import DesktopFold as Desktop
from agentd.sources.files.facts import FileFacts
from agentd.sources.files.fold import FileObservation, Look, Op, Raw
from agentd.sources.files.fold import RootFold as Files
from detectors.model.codec import sha256
from detectors.model.json_value import JsonObject, JsonValue, object_or_empty, read_list, read_text
from detectors.model.kinds import KINDS
from lab.convert.atspi_objects import Objects
from lab.convert.errors import format_value
from lab.convert.source import SourceFile
from lab.convert.tape import Tape

REST_NS = 200_000_000
"""How long a text has to rest before it is told, as live."""
SETTLED_S = 0.5
"""Changes of one file that follow each other faster are one: editors close, rename, close again."""
ROOT = "capture"
_SOURCES = ("atspi", "fs", "mark", "input", "truth")
_DAEMON_SOURCES = {"atspi": "ax", "fs": "files"}
"""The daemon's source that would have seen what a source of a capture has."""
_OPS: dict[str, Op] = {
    "CREATE": "appeared",
    "MODIFY": "written",
    "CLOSE_WRITE": "closed",
    "DELETE": "gone",
    "MOVED_TO": "arrived",
}
_WRITES = frozenset(("CLOSE_WRITE", "MOVED_TO"))
"""What inotify tells of a file that has new content."""
_MAIN_FIELDS: dict[str, tuple[str, type]] = {
    "atspi": ("type", str),
    "fs": ("ev", list),
    "input": ("cmd", list),
}
"""What a row of a source must have beside its time."""
_NOT_CAPTURED = (
    "app.appeared",
    "app.vanished",
    "widget.activated",
    "widget.value_changed",
    "notification.shown",
    "file.mode_changed",
)


def fits(source: SourceFile) -> bool:
    """Whether the first line is one of a capture."""
    first = object_or_empty(next(iter(source.items), None))
    return "t" in first and first.get("src") in _SOURCES


class _CaptureRow(NamedTuple):
    """A row of a capture: ``t`` in seconds, ``src`` one of `_SOURCES`, ``data`` all of it."""

    t: float
    src: str
    data: JsonObject

    @property
    def operations(self) -> list[str]:
        """What inotify says of a file, in its words."""
        return [str(event) for event in read_list(self.data, "ev")]


def read(source: SourceFile) -> AtspiReading:
    """Check the capture's rows and give its reading. Raises `ConvertError`."""
    if not source.items:
        raise source.wrong("", format_value(source.value), "wanted JSON lines {t, src, …}")
    rows = [_row(source, f"line {number}", row) for number, row in enumerate(source.items, 1)]
    return AtspiReading(source, rows)


def _row(source: SourceFile, where: str, row: JsonValue) -> _CaptureRow:
    """Read a line. Raises `ConvertError` that names ``where`` it stands."""
    if not isinstance(row, dict) or row.get("src") not in _SOURCES:
        wanted = f"wanted an object with src: {', '.join(_SOURCES)}"
        raise source.wrong(where, format_value(row), wanted)
    src = str(row["src"])
    time = row.get("t")
    if not isinstance(time, int | float):
        raise source.wrong(f"{where}: t", format_value(time), "wanted seconds")
    name, kind = _MAIN_FIELDS.get(src, ("src", str))  # the others have nothing else to check
    value = row.get(name)
    if not isinstance(value, kind):
        wanted = f"wanted a {kind.__name__}"
        raise source.wrong(f"{where}: {name}", format_value(value), wanted)
    return _CaptureRow(time, src, row)


class _RowPlayer:
    """Hands each row of a capture to the fold of its source; a row of ``step_source`` ends a step
    and begins the next."""

    def __init__(
        self, tape: Tape, masker: Masker, rows: list[_CaptureRow], step_source: str
    ) -> None:
        self._tape = tape
        self._masker = masker
        self._step_source = step_source
        self._desktop = _Desktop(tape, masker, _app(rows))
        self._files = _Files(tape, rows)

    def begin_watching(self) -> None:
        """From now on what is seen is a change, not the start state."""
        self._desktop.ready()
        self._files.ready = True

    def settle(self, at: int) -> None:
        """Report what the folds held back to see whether it lasts."""
        self._desktop.settle(at)
        self._files.emit_departures(at)

    def play(self, at: int, row: _CaptureRow) -> None:
        """Fold one row, which came ``at`` nanoseconds after the first."""
        self._desktop.flush_until(at)
        match row.src:
            case "mark" | "input":
                self.begin_watching()
            case "atspi":
                self._desktop.handle(at, row.data)
            case "fs":
                self._files.handle(at, row)
        if row.src == self._step_source:
            self.settle(at)
            self._tape.end(at)
            self._tape.begin(at, _action(row, self._masker))


class AtspiReading:
    """A capture that was read: see `lab.convert.formats.FormatReading`."""

    version = None

    def __init__(self, source: SourceFile, rows: list[_CaptureRow]) -> None:
        self._source = source
        self._rows = rows
        captured = {_DAEMON_SOURCES.get(row.src) for row in rows}
        self.shows = frozenset(
            kind
            for kind, about in KINDS.items()
            if about.source in captured and kind not in _NOT_CAPTURED
        )

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Row after row through the folds."""
        sources = {row.src for row in self._rows}
        step_source = "input" if "input" in sources else "mark"
        player = _RowPlayer(tape, Masker(mask), self._rows, step_source)
        if step_source not in sources:
            player.begin_watching()
            tape.begin(0)
        start = min(row.t for row in self._rows)
        for number, row in enumerate(self._rows, 1):
            with self._source.part(f"line {number}: t"):
                at = int((row.t - start) * 1e9)
            with self._source.part(f"line {number}"):
                player.play(at, row)
        player.settle(tape.at)


def _action(row: _CaptureRow, masker: Masker) -> JsonObject | None:
    """Return the command that a row of input ran, masked; None for rows of other sources."""
    if row.src != "input":
        return None
    return {"input": masker.mask_arguments([str(word) for word in read_list(row.data, "cmd")])}


def _app(rows: list[_CaptureRow]) -> str:
    """The name of the first program that a capture tells of, "" for none."""
    programs = (row.data for row in rows if row.data.get("role") == "application")
    return next(filter(None, (read_text(program, "name") for program in programs)), "")


class _Desktop:
    """The accessibility fold, driven by rows."""

    def __init__(self, tape: Tape, masker: Masker, app: str) -> None:
        self._tape = tape
        self._fold = Desktop(masker)
        self._objects = Objects(app)
        self._heard_at = 0
        self._ready = False
        for message in self._objects.begin():
            self._fold.feed(message)

    def ready(self) -> None:
        """What comes from now on is news, no baseline."""
        if not self._ready:
            self._ready = True
            self.settle(self._tape.at)
            self._fold.feed({"t": "ready"})

    def handle(self, at: int, row: JsonObject) -> None:
        """Fold one row of the accessibility bus, and tell what comes of it at once."""
        self._heard_at = at
        for message in self._objects.messages(row):
            for observation in self._fold.feed(message):
                self._tape.tell(at, observation.kind, observation.data)

    def flush_until(self, at: int) -> None:
        """Report the texts that had rested by then."""
        if self._fold.due and at >= self._heard_at + REST_NS:
            self.settle(self._heard_at + REST_NS)

    def settle(self, at: int) -> None:
        """Report the texts that are held back."""
        flags = {} if self._ready else {"baseline": True}
        for observation in self._fold.settle():
            self._tape.tell(at, observation.kind, {**observation.data, **flags})


class _Files:
    """The fold of files, driven by inotify's rows, with the contents that the capture's last line
    has."""

    def __init__(self, tape: Tape, rows: list[_CaptureRow]) -> None:
        self._tape = tape
        self._fold = Files()
        self.ready = False
        self._contents: JsonObject = {}
        self._changes: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            files = row.data.get("files")
            if row.src == "truth" and isinstance(files, dict):
                self._contents = files
            elif row.src == "fs" and not _WRITES.isdisjoint(row.operations):
                name = str(row.data.get("name"))
                self._changes[name].append(row.t)
        self._now = 0.0
        self._moving: dict[str, tuple[str, bool]] = {}
        """By inotify's cookie."""

    def handle(self, at: int, row: _CaptureRow) -> None:
        """Fold one row of inotify; the first part of a move waits for its second one."""
        self._now = row.t
        if "MOVED_TO" not in row.operations:
            self.emit_departures(at)
        for raw in self._raw(row):
            self._notice(at, raw)

    def emit_departures(self, at: int) -> None:
        """What was moved away and did not arrive has left the folder: the kernel tells both halves
        in a row."""
        for name, folder in self._moving.values():
            self._notice(at, Raw("gone", name, folder=folder))
        self._moving.clear()

    def _notice(self, at: int, raw: Raw) -> None:
        for do in self._fold.notice(raw):
            self._do(at, do)

    def _do(self, at: int, do: Look | FileObservation) -> None:
        """Tell an observation, or look at a file as it was then; what no capture holds is a gap."""
        if isinstance(do, FileObservation):
            self._emit(at, do)
            return
        name = do.path.rpartition("/")[2]
        content = self._contents.get(name)
        later = [time for time in self._changes.get(name, ()) if time > self._now]
        if not later and isinstance(content, str):
            facts = _facts(name, content)
            for observation in self._fold.finish_look(do.path, do.ticket, facts):
                self._do(at, observation)
            return
        if do.when != "now":
            return  # its writer closes it later, and then it is asked for again
        wait_s = next(iter(later), math.inf) - self._now
        if self.ready and wait_s >= SETTLED_S:
            self._note_unknown_content(at, name)
        # The fold is to know of the file; what it would report of its content nobody saw.
        self._fold.finish_look(do.path, do.ticket, _NOT_KNOWN)

    def _note_unknown_content(self, at: int, name: str) -> None:
        """Record a moment in which nobody saw what the file ``name`` held."""
        reason = f"what {name} held then is not in an AT-SPI capture"
        self._tape.tell(at, "gap.began", {"source": "files", "reason": reason})
        self._tape.tell(at, "gap.ended", {"source": "files"})

    def _emit(self, at: int, observation: FileObservation) -> None:
        """Tell an observation; what is seen before the first step is the start state, and no
        change."""
        kind, data = observation.kind, {"root": ROOT} | observation.data
        data.pop("mode", None)  # which nobody asked for
        if self.ready:
            self._tape.tell(at, kind, data)
        elif kind in ("file.created", "file.modified"):
            data.pop("via", None)
            self._tape.tell(at, "file.present", data | {"baseline": True})

    def _raw(self, row: _CaptureRow) -> Iterator[Raw]:
        """The changes that a row of inotify's tells; the two ends of a move are one."""
        name = str(row.data.get("name", ""))
        folder = bool(row.data.get("dir"))
        cookie = str(row.data.get("cookie"))
        for operation in row.operations:
            is_arrival = operation == "MOVED_TO" and cookie in self._moving
            if operation == "MOVED_FROM":
                self._moving[cookie] = (name, folder)
            elif is_arrival:
                before, _ = self._moving.pop(cookie)
                yield Raw("moved", before, name, folder)
            elif operation in _OPS:
                yield Raw(_OPS[operation], name, folder=folder)


_NOT_KNOWN = FileFacts(-1, None, 0)
"""A file is there, and nobody knows what is in it."""


def _facts(name: str, content: str) -> FileFacts:
    raw = content.encode()
    return FileFacts(len(raw), sha256(raw), 0, mime=mime_of(raw, name))
