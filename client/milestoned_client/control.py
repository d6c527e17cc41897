"""Where the daemon's own loopback port is, for a harness that runs beside it.

Steps that go there skip the service's queue. A restarted daemon listens on another port, so its state
folder is read anew for every request.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from milestoned_client.errors import PeerUnreachableError

LOOK_S = 0.02
"""Seconds between two looks for the daemon's sign that it sees."""


@dataclass(frozen=True, slots=True)
class Control:
    """The daemon's loopback URL (``http://127.0.0.1:PORT``) and its token."""

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
            port = json.loads((self.path / "agentd.json").read_text())["port"]
            token = (self.path / "control.token").read_text().strip()
        except (OSError, ValueError, KeyError) as error:
            raise PeerUnreachableError(f"no daemon listens yet, as far as {self.path} says: {error}") from error
        return f"http://127.0.0.1:{port}", token

    def wait_ready(self, wait_s: float = 30.0) -> None:
        """Wait until every source of the daemon sees, so that the first step is observed.

        Raises `PeerUnreachableError` where that has not come after ``wait_s`` seconds.
        """
        ends = time.monotonic() + wait_s
        while not (self.path / "ready").exists():
            if time.monotonic() >= ends:
                raise PeerUnreachableError(f"the daemon of {self.path} does not see yet, after {wait_s:g} s")
            time.sleep(LOOK_S)
