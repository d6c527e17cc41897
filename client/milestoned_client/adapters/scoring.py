"""How adapters ask for scores: a client for all of a process, few sockets, one rule for what is not
known.

What is not known (masked by the service, or the service gone for longer than the client tries) is
paid with the configured fall-back, or is None, and each adapter then does what its trainer takes
for an abstention. A refusal (a wrong token, a label that names nothing, an episode that there is
not) is a mistake in the set-up: it is raised.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import os
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from milestoned_client.adapters.settings import AdapterSettings
from milestoned_client.async_client import AsyncRewardClient
from milestoned_client.errors import (
    ClientError,
    PeerUnreachableError,
    ServiceFaultError,
    TooLargeError,
    TooManyRequestsError,
)
from milestoned_client.models import Sample, Score
from milestoned_client.sync_client import RewardClient

logger = logging.getLogger("milestoned_client.adapters")

IN_FLIGHT = 64
"""Requests at once in one event loop, and so sockets: trainers call for 512 samples at once."""
A_REQUEST = 250
BYTES = 900_000
"""Samples, and bytes, in one request at most: the service takes 1,000 and a mebibyte."""

UNANSWERED = (PeerUnreachableError, ServiceFaultError, TooManyRequestsError, TooLargeError)
"""What is no mistake in the set-up: an outage, and an answer so long that it can't be sent (a
policy's doing)."""
Found = Score | ClientError


class UnknownRewardError(ClientError):
    """Nobody can know the reward, and no fall-back is configured (MILESTONED_FALLBACK)."""


class _Shared(NamedTuple):
    client: AsyncRewardClient
    gate: asyncio.Semaphore


_loops: dict[asyncio.AbstractEventLoop, dict[AdapterSettings, _Shared]] = {}
_clients: dict[tuple[int, AdapterSettings], RewardClient] = {}
_making = threading.Lock()


def shared_async(settings: AdapterSettings) -> _Shared:
    """The client of the running event loop, made once: making one costs more than a request."""
    loop = asyncio.get_running_loop()
    for over in [one for one in _loops if one.is_closed()]:
        del _loops[over]
    clients = _loops.setdefault(loop, {})
    if settings not in clients:
        client = AsyncRewardClient(settings.url, settings.token)
        clients[settings] = _Shared(client, asyncio.Semaphore(IN_FLIGHT))
    return clients[settings]


def shared_client(settings: AdapterSettings) -> RewardClient:
    """The blocking client of this process, for all its threads."""
    key = (os.getpid(), settings)
    with _making:
        if key not in _clients:
            _clients[key] = RewardClient(settings.url, settings.token)
        return _clients[key]


async def close() -> None:
    """Give back the connections of the running event loop, and those of the blocking callers."""
    for one in _loops.pop(asyncio.get_running_loop(), {}).values():
        await one.client.close()
    close_now()


def close_now() -> None:
    """Give back the connections of the blocking callers; the next call makes new ones."""
    with _making:
        while _clients:
            _clients.popitem()[1].close()


async def score(samples: Sequence[Sample], settings: AdapterSettings) -> list[Found]:
    """Every sample's score, or why there is none, in order."""
    client, gate = shared_async(settings)

    async def ask(part: list[Sample]) -> list[Found]:
        async with gate:
            try:
                given = await client.score(part, wait_s=settings.wait_s, **settings.folding())
            except UNANSWERED as error:
                return [error] * len(part)
        return list(given)

    return list(itertools.chain.from_iterable(await asyncio.gather(*map(ask, _parts(samples)))))


def score_now(samples: Sequence[Sample], settings: AdapterSettings) -> list[Found]:
    """Return every sample's score as `score` does, over blocking connections."""
    client, found = shared_client(settings), list[Found]()
    for part in _parts(samples):
        try:
            found += client.score(part, wait_s=settings.wait_s, **settings.folding())
        except UNANSWERED as error:
            found += [error] * len(part)
    return found


def _parts(samples: Sequence[Sample]) -> Iterator[list[Sample]]:
    part: list[Sample] = []
    size = 0
    for sample in samples:
        more = len(json.dumps(sample.document()))
        if part and (len(part) == A_REQUEST or size + more > BYTES):
            yield part
            part, size = [], 0
        part.append(sample)
        size += more
    if part:
        yield part


def worth(found: Found, settings: AdapterSettings) -> float | None:
    """The reward; where it is not known the fall-back, or None. Raises the refusal that it is."""
    if isinstance(found, Score) and found.reward is not None:
        return _finite(found.reward)
    return unknown_payout(unknown_reason(found), settings)


def number(found: Found, settings: AdapterSettings) -> float:
    """The same for trainers that have no way to leave a sample out. Raises `UnknownRewardError`."""
    return certain(worth(found, settings), lambda: unknown_reason(found))


def unknown_payout(reason: str, settings: AdapterSettings) -> float | None:
    """What is paid where nobody knows; said in the log, each time."""
    paid = (
        "left out"
        if settings.fallback is None
        else f"paid as {settings.fallback:g}, the configured fall-back"
    )
    logger.warning("a reward is not known, %s: %s", paid, reason)
    return settings.fallback


def certain(value: float | None, reason: object) -> float:
    """``value``, or an `UnknownRewardError` with the reason (a text, or a function that gives
    it)."""
    if value is None:
        raise UnknownRewardError(
            f"the reward is not known: {reason() if callable(reason) else reason}"
        )
    return value


def unknown_reason(found: Found) -> str:
    """Why a reward is not known. Raises a refusal as it is."""
    if isinstance(found, Score):
        return f"{found.failure_kind}: {found.failure_reason}"
    if not isinstance(found, UNANSWERED):
        raise found
    return str(found)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise UnknownRewardError(f"the service answered {value}, which is no reward")
    return float(value)
