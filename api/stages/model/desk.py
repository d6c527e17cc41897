"""What stands on the desktop and in the folders after each event: windows, widgets, files,
clipboard, probes, pictures, and what tools were told. Bounded: the oldest go first."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import orjson

from api.stages.model.edits import Edit, compare
from api.stages.model.requirements import MAX_TEXT, FoundTexts, Requirements
from api.stages.model.words import Goal, in_goal, plain, value_agrees
from detectors.model.types import Event

Data = Mapping[str, Any]
Key = TypeVar("Key")
Value = TypeVar("Value")
MAX_WINDOWS, MAX_WIDGETS, MAX_SWITCHES = 200, 300, 300
MAX_FILES, MAX_BODIES, MAX_PROBES, MAX_PICTURES = 2_000, 200, 64, 200
ALIKE = 4
"""Bits in which the hashes of two pictures of one screen differ, at most."""
LAST, MAX_LINES = 400, 20
"""Characters and lines at the end of a text that may be a result."""
HIDDEN = (".", "~", "#")
MAX_PARTS = 200
"""Texts of one file's facts that are read."""
Area = Literal[
    "windows", "widgets", "switches", "files", "probes", "clipboard", "pictures", "answer"
]
"""A part of what stands there that changes by itself; files are their contents, too."""
AREAS: tuple[Area, ...] = get_args(Area)
DIALOGS = frozenset(("dialog", "alert", "file chooser", "color chooser", "font chooser"))


class TextComparison(NamedTuple):
    """How a text that may change differs from what it was first, and what the goal says of that."""

    edit: Edit
    agrees: float
    """How well what came agrees with the goal; -1 where nothing came."""
    is_whole: bool
    """What came is exactly one of the wanted texts."""
    loses: bool
    """Something went that the goal does not name."""
    is_change: bool
    """More than spaces came or went."""


@dataclass(slots=True)
class HeldText:
    """A text that may change: as it was first and as it is now. What follows from it is computed
    when it is asked for: many texts change again before that, or are never asked about."""

    first: str
    now: str
    role: str = ""
    changed: bool = False
    """It was something else meanwhile."""
    is_other: bool = False
    """It is not what it was first."""
    found: FoundTexts = FoundTexts()
    comparison: TextComparison | None = None
    """What `DeskState.compare` computed of ``now``."""
    _digests: frozenset[str] | None = None
    _lines: frozenset[str] | None = None

    def write(self, text: str, found: FoundTexts) -> None:
        """Set the text that it is now, and which of the wanted texts that has."""
        self.changed = self.changed or text != self.now
        self.is_other = text != self.first
        self.now, self.found = text, found
        self.comparison = self._digests = self._lines = None

    def file_digests(self) -> frozenset[str]:
        """Return the sha256 of files that hold it, with or without an end of the last line."""
        if self._digests is None:
            stripped = self.now.removesuffix("\n")
            ends = ("", "\n") if stripped == self.now else ("", "\n", "\n\n")
            self._digests = frozenset(_digests_of(stripped, ends))
        return self._digests

    def last_lines(self) -> frozenset[str]:
        """Return its last lines, as plain words."""
        if self._lines is None:
            self._lines = frozenset(map(plain, self.now[-LAST:].splitlines()[-MAX_LINES:]))
        return self._lines


@dataclass(slots=True)
class DeskWindow:
    """A window that is open."""

    role: str
    title: str
    words: frozenset[str]


@dataclass(slots=True)
class DeskFile:
    """A file that is there. ``given``: it was there when the observation began; ``touched``: it was
    made, written or moved; ``names``: the wanted names that it has, by their places."""

    digest: str
    size: int
    names: frozenset[int]
    is_named: bool
    given: bool
    touched: bool = False
    originals: frozenset[bool] = frozenset()
    """Where it holds what others held at first: whether these are wanted by name."""


@dataclass(slots=True)
class DeskSwitch:
    """A state of a widget: as it was first and as it is now. ``moved``: it was changed;
    ``agrees``: its name with the goal."""

    name: str
    agrees: float
    first: bool
    now: bool
    moved: bool = False


@dataclass(slots=True)
class DeskState:
    """Folded from events, in order."""

    wanted: Requirements
    goal: Goal
    windows: dict[tuple[str, str], DeskWindow] = field(default_factory=dict)
    widgets: dict[tuple[str, str, str], HeldText] = field(default_factory=dict)
    switches: dict[tuple[str, str, str], DeskSwitch] = field(default_factory=dict)
    values: dict[tuple[str, str, str], tuple[float, float]] = field(default_factory=dict)
    """Of each slider or spin button the value that it had first, and has now."""
    files: dict[str, DeskFile] = field(default_factory=dict)
    bodies: dict[str, HeldText] = field(default_factory=dict)
    """Of each file that was read its content."""
    digests: Counter[str] = field(default_factory=Counter)
    """Of each content that files have now, how many have it."""
    touched: dict[str, DeskFile] = field(default_factory=dict)
    """Of the files those that were made, written or moved; without hidden ones and backups."""
    named: dict[str, DeskFile] = field(default_factory=dict)
    """Of the files those that have a wanted name."""
    gone: dict[str, DeskFile] = field(default_factory=dict)
    """Files that were there at first and are not, by path."""
    originals: dict[str, dict[str, bool]] = field(default_factory=dict)
    """Of each content that a file had at first the paths, and whether they are wanted by name."""
    probes: dict[str, HeldText] = field(default_factory=dict)
    pictures: list[int] = field(default_factory=list)
    clipboard: FoundTexts = FoundTexts()
    clipboard_text: str = ""
    answer: str | None = None
    shown_ever: set[int] = field(default_factory=set)
    """Wanted texts that some widget showed so far."""
    selected: str = ""
    """The name of what was selected last."""
    unsettled: int = 0
    is_reported: bool = False
    """Whether this log reports a desktop, files or tools at all."""
    changes: dict[Area, int] = field(default_factory=lambda: dict.fromkeys(AREAS, 0))
    """Of each area the events that may have changed it: what was computed of an area stands for as
    long as this does."""

    def fold(self, event: Event) -> None:
        """Apply one more event to what stands there."""
        handler = _HANDLERS.get(event.kind)
        if handler is None:
            return
        self.is_reported = True
        handler.apply(self, event.data)
        for area in handler.areas:
            self.changes[area] += 1

    def compare(self, body: HeldText) -> TextComparison:
        """Return how a text differs from what it was first."""
        if body.comparison is None:
            edit = compare(body.first, body.now)
            came, went = edit.came.strip(), edit.went.strip()
            is_whole = self.wanted.is_whole(came)
            body.comparison = TextComparison(
                edit=edit,
                agrees=self._agreement(came, is_whole=is_whole),
                is_whole=is_whole,
                loses=bool(went) and not self.wanted.is_whole(went),
                is_change=edit.is_change,
            )
        return body.comparison

    def _agreement(self, came: str, *, is_whole: bool) -> float:
        """1 for a wanted text with its upper and lower case, less for what is near to one."""
        if not came:
            return -1.0
        return 1.0 if is_whole else 0.9 * value_agrees(came, self.goal)

    def _open(self, data: Data) -> None:
        title = str(data.get("title") or "")
        window = DeskWindow(str(data.get("role")), title, frozenset(plain(title).split()))
        _put(self.windows, (str(data["app"]), str(data["window"])), window, MAX_WINDOWS)

    def _close(self, data: Data) -> None:
        key = (str(data["app"]), str(data["window"]))
        self.windows.pop(key, None)
        for other in [one for one in self.widgets if one[:2] == key]:
            del self.widgets[other]

    def _leave(self, data: Data) -> None:
        """A program is gone, with all of its windows."""
        for app, window in [key for key in self.windows if key[0] == data["app"]]:
            self._close({"app": app, "window": window})

    def _write(self, data: Data) -> None:
        key, text = _widget_key(data), str(data["text"])[:MAX_TEXT]
        body = self.widgets.get(key)
        if body is None:
            is_first = data.get("initial") or data.get("baseline") or self._is_in_file(text)
            first = text if is_first else ""
            body = HeldText(first, first, str(data["widget"].get("role")))
            _put(self.widgets, key, body, MAX_WIDGETS)
        body.write(text, self.wanted.find(text))
        self.shown_ever |= body.found.anywhere

    def _is_in_file(self, text: str) -> bool:
        """Whether a file holds this text: a widget that shows it first has read it."""
        return digest_of(text) in self.digests

    def _switch(self, data: Data) -> None:
        widget, is_on = data["widget"], bool(data["on"])
        key = (*_widget_key(data)[:2], f"{_widget_key(data)[2]}|{data['state']}")
        is_given = bool(data.get("initial") or data.get("baseline"))
        known = self.switches.get(key)
        if known is None:
            first = is_on if is_given else not is_on
            name = str(widget.get("name") or "")
            known = DeskSwitch(name, in_goal(name, self.goal), first, is_on)
            _put(self.switches, key, known, MAX_SWITCHES)
        known.now = is_on
        known.moved = known.moved or not is_given
        if data["state"] == "selected" and is_on and not is_given:
            self.selected = known.name

    def _turn(self, data: Data) -> None:
        key, value = _widget_key(data), float(data["value"])
        is_given = bool(data.get("initial") or data.get("baseline"))
        known = self.values.get(key)
        first = known[0] if known else (value if is_given else float("nan"))
        _put(self.values, key, (first, value), MAX_SWITCHES)

    def _find_file(self, data: Data) -> None:
        path, file = str(data["path"]), self._file_of(data, given=True, touched=False)
        self._put_file(path, file)
        if len(self.originals) < MAX_FILES:
            self.originals.setdefault(file.digest, {})[path] = file.is_named

    def _file_of(self, data: Data, *, given: bool, touched: bool) -> DeskFile:
        path, digest = str(data["path"]), str(data.get("sha256") or "")
        others = self.originals.get(digest, {}) if digest and touched else {}
        return DeskFile(
            digest=digest,
            size=int(data.get("size") or 0),
            names=self.wanted.names_of(path),
            is_named=self.wanted.is_named(path),
            given=given,
            touched=touched,
            originals=frozenset(is_named for other, is_named in others.items() if other != path),
        )

    def _put_file(self, path: str, file: DeskFile) -> None:
        self._forget_file(path)
        if len(self.files) >= MAX_FILES:
            self._forget_file(next(iter(self.files)))
        self.files[path] = file
        self.digests[file.digest] += 1
        if file.names:
            self.named[path] = file
        if file.touched and not _is_hidden(path):
            self.touched[path] = file

    def _forget_file(self, path: str) -> DeskFile | None:
        self.touched.pop(path, None)
        self.named.pop(path, None)
        file = self.files.pop(path, None)
        if file is not None:
            self.digests[file.digest] -= 1
            if not self.digests[file.digest]:
                del self.digests[file.digest]
        return file

    def _change_file(self, data: Data) -> None:
        path = str(data["path"])
        before = self.files.get(path)
        given = path in self.gone or (before is not None and before.given)
        self.gone.pop(path, None)
        self._put_file(path, self._file_of(data, given=given, touched=True))

    def _move_file(self, data: Data) -> None:
        before = str(data["from"])
        self._lose_file({"path": before})
        body = self.bodies.pop(before, None)
        if body is not None:
            _put(self.bodies, str(data["path"]), body, MAX_BODIES)
        self._change_file(data)

    def _lose_file(self, data: Data) -> None:
        path = str(data["path"])
        file = self._forget_file(path)
        if file is not None and file.given:
            _put(self.gone, path, file, MAX_FILES)

    def _read(self, data: Data) -> None:
        path, text = str(data["path"]), facts_text(data.get("facts"))
        body = self.bodies.get(path)
        if body is None:
            first = text if data.get("baseline") else ""
            body = HeldText(first, first)
            _put(self.bodies, path, body, MAX_BODIES)
        if data.get("status") == "read":
            body.write(text, self.wanted.find(text))

    def _probe(self, data: Data) -> None:
        name, value = str(data["probe"]), data.get("value")
        text = "" if value is None else value if isinstance(value, str) else _json(value)
        text = text[:MAX_TEXT]
        body = self.probes.get(name)
        if body is None:
            body = HeldText(text, text)
            _put(self.probes, name, body, MAX_PROBES)
        body.write(text, self.wanted.find(text))

    def _copy(self, data: Data) -> None:
        self.clipboard_text = "" if data.get("baseline") else str(data.get("text") or "")
        self.clipboard = self.wanted.find(self.clipboard_text)

    def _look(self, data: Data) -> None:
        phash = str(data.get("phash") or "0")
        self.pictures.append(int(phash[:16], 16) if _is_hex(phash) else 0)
        del self.pictures[:-MAX_PICTURES]

    def _answer(self, data: Data) -> None:
        self.answer = str(data["text"])[:MAX_TEXT]

    def _leave_unsettled(self, data: Data) -> None:
        self.unsettled += 1

    def _hear(self, data: Data) -> None:
        """A kind that only steps count."""


def digest_of(text: str) -> str:
    """The sha256 of a file that holds this text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _digests_of(text: str, ends: Iterable[str]) -> Iterator[str]:
    """The sha256 of files that hold this text and one of the ends."""
    begun = hashlib.sha256(text.encode(errors="surrogatepass"))
    for end in ends:
        whole = begun.copy()
        whole.update(end.encode())
        yield whole.hexdigest()


def facts_text(facts: object) -> str:
    """All texts and numbers of a file's facts, a line each; its own text as it is."""
    if isinstance(facts, Mapping) and isinstance(facts.get("text"), str):
        return str(facts["text"])[:MAX_TEXT]
    parts: list[str] = []
    waiting: list[object] = [facts]
    while waiting and len(parts) < MAX_PARTS:
        part = waiting.pop()
        if isinstance(part, Mapping):
            waiting.extend(reversed([one for item in part.items() for one in item]))
        elif isinstance(part, list | tuple):
            waiting.extend(reversed(part))
        elif isinstance(part, str | int | float):
            parts.append(str(part))
    return "\n".join(parts)[:MAX_TEXT]


def is_same_picture(one: int, other: int) -> bool:
    """Whether two perceptual hashes are of one screen."""
    return (one ^ other).bit_count() <= ALIKE


def _widget_key(data: Data) -> tuple[str, str, str]:
    widget = data["widget"]
    identity = widget.get("id") or "/".join(map(str, widget.get("path") or ()))
    return str(data["app"]), str(data["window"]), f"{identity}|{widget.get('role')}"


def _put(known: dict[Key, Value], key: Key, value: Value, most: int) -> None:
    """Set one entry; beyond ``most`` the oldest goes."""
    known[key] = value
    if len(known) > most:
        known.pop(next(iter(known)))


def _is_hidden(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return name.startswith(HIDDEN) or name.endswith("~")


def _json(value: object) -> str:
    return orjson.dumps(value).decode()[:MAX_TEXT]


def _is_hex(text: str) -> bool:
    return bool(text) and all(letter in "0123456789abcdef" for letter in text[:16])


class _Handler(NamedTuple):
    """What an event does, and the areas that it may change."""

    apply: Callable[[DeskState, Data], None]
    areas: tuple[Area, ...]


_HANDLERS = {
    "window.opened": _Handler(DeskState._open, ("windows",)),
    "window.activated": _Handler(DeskState._open, ("windows",)),
    "window.title_changed": _Handler(DeskState._open, ("windows",)),
    "window.closed": _Handler(DeskState._close, ("windows", "widgets")),
    "app.vanished": _Handler(DeskState._leave, ("windows", "widgets")),
    "widget.text_changed": _Handler(DeskState._write, ("widgets",)),
    "widget.state_changed": _Handler(DeskState._switch, ("switches",)),
    "widget.value_changed": _Handler(DeskState._turn, ("switches",)),
    "file.present": _Handler(DeskState._find_file, ("files",)),
    "file.created": _Handler(DeskState._change_file, ("files",)),
    "file.modified": _Handler(DeskState._change_file, ("files",)),
    "file.moved": _Handler(DeskState._move_file, ("files",)),
    "file.deleted": _Handler(DeskState._lose_file, ("files",)),
    "file.unsettled": _Handler(DeskState._leave_unsettled, ("files",)),
    "file.read": _Handler(DeskState._read, ("files",)),
    "probe.answered": _Handler(DeskState._probe, ("probes",)),
    "clipboard.changed": _Handler(DeskState._copy, ("clipboard",)),
    "screen.captured": _Handler(DeskState._look, ("pictures",)),
    "agent.answered": _Handler(DeskState._answer, ("answer",)),
    "agent.tool_called": _Handler(DeskState._hear, ()),
    "agent.tool_returned": _Handler(DeskState._hear, ()),
    "process.started": _Handler(DeskState._hear, ()),
    "widget.activated": _Handler(DeskState._hear, ()),
}
