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
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import structlog

from api.core.plain_answers import HEADERS, HOOKS

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
        super().__init__(f"it answered {status}{why and ': '}{why}")
        self.status, self.text = status, text


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
        """The address without what may be secret in it: user, password, query."""
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
        self._most, self._period_s, self._clock = failures, period_s, clock
        self._failures = 0
        self._next_try = 0.0

    def allows(self) -> bool:
        """Whether to call now. In a period of an open breaker only the first to ask is told yes."""
        if self._failures < self._most:
            return True
        if self._clock() < self._next_try:
            return False
        self._next_try = self._clock() + self._period_s
        return True

    def record(self, well: bool) -> None:
        """How a call went."""
        self._failures = 0 if well else self._failures + 1
        if self._failures >= self._most:
            self._next_try = self._clock() + self._period_s


class Peer:
    """Posts JSON and takes JSON. Its connections are kept; `close` lets them go."""

    def __init__(self, settings: PeerSettings) -> None:
        headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
        self._settings = settings
        self._url = settings.url.rstrip("/")
        self._client = httpx.AsyncClient(
            headers=headers | HEADERS,
            timeout=settings.timeout_s,
            verify=_trusted(),
            event_hooks=HOOKS,
        )
        self.breaker = Breaker(settings.breaker_failures, settings.breaker_s)

    async def close(self) -> None:
        """Let go of its connections."""
        await self._client.aclose()

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The decoded answer to ``body``. Raises `UnreachableError` and `RefusedError`."""
        if not self.breaker.allows():
            raise UnreachableError(
                f"{self._settings.public_url} failed too often lately and is left alone for a while"
            )
        status = None
        for tries_left in range(self._settings.retries, -1, -1):
            try:
                # httpx's timeout is of one read; a peer that drips bytes would hold us for ever.
                async with asyncio.timeout(self._settings.timeout_s):
                    answer = await self._exchange(path, body)
            except (httpx.RequestError, TimeoutError) as error:
                why, wait, status = f"{type(error).__name__} {error}".strip(), None, None
            else:
                if answer.status_code not in RETRIED:
                    return self._read(answer)
                why, wait, status = (
                    f"status {answer.status_code}",
                    _retry_after(answer),
                    answer.status_code,
                )
                log.warning(
                    "A peer failed.",
                    url=self._settings.public_url,
                    status=status,
                    text=_text(answer)[:200],
                )
            if tries_left:
                await asyncio.sleep(self._pause(tries_left, wait))
        self.breaker.record(False)
        raise UnreachableError(
            f"{self._settings.public_url}{path}: {why}, after {self._settings.retries + 1} tries",
            status,
        )

    async def _exchange(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        """One answer, read as far as `_ANSWER_BYTES` and the piece that goes beyond it."""
        content = bytearray()
        async with self._client.stream("POST", f"{self._url}{path}", json=body) as answer:
            async for piece in answer.aiter_raw():
                content += piece
                if len(content) > _ANSWER_BYTES:
                    break
        return httpx.Response(answer.status_code, headers=answer.headers, content=bytes(content))

    def _read(self, answer: httpx.Response) -> Any:
        # A refusal is an answer all the same: the peer is there.
        self.breaker.record(True)
        if answer.is_error or len(answer.content) > _ANSWER_BYTES:
            log.warning(
                "A peer refused.",
                url=self._settings.public_url,
                status=answer.status_code,
                text=_text(answer)[:200],
            )
            raise RefusedError(answer.status_code, _text(answer))
        try:
            return orjson.loads(answer.content)
        except orjson.JSONDecodeError:
            raise RefusedError(answer.status_code, _text(answer), "no JSON") from None

    def _pause(self, tries_left: int, wanted_s: float | None) -> float:
        if wanted_s is not None:
            return min(wanted_s, MAX_WAIT_S)
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
