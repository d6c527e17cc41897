"""How a call is carried out: attempts, back-off, deadlines, long polls. No I/O, so both clients
share it.

A flow is a generator. It yields an `Attempt` (and is sent the answer, or thrown an
`httpx.TransportError`) or a `Pause`, and returns the result. The clients only carry flows out.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import httpx

from milestoned_client import calls
from milestoned_client.calls import Call
from milestoned_client.errors import (
    ClientError,
    NotReadyError,
    PeerUnreachableError,
    UnexpectedAnswerError,
    problem_from_body,
)
from milestoned_client.models import Closing, Lease, Readiness, Reward

T = TypeVar("T")

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that may be different a moment later."""

_NOT_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, PeerUnreachableError)
"""Failures before anything was sent: these may always be tried again."""


class Locator(Protocol):
    """Says where a peer is now: its URL and the token for it."""

    def locate(self) -> tuple[str, str]: ...


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a call that may be sent again is sent, and how long (seconds) is paused in
    between."""

    attempts: int = 10
    first_s: float = 0.1
    longest_s: float = 5.0

    def pause_s(self, attempt: int) -> float:
        """Exponential, with jitter so that a fleet does not come back all at once."""
        top: float = min(self.longest_s, self.first_s * 2.0 ** (attempt - 1))
        return top * random.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to send. Times in seconds."""

    method: str
    url: str
    headers: Mapping[str, str]
    params: Mapping[str, str | int]
    content: bytes | None
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing to send for ``seconds``."""

    seconds: float


_MIN_ATTEMPT_S = 0.001
"""What an attempt has at least, in seconds: a time below 0 is none to httpx."""


@dataclass(frozen=True, slots=True)
class Peers:
    """Where the service and the daemon are, how to retry, and the times (seconds) that bound a
    call."""

    service: Locator
    daemon: Locator | None
    retry: Retry
    timeout_s: float
    deadline_s: float


Flow = Generator[Attempt | Pause, httpx.Response | None, T]


def perform(peers: Peers, call: Call[T]) -> Flow[T]:
    """Carry one call out. Raises a `ClientError`; gives up at ``deadline_s`` beyond the call's own
    wait."""
    until = time.monotonic() + peers.deadline_s + call.wait_s
    attempt = 0
    while True:
        attempt += 1
        failed: ClientError
        try:
            response = yield _attempt(peers, call, until)
        except (httpx.TransportError, PeerUnreachableError) as error:
            failed = PeerUnreachableError(
                f"{call.method} {call.path}: {type(error).__name__}: {error}"
            )
            failed.__cause__ = error
            again = call.repeatable or isinstance(error, _NOT_ARRIVED)
            pause = peers.retry.pause_s(attempt)
        else:
            assert response is not None
            if response.is_success:
                return _read(call, response)
            failed = problem_from_body(
                response.status_code, response.reason_phrase, response.content
            )
            again = call.repeatable and response.status_code in _PASSING
            pause = max(peers.retry.pause_s(attempt), retry_after_s(response))
        if not again or attempt >= peers.retry.attempts or time.monotonic() + pause >= until:
            raise failed
        yield Pause(pause)


def _attempt(peers: Peers, call: Call[T], until: float) -> Attempt:
    locator = peers.service if call.peer == "service" else peers.daemon
    if locator is None:
        raise PeerUnreachableError("this client was given no control=, so it knows no daemon")
    url, token = locator.locate()
    # The last one begins shortly before the deadline and ends with it.
    left = max(_MIN_ATTEMPT_S, until - time.monotonic())
    timeout = min(peers.timeout_s + call.wait_s, left)
    return Attempt(
        call.method, url + call.path, call.headers(token), call.params, call.content, timeout
    )


def _read(call: Call[T], response: httpx.Response) -> T:
    if call.raw:
        return call.parse(None, response.content)
    try:
        document = json.loads(response.content) if response.content else {}
    except (ValueError, RecursionError) as error:
        raise UnexpectedAnswerError(
            f"{call.method} {call.path}: the answer is not JSON: {error}"
        ) from error
    return call.parse(document, response.content)


def retry_after_s(response: httpx.Response) -> float:
    """Seconds that the service asks to wait; dates are not read, because clocks differ."""
    try:
        return max(0.0, float(response.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0


def wait_reward(peers: Peers, episode: str, step: int, wait_s: float) -> Flow[Reward]:
    """The step's reward, asked for until it is final or ``wait_s`` is over; then it is
    ``settling``."""
    return (
        yield from _poll(
            peers, lambda left: calls.reward(episode, step, left), wait_s, lambda r: r.settled
        )
    )


def wait_ready(peers: Peers, episode: str, wait_s: float) -> Flow[Readiness]:
    """Wait until every source of the episode's daemon sees. Raises `NotReadyError` after
    ``wait_s``, and at once where the episode is closed."""

    def final(one: Readiness) -> bool:
        return one.ready or one.status == "closed"

    said = yield from _poll(peers, lambda left: calls.ready(episode, left), wait_s, final)
    if not said.ready:
        waited = None if said.status == "closed" else wait_s
        raise NotReadyError(f"episode {episode}", waited, said.waiting)
    return said


def wait_sandbox(
    peers: Peers, episode: str, wait_s: float, until: Literal["held", "ready"]
) -> Flow[Lease]:
    """Wait at most ``wait_s`` until a sandbox has the episode and, where ``until`` says so, a step
    can begin in it; the lease as it is then."""

    def is_final(lease: Lease) -> bool:
        if lease.state in ("ended", "lost"):
            return True
        # A service that is older than the question answers without `ready`.
        return lease.state == "held" and (until == "held" or lease.ready in (True, None))

    return (
        yield from _poll(peers, lambda left: calls.sandbox(episode, left, until), wait_s, is_final)
    )


def wait_closed(
    peers: Peers, episode: str, reason: str | None, truncated: bool, wait_s: float, direct: bool
) -> Flow[Closing]:
    """Close and wait at most ``wait_s`` until the episode's last event is in the log."""
    if direct:
        # A daemon that is gone has closed already, or the service's queue will tell its successor.
        with contextlib.suppress(PeerUnreachableError):
            yield from perform(peers, calls.close_direct(reason, truncated))

    def ask(left: float) -> Call[Closing]:
        return calls.close(episode, reason, truncated, left)

    return (yield from _poll(peers, ask, wait_s, lambda closing: closing.status == "closed"))


def _poll(
    peers: Peers, ask: Callable[[float], Call[T]], wait_s: float, final: Callable[[T], bool]
) -> Flow[T]:
    until = time.monotonic() + wait_s
    while True:
        left = max(0.0, until - time.monotonic())
        asked = time.monotonic()
        answer = yield from perform(peers, ask(left))
        if final(answer) or time.monotonic() >= until:
            return answer
        # A service that answers at once instead of waiting must not be asked in a tight loop.
        if time.monotonic() - asked < min(left, 0.05):
            yield Pause(min(0.05, max(0.0, until - time.monotonic())))
