"""Where the daemon's own loopback port is, for a harness that runs beside it.

Steps that go there skip the service's queue. A restarted daemon listens on another port, so its state
folder is read anew for every request.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from milestoned_client.errors import PeerUnreachableError


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
