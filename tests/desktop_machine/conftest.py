"""A bare X display with one program that owns its clipboard, and a sandbox's shell that is none of
the daemon's."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.display import Display

ROOT = Path(__file__).parents[2]
Own = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def display() -> Iterator[str]:
    """The name of a display with nothing on it."""
    with Display() as one:
        yield one.name


@pytest.fixture
def own(display: str) -> Iterator[Own]:
    """Starts `tests.desktop_machine.owner`; it owns the clipboard by the time that this returns."""
    started: list[subprocess.Popen[str]] = []

    def start(mode: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.desktop_machine.owner", mode],
            env=os.environ | {"DISPLAY": display}, cwd=ROOT, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "owned\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def copy(display: str, text: str, selection: str = "clipboard") -> None:
    """Copy as a script does, with xclip, which stays behind as the owner; returns once it can be
    pasted."""
    command = ["xclip", "-i", "-selection", selection]
    subprocess.run(
        command, input=text, text=True, check=True, env=os.environ | {"DISPLAY": display}
    )
    while paste(display, selection) != text:
        pass


def paste(display: str, selection: str = "clipboard") -> str:
    """Paste as a script does; "" where there is nothing, or the owner does not answer."""
    # xclip itself would wait for ever.
    command = ["timeout", "2", "xclip", "-o", "-selection", selection]
    env = os.environ | {"DISPLAY": display}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env).stdout


class Shell:
    """A shell that does what it is told and was handed to init, so that it is not of this process's
    own tree."""

    def __init__(self, folder: Path, environ: Mapping[str, str] = os.environ) -> None:
        self.folder = folder
        os.mkfifo(folder / "said")
        (folder / "shell").write_text(
            'echo $$ >pid\nwhile read -r line; do eval "$line"; done <said\n'
        )
        subprocess.run(["sh", "-c", "setsid sh shell &"], check=True, cwd=folder, env=environ)
        self._said = (folder / "said").open("w")
        self.pid = int(self.wait_for("pid"))

    def run(self, line: str) -> None:
        """Have it run a line, without waiting for its end."""
        self._said.write(line + "\n")
        self._said.flush()

    def finish(self, line: str) -> None:
        """Have it run a line, to its end, and no program of ours beside it."""
        done = f"done-{time.monotonic_ns()}"
        self.run(f"{line}\necho >{done}")
        self.wait_for(done)

    def wait_for(self, name: str) -> str:
        """Wait until something was written to a file of that name, and read it."""
        until = time.monotonic() + 60
        while not (file := self.folder / name).exists() or not file.stat().st_size:
            assert time.monotonic() < until, f"the shell wrote no {name}"
            time.sleep(0.01)
        return file.read_text()

    def close(self) -> None:
        """End it with all that it started: without job control, they are of its group."""
        self._said.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """The sandbox's shell."""
    with contextlib.closing(Shell(tmp_path)) as one:
        yield one
