"""The scripted judge as a process, one for all tests of a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from api.stages.judge.judge import Judge
from tests.judge.serving import Served, judge_at, serving


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The scripted judge."""
    with serving(tmp_path_factory.mktemp("standin")) as served:
        yield served


@pytest.fixture
async def judge(standin: Served) -> AsyncIterator[Callable[..., Judge]]:
    """Makes judges of the scripted endpoint: ``judge("honest", retries=0)``."""
    async with AsyncExitStack() as closing:

        def made(model: str, **more: Any) -> Judge:
            found = judge_at(standin.url, model, **more)
            closing.push_async_callback(found.close)
            return found

        yield made
