"""Run inside a sandbox, by its Python: ``read`` prints its start state as JSON, ``leave`` leaves what
an episode may leave.

The start state is what an agent's first step could meet of the last episode. It holds no number of a
process, no time and no name that is made up anew, so that it is the same after two equal starts.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import pwd
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

HOME = Path("/home/agent")
PROFILE = HOME / ".chromium"
DEFAULT = PROFILE / "Default"
# Where everybody may write, beside the home.
COMMON = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/run/sandbox")
# Names that are made up anew at each start.
_MADE_UP = re.compile(r"(?<=\.)[A-Za-z0-9]{6}(?=/|$)")
# Of the desktop's own loop around Chromium: which of them runs is a matter of the moment.
_MOMENTARY = {"chromium", "sleep", "flock", "chrome_crashpad"}
# Chromium's crash handler writes a number of its own into it.
_OWN_CONTENT = {"settings.dat"}
_TABLES = {"History": ("urls", "visits", "downloads"), "Login Data": ("logins",)}
_DEVTOOLS = "http://127.0.0.1:9222"
_SELECTIONS = (b"CLIPBOARD", b"PRIMARY", b"SECONDARY")


class Display:
    """The X display of the sandbox, by the library that every client of it uses."""

    def __init__(self) -> None:
        self._x = ctypes.CDLL("libX11.so.6")
        self._x.XOpenDisplay.restype = ctypes.c_void_p
        for name in ("XDefaultRootWindow", "XInternAtom", "XGetSelectionOwner"):
            getattr(self._x, name).restype = ctypes.c_ulong
        self._x.XCreateSimpleWindow.restype = ctypes.c_ulong
        opened = self._x.XOpenDisplay(b":0")
        if not opened:
            raise RuntimeError("the display :0 does not answer")
        self._display = ctypes.c_void_p(opened)
        self._root = ctypes.c_ulong(self._x.XDefaultRootWindow(self._display))

    def _atom(self, name: bytes) -> ctypes.c_ulong:
        return ctypes.c_ulong(self._x.XInternAtom(self._display, name, 0))

    def _property(self, window: ctypes.c_ulong, name: bytes, item: type[Any]) -> list[Any]:
        """The items of a window's property: of 32 bits as C's ``long``, of 8 as ``char``."""
        kind, form = ctypes.c_ulong(), ctypes.c_int()
        count, after = ctypes.c_ulong(), ctypes.c_ulong()
        found = ctypes.c_void_p()
        self._x.XGetWindowProperty(
            *(self._display, window, self._atom(name)),
            *(ctypes.c_long(0), ctypes.c_long(1_024), 0, ctypes.c_ulong(0)),
            *map(ctypes.byref, (kind, form, count, after, found)),
        )
        items = ctypes.cast(found, ctypes.POINTER(item))
        return [items[index] for index in range(count.value)]

    def windows(self) -> list[list[Any]]:
        """Title and size of each window that the window manager lists."""
        listed = self._property(self._root, b"_NET_CLIENT_LIST", ctypes.c_ulong)
        return sorted(self._describe(ctypes.c_ulong(window)) for window in listed)

    def _describe(self, window: ctypes.c_ulong) -> list[Any]:
        title = b"".join(self._property(window, b"_NET_WM_NAME", ctypes.c_char))
        if not title:
            title = b"".join(self._property(window, b"WM_NAME", ctypes.c_char))
        root, numbers = ctypes.c_ulong(), [ctypes.c_uint() for _ in range(6)]
        self._x.XGetGeometry(self._display, window, *map(ctypes.byref, (root, *numbers)))
        return [title.decode(errors="replace"), *(one.value for one in numbers[2:4])]

    def selections(self) -> dict[str, str]:
        """Whether somebody owns the clipboard or a selection."""
        return {
            name.decode(): "owned"
            if self._x.XGetSelectionOwner(self._display, self._atom(name))
            else "empty"
            for name in _SELECTIONS
        }

    def leave_window(self) -> None:
        """Show a window that owns the clipboard."""
        black = ctypes.c_ulong(0)
        window = ctypes.c_ulong(
            self._x.XCreateSimpleWindow(
                self._display, self._root, 10, 10, 300, 200, 1, black, black
            )
        )
        self._x.XStoreName(self._display, window, b"left by an episode")
        self._x.XMapWindow(self._display, window)
        clipboard = self._atom(b"CLIPBOARD")
        self._x.XSetSelectionOwner(self._display, clipboard, window, ctypes.c_ulong(0))
        self._x.XSync(self._display, 0)


def _file(path: Path) -> list[Any]:
    """Mode, owner, group and content of a file."""
    facts = path.lstat()
    found: list[Any] = [oct(facts.st_mode), facts.st_uid, facts.st_gid]
    if path.name in _OWN_CONTENT:
        return found
    if path.is_symlink():
        return [*found, os.readlink(path)]
    return [*found, hashlib.sha256(path.read_bytes()).hexdigest()] if path.is_file() else found


def files() -> dict[str, Any]:
    """The home without Chromium's profile, and what the agent owns where everybody may write."""
    agent = pwd.getpwnam("agent").pw_uid
    home = [HOME, *(one for one in HOME.rglob("*") if PROFILE not in (one, *one.parents))]
    common = [one for place in COMMON for one in Path(place).rglob("*")]
    owned = [one for one in common if one.lstat().st_uid == agent]
    # Sockets and what Chromium writes there change by themselves: that they are there is the state.
    names = {_MADE_UP.sub("*", str(one)): oct(one.lstat().st_mode) for one in owned}
    return {str(one): _file(one) for one in home} | names


def _rows(name: str, tables: tuple[str, ...]) -> dict[str, int]:
    """How many rows a database of the profile has; read from a copy, since Chromium locks it."""
    if not (DEFAULT / name).is_file():
        return dict.fromkeys(tables, 0)
    with tempfile.TemporaryDirectory() as folder:
        copied = shutil.copy(DEFAULT / name, folder)
        database = sqlite3.connect(copied)
        try:
            return {
                table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in tables
            }
        finally:
            database.close()


def _session(path: str) -> ClientConnection:
    with urllib.request.urlopen(f"{_DEVTOOLS}{path}") as answer:
        said = json.load(answer)
    target = said if isinstance(said, dict) else next(one for one in said if one["type"] == "page")
    return connect(target["webSocketDebuggerUrl"], max_size=None)


def _call(session: ClientConnection, method: str, **params: Any) -> dict[str, Any]:
    session.send(json.dumps({"id": 1, "method": method, "params": params}))
    while (said := json.loads(session.recv(30))).get("id") != 1:
        pass
    if "error" in said:
        raise RuntimeError(f"{method}: {said['error']}")
    return dict(said["result"])


def browser() -> dict[str, Any]:
    """Tabs, cookies, and what the profile keeps of sites: history, downloads, passwords, storage."""
    with urllib.request.urlopen(f"{_DEVTOOLS}/json/list") as answer:
        tabs = [[one["url"], one["title"]] for one in json.load(answer) if one["type"] == "page"]
    with _session("/json/version") as session:
        cookies = _call(session, "Storage.getCookies")["cookies"]
    storage = b"".join(
        one.read_bytes() for one in (DEFAULT / "Local Storage").rglob("*") if one.is_file()
    )
    folders = [DEFAULT / name for name in ("IndexedDB", "Extensions")]
    return {
        "tabs": sorted(tabs),
        "cookies": sorted([one["domain"], one["name"]] for one in cookies),
        "rows": {name: _rows(name, tables) for name, tables in _TABLES.items()},
        "origins": sorted({one.decode() for one in re.findall(rb"_(https?://[^\0]+)\0", storage)}),
        "kept": sorted(str(one) for folder in folders for one in folder.glob("*")),
        "bookmarks": (DEFAULT / "Bookmarks").exists(),
    }


def processes() -> list[str]:
    """The names of the agent's programs but Chromium's own processes, which come and go."""
    agent = pwd.getpwnam("agent").pw_uid
    said = subprocess.run(
        ["ps", "-u", str(agent), "-o", "comm="], capture_output=True, text=True, check=False
    )
    return sorted(name for name in said.stdout.split("\n") if name and name not in _MOMENTARY)


def read() -> dict[str, Any]:
    """The start state, by its parts."""
    display = Display()
    return {
        "files": files(),
        "browser": browser(),
        "windows": display.windows(),
        "processes": processes(),
        "clipboard": display.selections(),
    }


def leave(site: str) -> None:
    """As the agent: what an episode may leave in each part. Ends once all is there but its window,
    for which it lives on."""
    with _session("/json/list") as session:
        _call(session, "Page.enable")
        _call(session, "Page.navigate", url=site)
        until = time.monotonic() + 30
        ready = "document.readyState == 'complete' && location.href != 'about:blank'"
        while not _call(session, "Runtime.evaluate", expression=ready)["result"]["value"]:
            if time.monotonic() > until:
                raise TimeoutError(f"{site} did not load in 30 s")
            time.sleep(0.1)
        words = "document.cookie = 'left=1; max-age=9999'; localStorage.left = 'by an episode'"
        _call(session, "Runtime.evaluate", expression=words)
    (HOME / ".bashrc").write_text("alias ls=true\n")
    (HOME / "notes.txt").write_text("the answer is 42\n")
    (HOME / "Downloads" / "invoice.csv").write_text("order,price\n")
    (HOME / "Downloads").chmod(0o777)
    (HOME / ".config" / "deep" / "er").mkdir(parents=True)
    for place in COMMON[:3]:
        (Path(place) / "left").mkdir()
        (Path(place) / "left" / "a").write_text("left")
    Path("/run/sandbox/left").write_text("left")
    Display().leave_window()
    print("left", flush=True)
    signal.pause()


if __name__ == "__main__":
    if sys.argv[1] == "read":
        print(json.dumps(read(), sort_keys=True))
    else:
        leave(sys.argv[2])
