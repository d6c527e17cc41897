"""Starts the reading process, holds its deadline, and turns what became of it into an answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import Any

import orjson

from agentd.readers.bounds import MAX_BYTES

TOLD = 2 * MAX_BYTES
"""Bytes that are taken from the child; facts are smaller."""
_ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
"""All that a reader is told of the machine: none of the daemon's secrets."""
UNKNOWN = ("slow", "denied", "unavailable", "failed", "unsettled")
"""Statuses that say nothing of the file: what leans on it is not known."""


async def read(
    file: int, format_: str, budget_s: float, query: str | None = None, wal: int | None = None
) -> dict[str, Any]:
    """The child's {status, facts?, cut?, reason?, ms?} about the open descriptor ``file``; never
    raises for a child.

    A file over which the reader was killed or ran out of processor time is ``heavy``; one that was
    not read within ``budget_s`` of wall time is ``slow``, for which the machine may be to blame.
    """
    request = {"format": format_, "query": query, "wal": wal}
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", "agentd.readers.child", orjson.dumps(request).decode(),
            stdin=file, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env=_ENVIRONMENT, cwd="/", pass_fds=() if wal is None else (wal,), start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return {"status": "unavailable", "reason": f"{sys.executable}: {error.strerror}"}
    try:
        async with asyncio.timeout(budget_s):
            said = await _bounded(child)
            code = await child.wait()
    except TimeoutError:
        return {"status": "slow", "reason": f"not read within {budget_s:g} s"}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
    return _answer(said, code)


def _answer(said: bytes, code: int) -> dict[str, Any]:
    if code >= 0 and 0 < len(said) <= TOLD:
        answer: dict[str, Any] = orjson.loads(said)
        return answer
    ended = f"signal {-code}" if code < 0 else f"status {code}"
    return {"status": "heavy", "reason": f"the reader ended with {ended}"}


async def _bounded(child: asyncio.subprocess.Process) -> bytes:
    assert child.stdout is not None
    said = b""
    while len(said) <= TOLD and (chunk := await child.stdout.read(TOLD + 1 - len(said))):
        said += chunk
    return said
