"""How an episode began, against what its task expects: where it is not so and the task refuses such
a start, no step of the episode is known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import urljoin, urlsplit

from detectors.engine.gaps import REFUSED
from detectors.engine.state import State
from detectors.model.types import Event, Json
from detectors.task.language import ExpectedStart
from detectors.task.ruleset import Ruleset

NOUNS: Mapping[str, str] = {"tabs": "a tab at", "files": "the file"}
MAX_TABS = 1_000
"""Tabs of which the address is kept until the first step."""
_MAX_NAMED = 5
_FILES = frozenset(
    ("file.present", "file.created", "file.modified", "file.moved", "file.deleted"),
)
_TABS = frozenset(("tab.opened", "page.navigated", "tab.closed"))
_SOURCES: Mapping[Json, str] = {"files": "files", "cdp": "tabs"}
_LOOPBACK = re.compile(r"^(localhost|127\.[0-9.]{5,11}|\[::1\]):[0-9]{1,5}$")


def address_name(url: str) -> str:
    """An address without query and fragment, and without the port of a loopback host."""
    try:
        parts = urlsplit(url[:8192])
    except ValueError:
        return url
    host = parts.netloc.rpartition("@")[2]
    if _LOOPBACK.match(host):
        host = host.rpartition(":")[0]
    return f"{parts.scheme}://{host}{parts.path}" if host else f"{parts.scheme}:{parts.path}"


def file_name(data: Mapping[str, Json]) -> str:
    """A file by its watched folder and its path in it."""
    return f"{data.get('root')}/{data.get('path')}"


def expected_address(origin: str | None, name: str) -> str:
    """An address of a task's `start` as the facts have it; one below the origin as a whole."""
    return address_name(urljoin(f"{origin or ''}/", name))


def describe_unexpected(
    part: Literal["tabs", "files"], difference: Literal["extra", "missing"], name: str
) -> str:
    """Say what differs from a start that the task declares."""
    what = f"{NOUNS[part]} {name}"
    if difference == "extra":
        return f"this episode began with {what}, which the task expects not to be there"
    return f"this episode began without {what}, which the task expects"


class StartCheck:
    """Follows what the task expects to stand, up to the first step.

    ``State.start`` has what stands of it (`tab ID` and `file NAME`) and which parts were observed;
    it is empty, and nothing is looked at, unless the task refuses another start. A part that was
    not observed, or not to the last, is not compared.
    """

    def __init__(self, ruleset: Ruleset, state: State) -> None:
        start = ruleset.task.start
        self._start = start if start is not None and start.on_mismatch == "refuse" else None
        self._state = state
        self._tabs = self._addresses(self._start, ruleset.task.origin)
        names = () if self._start is None else (*self._start.files, *self._start.absent_files)
        self._files = frozenset(names)

    @staticmethod
    def _addresses(start: ExpectedStart | None, origin: str | None) -> list[str]:
        return [] if start is None else [expected_address(origin, name) for name in start.tabs]

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that say what stands."""
        return frozenset() if self._start is None else _FILES | _TABS

    def read(self, event: Event) -> None:
        """Take in an event of `kinds`, in order."""
        if self._state.began:
            return
        if event.kind in _FILES:
            self._read_file(event)
        else:
            self._read_tab(event)

    def read_gap(self, event: Event) -> None:
        """Take in that a source observes nothing, or does again."""
        part = _SOURCES.get(str(event.data.get("source")))
        if self._start is None or self._state.began or part is None or "part" in event.data:
            return
        if event.kind == "gap.began":
            self._state.start[f"blind {part}"] = ""
        else:
            self._state.start.pop(f"blind {part}", None)
            if part == "files":  # all that was there is told: nothing, of empty folders
                self._state.start["seen files"] = ""

    def check(self, event: Event) -> None:
        """Refuse the start if it is another one; ``event``: with which the first step begins, or
        the episode ends without one."""
        if self._start is None:
            return
        wrong = self._find_wrong(self._start)
        self._state.start.clear()
        if wrong:
            more = f" (and {len(wrong) - _MAX_NAMED} more)" if len(wrong) > _MAX_NAMED else ""
            why = "; ".join(wrong[:_MAX_NAMED]) + more
            self._state.gaps[REFUSED] = [event.seq, why, 1]
            self._state.blind[REFUSED] = [event.seq, why]

    def _find_wrong(self, start: ExpectedStart) -> list[str]:
        known, found = self._state.start, list[str]()
        if _is_known(known, "tabs"):
            open_tabs = {value for name, value in known.items() if name.startswith("tab ")}
            missing = [address for address in self._tabs if address not in open_tabs]
            found += [describe_unexpected("tabs", "missing", address) for address in missing]
        if _is_known(known, "files"):
            found += _wrong_files(known, start.files, start.absent_files)
        return found

    def _read_file(self, event: Event) -> None:
        start, data = self._state.start, event.data
        start["seen files"] = ""
        name = file_name(data)
        if event.kind == "file.deleted":
            start.pop(f"file {name}", None)
            return
        if event.kind == "file.moved":
            start.pop(f"file {file_name({**data, 'path': data.get('from')})}", None)
        if name in self._files:
            start[f"file {name}"] = ""

    def _read_tab(self, event: Event) -> None:
        start, data = self._state.start, event.data
        start["seen tabs"] = ""
        if event.kind == "page.navigated" and data.get("main") is not True:
            return
        tab = f"tab {data.get('tab')}"[:200]
        start.pop(tab, None)
        address = address_name(str(data.get("url")))
        if event.kind != "tab.closed" and address in self._tabs and len(start) < MAX_TABS:
            start[tab] = address


def _is_known(known: Mapping[str, str], part: str) -> bool:
    return f"seen {part}" in known and f"blind {part}" not in known


def _wrong_files(
    known: Mapping[str, str], files: Sequence[str], absent: Sequence[str]
) -> list[str]:
    missing = [name for name in files if f"file {name}" not in known]
    extra = [name for name in absent if f"file {name}" in known]
    return [
        *(describe_unexpected("files", "missing", name) for name in missing),
        *(describe_unexpected("files", "extra", name) for name in extra),
    ]
