"""Processes beside the service that do the work of large segments, so that its own has time for
everybody else, and of every segment of a task whose rules may cost much, so that it can be ended.

With its first such segment an episode goes to whoever has least to do, and stays there. They are
started when the first one comes; until one is up the service does large segments itself, as it does
where it has no second core. What may cost much it never does: it waits. A process that dies loses
nothing: engines are made again from the log. One that takes too much time or memory is ended, and
who asked is told (`DiedError`); docs/decisions/0028-a-costly-segment.md.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable

import structlog
import zstandard

from api.core import background
from api.core.errors import ProblemError, UnavailableError
from api.core.settings import Limits
from api.db.database import now
from api.ingest.engines import Live, StoredEngine
from api.ingest.wire import (
    LENGTH,
    OUT_OF_MEMORY,
    Answer,
    Handed,
    SegmentRequest,
    SegmentResult,
    pack_message,
    unpack_message,
)
from api.rewards.scored_episode import task_bytes
from detectors.engine.engine import Engine

AGAIN_S = 10.0
"""A process that died is restarted no sooner: large segments can be fed in the service itself."""
START_S = 60.0
"""How long a process may take to be up."""
STUCK_S = 1.0
"""How long a process may take for one segment before the others' go elsewhere."""
MORE = 3
"""Processes that may be added where all others take longer than that."""
ENDS_S = 5.0

Feed = Callable[[Live], Awaitable[SegmentResult]]

log = structlog.get_logger(__name__)


class LostError(Exception):
    """The engine that was asked for is not where it was thought to be."""


class DiedError(Exception):
    """The process ended while it worked at the segment; the message says how."""


class Crew:
    """``count`` processes for what is large, and at least one for what may cost much, started when
    it is needed."""

    def __init__(self, count: int, limits: Limits) -> None:
        self._limits, self._count = limits, count
        self._members = [_Member(limits) for _ in range(max(1, count))]
        self._large = limits.apart_bytes

    def wants(self, frame: bytes) -> bool:
        """Whether this frame is theirs to work at for its size, and they can."""
        if not self._count or _size(frame) < self._large:
            return False
        # All are asked: whoever is not up is started.
        up = [member.ready() for member in self._members[: self._count]]
        return any(up)

    async def feed(self, frame: bytes, live: Live, *, waits: bool = False) -> SegmentResult:
        """What the segment in ``frame`` brings the episode, whose engine is theirs from then on;
        ``waits``: for a process that is not up, too.

        Raises `ProblemError` for what is no segment, `UnavailableError` where none can be started,
        `LostError` and `DiedError`.
        """
        handed, who = None, live.engine
        if isinstance(who, StoredEngine):
            handed, waits = Handed(task_bytes(who.ruleset.task), who.state, who.frames), True
        elif isinstance(who, Engine):
            handed = Handed(task_bytes(who.ruleset.task), who.dump())
        if handed is not None:
            who = self._least_busy()
        assert isinstance(who, int)
        member = self._members[who]
        if waits and handed is not None:
            await member.started()
        elif member.stuck:
            raise LostError("the process that has the engine is kept by another's segment")
        answer = await member.ask(SegmentRequest(live.episode, frame, live.at, now(), handed))
        if isinstance(answer, ProblemError):
            raise answer
        if answer is None:
            raise LostError("no process has the engine")
        if answer.advance is not None:
            live.engine = who
        return answer

    def _least_busy(self) -> int:
        """Who has least to do among those whom no segment keeps; one more where all are kept."""
        free = [n for n, one in enumerate(self._members) if not one.stuck]
        if not free and len(self._members) < max(1, self._count) + MORE:
            free = [len(self._members)]
            self._members.append(_Member(self._limits))
        return min(free or range(len(self._members)), key=lambda n: self._members[n].busy)

    async def stop(self) -> None:
        """End every process of the crew, and wait until each has ended."""
        await asyncio.gather(*(member.stop() for member in self._members))


class _Member:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._began = -AGAIN_S
        self._task: asyncio.Task[None] | None = None
        self._turned = asyncio.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._asked: deque[asyncio.Future[Answer]] = deque()
        self._since = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._late = False

    def ready(self) -> bool:
        """Whether it is up; where it is not, it will be."""
        if self._is_down and time.monotonic() - self._began >= AGAIN_S:
            self._start()
        return self._writer is not None

    async def started(self) -> None:
        """Return once it is up. Raises `UnavailableError`."""
        if self._is_down:
            self._start()
        try:
            async with asyncio.timeout(START_S):
                await self._turned.wait()
        except TimeoutError:
            pass
        if self._writer is None:
            raise UnavailableError(
                "no process that detects could be started; send the segment again"
            )

    @property
    def _is_down(self) -> bool:
        """Whether the worker neither runs nor is being started."""
        return self._writer is None and (self._task is None or self._task.done())

    def _start(self) -> None:
        self._began = time.monotonic()
        self._turned.clear()
        self._task = asyncio.create_task(self._run(), name="detection")

    @property
    def busy(self) -> float:
        """How many wait for it; more than anybody waits for where it is not up."""
        return math.inf if self._writer is None else len(self._asked)

    @property
    def stuck(self) -> bool:
        """Whether it has worked at one segment for long."""
        return time.monotonic() - self._since > STUCK_S

    async def ask(self, asked: SegmentRequest) -> Answer:
        """Its answer. Raises `DiedError` where it dies over this one, `LostError` where it dies
        before."""
        if self._writer is None:
            raise LostError("the process is gone")
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.append(answer)
        if len(self._asked) == 1:
            self._next()
        self._writer.write(pack_message(asked))
        return await answer

    async def stop(self) -> None:
        await background.end(self._task)

    def _next(self) -> None:
        """It begins with what was asked first, if anything was: from now on that has its time."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._since = None, math.inf
        if self._asked:
            self._since = time.monotonic()
            self._timer = asyncio.get_running_loop().call_later(
                self._limits.detection_s, self._kill
            )

    def _kill(self) -> None:
        assert self._process is not None
        self._late = True
        self._process.kill()

    async def _run(self) -> None:
        """Start a worker process and take its answers, in the order of the questions, until it
        ends."""
        ours, theirs = socket.socketpair()
        writer: asyncio.StreamWriter | None = None
        self._process, self._late, died = None, False, False
        try:
            with theirs:
                self._process = _started(theirs)
            reader, writer = await asyncio.open_unix_connection(sock=ours)
            writer.write(pack_message(self._limits))
            await _read(reader)
            self._writer = writer
            self._turned.set()
            while True:
                told = await _read(reader)
                answer = self._asked.popleft()
                self._next()
                if not answer.done():
                    answer.set_result(told)
        except asyncio.IncompleteReadError:
            died, why = True, "it ended"
        except OSError as error:
            died, why = True, str(error)
        finally:
            self._writer = None
            (ours if writer is None else writer).close()
            if self._process is not None:
                await asyncio.to_thread(_end, self._process)
                why = self._describe_end(self._process.returncode)
            self._let_go(why if died else None)
            self._turned.set()
        log.warning(
            "A process that detects is gone; another is started when it is needed.", why=why
        )

    def _let_go(self, why: str | None) -> None:
        """Nobody gets an answer any more; ``why`` it died over what it was asked first, if it
        did."""
        waiting = list(self._asked)
        self._asked.clear()
        self._next()
        for n, answer in enumerate(waiting):
            if answer.done():
                continue
            if n == 0 and why is not None:
                answer.set_exception(DiedError(why))
            else:
                answer.set_exception(LostError("the process died"))

    def _describe_end(self, status: int) -> str:
        """Say how a process with this exit ``status`` ended."""
        limits = self._limits
        if self._late:
            return f"it took longer than {limits.detection_s:g} s"
        if status == -signal.SIGXCPU:
            return f"it took more than {limits.detection_cpu_s} s of processor time"
        exit = f"signal {-status}" if status < 0 else f"status {status}"
        # Not every library checks what the allocator gave it.
        if status in (OUT_OF_MEMORY, -signal.SIGABRT, -signal.SIGSEGV):
            limit = f"{limits.detection_bytes >> 20} MiB"
            return f"it wanted more than {limit} of memory, or crashed ({exit})"
        return f"it ended with {exit}"


def _started(theirs: socket.socket) -> subprocess.Popen[bytes]:
    # It is to find what this process found, and nothing that lies where the service happens to be
    # started.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-m", "api.ingest.child", str(theirs.fileno())]
    # In a session of its own: Ctrl+C in a terminal is for the service, and it ends when that does.
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        pass_fds=(theirs.fileno(),),
        env=environment,
        start_new_session=True,
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
    told: Answer = unpack_message(await reader.readexactly(length))
    return told


def _size(frame: bytes) -> int:
    """Of the text in ``frame``, as that says; 0 where it does not."""
    try:
        return max(0, zstandard.frame_content_size(frame))
    except zstandard.ZstdError:
        return 0
