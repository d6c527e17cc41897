"""One real service for all trainers of a module, with two tasks: an answer, and a shop that is
watched."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.api.processes import Process
from tests.api.service import TASK
from tests.api.test_score import ANSWER
from tests.trainers.support import GONE, HALF, episode_of, operator

LEFT = {"id": "left", "penalty": 0.1, "when": {"url_reached": {"url": "/away"}}}
GUARDED = TASK | {"milestones": [*TASK["milestones"], LEFT]}
"""Whatever was earned, something may still happen that must not: a lost browser leaves it open."""


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """The service."""
    found = Process(tmp_path_factory.mktemp("trainers"), "--nemo-port", "0", "--ors-port", "0")
    found.start()
    for task in (ANSWER, GUARDED):
        headers = {"authorization": f"Bearer {found.admin}"}
        httpx.post(f"{found.url}/v1/tasks", json=task, headers=headers).raise_for_status()
    yield found
    found.stop_if_running()


@pytest.fixture
async def lost(process: Process) -> str:
    """An episode whose browser died: nobody can know what it was worth."""
    async with operator(process) as service:
        return await episode_of(service, GONE)


@pytest.fixture
async def half(process: Process) -> str:
    """An episode of which half of the steps are known."""
    async with operator(process) as service:
        return await episode_of(service, HALF)
