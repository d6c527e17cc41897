"""One daemon a state directory: two would number the same events twice.

The kernel drops the lock with the process, however that ends, so nobody has to clear up after a
kill.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from agentd.core.disk_errors import room_in
from agentd.core.errors import AgentdError, UsageError


class StateLock:
    """An exclusive lock on ``state``, held until `release`. Raises `UsageError` naming the holder's
    pid, `AgentdError` where there is no room."""

    def __init__(self, state: Path) -> None:
        with room_in(state):
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._fd, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._fd)
            raise UsageError(
                f"--state {state}: another daemon works here, pid {holder}; wanted a directory of"
                " its own, or that daemon ended first"
            ) from None
        try:
            with room_in(state):
                os.ftruncate(self._fd, 0)
                os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
        except AgentdError:
            self.release()
            raise

    def release(self) -> None:
        """Let the next daemon in; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
