"""The daemon's side of the service's HTTP: one client, the append token, errors that say what to
do."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import httpx
import orjson
import structlog

from agentd.core.backoff import Backoff
from agentd.core.disk_errors import room_in
from agentd.core.errors import LogRefusedError, TokenRefusedError, UsageError
from agentd.core.plan import EpisodePlan
from agentd.core.problems import PROBLEM
from common.trace_context import HEADER, TraceParent

CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=50.0)
"""Connections to the service: one that is idle for 50 seconds is closed here. The service keeps it
for 75, and proxies mostly for 60."""
MAX_RETRY_AFTER_S = 60.0
"""The longest wait that a service may ask for, in seconds."""

log = structlog.get_logger(__name__)


class Service:
    """One episode at the service. ``client`` has the base URL and the transport; tests hand in
    their own. ``parent``: the trace that every request is part of, where the daemon was started in
    one."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        episode: str,
        token: str,
        token_from: str,
        parent: TraceParent | None = None,
    ) -> None:
        self._client = client
        self._path = f"/v1/episodes/{episode}"
        self._headers = {"authorization": f"Bearer {token}"}
        if parent is not None:
            self._headers[HEADER] = parent.header()
        self._token_from = token_from
        self.episode = episode

    async def get(
        self, what: str = "", *, timeout_s: float = 10.0, **params: int
    ) -> httpx.Response:
        """GET the episode or one of its parts; raises httpx.TransportError and, where the service
        itself says so, `TokenRefusedError`, `UsageError` (404), `LogRefusedError` (410)."""
        response = await self._client.get(
            self._path + what,
            params=params,
            headers=self._headers,
            timeout=httpx.Timeout(timeout_s, connect=5.0),
        )
        self._check(response)
        return response

    async def stream_lines(
        self, what: str, *, timeout_s: float, **params: int
    ) -> AsyncGenerator[bytes]:
        """GET a part of the episode as lines, each as soon as it is there, until the service ends
        them; no line may take longer than ``timeout_s`` seconds. Raises as `get`, and
        httpx.HTTPStatusError for any other refusal."""
        async with self._client.stream(
            "GET",
            self._path + what,
            params=params,
            headers=self._headers,
            timeout=httpx.Timeout(timeout_s, connect=5.0),
        ) as response:
            if response.status_code != 200:
                await response.aread()
                self._check(response)
                response.raise_for_status()
            async for line in response.aiter_lines():
                yield line.encode()

    async def post_segment(self, frame: bytes, behind: int) -> httpx.Response:
        """Ship one compressed segment, with ``behind`` events still to come; raises as `get`."""
        headers = self._headers | {
            "content-type": "application/zstd",
            "milestoned-behind": str(behind),
        }
        response = await self._client.post(
            self._path + "/events", content=frame, headers=headers, timeout=30.0
        )
        self._check(response)
        return response

    def _check(self, response: httpx.Response) -> None:
        """Raise for an answer after which asking again is of no use: a refused token, or an episode
        that is gone."""
        if not spoke(response):
            return
        if response.status_code in (401, 403):
            raise TokenRefusedError(
                f"the service answered {response.status_code} to the token from {self._token_from}:"
                f" wanted the append token of episode {self.episode} ({problem_detail(response)})"
            )
        if response.status_code == 410:
            raise LogRefusedError(
                f"the service has episode {self.episode} no more ({problem_detail(response)})"
            )
        if response.status_code == 404:
            raise UsageError(
                f"--episode {self.episode}: the service does not know it"
                f" ({problem_detail(response)})"
            )

    async def plan(self, cache: Path) -> EpisodePlan:
        """The episode's plan: from ``cache`` if it was fetched before, else asked for until the
        service answers."""
        if (cached := _cached(cache)) is not None:
            return cached
        backoff = Backoff()
        while True:
            try:
                response = await self.get("/plan")
                response.raise_for_status()
                plan = _plan(response.content)
            except (httpx.TransportError, httpx.HTTPStatusError, ValueError) as error:
                log.warning("The service gave no plan yet; asking again.", why=words(error))
                await backoff.wait()
                continue
            with room_in(cache.parent):
                fresh = cache.with_suffix(".new")
                fresh.write_bytes(response.content)
                fresh.replace(cache)
            return plan


def _cached(cache: Path) -> EpisodePlan | None:
    """The plan in ``cache``; None where there is none, or what a power cut left of one."""
    try:
        return _plan(cache.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def _plan(content: bytes) -> EpisodePlan:
    """Raises ValueError for what is no plan, such as a sign-in page."""
    plan: object = orjson.loads(content)
    if not isinstance(plan, dict) or not {"quiet_ms", "settle_ms"} <= plan.keys():
        raise ValueError(f"no plan: {content[:200]!r}")
    return cast(EpisodePlan, plan)


def words(error: Exception) -> str:
    """An error in words; httpx leaves some of its errors without any."""
    return str(error) or type(error).__name__


def problem_detail(response: httpx.Response) -> str:
    """What a problem document says, or else the beginning of the body."""
    body = problem(response)
    return str(body.get("detail") or body.get("title") or response.text[:200])


def spoke(response: httpx.Response) -> bool:
    """Whether a refusal is the service's own word. What stands between (a proxy whose service
    restarts, a network's sign-in page) refuses in other forms, and asking again may change it."""
    return bool(
        response.headers.get("content-type", "").partition(";")[0].strip().lower() == PROBLEM
    )


def problem(response: httpx.Response) -> dict[str, Any]:
    """The problem document of an answer; empty where there is none."""
    try:
        body = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def retry_after(response: httpx.Response) -> float:
    """Seconds that the service asks to wait, at most `MAX_RETRY_AFTER_S`; 0 where it asks nothing
    understandable.

    Up to a quarter is added by chance: a fleet that was refused together does not come back
    together.
    """
    text = response.headers.get("retry-after", "")
    asked = float(text) if text.isascii() and text.isdigit() else 0.0
    return min(asked, MAX_RETRY_AFTER_S) * random.uniform(1.0, 1.25)
