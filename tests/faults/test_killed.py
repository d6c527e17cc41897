"""kill -9 at twenty random moments of a session: nothing is lost, and no reward is another than without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.checks import as_without_the_fault, whole
from tests.faults.moments import MOMENTS, Moments
from tests.faults.script import run, task
from tests.support.postgres import Postgres, needs_postgres
from tests.support.stack import Stack, gist

FEW = 2
ON_EACH = pytest.mark.parametrize(
    ("database", "moments"),
    [
        ("sqlite", FEW),
        pytest.param("sqlite", MOMENTS, marks=pytest.mark.slow),
        pytest.param("postgres", MOMENTS, marks=[pytest.mark.slow, needs_postgres]),
    ],
    indirect=["database"],
)


@ON_EACH
def test_the_service_killed(stack: Stack, tmp_path: Path, moments: int) -> None:
    """Steps come through the service's queue: what it answered for is kept, what it did not is said again."""
    calm = run(stack, tmp_path / "notes", moments + 2, beside=False)

    def kill() -> None:
        stack.kill_service()
        stack.start_service()

    with Moments(1, kill, moments) as faults:
        shaken = run(stack, tmp_path / "notes", moments + 2, faults.step, beside=False)
    assert faults.done == moments
    assert gist(shaken) == gist(calm)
    whole(stack, shaken, task(moments + 2))


@ON_EACH
def test_the_daemon_killed(stack: Stack, tmp_path: Path, moments: int) -> None:
    """What it did not see is null and masked; every word that it acknowledged is in the log once."""
    calm = run(stack, tmp_path / "notes", moments + 2)

    def kill() -> None:
        stack.kill_daemon()
        stack.start_daemon()

    with Moments(2, kill, moments) as faults:
        shaken = run(stack, tmp_path / "notes", moments + 2, faults.step)
    assert faults.done == moments
    events = whole(stack, shaken, task(moments + 2))
    assert [e.data["reason"] for e in events if e.kind == "gap.began"].count("daemon restarted") == moments
    unseen = as_without_the_fault(calm, shaken, events, {"files"})
    assert unseen or moments == FEW, "a kill within a step hides what it did"


@needs_postgres
@pytest.mark.parametrize("moments", [FEW, pytest.param(MOMENTS, marks=pytest.mark.slow)])
def test_postgres_killed(tmp_path: Path, moments: int) -> None:
    """The service says 503 meanwhile, and goes on with what Postgres had committed."""
    with Postgres() as server, Stack(tmp_path, server.database()) as stack:
        calm = run(stack, tmp_path / "notes", moments + 2, beside=False)

        def kill() -> None:
            server.kill()
            server.start()

        with Moments(3, kill, moments) as faults:
            shaken = run(stack, tmp_path / "notes", moments + 2, faults.step, beside=False)
        assert faults.done == moments
        assert gist(shaken) == gist(calm)
        whole(stack, shaken, task(moments + 2))
