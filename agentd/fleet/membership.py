"""What a daemon says to the fleet's service about its sandbox: who it is, that it is there, that it
goes."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import structlog

from agentd.core.backoff import Backoff
from agentd.core.disk_errors import room_in
from agentd.core.errors import TokenRefusedError, UsageError, VersionRefusedError
from agentd.core.secret_file import read_or_make_secret
from agentd.core.settings import JoinSettings
from agentd.fleet.devtools import read_devtools_token
from agentd.uplink.http import problem, problem_detail, retry_after, spoke, words
from detectors.model.wire_versions import WIRE

ANSWER_S = 10.0
"""How long an answer may take beyond what it was asked to wait, in seconds."""

log = structlog.get_logger(__name__)


class LeasedEpisode(NamedTuple):
    """An episode to work on, and the token that appends to it."""

    episode: str
    token: str
    task: str


class HeartbeatAnswer(NamedTuple):
    """What the service says: the ``lease``, how often to beat, and why the episode asked about was
    given up."""

    lease: LeasedEpisode | None
    beat_s: float
    given_up: str | None


class Membership:
    """One sandbox at the service. ``client`` has the base URL; tests hand in their own."""

    def __init__(
        self, client: httpx.AsyncClient, token: str, instance: str, settings: JoinSettings
    ) -> None:
        self._client = client
        self._headers = {"authorization": f"Bearer {token}"}
        self._instance = instance
        self._settings = settings
        self._sandbox = ""

    async def register(self) -> HeartbeatAnswer:
        """Say who this is. Raises `TokenRefusedError`, `VersionRefusedError`, `UsageError`."""
        settings = self._settings
        body = {
            "name": settings.name or socket.gethostname(),
            "address": _address(settings),
            "labels": dict(settings.label),
            "agentd": version("milestoned"),
            "wire": WIRE,
        }
        answer = await self._ask("", body, wait_s=0.0)
        self._sandbox = str(answer["sandbox"])
        log.info("Registered with the fleet.", sandbox=self._sandbox, name=body["name"])
        return _parse_answer(answer)

    async def beat(
        self,
        *,
        on: str | None = None,
        done: str | None = None,
        failed: tuple[str, str] | None = None,
        through: int | None = None,
        gaps: Sequence[str] = (),
        wait_s: float = 0.0,
    ) -> HeartbeatAnswer:
        """Report that the sandbox is there; an idle one waits ``wait_s`` seconds for an episode.

        ``on``: the episode that it works on, ``done``: one that is closed and acknowledged,
        ``failed``: one that can't go on, and why. Raises as `register`.
        """
        body: dict[str, object] = {
            "on": on,
            "done": done,
            "through": through,
            "gaps": list(gaps)[:64],
        }
        if failed is not None:
            body["failed"] = {"episode": failed[0], "why": failed[1][:1_024] or "unknown"}
        return _parse_answer(
            await self._ask(
                f"/{self._sandbox}:beat", {**body, "wait_ms": int(wait_s * 1000)}, wait_s
            )
        )

    async def leave(self) -> None:
        """Report that the sandbox goes; a service that is out of reach notices it by itself."""
        try:
            await self._post(f"/{self._sandbox}:leave", {}, wait_s=0.0)
        except httpx.TransportError as error:
            log.debug("The service did not hear that the sandbox goes.", why=words(error))

    async def _ask(self, what: str, body: dict[str, Any], wait_s: float) -> dict[str, object]:
        """Post until the service answers with a lease or says that there is none. Raises where it
        refuses this sandbox."""
        backoff = Backoff()
        while True:
            try:
                response = await self._post(what, body, wait_s)
            except httpx.TransportError as error:
                log.warning("The fleet's service does not answer; asking again.", why=words(error))
                await backoff.wait()
                continue
            answer = problem(response)
            if response.status_code == 200 and answer.keys() >= {"lease", "beat_s", "given_up"}:
                return answer
            _check(response)
            log.warning(
                "The fleet's service can't say yet; asking again.", why=problem_detail(response)
            )
            await backoff.wait(retry_after(response))

    async def _post(self, what: str, body: dict[str, object], wait_s: float) -> httpx.Response:
        timeout = httpx.Timeout(wait_s + ANSWER_S, connect=5.0)
        body = {**body, "instance": self._instance}
        return await self._client.post(
            f"/v1/sandboxes{what}", json=body, headers=self._headers, timeout=timeout
        )


def _address(settings: JoinSettings) -> str | None:
    """Where a harness finds the browser, with the token of its DevTools where they want one."""
    if settings.address is None or settings.address_token is None:
        return settings.address
    return f"{settings.address.rstrip('/')}/{read_devtools_token(settings.address_token)}"


def _check(response: httpx.Response) -> None:
    """Raise the error of a refusal that lasts; a name that is taken may come free, as a busy
    service."""
    if not spoke(response):
        return
    kind = str(problem(response).get("type", "")).rpartition(":")[2]
    if kind == "version-skew":
        raise VersionRefusedError(
            f"the service refuses this daemon's version: {problem_detail(response)}"
        )
    if response.status_code in (401, 403):
        raise TokenRefusedError(
            f"the service answered {response.status_code} to the fleet's token: wanted one of scope"
            f" sandbox ({problem_detail(response)})"
        )
    if response.status_code in (404, 413, 422):
        raise UsageError(f"the service refuses this sandbox: {problem_detail(response)}")


def _parse_answer(answer: dict[str, Any]) -> HeartbeatAnswer:
    """Read a heartbeat's answer: the lease, seconds to the next beat, and why the episode was given
    up."""
    lease = answer["lease"]
    given = answer["given_up"]
    return HeartbeatAnswer(
        None if lease is None else LeasedEpisode(lease["episode"], lease["token"], lease["task"]),
        float(answer["beat_s"]),
        None if given is None else str(given["why"]),
    )


def instance_of(state: Path) -> str:
    """The secret of ``state`` that proves that a daemon that comes back is the same one; made on
    the first start."""
    with room_in(state):
        return read_or_make_secret(state / "instance")
