"""What stood when an episode began: a pure fold over the events before its first step.

A fact has a part (tabs, files, probes, windows), a name and a value. What differs between two runs
of one set-up by design is left out: ids, queries of addresses, ports of loopback addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypedDict

import orjson

from detectors.engine.expected_start import address_name, file_name
from detectors.model.codec import canonical, sha256
from detectors.model.types import Event, Json

Part = Literal["tabs", "files", "probes", "windows"]
PARTS: tuple[Part, ...] = ("tabs", "files", "probes", "windows")
MAX_FACTS = 500
"""Facts of one part that are kept by name; of more, the part is known by its digest alone."""
MAX_FOLDED = 100_000
"""Files, tabs or windows that are counted; what comes later is not in the digest."""
MAX_NAME = 300
_SOURCES: Mapping[str, tuple[Part, ...]] = {
    "cdp": ("tabs",),
    "files": ("files",),
    "probe": ("probes",),
    "ax": ("windows",),
}
"""The parts that are not known while a source observes nothing."""


class PartState(TypedDict):
    """One part as it stood. ``facts``: name → value, null where there are too many to keep."""

    digest: str
    count: int
    facts: dict[str, str] | None


StartState = dict[str, PartState]
"""Each part that was observed, by its name."""


class StartReader:
    """Takes an episode's events in order, up to its first step."""

    def __init__(self) -> None:
        self.began = False
        """Whether the first step, or the end, has come: later events count for nothing."""
        self._tabs: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._windows: dict[str, str] = {}
        self._probes: dict[str, str] = {}
        self._seen: set[Part] = set()
        self._gaps: set[tuple[str, str]] = set()
        self._handlers: Mapping[str, tuple[Part, Callable[[Mapping[str, Json]], None]]] = {
            "tab.opened": ("tabs", self._tab),
            "page.navigated": ("tabs", self._navigate),
            "tab.closed": ("tabs", lambda data: self._drop(self._tabs, data.get("tab"))),
            "file.present": ("files", self._file),
            "file.created": ("files", self._file),
            "file.modified": ("files", self._file),
            "file.moved": ("files", self._move),
            "file.deleted": ("files", lambda data: self._drop(self._files, file_name(data))),
            "window.opened": ("windows", self._window),
            "window.title_changed": ("windows", self._window),
            "window.closed": ("windows", lambda data: self._drop(self._windows, _id_of(data))),
            "probe.answered": ("probes", self._probe),
        }

    def apply(self, event: Event) -> None:
        """Take the next event of the episode, in order."""
        if self.began:
            return
        data = event.data
        if event.kind in ("step.began", "episode.closed"):
            self.began = True
        elif event.kind in ("gap.began", "gap.ended"):
            gap = (str(data.get("source")), str(data.get("part", "")))
            (self._gaps.add if event.kind == "gap.began" else self._gaps.discard)(gap)
            if event.kind == "gap.ended" and gap == ("files", ""):
                self._seen.add("files")  # all that was there is told: nothing, of empty folders
        elif event.kind in self._handlers:
            part, handle = self._handlers[event.kind]
            self._seen.add(part)
            handle(data)

    def state(self) -> StartState:
        """What stood, by part. Without a part of which nothing was observed."""
        tables: Mapping[Part, dict[str, str]] = {
            "tabs": _count(self._tabs),
            "files": self._files,
            "probes": self._probes,
            "windows": _count(self._windows),
        }
        blind = {part for source, of in self._gaps if not of for part in _SOURCES.get(source, ())}
        return {part: _part_state(tables[part]) for part in PARTS if part in self._seen - blind}

    def _tab(self, data: Mapping[str, Json]) -> None:
        _put(self._tabs, str(data.get("tab")), address_name(str(data.get("url"))))

    def _navigate(self, data: Mapping[str, Json]) -> None:
        if data.get("main") is True:
            self._tab(data)

    def _file(self, data: Mapping[str, Json]) -> None:
        """Note a file by its name, with its hash, link, or size."""
        content = data.get("sha256") or data.get("link") or f"{data.get('size')} bytes"
        _put(self._files, file_name(data), str(content))

    def _move(self, data: Mapping[str, Json]) -> None:
        self._drop(self._files, file_name({**data, "path": data.get("from")}))
        self._file(data)

    def _window(self, data: Mapping[str, Json]) -> None:
        _put(self._windows, _id_of(data), f"{data.get('app')}: {data.get('title')}")

    def _probe(self, data: Mapping[str, Json]) -> None:
        if data.get("when") == "start":
            _put(self._probes, str(data.get("probe")), canonical(data.get("value")).decode())

    @staticmethod
    def _drop(table: dict[str, str], name: Json) -> None:
        table.pop(str(name), None)


def encode_state(state: StartState) -> tuple[str, str]:
    """Return a state as canonical JSON, and its digest."""
    text = canonical(state)
    return text.decode(), sha256(text)


def decode_state(text: str) -> StartState:
    """Return the state that `encode_state` gave the text of."""
    state: StartState = orjson.loads(text)
    return state


def _id_of(data: Mapping[str, Json]) -> str:
    return f"{data.get('app')}/{data.get('window')}"


def _put(table: dict[str, str], name: str, value: str) -> None:
    """Set an entry, unless the table is full and has none of that name."""
    if name in table or len(table) < MAX_FOLDED:
        table[name] = value


def _count(named: Mapping[str, str]) -> dict[str, str]:
    """How often each value occurs: the ids under which they stand differ from run to run."""
    counts: dict[str, int] = {}
    for value in named.values():
        counts[value] = counts.get(value, 0) + 1
    return {value: str(many) for value, many in counts.items()}


def _part_state(facts: Mapping[str, str]) -> PartState:
    """Return a part's digest and count, and its facts where they are few."""
    kept = len(facts) <= MAX_FACTS
    short = {_shorten(name): _shorten(value) for name, value in facts.items()} if kept else None
    return {"digest": sha256(canonical(dict(facts))), "count": len(facts), "facts": short}


def _shorten(text: str) -> str:
    """A text that is short enough to be kept: the beginning of a longer one and its digest."""
    if len(text) <= MAX_NAME:
        return text
    return f"{text[:MAX_NAME]}… sha256 {sha256(text.encode())}"
