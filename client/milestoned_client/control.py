"""Where the daemon's own control port is, for a harness that runs beside it.

Steps that go there skip the service's queue. A restarted daemon listens on another port, so its
state folder is read anew for every request.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from milestoned_client.errors import NotReadyError, PeerUnreachableError
from milestoned_client.plain_answers import HEADERS, HOOKS
from milestoned_client.sockets import socket_of, socket_url

LOOK_S = 0.02
"""Seconds between two looks for a daemon that does not listen yet."""
ASK_S = 10.0
"""The longest that one question for readiness waits at the daemon, in seconds."""


@dataclass(frozen=True, slots=True)
class Control:
    """The daemon's address (``http://127.0.0.1:PORT``, or `sockets.socket_url` of its Unix socket)
    and its token."""

    url: str
    token: str

    def locate(self) -> tuple[str, str]:
        """The URL and the token to use for the next request."""
        return self.url.rstrip("/"), self.token


@dataclass(frozen=True, slots=True)
class ControlDir:
    """The daemon's state folder (``agentd run --state``), which says where it listens now."""

    path: Path

    def locate(self) -> tuple[str, str]:
        """The URL and the token to use for the next request. Raises `PeerUnreachableError`."""
        try:
            where = json.loads((self.path / "agentd.json").read_text())
            token = (self.path / "control.token").read_text().strip()
            url = (
                socket_url(where["socket"])
                if "socket" in where
                else f"http://127.0.0.1:{where['port']}"
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PeerUnreachableError(
                f"no daemon listens yet, as far as {self.path} says: {error}"
            ) from error
        return url, token

    def wait_ready(self, wait_s: float = 30.0) -> None:
        """Wait until every source of the daemon sees, so that the first step is observed.

        Raises `NotReadyError`, which names those that do not after ``wait_s`` seconds.
        """
        ends = time.monotonic() + wait_s
        waiting: Mapping[str, str] = {"agentd": "no daemon listens"}
        while True:
            left = max(0.0, ends - time.monotonic())
            said = self._ask(min(left, ASK_S))
            if said is not None:
                if said["ready"]:
                    return
                waiting = said["waiting"]
            if time.monotonic() >= ends:
                raise NotReadyError(f"the daemon of {self.path}", wait_s, waiting)
            if said is None:
                time.sleep(LOOK_S)

    def _ask(self, wait_s: float) -> Mapping[str, Mapping[str, str]] | None:
        """What the daemon says; None where none listens."""
        try:
            address, token = self.locate()
            path, url = socket_of(address)
            headers = {"authorization": f"Bearer {token}", **HEADERS}
            with httpx.Client(
                transport=httpx.HTTPTransport(uds=path), headers=headers, event_hooks=HOOKS
            ) as client:
                answer = client.get(
                    f"{url}/v1/ready",
                    params={"wait_ms": round(wait_s * 1000)},
                    timeout=wait_s + ASK_S,
                )
                answer.raise_for_status()
                said: Mapping[str, Mapping[str, str]] = answer.json()
                return said
        except (PeerUnreachableError, httpx.HTTPError):
            return None
