"""The child process as the daemon holds it: started on the system's Python, read line by line."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import orjson
import structlog

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.source import SourceLostError
from agentd.sources.ax.messages import Message

PYTHON = "/usr/bin/python3"
"""The one that Debian's python3-pyatspi is installed for; a virtual environment does not see it."""
_HERE = Path(__file__).parent
MAX_LINE_LENGTH = 1 << 22
END_S = 2.0
"""How long the child may take to end by itself, in seconds."""

log = structlog.get_logger(__name__)


class Child:
    """One running child. ``messages`` ends with `SourceLostError`, which says why; of a line that
    can't be read it gives the message ``unread``."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._words: deque[str] = deque(maxlen=3)
        self._listening = asyncio.create_task(self._listen(), name="ax child's words")

    @classmethod
    async def start(
        cls, environ: Mapping[str, str], patience: Patience = DEFAULT_PATIENCE
    ) -> Child:
        """Start a child on the desktop that ``environ`` names; ``patience`` multiplies how long
        programs have to answer it.

        Raises `SourceLostError` where there is no such Python.
        """
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                PYTHON, "-s", "-E", "-m", "listener", f"{patience.factor:g}",
                stdin=pipe, stdout=pipe, stderr=pipe, env=environ, cwd=_HERE,
                limit=MAX_LINE_LENGTH, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise SourceLostError(f"{PYTHON}: {error.strerror}") from None
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    def say(self, command: Mapping[str, object]) -> None:
        """Send the child a command; to one that is gone nothing is sent."""
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(orjson.dumps(command) + b"\n")

    async def messages(self) -> AsyncIterator[Message]:
        """Yield the child's messages; raises `SourceLostError`, with the reason, when it ends."""
        assert self._process.stdout is not None
        why = ""
        while line := await self._line(self._process.stdout):
            try:
                message = orjson.loads(line)
            except orjson.JSONDecodeError:
                message = {"t": "unread"}
            if message["t"] == "lost":
                why = message["why"]
            yield message
        status = await self._process.wait()
        await asyncio.wait((self._listening,), timeout=END_S)
        words = "; ".join(self._words)
        raise SourceLostError(
            (why or f"the accessibility child ended with {status}: {words}").rstrip(": ")[:500]
        )

    @staticmethod
    async def _line(stream: asyncio.StreamReader) -> bytes:
        """Read the next line; one that is too long can't be read, as little as its end."""
        try:
            return await stream.readline()
        except ValueError:
            return b"?"

    async def _listen(self) -> None:
        """Keep the last words that the child writes to its error stream, for when it ends."""
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            word = line.decode(errors="replace").strip()
            if word:
                self._words.append(word)
                log.debug("The accessibility child says something.", words=word)

    async def end(self) -> None:
        """End the child: by the end of its input, else by a kill after `END_S`."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(END_S):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
