"""Processes beside the service that do the work of large segments, so that its own has time for everybody else.

With its first large segment an episode goes to whoever has least to do, and stays there. They are started when the
first large segment of all comes, and until one is up the service works alone, as it does where it has no second core.
A process that dies loses nothing: engines are made again from the log.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable

import structlog
import zstandard

from api import background
from api.detection.wire import LENGTH, Answer, Asked, Found, Handed, packed, unpacked
from api.errors import ProblemError
from api.rescoring.scored import task_bytes
from api.settings import Limits
from api.store.database import now
from api.store.engines import Live
from detectors.engine import Engine

AGAIN_S = 10.0
"""How long after its start a process that died is not started again."""
ENDS_S = 5.0

Feed = Callable[[Live], Awaitable[Found]]

log = structlog.get_logger(__name__)


class LostError(Exception):
    """The engine that was asked for is not where it was thought to be."""


class Crew:
    """``count`` processes. What is small is not for them: it is done before another was asked."""

    def __init__(self, count: int, limits: Limits) -> None:
        self._members = [_Member(limits) for _ in range(count)]
        self._large = limits.apart_bytes

    def wants(self, frame: bytes) -> bool:
        """Whether this frame is theirs to work at, and they can."""
        if not self._members or _size(frame) < self._large:
            return False
        up = [one.ready() for one in self._members]  # all are asked: whoever is not up is started
        return any(up)

    async def feed(self, frame: bytes, live: Live) -> Found:
        """What the segment in ``frame`` brings the episode, whose engine is theirs from then on.

        Raises `ProblemError` for what is no segment, and `LostError`.
        """
        handed, who = None, live.engine
        if isinstance(who, Engine):
            handed = Handed(task_bytes(who.ruleset.task), who.dump())
            who = min(range(len(self._members)), key=lambda n: self._members[n].busy)
        assert isinstance(who, int)
        answer = await self._members[who].ask(Asked(live.episode, frame, live.at, now(), handed))
        if isinstance(answer, ProblemError):
            raise answer
        if answer is None:
            raise LostError("no process has the engine")
        if answer.advance is not None:
            live.engine = who
        return answer

    async def stop(self) -> None:
        """End them all."""
        await asyncio.gather(*(member.stop() for member in self._members))


class _Member:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._began = -AGAIN_S
        self._task: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._asked: deque[asyncio.Future[Answer]] = deque()

    def ready(self) -> bool:
        """Whether it is up; where it is not, it will be."""
        gone = self._writer is None and (self._task is None or self._task.done())
        if gone and time.monotonic() - self._began >= AGAIN_S:
            self._began = time.monotonic()
            self._task = asyncio.create_task(self._run(), name="detection")
        return self._writer is not None

    @property
    def busy(self) -> float:
        """How many wait for it; more than anybody waits for where it is not up."""
        return math.inf if self._writer is None else len(self._asked)

    async def ask(self, asked: Asked) -> Answer:
        """Its answer. Raises `LostError` where it dies."""
        if self._writer is None:
            raise LostError("the process is gone")
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        self._writer.write(packed(asked))
        return await answer

    async def stop(self) -> None:
        await background.end(self._task)

    async def _run(self) -> None:
        ours, theirs = socket.socketpair()
        process: subprocess.Popen[bytes] | None = None
        writer: asyncio.StreamWriter | None = None
        try:
            with theirs:
                process = _started(theirs)
            reader, writer = await asyncio.open_unix_connection(sock=ours)
            writer.write(packed(self._limits))
            await _read(reader)
            self._writer = writer
            while True:
                told = await _read(reader)
                answer = self._asked.popleft()
                if not answer.done():
                    answer.set_result(told)
        except asyncio.IncompleteReadError:
            why = "it ended"
        except OSError as error:
            why = str(error)
        finally:
            self._writer = None
            (ours if writer is None else writer).close()
            while self._asked:
                answer = self._asked.popleft()
                if not answer.done():
                    answer.set_exception(LostError("the process died"))
            if process is not None:
                await asyncio.to_thread(_end, process)
        status = None if process is None else process.returncode
        log.warning("A process that detects is gone; the service does its work.", why=why, status=status)


def _started(theirs: socket.socket) -> subprocess.Popen[bytes]:
    # It is to find what this process found, and nothing that lies where the service happens to be started.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-m", "api.detection.child", str(theirs.fileno())]
    # In a session of its own: Ctrl+C in a terminal is for the service, and it ends when that does.
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), env=environment, start_new_session=True
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nobody holds the other end of its socket any more, so it ends by itself."""
    try:
        process.wait(ENDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


async def _read(reader: asyncio.StreamReader) -> Answer:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    told: Answer = unpacked(await reader.readexactly(length))
    return told


def _size(frame: bytes) -> int:
    """Of the text in ``frame``, as that says; 0 where it does not."""
    try:
        return max(0, zstandard.frame_content_size(frame))
    except zstandard.ZstdError:
        return 0
