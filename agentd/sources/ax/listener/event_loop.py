"""Events of the desktop's programs, told in the order in which they came; and the parent's
commands."""

from __future__ import annotations

import time
from typing import Any

from gi.repository import Atspi, Gio, GLib

from .asking import MAX_TEXT, PAUSE_S, Asking, identity, states_of, text_of, value_of
from .hit import hit
from .tree import ROOT, ObjectTree
from .walk import PRIORITY, Walker
from .windows_live import Fresh
from .wire import ParentPipe

REVIEW_MS = 250
"""How soon after an event the windows of its program are looked at again."""
BASELINE_MS = 3000
WALK_S = 0.06
"""How long a fence waits for the first look into a window, in seconds; that of a large window takes longer."""
STATES = frozenset(
    ("focused", "checked", "selected", "expanded", "sensitive", "pressed", "armed", "active")
)
"""States whose changes are told; the others (showing, defunct, has-tooltip, ...) come in floods and say little."""
POPUPS = frozenset(("popup menu", "menu", "window"))
SECRET = "password text"


class Desk:
    """``hear`` takes the bus's events, ``command`` the parent's lines; ``begin`` tells what is
    there."""

    def __init__(self, wire: ParentPipe, bus: Gio.DBusConnection) -> None:
        self._wire = wire
        self._asking = Asking(self._busy)
        self._fresh = Fresh(bus, self._asking)
        self._tree = ObjectTree(wire, self._asking)
        self._walker = Walker(wire, self._tree, self._asking, self._read)
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
        """Tell what is there, then ``ready``."""
        self._look_at_programs()
        self._walker.on_rest = self._tell_ready
        GLib.timeout_add(BASELINE_MS, self._wire.guard(self._ready))
        if self._walker.resting:
            self._tell_ready()

    def _ready(self) -> bool:
        self._tell_ready()
        return False

    def _tell_ready(self) -> None:
        if not self._is_ready:
            self._is_ready = True
            self._wire.say({"t": "ready"})

    # -- programs and their windows

    def _look_at_programs(self) -> bool:
        desktop = Atspi.get_desktop(0)
        for index in range(self._asking.ask("", desktop.get_child_count) or 0):
            root = self._asking.ask("", desktop.get_child_at_index, index)
            if root is not None:
                self._meet(root)
        return False

    def _meet(self, root: Any) -> None:
        """A program, perhaps for the first time."""
        found, bus = identity(root)
        if bus in self._roots or not bus.startswith(":") or self._tree.describe(root) is None:
            return
        self._roots[bus] = root
        ask = self._asking.ask
        self._pids[bus] = ask(bus, root.get_process_id) or 0
        self._wire.say(
            {
                "t": "app", "bus": bus, "id": found, "toolkit": (ask(bus, root.get_toolkit_name) or "")[:MAX_TEXT],
                "version": (ask(bus, root.get_toolkit_version) or "")[:MAX_TEXT], "pid": self._pids[bus],
            }
        )  # fmt: skip
        self._look_at_windows(bus)

    def _look_at_windows(self, bus: str) -> None:
        found = self._fresh.children(bus, ROOT)
        if found is None:
            return
        told: list[dict[str, Any]] = []
        for one in found:
            path = one.removeprefix(bus)
            if one not in self._tree.roles:
                self._find_window(bus, one)
            name, states = self._fresh.name(bus, path), self._fresh.states(bus, path)
            if one in self._tree.roles and name is not None and states is not None:
                told.append({"id": one, "name": name, "states": states})
                if "active" in states:
                    self._active, self._active_window = bus, one
        for one in set(self._windows.get(bus, ())) - set(found):
            self._tree.remove(one)
            self._walker.forget(one)
        self._windows[bus] = found
        self._wire.say({"t": "windows", "bus": bus, "windows": told})
        for window in told:
            self._walker.walk(window["id"], bus)

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
        self._touched.add(bus)
        if not self._reviewing:
            self._reviewing = True
            GLib.timeout_add(REVIEW_MS, self._wire.guard(self._review))

    def _review(self) -> bool:
        self._reviewing = False
        touched, self._touched = self._touched, set()
        for bus in sorted(touched):
            if bus not in self._roots:
                self._look_at_programs()
            if bus in self._roots:
                self._look_at_windows(bus)
        return False

    def _busy(self, bus: str, on: bool) -> None:
        self._wire.say({"t": "busy", "bus": bus, "on": on})
        if on:
            GLib.timeout_add(int(PAUSE_S * 1000) + 100, self._wire.guard(self._ping), bus)
        else:
            self._touch(bus)

    def _ping(self, bus: str) -> bool:
        if bus in self._roots:
            self._fresh.name(bus, ROOT)
        return False

    def _owner_changed(self, *signal: Any) -> None:
        name, _, new = signal[5].unpack()
        if new == "" and name in self._roots:
            # What it said last may still be on its way over the library's own connection.
            GLib.idle_add(self._wire.guard(self._leave), name, priority=PRIORITY)

    def _leave(self, bus: str) -> bool:
        for one in self._windows.pop(bus, ()):
            self._walker.forget(one)
        self._roots.pop(bus, None)
        self._pids.pop(bus, None)
        self._asking.busy.pop(bus, None)
        self._touched.discard(bus)
        self._tree.remove_all(bus)
        self._wire.say({"t": "gone", "bus": bus})
        return False

    # -- events

    def hear(self, event: Any) -> None:
        """One event from the bus."""
        kind, source = event.rawType, event.source
        parts = (kind + "::").split(":")
        if source is None or source.app is None:
            return
        found, bus = identity(source)
        if parts[1] == "state-changed" and parts[2] not in STATES:
            if (
                parts[2] == "showing"
                and not event.detail1
                and self._tree.roles.get(found) in POPUPS
            ):
                self._wire.say({"t": "hid", "id": found})
            return
        if not bus.startswith(":"):
            self._look_at_programs()  # the desktop itself: a program came or went
            return
        if parts[1] == "children-changed":
            self._children_changed(event, parts[2], found, bus)
            return
        self._touch(bus)
        if parts[2] == "sensitive" and found not in self._tree.roles:
            # hundreds of a closed menu's items follow every key in an office program: nobody sees
            # them
            return
        if kind == "window:activate":
            self._active, self._active_window = bus, found
        known = self._tree.describe(source)
        if (
            known is None
            and kind in ("window:create", "window:activate")
            and isinstance(event.any_data, str)
        ):
            known = self._tree.remember(source, event.any_data)
        if known is not None:
            any_data = self._any(event, known)
            self._wire.say(
                {
                    "t": "event",
                    "type": kind,
                    "id": known,
                    "d1": event.detail1,
                    "d2": event.detail2,
                    "any": any_data,
                }
            )

    def _any(self, event: Any, known: str) -> Any:
        data = event.any_data
        if isinstance(data, Atspi.Accessible):
            return (
                {"id": self._tree.describe(data)}
                if event.rawType.startswith("object:active-d")
                else None
            )
        if not isinstance(data, str) or (
            self._tree.roles.get(known) == SECRET and "text" in event.rawType
        ):
            return None
        return data[:MAX_TEXT]

    def _children_changed(self, event: Any, how: str, found: str, bus: str) -> None:
        if found.endswith(ROOT):
            self._touch(bus)
            if bus not in self._roots:
                self._look_at_programs()
            return
        self._tree.changed(found)
        child = event.any_data
        if not isinstance(child, Atspi.Accessible) or found not in self._tree.roles:
            return
        gone = how.startswith("remove")
        below = identity(child)[0]
        if self._children_wanted and (not gone or below in self._tree.roles):
            known = self._tree.describe(child)
            if known is not None:
                self._wire.say(
                    {
                        "t": "event",
                        "type": event.rawType,
                        "id": known,
                        "d1": 0,
                        "d2": 0,
                        "any": None,
                    }
                )
        if gone:
            self._tree.remove(below)

    # -- commands

    def command(self, command: dict[str, Any]) -> None:
        """One line from the parent."""
        if command["c"] == "children":
            self._children_wanted = True
        elif command["c"] == "read":
            self._read(command["ids"])
        elif command["c"] == "hit":
            self._wire.say({"t": "hit", "n": command["n"], "id": self._hit(command)})
        elif command["c"] == "fence":
            self._touched.add(self._active)
            self._review()
            until = time.monotonic() + WALK_S
            GLib.idle_add(
                self._wire.guard(self._fence),
                command["n"],
                command["ids"],
                until,
                priority=PRIORITY,
            )

    def _hit(self, command: dict[str, Any]) -> str | None:
        known = [
            one
            for bus in self._windows
            if command["pid"] in (0, self._pids.get(bus))
            for one in self._windows[bus]
        ]
        known.sort(key=lambda one: one != self._active_window)
        windows = [self._tree.handles[one] for one in known if one in self._tree.handles]
        found = hit(self._asking, windows, command)
        return None if found is None else self._tree.describe(found)

    def _fence(self, number: int, ids: list[str], until: float) -> bool:
        if not self._walker.resting and time.monotonic() < until:
            return True
        self._read(ids)
        self._wire.say({"t": "fence", "n": number})
        return False

    def _read(self, ids: list[str]) -> None:
        for one in ids:
            handle, role = self._tree.handles.get(one), self._tree.roles.get(one)
            if handle is None:
                self._wire.say({"t": "read", "id": one, "dead": True})
                continue
            bus = identity(handle)[1]
            states = self._asking.ask(bus, states_of, handle)
            said: dict[str, Any] = {"t": "read", "id": one, "states": states}
            text = None if role == SECRET else self._asking.ask(bus, text_of, handle)
            value = self._asking.ask(bus, value_of, handle)
            if text is not None:
                said |= {"text": text[0], "cut": text[1]}
            if value is not None:
                said["value"] = value
            if bus in self._asking.busy:
                said = {"t": "read", "id": one, "late": True}
            elif states is None or "defunct" in states:
                said = {"t": "read", "id": one, "dead": True}
            self._wire.say(said)
