"""The network between daemon, trainer and service is cut, silent, slow, or delivers everything
twice."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.faults.checks import whole
from tests.faults.moments import MOMENTS, Moments
from tests.faults.script import run, task
from tests.support.postgres import needs_postgres
from tests.support.stack import Stack, gist
from tests.support.twice import Twice
from tests.support.wire import Wire

FEW = 3
SLOWLY = {"delay_s": 0.03, "bytes_a_second": 50_000.0}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cut", "silence"])
def test_cut_and_silent(stack: Stack, tmp_path: Path, how: str) -> None:
    """Up to a second of nothing, again and again: everything arrives, once, and pays the same."""
    calm = run(stack, tmp_path / "notes", MOMENTS + 2)
    chance = random.Random(4)
    with Wire(stack.service.url) as wire:
        stack.front = wire.url

        def break_off() -> None:
            getattr(wire, how)()
            time.sleep(chance.uniform(0.05, 1.0))
            wire.mend()

        with Moments(5, break_off, MOMENTS) as faults:
            shaken = run(stack, tmp_path / "notes", MOMENTS + 2, faults.step)
        assert faults.done == MOMENTS
        assert gist(shaken) == gist(calm)
        whole(stack, shaken, task(MOMENTS + 2))


@pytest.mark.slow
def test_slow(stack: Stack, tmp_path: Path) -> None:
    """50 kB a second and late: the same rewards, later."""
    calm = run(stack, tmp_path / "notes", FEW)
    with Wire(stack.service.url) as wire:
        wire.slow(**SLOWLY)
        stack.front = wire.url
        shaken = run(stack, tmp_path / "notes", FEW)
        assert gist(shaken) == gist(calm)
        whole(stack, shaken, task(FEW))


@pytest.mark.parametrize(
    ("database", "steps", "beside"),
    [
        # The quick one, in which requests of all kinds are sent twice.
        pytest.param("sqlite", FEW, False, marks=pytest.mark.slow),
        *(
            pytest.param(database, MOMENTS, beside, marks=[pytest.mark.slow, *marks])
            for database, marks in (("sqlite", []), ("postgres", [needs_postgres]))
            for beside in (True, False)
        ),
    ],
    indirect=["database"],
)
def test_every_request_twice_and_out_of_order(
    stack: Stack, tmp_path: Path, beside: bool, steps: int
) -> None:
    """A tenth of the answers is lost besides. The second delivery of anything changes nothing."""
    calm = run(stack, tmp_path / "notes", steps, beside=beside)
    with Twice(stack.service.url, seed=6) as network:
        stack.front = network.url
        shaken = run(stack, tmp_path / "notes", steps, beside=beside)
        assert gist(shaken) == gist(calm)
        before = whole(stack, shaken, task(steps))
        network.settle()
        assert whole(stack, shaken, task(steps)) == before
        assert len(network.again) > steps
        assert max(network.again) < 500, "no second delivery breaks anything"
        assert network.lost
