"""Both clients behind one face, so that every test is run with the one and with the other."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from milestoned_client import AsyncRewardClient, Retry, RewardClient

from tests.client.peer import Peer, serving

QUICK = Retry(attempts=5, first_s=0.001, longest_s=0.002)


class Blocking:
    """Calls an async object's methods and waits for them; hands everything else through."""

    def __init__(self, target: Any, runner: asyncio.Runner) -> None:
        self._target = target
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        return self._call(found) if callable(found) else found

    def _call(self, method: Any) -> Any:
        def call(*args: Any, **given: Any) -> Any:
            got = method(*args, **given)
            if inspect.isasyncgen(got):
                return self._runner.run(_all(got))
            got = self._runner.run(got) if inspect.iscoroutine(got) else got
            return Blocking(got, self._runner) if type(got).__name__ == "AsyncEpisode" else got

        return call


async def _all(items: Any) -> list[Any]:
    return [item async for item in items]


@pytest.fixture
def peer() -> Iterator[Peer]:
    with serving(Peer()) as running:
        yield running


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Any]:
    """``connect(url, **options)`` gives a client of the one kind or the other."""
    with asyncio.Runner() as runner:
        clients: list[Any] = []

        def make(url: str, **options: Any) -> Any:
            options = {"retry": QUICK, **options}
            if request.param == "sync":
                client: Any = RewardClient(url, "secret", **options)
            else:
                client = Blocking(AsyncRewardClient(url, "secret", **options), runner)
            clients.append(client)
            return client

        yield make
        for client in clients:
            client.close()
