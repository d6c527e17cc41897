"""Processes: what starts and ends below a real shell, by the kernel's word and by looks at /proc."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentd.sources.base import SourceLostError
from agentd.sources.processes.connector import Connector
from agentd.sources.processes.source import ProcessesSource
from tests.desktop_machine.watching import watching

KERNEL = "the kernel tells"
LOOKS = "looks at /proc"


@pytest.fixture(params=[KERNEL, LOOKS])
def ask_kernel(request: pytest.FixtureRequest) -> bool:
    """Both ways of watching; the first where this machine's kernel allows it."""
    if request.param == KERNEL:
        connector = Connector.open()
        if connector is None:
            pytest.skip("the kernel does not tell this process (CAP_NET_ADMIN is missing)")
        connector.close()
    return request.param == KERNEL


class Shell:
    """A sandbox of its own: a shell that starts what it is told, as no child of the daemon."""

    def __init__(self, folder: Path) -> None:
        # Handed to init, so that it is not of the daemon's (this test's) own tree.
        pid = folder / "pid"
        fifo = folder / "commands"
        os.mkfifo(fifo)
        script = f'setsid sh -c \'echo $$ >"{pid}.new"; mv "{pid}.new" "{pid}"; while read -r line; do eval "$line"; done <"{fifo}"\' &'
        subprocess.run(["sh", "-c", script], check=True)
        self._commands = fifo.open("w")
        while not pid.exists():
            pass
        self.pid = int(pid.read_text())

    def run(self, command: str) -> None:
        self._commands.write(command + "\n")
        self._commands.flush()

    def close(self) -> None:
        self._commands.close()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    one = Shell(tmp_path)
    with contextlib.closing(one):
        yield one


async def test_a_program_is_started_and_ended(shell: Shell, ask_kernel: bool) -> None:
    """With name, program, parent, user and masked arguments; the shell itself was there before."""
    async with watching(ProcessesSource(str(shell.pid), {}, ask_kernel=ask_kernel)) as watch:
        (before,) = watch.all("process.started")
        assert (before["pid"], before["name"], before["baseline"]) == (shell.pid, "sh", True)
        shell.run("sleep 1000 & echo $! > pid-of-sleep; kill_me=$!")
        started = await watch.one("process.started", name="sleep")
        assert started["arguments"] == ["1000"]
        assert started["parent"] == shell.pid
        assert os.path.basename(started["program"]) in ("sleep", "coreutils")
        assert "baseline" not in started
        shell.run("kill $kill_me; wait $kill_me")
        assert await watch.one("process.ended", pid=started["pid"]) == {"pid": started["pid"], "name": "sleep"}
