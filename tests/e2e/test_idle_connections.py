"""Connections to the daemon's port that anybody in the sandbox can open change no reward."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.stack import PATIENT, SEAL_S, Stack

IDLE = 1200
TASK: dict[str, Any] = {
    "id": "test/idle",
    "version": "1",
    "instruction": "Write a report.",
    "settings": PATIENT,
    "milestones": [
        {"id": "report", "when": {"file_created": {"name": "report.txt"}}},
        {"id": "forbidden", "penalty": 0.5, "when": {"file_created": {"name": "forbidden.txt"}}},
        {"id": "done", "when": {"goal": {"requires": ["report"]}}},
    ],
}


@pytest.fixture
def descriptors() -> Iterator[None]:
    """As many file descriptors for this process as the sockets need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2 * IDLE:
        pytest.skip(f"a process may have {hard} file descriptors; wanted {2 * IDLE}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * IDLE), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("descriptors")
def test_a_penalty_is_known_while_1200_connections_are_idle(stack: Stack, tmp_path: Path) -> None:
    """The daemon may have 1,024 file descriptors, as most shells allow."""
    folder = tmp_path / "watched"
    folder.mkdir()
    stack.open(TASK)
    episode = stack.watch(files=[folder])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.prlimit(stack.daemon.part.pid, resource.RLIMIT_NOFILE, (1024, hard))
    port = orjson.loads((stack.state / "agentd.json").read_bytes())["port"]
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(IDLE)]
    try:
        episode.step("write what is forbidden")
        (folder / "forbidden.txt").write_text("x")
        episode.end_step()
        paid = episode.reward(0, wait_s=SEAL_S)
        assert (paid.status, paid.reward) == ("sealed", -0.5), paid
    finally:
        for one in sockets:
            one.close()
