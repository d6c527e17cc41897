"""Two replicas on one Postgres behind a balancer, one of them stopped: SIGSTOP for half a minute,
then SIGCONT."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.demo.parts import DemoService, start_service
from lab.demo.processes import DemoProcesses
from tests.faults.checks import whole
from tests.faults.moments import Moments
from tests.faults.script import run, task
from tests.support.postgres import needs_postgres
from tests.support.preloaded import launch
from tests.support.stack import Stack, gist
from tests.support.wire import Wire

pytestmark = needs_postgres
KEY = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
SHARED = ("env", "MILESTONED_SECRET=of-all-replicas", f"MILESTONED_SIGNING_KEY={KEY}")
ON_POSTGRES = pytest.mark.parametrize("database", ["postgres"], indirect=True)
STEPS = 6


@contextlib.contextmanager
def second(stack: Stack, database: str) -> Iterator[DemoService]:
    """One more replica, with the same first admin."""
    folder = stack.folder / "second"
    (folder / "replica").mkdir(parents=True)
    (folder / "replica" / "admin.token").write_text(stack.service.token)
    with DemoProcesses(folder / "logs", launch) as parts:
        yield start_service(parts, folder / "replica", 0, database, SHARED)


@contextlib.contextmanager
def stopped(replica: DemoService, seconds: float) -> Iterator[None]:
    """The replica does nothing for so long."""
    os.kill(replica.part.pid, signal.SIGSTOP)
    try:
        yield
        time.sleep(seconds)
    finally:
        os.kill(replica.part.pid, signal.SIGCONT)


@pytest.mark.slow
@ON_POSTGRES
def test_paused_for_half_a_minute(tmp_path: Path, database: str) -> None:
    """Whoever hangs at the one that is paused tries again at the other; nothing is paid twice when
    it wakes."""
    with Stack(tmp_path, database, SHARED) as stack, second(stack, database) as replica:
        calm = run(stack, tmp_path / "notes", STEPS, beside=False)

        def pause() -> None:
            with stopped(replica, 30.0):
                pass

        with Wire(stack.service.url, replica.url) as balancer:
            stack.front = balancer.url
            with Moments(8, pause, 1) as faults:
                shaken = run(stack, tmp_path / "notes", STEPS, faults.step, beside=False)
            assert faults.done == 1
            assert gist(shaken) == gist(calm)
            whole(stack, shaken, task(STEPS))
