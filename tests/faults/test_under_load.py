"""Several episodes at once while service, Postgres or one of two replicas is killed: each is as it
is without."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from milestoned_client import Episode, Reward

from tests.faults.checks import whole
from tests.faults.script import run, task
from tests.faults.test_replica import SHARED, second
from tests.support.postgres import Postgres, needs_postgres
from tests.support.stack import Stack, gist
from tests.support.wire import Wire

pytestmark = pytest.mark.slow
STEPS = 5
EPISODES = 6
AT = (1, 2, 3)
"""The steps within which something is killed, each time by another episode's session: the others go on meanwhile."""


def all_at_once(stack: Stack, folder: Path, fault: Callable[[], object], front: str = "") -> None:
    """Walk `EPISODES` sessions side by side with ``fault`` within three of them; nothing may be
    lost or paid otherwise than in a calm session."""
    calm = run(stack, folder / "notes", STEPS, beside=False)
    one_fault = threading.Lock()
    faults = 0

    def walked(number: int, own: Stack) -> list[Reward]:
        nonlocal faults
        own.front = front

        def within(step: int, _: Episode) -> None:
            nonlocal faults
            if dict(enumerate(AT)).get(number) == step:
                with one_fault:
                    fault()
                    faults += 1

        return run(own, folder / f"notes-{number}", STEPS, within=within, beside=False)

    with ExitStack() as running, ThreadPoolExecutor(EPISODES) as threads:
        owns = [
            running.enter_context(Stack(folder / f"{n}", service=stack.service))
            for n in range(EPISODES)
        ]
        found = list(threads.map(walked, range(EPISODES), owns))
        assert faults == len(AT)
        for number, (own, rewards) in enumerate(zip(owns, found, strict=True)):
            assert gist(rewards) == gist(calm)
            events = whole(own, rewards, task(STEPS))
            assert {event.data["root"] for event in events if event.kind.startswith("file.")} == {
                f"notes-{number}"
            }


def test_the_service_killed_under_load(stack: Stack, tmp_path: Path) -> None:
    def kill() -> None:
        stack.kill_service()
        stack.start_service()

    all_at_once(stack, tmp_path, kill)


@needs_postgres
def test_postgres_killed_under_load(tmp_path: Path) -> None:
    with Postgres() as server, Stack(tmp_path, server.database()) as stack:

        def kill() -> None:
            server.kill()
            server.start()

        all_at_once(stack, tmp_path, kill)


@needs_postgres
@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_one_of_two_services_on_a_database_killed_under_load(tmp_path: Path, database: str) -> None:
    """Requests go to one after the other; the one that is killed comes back at its address."""
    with Stack(tmp_path, database, SHARED) as stack, second(stack, database) as other:

        def kill() -> None:
            stack.kill_service()
            stack.start_service()

        with Wire(stack.service.url, other.url) as balancer:
            all_at_once(stack, tmp_path, kill, balancer.url)
