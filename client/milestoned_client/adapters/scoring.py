"""How adapters ask for scores: a client for all of a process, few sockets, one rule for what is not known.

What is not known (masked by the service, or the service gone for longer than the client tries) is paid with the
configured fall-back, or is None, and each adapter then does what its trainer takes for an abstention. A refusal (a
wrong token, a label that names nothing, an episode that there is not) is a mistake in the set-up: it is raised.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
import math
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from milestoned_client.adapters.settings import Settings
from milestoned_client.async_client import AsyncRewardClient
from milestoned_client.errors import ClientError, PeerUnreachableError, ServiceFaultError, TooManyRequestsError
from milestoned_client.scores import Sample, Score
from milestoned_client.sync_client import RewardClient

logger = logging.getLogger("milestoned_client.adapters")

IN_FLIGHT = 64
"""Requests at once in one event loop, and so sockets: trainers call for 512 samples at once."""
A_REQUEST = 250
LETTERS = 500_000
"""Samples, and letters of their answers, in one request at most."""

OUTAGE = (PeerUnreachableError, ServiceFaultError, TooManyRequestsError)
Found = Score | ClientError


class UnknownRewardError(ClientError):
    """Nobody can know the reward, and no fall-back is configured (MILESTONED_FALLBACK)."""


class _Shared(NamedTuple):
    client: AsyncRewardClient
    gate: asyncio.Semaphore


_loops: dict[asyncio.AbstractEventLoop, dict[Settings, _Shared]] = {}


def shared_async(settings: Settings) -> _Shared:
    """The client of the running event loop, made once: making one costs more than a request."""
    loop = asyncio.get_running_loop()
    for over in [one for one in _loops if one.is_closed()]:
        del _loops[over]
    clients = _loops.setdefault(loop, {})
    if settings not in clients:
        client = AsyncRewardClient(settings.url, settings.token)
        clients[settings] = _Shared(client, asyncio.Semaphore(IN_FLIGHT))
    return clients[settings]


def shared(settings: Settings) -> RewardClient:
    """The blocking client of this process, for all its threads."""
    return _shared(os.getpid(), settings)


@functools.lru_cache(maxsize=64)
def _shared(_process: int, settings: Settings) -> RewardClient:
    return RewardClient(settings.url, settings.token)


async def score(samples: Sequence[Sample], settings: Settings) -> list[Found]:
    """Every sample's score, or why there is none, in order."""
    client, gate = shared_async(settings)

    async def ask(part: list[Sample]) -> list[Found]:
        async with gate:
            try:
                given = await client.score(part, fold=settings.fold, gamma=settings.gamma, wait_s=settings.wait_s)
            except OUTAGE as error:
                return [error] * len(part)
        return list(given)

    return list(itertools.chain.from_iterable(await asyncio.gather(*map(ask, _parts(samples)))))


def score_now(samples: Sequence[Sample], settings: Settings) -> list[Found]:
    """The same, blocking."""
    client, found = shared(settings), list[Found]()
    for part in _parts(samples):
        try:
            found += client.score(part, fold=settings.fold, gamma=settings.gamma, wait_s=settings.wait_s)
        except OUTAGE as error:
            found += [error] * len(part)
    return found


def _parts(samples: Sequence[Sample]) -> Iterator[list[Sample]]:
    part: list[Sample] = []
    letters = 0
    for sample in samples:
        length = len(sample.answer or "")
        if part and (len(part) == A_REQUEST or letters + length > LETTERS):
            yield part
            part, letters = [], 0
        part.append(sample)
        letters += length
    if part:
        yield part


def worth(found: Found, settings: Settings) -> float | None:
    """The reward; where it is not known the fall-back, or None. Raises the refusal that it is."""
    if isinstance(found, Score) and found.reward is not None:
        return _finite(found.reward)
    return unknown(why(found), settings)


def number(found: Found, settings: Settings) -> float:
    """The same for trainers that have no way to leave a sample out. Raises `UnknownRewardError`."""
    return certain(worth(found, settings), lambda: why(found))


def unknown(reason: str, settings: Settings) -> float | None:
    """What is paid where nobody knows; said in the log, each time."""
    paid = "left out" if settings.fallback is None else f"paid as {settings.fallback:g}, the configured fall-back"
    logger.warning("a reward is not known, %s: %s", paid, reason)
    return settings.fallback


def certain(value: float | None, reason: object) -> float:
    """``value``, or an `UnknownRewardError` with the reason (a text, or a function that gives it)."""
    if value is None:
        raise UnknownRewardError(f"the reward is not known: {reason() if callable(reason) else reason}")
    return value


def why(found: Found) -> str:
    """Why a reward is not known. Raises a refusal as it is."""
    if isinstance(found, Score):
        return f"{found.failure_kind}: {found.failure_reason}"
    if not isinstance(found, OUTAGE):
        raise found
    return str(found)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise UnknownRewardError(f"the service answered {value}, which is no reward")
    return float(value)
