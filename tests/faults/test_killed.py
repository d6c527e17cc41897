"""kill -9 at twenty random moments of a session: nothing is lost, and no reward is another than
without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.checks import as_without_the_fault, whole
from tests.faults.moments import MOMENTS, Moments
from tests.faults.script import run, task
from tests.support.postgres import Postgres, needs_postgres
from tests.support.stack import Stack, gist

pytestmark = (
    pytest.mark.slow
)  # of these, `make test` has tests/e2e/test_faults.py and test_immunity_7.py


def test_the_service_killed(stack: Stack, tmp_path: Path) -> None:
    """Steps come through the service's queue: what it answered for is kept, what it did not is said
    again."""
    calm = run(stack, tmp_path / "notes", MOMENTS + 2, beside=False)

    def kill() -> None:
        stack.kill_service()
        stack.start_service()

    with Moments(1, kill, MOMENTS) as faults:
        shaken = run(stack, tmp_path / "notes", MOMENTS + 2, faults.step, beside=False)
    assert faults.done == MOMENTS
    assert gist(shaken) == gist(calm)
    whole(stack, shaken, task(MOMENTS + 2))


def test_the_daemon_killed(stack: Stack, tmp_path: Path) -> None:
    """What it did not see is null and masked; every word that it acknowledged is in the log
    once."""
    calm = run(stack, tmp_path / "notes", MOMENTS + 2)

    def kill() -> None:
        stack.kill_daemon()
        stack.start_daemon()

    with Moments(2, kill, MOMENTS) as faults:
        shaken = run(stack, tmp_path / "notes", MOMENTS + 2, faults.step)
    assert faults.done == MOMENTS
    events = whole(stack, shaken, task(MOMENTS + 2))
    assert [e.data["reason"] for e in events if e.kind == "gap.began"].count(
        "daemon restarted"
    ) == MOMENTS
    assert as_without_the_fault(calm, shaken, events, {"files"}), (
        "a kill within a step hides what it did"
    )


@needs_postgres
def test_postgres_killed(tmp_path: Path) -> None:
    """The service says 503 meanwhile, and goes on with what Postgres had committed."""
    with Postgres() as server, Stack(tmp_path, server.database()) as stack:
        calm = run(stack, tmp_path / "notes", MOMENTS + 2, beside=False)

        def kill() -> None:
            server.kill()
            server.start()

        with Moments(3, kill, MOMENTS) as faults:
            shaken = run(stack, tmp_path / "notes", MOMENTS + 2, faults.step, beside=False)
        assert faults.done == MOMENTS
        assert gist(shaken) == gist(calm)
        whole(stack, shaken, task(MOMENTS + 2))
