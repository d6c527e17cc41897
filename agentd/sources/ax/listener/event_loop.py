"""Events of the desktop's programs, reported in their order; and the parent's commands."""

from __future__ import annotations

import time
from typing import Any

from gi.repository import Atspi, Gio, GLib

from .asking import (
    MAX_TEXT,
    PAUSE_S,
    TIMEOUT_MS,
    Questioner,
    identity,
    states_of,
    text_of,
    value_of,
)
from .hit import hit
from .tree import ROOT, ObjectTree
from .walk import PRIORITY, Walker
from .windows_live import LiveWindows
from .wire import ParentPipe

REVIEW_MS = 250
"""How soon after an event the windows of its program are looked at again."""
BASELINE_MS = 3000
WALK_S = 0.06
"""How long a fence waits for the first look into a window, in seconds; a large one takes longer."""
STATES = frozenset(
    ("focused", "checked", "selected", "expanded", "sensitive", "pressed", "armed", "active")
)
"""States whose changes are reported; the others (showing, defunct, has-tooltip, ...) come in floods
and say little."""
POPUPS = frozenset(("popup menu", "menu", "window"))
SECRET = "password text"


class DesktopListener:
    """Reports what is on the bus: ``begin`` what is there, ``hear`` what happens, ``command`` what
    the parent asks. ``patience`` multiplies how long programs have for an answer, and how long
    `begin` and a fence wait for what they show."""

    def __init__(self, wire: ParentPipe, bus: Gio.DBusConnection, patience: float) -> None:
        self._wire = wire
        self._patience = patience
        self._asking = Questioner(self._busy, round(TIMEOUT_MS * patience))
        self._live = LiveWindows(bus, self._asking)
        self._tree = ObjectTree(wire, self._asking)
        self._walker = Walker(wire, self._tree, self._asking, self._read, self._report_ready)
        self._roots: dict[str, Any] = {}  # bus name -> the application
        self._windows: dict[str, list[str]] = {}
        self._pids: dict[str, int] = {}
        self._touched: set[str] = set()
        self._reviewing = False
        self._active = ""
        self._active_window = ""
        self._is_ready = False
        self._children_wanted = False
        bus.signal_subscribe(
            "org.freedesktop.DBus",
            "org.freedesktop.DBus",
            "NameOwnerChanged",
            None,
            None,
            0,
            wire.guard(self._owner_changed),
        )

    def begin(self) -> None:
        """Report what is there, then ``ready``, after `BASELINE_MS` at the latest."""
        self._look_at_programs()
        baseline_ms = round(BASELINE_MS * self._patience)
        GLib.timeout_add(baseline_ms, self._wire.guard(self._end_baseline))
        if self._walker.resting:
            self._report_ready()

    def _end_baseline(self) -> bool:
        self._report_ready()
        return False

    def _report_ready(self) -> None:
        """Say once that all programs were looked at."""
        if not self._is_ready:
            self._is_ready = True
            self._wire.say({"t": "ready"})

    # -- programs and their windows

    def _look_at_programs(self) -> bool:
        """Meet every program that is on the desktop. Return False, so that the loop does not call
        again."""
        desktop = Atspi.get_desktop(0)
        for index in range(self._asking.ask("", desktop.get_child_count) or 0):
            root = self._asking.ask("", desktop.get_child_at_index, index)
            if root is not None:
                self._meet(root)
        return False

    def _meet(self, root: Any) -> None:
        """Report a program, if this is the first time that it is met."""
        found, bus = identity(root)
        if bus in self._roots or not bus.startswith(":") or self._tree.describe(root) is None:
            return
        self._roots[bus] = root
        ask = self._asking.ask
        self._pids[bus] = ask(bus, root.get_process_id) or 0
        self._wire.say(
            {
                "t": "app",
                "bus": bus,
                "id": found,
                "toolkit": (ask(bus, root.get_toolkit_name) or "")[:MAX_TEXT],
                "version": (ask(bus, root.get_toolkit_version) or "")[:MAX_TEXT],
                "pid": self._pids[bus],
            }
        )
        self._look_at_windows(bus)

    def _look_at_windows(self, bus: str) -> None:
        """Tell a program's windows, forget those that are gone, and walk through the others."""
        ids = self._live.children(bus, ROOT)
        if ids is None:
            return
        windows: list[dict[str, Any]] = []
        for id_ in ids:
            window = self._look_at_window(bus, id_)
            if window is not None:
                windows.append(window)
        for id_ in set(self._windows.get(bus, ())) - set(ids):
            self._tree.remove(id_)
            self._walker.forget(id_)
        self._windows[bus] = ids
        self._wire.say({"t": "windows", "bus": bus, "windows": windows})
        for window in windows:
            self._walker.walk(window["id"], bus)

    def _look_at_window(self, bus: str, id_: str) -> dict[str, Any] | None:
        """Return a window's name and states as they are now; None: it is gone, or does not
        answer."""
        if id_ not in self._tree.roles:
            self._find_window(bus, id_)
        path = id_.removeprefix(bus)
        name = self._live.name(bus, path)
        states = self._live.states(bus, path)
        if id_ not in self._tree.roles or name is None or states is None:
            return None
        if "active" in states:
            self._active = bus
            self._active_window = id_
        return {"id": id_, "name": name, "states": states}

    def _find_window(self, bus: str, wanted: str) -> None:
        """Get hold of a window by its id; the library's list of children may be an old one."""
        root = self._roots[bus]
        for attempt in range(2):
            for index in range(self._asking.ask(bus, root.get_child_count) or 0):
                child = self._asking.ask(bus, root.get_child_at_index, index)
                if child is not None and identity(child)[0] == wanted:
                    self._tree.describe(child)
                    return
            if attempt == 0:
                root.clear_cache()

    def _touch(self, bus: str) -> None:
        """Note that a program's windows may be others now; all such are looked at together a little
        later."""
        self._touched.add(bus)
        if not self._reviewing:
            self._reviewing = True
            GLib.timeout_add(REVIEW_MS, self._wire.guard(self._review))

    def _review(self) -> bool:
        """Look at the windows of the programs that were touched. Return False, so that the loop
        does not call again."""
        self._reviewing = False
        touched, self._touched = self._touched, set()
        for bus in sorted(touched):
            if bus not in self._roots:
                self._look_at_programs()
            if bus in self._roots:
                self._look_at_windows(bus)
        return False

    def _busy(self, bus: str, on: bool) -> None:
        """Tell that a program does not answer, or does again; one that does not is asked again
        after its pause."""
        self._wire.say({"t": "busy", "bus": bus, "on": on})
        if on:
            GLib.timeout_add(int(PAUSE_S * 1000) + 100, self._wire.guard(self._ping), bus)
        else:
            self._touch(bus)

    def _ping(self, bus: str) -> bool:
        """Ask a program that did not answer for its name. Return False, so that the loop does not
        call again."""
        if bus in self._roots:
            self._live.name(bus, ROOT)
        return False

    def _owner_changed(self, *signal: Any) -> None:
        """Let a program go whose name on the bus has no owner any more."""
        name, _, new = signal[5].unpack()
        if new == "" and name in self._roots:
            # Its last events may still be on their way over the library's own connection.
            GLib.idle_add(self._wire.guard(self._leave), name, priority=PRIORITY)

    def _leave(self, bus: str) -> bool:
        """Forget a program with its windows and objects, and tell that it is gone."""
        for window in self._windows.pop(bus, ()):
            self._walker.forget(window)
        self._roots.pop(bus, None)
        self._pids.pop(bus, None)
        self._asking.busy.pop(bus, None)
        self._touched.discard(bus)
        self._tree.remove_all(bus)
        self._wire.say({"t": "gone", "bus": bus})
        return False

    # -- events

    def hear(self, event: Any) -> None:
        """Follow one event from the bus."""
        source = event.source
        if source is None or source.app is None:
            return
        kind = event.rawType
        _, what, detail, *_ = (kind + "::").split(":")
        found, bus = identity(source)
        if what == "state-changed" and detail not in STATES:
            if detail == "showing" and not event.detail1 and self._tree.roles.get(found) in POPUPS:
                self._wire.say({"t": "hid", "id": found})
        elif not bus.startswith(":"):
            self._look_at_programs()  # the desktop itself: a program came or went
        elif what == "children-changed":
            self._children_changed(event, detail, found, bus)
        else:
            self._touch(bus)
            # Hundreds of a closed menu's items follow every key in an office program as sensitive:
            # nobody sees them.
            if detail != "sensitive" or found in self._tree.roles:
                self._report(event, kind, found, bus)

    def _report(self, event: Any, kind: str, found: str, bus: str) -> None:
        """Report an event to the parent, its object described before it."""
        if kind == "window:activate":
            self._active = bus
            self._active_window = found
        known = self._tree.describe(event.source)
        is_window = kind in ("window:create", "window:activate")
        if known is None and is_window and isinstance(event.any_data, str):
            known = self._tree.remember(event.source, event.any_data)
        if known is not None:
            self._say_event(kind, known, event.detail1, event.detail2, self._any(event, known))

    def _say_event(self, kind: str, id_: str, d1: int, d2: int, any_: object) -> None:
        self._wire.say({"t": "event", "type": kind, "id": id_, "d1": d1, "d2": d2, "any": any_})

    def _any(self, event: Any, known: str) -> Any:
        """Return what an event carries: an object's id, or a text that is no secret's."""
        data = event.any_data
        if isinstance(data, Atspi.Accessible):
            if event.rawType.startswith("object:active-d"):
                return {"id": self._tree.describe(data)}
            return None
        if not isinstance(data, str):
            return None
        if self._tree.roles.get(known) == SECRET and "text" in event.rawType:
            return None
        return data[:MAX_TEXT]

    def _children_changed(self, event: Any, how: str, found: str, bus: str) -> None:
        """Tell of a child that came or went; of a program's own children, its windows, all are
        looked at."""
        if found.endswith(ROOT):
            self._touch(bus)
            if bus not in self._roots:
                self._look_at_programs()
            return
        self._tree.changed(found)
        child = event.any_data
        if not isinstance(child, Atspi.Accessible) or found not in self._tree.roles:
            return
        is_gone = how.startswith("remove")
        below = identity(child)[0]
        if self._children_wanted and (not is_gone or below in self._tree.roles):
            known = self._tree.describe(child)
            if known is not None:
                self._say_event(event.rawType, known, 0, 0, None)
        if is_gone:
            self._tree.remove(below)

    # -- commands

    def command(self, command: dict[str, Any]) -> None:
        """Follow one line from the parent."""
        match command["c"]:
            case "children":
                self._children_wanted = True
            case "read":
                self._read(command["ids"])
            case "hit":
                self._wire.say({"t": "hit", "n": command["n"], "id": self._hit(command)})
            case "fence":
                self._touched.add(self._active)
                self._review()
                until = time.monotonic() + WALK_S * self._patience
                fence = self._wire.guard(self._fence)
                GLib.idle_add(fence, command["n"], command["ids"], until, priority=PRIORITY)

    def _hit(self, command: dict[str, object]) -> str | None:
        """Return the id of the object at a place of the screen; None: nothing is known there."""
        ids: list[str] = []
        for bus, windows in self._windows.items():
            if command["pid"] in (0, self._pids.get(bus)):
                ids += windows
        ids.sort(key=lambda id_: id_ != self._active_window)
        handles = [self._tree.handles[id_] for id_ in ids if id_ in self._tree.handles]
        found = hit(self._asking, handles, command)
        return None if found is None else self._tree.describe(found)

    def _fence(self, number: int, ids: list[str], until: float) -> bool:
        """Once no walk runs, or time is over, tell what the objects hold, and that the fence is
        passed."""
        if not self._walker.resting and time.monotonic() < until:
            return True
        self._read(ids)
        self._wire.say({"t": "fence", "n": number})
        return False

    def _read(self, ids: list[str]) -> None:
        """Tell what each of the objects holds now."""
        for id_ in ids:
            self._wire.say({"t": "read", "id": id_, **self._content(id_)})

    def _content(self, id_: str) -> dict[str, object]:
        """Return what an object holds: states, text and value, or that it is dead or late."""
        handle = self._tree.handles.get(id_)
        if handle is None:
            return {"dead": True}
        is_secret = self._tree.roles.get(id_) == SECRET
        bus = identity(handle)[1]
        states = self._asking.ask(bus, states_of, handle)
        text = None if is_secret else self._asking.ask(bus, text_of, handle)
        value = self._asking.ask(bus, value_of, handle)
        if bus in self._asking.busy:
            return {"late": True}
        if states is None or "defunct" in states:
            return {"dead": True}
        content: dict[str, object] = {"states": states}
        if text is not None:
            content["text"], content["cut"] = text
        if value is not None:
            content["value"] = value
        return content
