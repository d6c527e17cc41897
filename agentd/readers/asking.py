"""Starts the reading process, holds its deadline, and turns what became of it into an answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

import orjson

from agentd.readers.bounds import MAX_BYTES
from agentd.readers.request import ReadAnswer, ReadRequest
from common.scratch import scratch_folder

MAX_ANSWER_BYTES = 2 * MAX_BYTES
"""Bytes that are taken from the child; facts are smaller."""
_ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
"""All that a reader knows of the machine: none of the daemon's secrets."""
UNKNOWN = ("slow", "denied", "unavailable", "failed", "unsettled")
"""Statuses that say nothing of the file: what depends on it is not known."""


async def read_in_child(
    file: int, format_: str, budget_s: float, query: str | None = None, wal: int | None = None
) -> ReadAnswer:
    """Read the open descriptor ``file`` as ``format_`` in a child; never raises for a child.

    ``query``, ``wal``: see `ReadRequest`. A file over which the reader was killed or ran out of
    processor time is ``heavy``; one that was not read within ``budget_s`` seconds of wall time is
    ``slow``, for which the machine may be to blame.
    """
    request: ReadRequest = {"format": format_, "query": query, "wal": wal}
    if wal is None:
        return await _read(file, request, budget_s)
    with scratch_folder("agentd-read-") as folder:
        return await _read(file, request | {"folder": str(folder)}, budget_s)


async def _read(file: int, request: ReadRequest, budget_s: float) -> ReadAnswer:
    """Let a child process read the file, within ``budget_s`` seconds; it and what it started are
    killed in any case."""
    try:
        child = await _start(file, request)
    except OSError as error:
        return {"status": "unavailable", "reason": f"{sys.executable}: {error.strerror}"}
    try:
        async with asyncio.timeout(budget_s):
            output = await _read_bounded(child)
            code = await child.wait()
    except TimeoutError:
        return {"status": "slow", "reason": f"not read within {budget_s:g} s"}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
    return _parse_answer(output, code)


async def _start(file: int, request: ReadRequest) -> asyncio.subprocess.Process:
    """Start the child with the file as its input, in a session and an environment of its own."""
    wal = request.get("wal")
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "agentd.readers.child", orjson.dumps(request).decode()),
        stdin=file,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_ENVIRONMENT,
        cwd="/",
        pass_fds=() if wal is None else (wal,),
        start_new_session=True,
    )


def _parse_answer(output: bytes, code: int) -> ReadAnswer:
    """Return the child's answer; a child that was killed, or said too much, found the file too
    heavy."""
    if code >= 0 and 0 < len(output) <= MAX_ANSWER_BYTES:
        answer: ReadAnswer = orjson.loads(output)
        return answer
    ended = f"signal {-code}" if code < 0 else f"status {code}"
    return {"status": "heavy", "reason": f"the reader ended with {ended}"}


async def _read_bounded(child: asyncio.subprocess.Process) -> bytes:
    """Read the child's output to its end, or a byte more than `MAX_ANSWER_BYTES`."""
    assert child.stdout is not None
    output = b""
    while len(output) <= MAX_ANSWER_BYTES:
        chunk = await child.stdout.read(MAX_ANSWER_BYTES + 1 - len(output))
        if not chunk:
            break
        output += chunk
    return output
