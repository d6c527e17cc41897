"""Periodic work: it goes on after every failure, ever later, and ends where it says so."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from api.core.background import PeriodicTask
from api.core.errors import UnavailableError


def periodic(outcomes: list[float | Exception | None], max_retry_s: float | None) -> PeriodicTask:
    """Work that has these outcomes, one a turn."""

    async def work() -> float | None:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return PeriodicTask(
        "test", work, retry_s=0.01, max_retry_s=max_retry_s, postponed="later", failed="broken"
    )


@pytest.mark.parametrize(
    ("max_retry_s", "pauses"),
    [(None, [0.01, 0.01, 0.01, 0.01]), (0.03, [0.01, 0.02, 0.03, 0.01])],
)
async def test_work_is_tried_again_until_it_ends(
    max_retry_s: float | None, pauses: list[float]
) -> None:
    no = UnavailableError("no database")
    outcomes: list[float | Exception | None] = [no, KeyError("x"), no, 0.0, no, None]
    task = periodic(outcomes, max_retry_s)
    with capture_logs() as logs:
        task.start()
        assert task.task is not None
        await asyncio.wait_for(task.task, 10)
    assert not outcomes
    assert [entry["event"] for entry in logs] == ["later", "broken", "later", "later"]
    assert [entry["again_in_s"] for entry in logs] == pauses
    assert logs[0]["why"] == "no database"


async def test_a_stopped_task_does_nothing_more() -> None:
    outcomes: list[float | Exception | None] = [0.0] * 1000
    task = periodic(outcomes, None)
    task.start(delay_s=60.0)
    await asyncio.sleep(0)
    await task.stop()
    assert len(outcomes) == 1000
    assert task.task is None
