"""One HTTP peer that may be slow, wrong or gone: timeouts, retries, and a breaker that spares it
once it is down."""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import orjson
import structlog

from common.plain_answers import ASYNC_HOOKS, HEADERS
from common.trace_context import passed_on
from detectors.model.types import Json

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Answers that say nothing of the question: the same one may be answered a moment later."""
MAX_WAIT_S = 5.0
_ANSWER_BYTES = 4 * 1024 * 1024

log = structlog.get_logger(__name__)


class UnreachableError(Exception):
    """No answer now, after all tries; asking later may help. ``status``: what the last try was
    answered, if it was."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


class RefusedError(Exception):
    """The peer answered, and will answer so again: a status of 4xx or 501, or no JSON. ``text`` is
    the peer's, for the operator: the message goes where readers of an episode see it."""

    def __init__(self, status: int, text: str, why: str = "") -> None:
        super().__init__(f"it answered {status}: {why}" if why else f"it answered {status}")
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """Times in seconds. ``key`` is sent as a bearer token, and shown nowhere."""

    url: str
    key: str = ""
    timeout_s: float = 20.0
    retries: int = 2
    pause_s: float = 0.25
    breaker_failures: int = 5
    breaker_s: float = 30.0

    @property
    def public_url(self) -> str:
        """Return the address without what may be secret in it: user, password, query."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def __repr__(self) -> str:
        return f"PeerSettings(url={self.public_url!r})"


class Breaker:
    """Open after so many failures in a row; then one call a period tries whether the peer is
    back."""

    def __init__(
        self, failures: int, period_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_failures = failures
        self._period_s = period_s
        self._clock = clock
        self._failures = 0
        self._next_try = 0.0

    def allows(self) -> bool:
        """Whether to call now: in a period of an open breaker only the first caller may."""
        if self._failures < self._max_failures:
            return True
        if self._clock() < self._next_try:
            return False
        self._next_try = self._clock() + self._period_s
        return True

    def record(self, well: bool) -> None:
        """Count one call by whether it succeeded."""
        self._failures = 0 if well else self._failures + 1
        if self._failures >= self._max_failures:
            self._next_try = self._clock() + self._period_s


class Failure(NamedTuple):
    """A call without an answer of use. ``retry_after_s``: when the peer wants to be asked again."""

    why: str
    status: int | None = None
    retry_after_s: float | None = None


class Peer:
    """Posts JSON and reads JSON. Its connections are kept until `close`."""

    def __init__(self, settings: PeerSettings) -> None:
        headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
        self._settings = settings
        self._url = settings.url.rstrip("/")
        self._client = httpx.AsyncClient(
            headers=headers | HEADERS,
            timeout=settings.timeout_s,
            verify=_trusted(),
            event_hooks=ASYNC_HOOKS,
        )
        self.breaker = Breaker(settings.breaker_failures, settings.breaker_s)

    async def close(self) -> None:
        """Close the connections that are kept."""
        await self._client.aclose()

    async def post(self, path: str, body: Mapping[str, Json]) -> Json:
        """Return the decoded answer to ``body``. Raises `UnreachableError` and `RefusedError`."""
        settings = self._settings
        if not self.breaker.allows():
            raise UnreachableError(
                f"{settings.public_url} failed too often lately and is left alone for a while"
            )
        failure = Failure("not asked")
        for tries_left in range(settings.retries, -1, -1):
            outcome = await self._try(path, body)
            if isinstance(outcome, httpx.Response):
                return self._read(outcome)
            failure = outcome
            if tries_left:
                await asyncio.sleep(self._pause(tries_left, failure.retry_after_s))
        self.breaker.record(False)
        raise UnreachableError(
            f"{settings.public_url}{path}: {failure.why}, after {settings.retries + 1} tries",
            failure.status,
        )

    async def _exchange(self, path: str, body: Mapping[str, Json]) -> httpx.Response:
        """One answer, read as far as `_ANSWER_BYTES` and the piece that goes beyond it."""
        content = bytearray()
        url = f"{self._url}{path}"
        async with self._client.stream("POST", url, json=body, headers=passed_on()) as answer:
            async for piece in answer.aiter_raw():
                content += piece
                if len(content) > _ANSWER_BYTES:
                    break
        return httpx.Response(answer.status_code, headers=answer.headers, content=bytes(content))

    async def _try(self, path: str, body: Mapping[str, Json]) -> httpx.Response | Failure:
        """Post once; a failure is what may go better the next time."""
        try:
            # httpx's timeout is of one read; a peer that drips bytes would hold us for ever.
            async with asyncio.timeout(self._settings.timeout_s):
                answer = await self._exchange(path, body)
        except (httpx.RequestError, TimeoutError) as error:
            return Failure(f"{type(error).__name__} {error}".strip())
        if answer.status_code not in RETRIED:
            return answer
        self._log_answer("A peer failed.", answer)
        status = answer.status_code
        return Failure(f"status {status}", status, _retry_after(answer))

    def _read(self, answer: httpx.Response) -> Json:
        """Return an answer's JSON. Raises `RefusedError` for an error, too much, and no JSON."""
        # A refusal is an answer all the same: the peer is there.
        self.breaker.record(True)
        if answer.is_error or len(answer.content) > _ANSWER_BYTES:
            self._log_answer("A peer refused.", answer)
            raise RefusedError(answer.status_code, _text(answer))
        try:
            return orjson.loads(answer.content)
        except orjson.JSONDecodeError:
            raise RefusedError(answer.status_code, _text(answer), "no JSON") from None

    def _log_answer(self, message: str, answer: httpx.Response) -> None:
        log.warning(
            message,
            url=self._settings.public_url,
            status=answer.status_code,
            text=_text(answer)[:200],
        )

    def _pause(self, tries_left: int, retry_after_s: float | None) -> float:
        """How many seconds to wait before the next try."""
        if retry_after_s is not None:
            return min(retry_after_s, MAX_WAIT_S)
        doubled = self._settings.pause_s * 2 ** (self._settings.retries - tries_left)
        # Spread, so that workers who failed together do not come back together.
        return float(min(doubled, MAX_WAIT_S) * random.uniform(0.5, 1.0))


@cache
def _trusted() -> ssl.SSLContext:
    # Reading the certificates takes a third of a second: once, not for each peer.
    return httpx.create_ssl_context()


def _text(answer: httpx.Response) -> str:
    return answer.content[:2_000].decode(errors="replace")


def _retry_after(answer: httpx.Response) -> float | None:
    value = answer.headers.get("retry-after", "")
    return float(value) if value.isdecimal() else None
