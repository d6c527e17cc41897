"""A log line never ends what it tells of, whatever became of stderr."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest
import structlog

from agentd.core.logs import set_up_logs, set_up_quietly


@pytest.fixture(
    autouse=True,
    params=[lambda: set_up_logs(verbose=False), set_up_quietly],
    ids=["program", "guest"],
)
def _set_up(request: pytest.FixtureRequest) -> None:
    """Set up while stderr is another one than later, as in a program that exchanges it."""
    set_up: Callable[[], None] = request.param
    set_up()


def test_a_line_goes_to_the_stderr_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to the one that was there when the logs were set up."""
    log = structlog.get_logger()
    for _ in range(2):
        now = io.StringIO()
        monkeypatch.setattr(sys, "stderr", now)
        log.warning("A file could not be read.", path="a.txt")
        assert "A file could not be read." in now.getvalue()
        assert "a.txt" in now.getvalue()


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "none"])
def test_without_a_stderr_it_is_let_go(monkeypatch: pytest.MonkeyPatch, closed: bool) -> None:
    """A source that warns of a gap goes on, and a stderr that is there again gets the next line and
    no older one."""
    stderr = io.StringIO()
    stderr.close()
    monkeypatch.setattr(sys, "stderr", stderr if closed else None)
    structlog.get_logger().warning("A file could not be read.")
    now = io.StringIO()
    monkeypatch.setattr(sys, "stderr", now)
    structlog.get_logger().warning("A page could not be read.")
    assert "A page could not be read." in now.getvalue()
    assert "A file could not be read." not in now.getvalue()


def test_a_fault_is_told_without_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for a person nor for a machine: a token may be among them."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stderr in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stderr)
        set_up_logs(verbose=False)
        token = "ms_" + "secret"
        try:
            raise RuntimeError(f"after {len(token)}")
        except RuntimeError:
            structlog.get_logger().exception("It failed.")
        assert "RuntimeError: after 9" in stderr.getvalue()
        assert token not in stderr.getvalue()
