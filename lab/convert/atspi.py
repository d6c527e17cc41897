"""Captures of AT-SPI and inotify events as JSON lines, ``{t, src, …}``, through the folds of the
daemon's own sources.

A step for each input that was sent; one for all where the capture has none. What stood when its
mark says ``ready`` is baseline. A capture knows no file's content but at its very end: a file's
last change is told with that, and a change before it blinds its step for rules about files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agentd.masking import Masker
from agentd.readers.mime import mime_of
from agentd.sources.ax.fold import DesktopFold as Desktop
from agentd.sources.files.facts import FileFacts
from agentd.sources.files.fold import FileObservation, Look, Raw
from agentd.sources.files.fold import RootFold as Files
from detectors.model.codec import sha256
from detectors.model.kinds import KINDS
from lab.convert.atspi_objects import Objects
from lab.convert.errors import format_value
from lab.convert.source import Source
from lab.convert.tape import Tape

REST_NS = 200_000_000
"""How long a text has to rest before it is told, as live."""
SETTLED_S = 0.5
"""Changes of one file that follow each other faster are one: editors close, rename and close again."""
ROOT = "capture"
_SOURCES = ("atspi", "fs", "mark", "input", "truth")
_OPS = {
    "CREATE": "appeared",
    "MODIFY": "written",
    "CLOSE_WRITE": "closed",
    "DELETE": "gone",
    "MOVED_TO": "arrived",
}
_NOT_CAPTURED = (
    "app.appeared",
    "app.vanished",
    "widget.activated",
    "widget.value_changed",
    "notification.shown",
)


def fits(source: Source) -> bool:
    """Whether the first line is one of a capture."""
    first = source.items[0] if source.items else None
    return isinstance(first, dict) and "t" in first and first.get("src") in _SOURCES


def read(source: Source) -> AtspiReading:
    """The capture, checked. Raises `ConvertError`."""
    if not source.items:
        raise source.wrong("", format_value(source.value), "wanted JSON lines {t, src, …}")
    for number, row in enumerate(source.items, 1):
        where = f"line {number}"
        if not isinstance(row, dict) or row.get("src") not in _SOURCES:
            raise source.wrong(
                where, format_value(row), f"wanted an object with src: {', '.join(_SOURCES)}"
            )
        if not isinstance(row.get("t"), int | float):
            raise source.wrong(f"{where}: t", format_value(row.get("t")), "wanted seconds")
        wanted: dict[str, Any] = {
            "atspi": ("type", str),
            "fs": ("ev", list),
            "input": ("cmd", list),
        }
        name, kind = wanted.get(row["src"], ("t", int | float))
        if not isinstance(row.get(name), kind):
            raise source.wrong(
                f"{where}: {name}",
                format_value(row.get(name)),
                f"wanted a {getattr(kind, '__name__', kind)}",
            )
    return AtspiReading(source, source.items)


class AtspiReading:
    """A capture that was read: see `lab.convert.formats.Reading`."""

    version = None

    def __init__(self, source: Source, rows: list[dict[str, Any]]) -> None:
        self._source = source
        self._rows = rows
        sources = {row["src"] for row in rows}
        shows = {
            kind
            for kind, about in KINDS.items()
            if about.source == "ax" and kind not in _NOT_CAPTURED
        }
        files = {
            kind
            for kind, about in KINDS.items()
            if about.source == "files" and kind != "file.permitted"
        }
        self.shows = frozenset(
            (shows if "atspi" in sources else set()) | (files if "fs" in sources else set())
        )

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Row after row through the folds."""
        masker = Masker(mask)
        start = min(row["t"] for row in self._rows)
        desktop = _Desktop(tape, masker, next(_apps(self._rows), ""))
        files = _Files(tape, self._rows)
        inputs = any(row["src"] == "input" for row in self._rows)
        marked = any(row["src"] == "mark" for row in self._rows)
        if not marked and not inputs:
            desktop.ready()
            files.ready = True
            tape.begin(0)
        for number, row in enumerate(self._rows, 1):
            with self._source.part(f"line {number}: t"):
                at = int((row["t"] - start) * 1e9)
            desktop.flush_until(at)
            if row["src"] in ("mark", "input"):
                desktop.ready()
                files.ready = True
            with self._source.part(f"line {number}"):
                if row["src"] == "atspi":
                    desktop.handle(at, row)
                elif row["src"] == "fs":
                    files.handle(at, row)
            if row["src"] == "input" or (row["src"] == "mark" and not inputs):
                desktop.settle(at)
                files.emit_departures(at)
                tape.end(at)
                tape.begin(at, _action(row, masker))
        desktop.settle(tape.at)
        files.emit_departures(tape.at)


def _action(row: dict[str, Any], masker: Masker) -> dict[str, Any] | None:
    if row["src"] != "input":
        return None
    return {"input": masker.mask_arguments([str(word) for word in row["cmd"]])}


def _apps(rows: list[dict[str, Any]]) -> Iterator[str]:
    return (row["name"] for row in rows if row.get("role") == "application" and row.get("name"))


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
        """What comes is news."""
        if not self._ready:
            self._ready = True
            self.settle(self._tape.at)
            self._fold.feed({"t": "ready"})

    def handle(self, at: int, row: dict[str, Any]) -> None:
        self._heard_at = at
        for message in self._objects.messages(row):
            for say in self._fold.feed(message):
                self._tape.tell(at, say.kind, say.data)

    def flush_until(self, at: int) -> None:
        """Tell what rested by then."""
        if self._fold.due and at >= self._heard_at + REST_NS:
            self.settle(self._heard_at + REST_NS)

    def settle(self, at: int) -> None:
        """Tell what is held back."""
        flags = {} if self._ready else {"baseline": True}
        for say in self._fold.settle():
            self._tape.tell(at, say.kind, say.data | flags)


class _Files:
    """The fold of files, driven by inotify's rows, with the contents that the capture's last line
    has."""

    def __init__(self, tape: Tape, rows: list[dict[str, Any]]) -> None:
        self._tape = tape
        self._fold = Files()
        self.ready = False
        ends = [
            row["files"]
            for row in rows
            if row["src"] == "truth" and isinstance(row.get("files"), dict)
        ]
        self._contents: dict[str, Any] = ends[-1] if ends else {}
        self._changes: dict[str, list[float]] = {}
        for row in rows:
            if row["src"] == "fs" and {"CLOSE_WRITE", "MOVED_TO"} & set(map(str, row["ev"])):
                self._changes.setdefault(str(row.get("name")), []).append(row["t"])
        self._now = 0.0
        self._moving: dict[Any, tuple[str, bool]] = {}

    def handle(self, at: int, row: dict[str, Any]) -> None:
        self._now = row["t"]
        if "MOVED_TO" not in row["ev"]:
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
        if isinstance(do, FileObservation):
            self._say(at, do)
            return
        name = do.path.rpartition("/")[2]
        content = self._contents.get(name)
        later = [at for at in self._changes.get(name, ()) if at > self._now]
        known = not later and isinstance(content, str)
        if do.when != "now" and not known:
            return  # its writer closes it later, and then it is asked for again
        if not known and self.ready and not (later and later[0] - self._now < SETTLED_S):
            about = {
                "source": "files",
                "reason": f"what {name} held then is not in an AT-SPI capture",
            }
            self._tape.tell(at, "gap.began", about)
            self._tape.tell(at, "gap.ended", {"source": "files"})
        for one in self._fold.finish_look(
            do.path, do.ticket, _facts(name, str(content)) if known else _NOT_KNOWN
        ):
            if known:
                self._do(at, one)

    def _say(self, at: int, say: FileObservation) -> None:
        kind, data = say.kind, {"root": ROOT} | say.data
        data.pop("mode", None)  # which nobody asked for
        if self.ready:
            self._tape.tell(at, kind, data)
        elif kind in ("file.created", "file.modified"):
            data.pop("via", None)
            self._tape.tell(at, "file.present", data | {"baseline": True})

    def _raw(self, row: dict[str, Any]) -> Iterator[Raw]:
        name, folder = str(row.get("name", "")), bool(row.get("dir"))
        for event in row["ev"]:
            if event == "MOVED_FROM":
                self._moving[row.get("cookie")] = (name, folder)
            elif event == "MOVED_TO" and row.get("cookie") in self._moving:
                yield Raw("moved", self._moving.pop(row.get("cookie"))[0], name, folder)
            elif event in _OPS:
                yield Raw(_OPS[event], name, folder=folder)  # type: ignore[arg-type]


_NOT_KNOWN = FileFacts(-1, None, 0)
"""A file is there, and nobody knows what is in it."""


def _facts(name: str, content: str) -> FileFacts:
    raw = content.encode()
    return FileFacts(len(raw), sha256(raw), 0, mime=mime_of(raw, name))
