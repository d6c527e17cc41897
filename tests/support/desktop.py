"""A desktop for tests: X display, session bus, window manager, accessibility bus and registry,
ended by their pids.

``with Desktop() as desktop``: then ``desktop.start("mousepad", file)``, ``desktop.keys("ctrl+s")``,
``desktop.type("hello")``. Input goes through xdotool alone, as an agent's does: nothing here asks a
program anything over the accessibility bus.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pytest

from tests.support.display import Display

PATIENCE_S = 60.0
"""How long anything may take on a busy machine, in seconds."""
_BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><keep_umask/><listen>unix:dir={folder}</listen><auth>EXTERNAL</auth>
<standard_session_servicedirs/><policy context="default"><allow send_destination="*" eavesdrop="true"/>
<allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"""

_NEEDED = {
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "openbox": "openbox",
    "dbus-daemon": "dbus",
    "/usr/libexec/at-spi-bus-launcher": "at-spi2-core",
    "/usr/lib/python3/dist-packages/pyatspi/__init__.py": "python3-pyatspi",
}


def missing(*programs: str) -> list[str]:
    """Those of a desktop's own parts, and of ``programs``, that this machine has not."""
    wanted = [*_NEEDED, *programs]
    return [name for name in wanted if shutil.which(name) is None and not Path(name).is_file()]


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip a test where a desktop or one of ``programs`` is missing."""
    lacking = missing(*programs)
    return pytest.mark.skipif(bool(lacking), reason=f"missing: {', '.join(lacking)}")


def listener_of(daemon: int) -> int | None:
    """The process id of the accessibility child of the process ``daemon``; None while it has
    none."""
    listed = subprocess.run(
        ["ps", "--ppid", str(daemon), "-o", "pid=,args="],
        check=False,
        capture_output=True,
        text=True,
    ).stdout
    found = [int(line.split()[0]) for line in listed.splitlines() if "-m listener" in line]
    assert len(found) < 2, listed
    return found[0] if found else None


class Desktop:
    """One running desktop. ``folder`` is its HOME; ``environ`` what its programs are started with.

    ``accessible``: whether org.a11y.Status says that assistive technology is in use, as a sandbox's
    image should.
    """

    def __init__(self, *, accessible: bool = True) -> None:
        self._accessible = accessible
        self._display = Display()
        self.folder = Path(tempfile.mkdtemp(prefix="milestoned-desktop-"))
        self.environ: dict[str, str] = {}
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Desktop:
        try:
            self._begin()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _begin(self) -> None:
        self._display.__enter__()
        runtime = self.folder / "run"
        runtime.mkdir(mode=0o700)
        keep = {
            name: os.environ[name]
            for name in ("PATH", "LANG", "LC_ALL", "TZ")
            if name in os.environ
        }
        self.environ = {
            **keep,
            "HOME": str(self.folder),
            "DISPLAY": self._display.name,
            "XDG_RUNTIME_DIR": str(runtime),
            "XDG_CONFIG_HOME": str(self.folder / ".config"),
            "GSETTINGS_BACKEND": "memory",
            "GTK_USE_PORTAL": "0",
            "GDK_BACKEND": "x11",
            "GTK_MODULES": "gail:atk-bridge",  # for GTK 2; the later ones have it built in
        }
        self.environ["DBUS_SESSION_BUS_ADDRESS"] = self._begin_bus(runtime)
        self.start("openbox")
        if self._accessible:
            self.environ |= {"QT_ACCESSIBILITY": "1", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}
            self.call_bus(
                "org.freedesktop.DBus.Properties.Set", "org.a11y.Status", "IsEnabled", "<true>"
            )

    def _begin_bus(self, runtime: Path) -> str:
        config = runtime / "bus.conf"
        config.write_text(_BUS.format(folder=runtime))
        read, write = os.pipe()
        self.start(
            "dbus-daemon",
            f"--config-file={config}",
            "--nofork",
            f"--print-address={write}",
            pass_fds=(write,),
        )
        os.close(write)
        with os.fdopen(read) as answer:
            return answer.readline().strip()

    def call_bus(self, method: str, *arguments: str) -> str:
        """Call org.a11y.Bus on the session bus, which starts the accessibility bus."""
        return subprocess.run(
            ["gdbus", "call", "--session", "-d", "org.a11y.Bus", "-o", "/org/a11y/bus", "-m", method, *arguments],
            env=self.environ, check=True, capture_output=True, text=True, timeout=PATIENCE_S,
        ).stdout  # fmt: skip

    def start(
        self,
        *command: str | Path,
        env: dict[str, str] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> subprocess.Popen[bytes]:
        """Start a program in the desktop; it is ended with it."""
        name = Path(command[0]).name
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(part) for part in command], env=self.environ | (env or {}), cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, pass_fds=pass_fds,
            )  # fmt: skip
        self._processes.append(process)
        return process

    # -- the agent's hand

    def do(self, *command: str) -> str:
        """One xdotool command; gives what it printed."""
        return subprocess.run(
            ["xdotool", *command],
            env=self.environ,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        ).stdout.strip()

    def keys(self, *keys: str) -> None:
        """Press key combinations, as in ``ctrl+s``, one after the other."""
        self.do("key", "--delay", "60", *keys)

    def type(self, text: str) -> None:
        """Type a text into whatever has the focus."""
        self.do("type", "--delay", "30", text)

    def click(self, x: int, y: int, button: int = 1) -> None:
        """Click at a place of the screen, in pixels."""
        self.do("mousemove", str(x), str(y), "click", str(button))

    def window(self, title: str) -> str:
        """Wait for a window whose title has ``title`` (a regular expression) and give it the
        keyboard; its X id."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                found = self.do("search", "--sync", "--onlyvisible", "--name", title).splitlines()[
                    -1
                ]
                self.do("windowactivate", "--sync", found)
            except (
                subprocess.CalledProcessError
            ):  # it gives up where any window goes while it looks, as splashes do
                if time.monotonic() > deadline:
                    raise
            else:
                return found

    def corner(self, title: str) -> tuple[int, int]:
        """Where a window's upper left corner is on the screen, in pixels."""
        said = self.do("search", "--onlyvisible", "--name", title, "getwindowgeometry", "--shell")
        values = dict(line.split("=") for line in said.splitlines())
        return int(values["X"]), int(values["Y"])

    def titles(self) -> list[str]:
        """The titles of all visible windows."""
        found = self.do("search", "--onlyvisible", "--name", ".").splitlines()
        return [self.do("getwindowname", window) for window in found]

    def await_title(self, wanted: Callable[[str], bool]) -> None:
        """Wait until the title of the window with the keyboard is as ``wanted`` says."""
        deadline = time.monotonic() + PATIENCE_S
        while not wanted(title := self.active_title()):
            if time.monotonic() > deadline:
                raise AssertionError(f"the active window is still {title!r}")
            time.sleep(0.02)

    def await_file(self, path: Path, text: str) -> None:
        """Wait until a file holds a text."""
        deadline = time.monotonic() + PATIENCE_S
        while path.read_text() != text:
            if time.monotonic() > deadline:
                raise AssertionError(f"{path.name} holds {path.read_text()!r}; wanted {text!r}")
            time.sleep(0.02)

    def active_title(self) -> str:
        """The title of the window with the keyboard."""
        return self.do("getactivewindow", "getwindowname")

    def pids(self, name: str) -> list[int]:
        """The desktop's own processes by the name of their program; they carry its bus in their
        environment."""
        mark = f"DBUS_SESSION_BUS_ADDRESS={self.environ['DBUS_SESSION_BUS_ADDRESS']}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdecimal():
                continue
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes().split(b"\0")[0]
                if Path(command.decode()).name == name and mark in (
                    folder / "environ"
                ).read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def running(self) -> set[int]:
        """The process ids of what was started here."""
        return {process.pid for process in self._processes}

    def end(self, pids: set[int]) -> None:
        """End some of the programs, the newest first."""
        for process in [one for one in reversed(self._processes) if one.pid in pids]:
            self._processes.remove(process)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def stop(self) -> None:
        """End every program, then what the bus had started, then the display."""
        self.end(self.running())
        if self.environ.get("DBUS_SESSION_BUS_ADDRESS"):
            self._end_started()
        self._display.__exit__(None, None, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end_started(self) -> None:
        """What D-Bus started lives in sessions of its own: it is known by the bus in its
        environment."""
        deadline = time.monotonic() + 5.0
        for name in ("at-spi-bus-launcher", "at-spi2-registryd", "dbus-daemon"):
            for pid in self.pids(name):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM if time.monotonic() < deadline else signal.SIGKILL)
