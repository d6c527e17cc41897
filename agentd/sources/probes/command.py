"""What a program says, where the daemon's operator allowed tasks to run programs
(``--allow-commands``).

No shell, no input, an environment without the daemon's own secrets, and an end with the budget.
That the program changes nothing is the task's word: nobody can hold it to that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any

from agentd.sources.probes.answer import ProbeAnswer, ProbeFailedError, text_of
from detectors.model.kinds.limits import MAX_PROBE_BYTES
from detectors.model.optional_values import pick_keys

_KEPT = (
    "PATH HOME USER LANG LC_ALL TZ TMPDIR DISPLAY XAUTHORITY XDG_RUNTIME_DIR"
    " DBUS_SESSION_BUS_ADDRESS".split()
)

REAP_S = 0.5
"""How long a killed program's last words are waited for, in seconds."""


class CommandProbe:
    """``{"exit": …, "out": …}``: its exit code and what it wrote to standard output."""

    def __init__(self, plan: Mapping[str, Any], allowed: bool) -> None:
        self._argv = [str(part) for part in plan["argv"]]
        self._as = str(plan.get("as", "text"))
        self._allowed = allowed

    async def ask(self, budget_s: float) -> ProbeAnswer:
        """Raises `ProbeFailedError`. Whatever the program started ends with it, or with the
        budget."""
        if not self._allowed:
            raise ProbeFailedError("the daemon was not started with --allow-commands")
        env = pick_keys(os.environ, _KEPT)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL, env=env, cwd="/", start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise ProbeFailedError(
                f"{self._argv[0]}: {getattr(error, 'strerror', None) or error}"
            ) from None
        try:
            assert process.stdout is not None
            out = await _bounded(process.stdout)
            if len(out) > MAX_PROBE_BYTES:
                return ProbeAnswer(None, cut=True)
            code = await process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            # asyncio waits for the end of the pipe, too, and sees none while its buffer is full;
            # what fled may hold it.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REAP_S):
                    while process.stdout is not None and await process.stdout.read(MAX_PROBE_BYTES):
                        pass
                    await process.wait()
        return ProbeAnswer({"exit": code, "out": text_of(out, self._as, "its output")})


async def _bounded(stream: asyncio.StreamReader) -> bytes:
    """Read up to one byte more than an answer may have."""
    out = b""
    while len(out) <= MAX_PROBE_BYTES and (
        chunk := await stream.read(MAX_PROBE_BYTES + 1 - len(out))
    ):
        out += chunk
    return out
