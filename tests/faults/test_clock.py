"""The clock stepped back and forth by an hour, under the daemon and the service, with Debian's
libfaketime."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.faults.checks import whole
from tests.faults.script import run, task
from tests.support.postgres import needs_postgres
from tests.support.stack import Stack, gist

LIBRARY = next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
STEPS = 4
HOUR = ("+3600s", "-3600s", "+0s")


@pytest.mark.slow
@pytest.mark.skipif(LIBRARY is None, reason="libfaketime is missing")
@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgres", marks=needs_postgres)], indirect=True
)
def test_stepped_by_an_hour(tmp_path: Path, database: str) -> None:
    """Wall clocks decide nothing: no reward, no order, no wait, no token."""
    says = tmp_path / "clock"
    says.write_text("+0s")
    faked = (
        "env", f"LD_PRELOAD={LIBRARY}", f"FAKETIME_TIMESTAMP_FILE={says}", "FAKETIME_NO_CACHE=1",
        "FAKETIME_DONT_FAKE_MONOTONIC=1",
    )  # fmt: skip
    with Stack(tmp_path, database, faked, faked) as stack:
        calm = run(stack, tmp_path / "notes", STEPS)
        hours = itertools.cycle(HOUR)

        def step_clock(*_: object) -> None:
            says.write_text(next(hours))

        shaken = run(stack, tmp_path / "notes", STEPS, step_clock, step_clock)
        assert gist(shaken) == gist(calm)
        events = whole(stack, shaken, task(STEPS))
        assert events[-1].at < 3_600 * 10**9, "the log's time is the monotonic clock's"
