"""Each way to reset a sandbox brings the same start state back, whatever an episode left.

:mod:`sandbox_state` says what the start state is and leaves something in each of its parts.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.containers import cluster, engine
from tests.fleet.containers.cluster import SANDBOXES, SHOP, Cluster
from tests.fleet.containers.engine import needs_engine, say

SANDBOX = SANDBOXES[0]
PYTHON = "/opt/milestoned/bin/python"
SOURCE = (Path(__file__).parent / "sandbox_state.py").read_text()
BACK_S = 180.0
# What a spiteful agent does before a reset: what runs as root should follow its link, and wait for it.
TRAP = """
set -e
rm -rf /home/agent/Downloads
ln -s /var/lib/agentd /home/agent/Downloads
trap '' TERM
exec flock /run/milestoned/browser.lock sh -c 'echo set; sleep 3600'
"""
# The same with a folder of the desktop's own, which no reset mends that leaves the desktop as it is.
BREAK = """
set -e
rm -rf /run/sandbox/at-spi
ln -s /var/lib/agentd /run/sandbox/at-spi
echo set
sleep 3600
"""

pytestmark = needs_engine


def _reset(fleet: Cluster) -> None:
    fleet.engine.docker("exec", fleet.container(SANDBOX), "sandbox-reset")


def _restart(fleet: Cluster) -> None:
    fleet.engine.docker("restart", fleet.container(SANDBOX))


def _replace(fleet: Cluster) -> None:
    fleet.compose("up", "--detach", "--no-build", "--no-deps", "--force-recreate", SANDBOX)


RESETS: dict[str, Callable[[Cluster], None]] = {
    "sandbox-reset": _reset,
    "docker restart": _restart,
    "a new container": _replace,
}


def test_each_reset_brings_the_start_state_back(
    running_engine: engine.Engine, tmp_path: Path
) -> None:
    with cluster.running(
        running_engine, cluster.any_compose(), tmp_path, (SANDBOX, "shop")
    ) as fleet:
        first = _state_at_rest(fleet)
        for name, reset in RESETS.items():
            with _leaving(fleet, "agent", PYTHON, "-c", SOURCE, "leave", SHOP):
                left = _state(fleet)
                same = [part for part in first if left[part] == first[part]]
                assert not same, f"an episode left nothing there: {same}"
                _expect_back(fleet, name, reset, first)
        for name in ("sandbox-reset", "docker restart"):
            with _leaving(fleet, "agent", "sh", "-c", TRAP):
                _expect_back(fleet, f"{name}, after a trap", RESETS[name], first)
            _expect_folder_of_agentd(fleet)
        broken = pytest.raises(RuntimeError, match="at-spi/bus_0 is gone")
        with _leaving(fleet, "agent", "sh", "-c", BREAK), broken:
            _reset(fleet)
        _expect_back(fleet, "docker restart, of a broken desktop", _restart, first)
        _expect_folder_of_agentd(fleet)


def _expect_folder_of_agentd(fleet: Cluster) -> None:
    """It is agentd's own still, and nothing in it was deleted."""
    words = ("stat", "-c", "%U %a", "/var/lib/agentd", "/var/lib/agentd/sandbox.token")
    said = fleet.engine.docker("exec", fleet.container(SANDBOX), *words)
    assert said.split("\n") == ["agentd 700", "agentd 400"]


@contextmanager
def _leaving(fleet: Cluster, user: str, *words: str) -> Iterator[None]:
    """A program in the sandbox that has said that it left something; the reset ends it."""
    command = ["docker", "exec", "--user", user, fleet.container(SANDBOX), *words]
    process = subprocess.Popen(
        command,
        env=fleet.engine.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        if not process.stdout.readline():
            raise RuntimeError(f"nothing was left: {process.communicate()[1]}")
        yield
        process.wait(timeout=BACK_S)
    finally:
        process.kill()
        process.communicate()


def _expect_back(
    fleet: Cluster, name: str, reset: Callable[[Cluster], None], first: dict[str, Any]
) -> None:
    """Reset, and wait until the start state is the first one; say how long both took."""
    began = time.monotonic()
    reset(fleet)
    returned = time.monotonic() - began
    state: dict[str, Any] | None = None
    while state != first and time.monotonic() - began < BACK_S:
        state = _state_if_any(fleet)
    took = time.monotonic() - began
    assert state is not None, f"{name}: no start state after {BACK_S:.0f} s"
    assert _differences(first, state) == [], name
    say(
        f"reset by {name}: returned after {returned:.1f} s, start state {_digest(state)}"
        f" again after {took:.1f} s"
    )


def _state_at_rest(fleet: Cluster) -> dict[str, Any]:
    """The start state, once Chromium's window is there and nothing changes any more."""
    until = time.monotonic() + BACK_S
    before, state = None, _state_if_any(fleet)
    while state is None or state != before or not state["windows"]:
        assert time.monotonic() < until, f"no rest after {BACK_S:.0f} s: {before}, {state}"
        time.sleep(1.0)
        before, state = state, _state_if_any(fleet)
    return state


def _state(fleet: Cluster) -> dict[str, Any]:
    words = ("exec", fleet.container(SANDBOX), PYTHON, "-c", SOURCE, "read")
    state: dict[str, Any] = json.loads(fleet.engine.docker(*words))
    return state


def _state_if_any(fleet: Cluster) -> dict[str, Any] | None:
    """None while the sandbox starts: no browser, no display or no container answers then."""
    try:
        return _state(fleet)
    except RuntimeError:
        return None


def _differences(first: Any, state: Any, path: str = "") -> list[str]:
    """Where two states differ, and how."""
    if first == state:
        return []
    if not isinstance(first, dict) or not isinstance(state, dict):
        return [f"{path}: expected {first}, got {state}"]
    return [
        line
        for key in sorted({*first, *state})
        for line in _differences(first.get(key), state.get(key), f"{path} {key}")
    ]


def _digest(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:16]
