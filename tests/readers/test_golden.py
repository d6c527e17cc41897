"""A recorded episode in which a real daemon reads files, replayed without one; and the same once
more, alive."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.engine.engine import Engine
from tests.probes.record_golden import as_events
from tests.readers.record_golden import GOLDEN, RULES, record
from tests.support.golden import lines


def paid(rows: list[list[Any]]) -> list[tuple[float | None, list[str]]]:
    rewards = Engine(RULES, "E").feed(as_events(rows)).rewards
    return [
        (reward.reward, [milestone.id for milestone in reward.milestones]) for reward in rewards
    ]


PAID = [(0.0, []), (pytest.approx(1 / 3), ["agreed"]), (pytest.approx(1 / 3), ["sold"]), (0.0, [])]
"""A damaged file is worth 0; what was so at the start pays nothing."""


def test_the_recording_gives_its_rewards() -> None:
    """No file is there any more."""
    assert paid(lines(GOLDEN / "reads.log.jsonl")) == PAID


@pytest.mark.slow
async def test_a_daemon_reads_files_at_the_ends_of_steps() -> None:
    """Processes and all: what it says gives the same rewards."""
    assert paid(await record()) == PAID
