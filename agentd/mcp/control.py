"""Steps at the control port of the daemon beside the gateway: one connection, a line of JSON for
each report (`agentd/session/step_stream.py`).

A tool call may have to wait for an answer, and a request of HTTP would take the two processes
longer.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson

REQUEST_S = 30.0
"""How long the daemon may take to answer one line, in seconds."""
MAX_ANSWER = 64 << 10
"""Bytes of an answer that are read."""
MAX_PASSING = 64 << 10
"""Bytes of a line that certainly has room in a connection on which nothing is under way."""
MAX_AHEAD = 64
"""Lines without an answer; while there are more, a call waits."""
SILENCE_S = 0.005
"""How long nothing is to be sent before the daemon is woken for what nobody waits for, in
seconds."""
AGE_S = 0.05
"""How long it may be left asleep, in seconds."""
_CLEAR = b'{"clear":'
_UPGRADE = (
    "GET /v1/steps HTTP/1.1\r\nhost: agentd\r\nauthorization: Bearer {}\r\n"
    "connection: upgrade\r\nupgrade: agentd-steps/2\r\n\r\n"
)


class ReportError(Exception):
    """The daemon did not take what was reported."""


@dataclass(slots=True)
class BegunStep:
    """A step that has begun, by its episode and its number there; None: not known yet, of the step
    that was asked for last."""

    episode: str
    number: int | None


class SentBegin(NamedTuple):
    """A step was asked for; ``answer`` to come is for `StepPort.begin`. ``is_first``: the log has
    its beginning before everything that happens from now on, and ``step`` has begun, unless the
    answer is a refusal."""

    answer: asyncio.Future[bytes]
    is_first: bool
    step: BegunStep


class StepPort(Protocol):
    """Where steps begin and end, and what happens there is reported. Each raises `ReportError`."""

    def send_begin(self, action: object, call: Mapping[str, object]) -> SentBegin | None:
        """Ask at once for the next step to begin; None where that needs a connection first."""
        ...

    def send_return(
        self, step: BegunStep, returned: Mapping[str, object], *, is_last: bool
    ) -> asyncio.Future[bytes] | None:
        """Do as `report_return` at once, and return the answer to come; None where that needs a
        connection first."""
        ...

    async def begin(
        self,
        action: object,
        call: Mapping[str, object],
        sent: asyncio.Future[bytes] | None = None,
    ) -> BegunStep:
        """Begin the next step with a tool call; ``sent``: it was asked for already."""
        ...

    def is_connected(self) -> bool:
        """Return whether a report is sent as soon as it is made."""
        ...

    def is_current(self, step: BegunStep) -> bool:
        """Return whether the step's episode is the one that runs."""
        ...

    async def report_call(self, step: BegunStep, call: Mapping[str, object]) -> None:
        """Report a further tool call of the step that runs."""
        ...

    async def report_return(
        self, step: BegunStep, returned: Mapping[str, object], *, is_last: bool
    ) -> None:
        """Report what a tool call came back with, and end its step if ``is_last``."""
        ...

    async def end(self, step: BegunStep) -> None:
        """End a step, whose seal follows by itself."""
        ...

    async def miss(self, kinds: Sequence[str], reason: str) -> None:
        """Report that events of these kinds were not reported."""
        ...


class _Lines(asyncio.Protocol):
    """The gateway's end of a stream of steps: each line that is sent has one answer, in order."""

    def __init__(self) -> None:
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._answers: deque[asyncio.Future[bytes]] = deque()
        self._begun: asyncio.Future[bytes] | None = None
        """The answer to the step that was asked for last, while it is to come."""
        self._kept = b""
        self.is_clear = False
        """Whether the step before is over in every respect, so that a call may pass as soon as its
        step is asked for."""
        self.is_ahead = False
        """Whether each step is over with its end, which need not be answered yet."""
        self._unheard_since: float | None = None
        """Since when the daemon was not woken for what was sent."""
        self._ringing: asyncio.TimerHandle | None = None
        self._bell: _Lines | None = None
        """Where the daemon is woken to read this connection; None where it listens itself."""

    @property
    def is_open(self) -> bool:
        """Whether lines can be sent and answered now: the connection and its bell stand."""
        is_standing = self._transport is not None and not self._transport.is_closing()
        return is_standing and self.accepted.done() and (self._bell is None or self._bell.is_open)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail everybody who waits for an answer, with the reason."""
        self._transport = None
        why = exc or ConnectionError("the daemon closed the connection")
        if not self.accepted.done():
            self.accepted.set_exception(why)
        for answer in self._answers:
            if not answer.done():
                answer.set_exception(why)
                answer.exception()  # told, whoever still waits for it
        self._answers.clear()

    def data_received(self, data: bytes) -> None:
        """Take the daemon's answers line by line, the first one being that of HTTP; lines about
        being clear answer nobody."""
        self._kept += data
        if not self.accepted.done():
            head, mark, rest = self._kept.partition(b"\r\n\r\n")
            if not mark:
                return
            self._kept = rest
            if not head.startswith(b"HTTP/1.1 101 "):
                first = head.partition(b"\r\n")[0][:100].decode("latin-1")
                self.accepted.set_exception(ConnectionError(f"the daemon answered {first}"))
                self.close()
                return
            self.accepted.set_result(None)
        *lines, self._kept = self._kept.split(b"\n")
        for line in lines:
            if line.startswith(_CLEAR):
                # While a step's answer is to come, "clear" is said of the step before that one.
                self.is_clear = line == _CLEAR + b"true}" and self._begun is None
                self.is_ahead = line == _CLEAR + b'"ahead"}'
            elif self._answers:
                self._take_answer(self._answers.popleft(), line)
        if len(self._kept) > MAX_ANSWER:
            self.close()

    def _take_answer(self, waiting: asyncio.Future[bytes], line: bytes) -> None:
        """Give an answer to who waits for it, if anybody still does."""
        if waiting is self._begun:
            self._begun = None
        if not waiting.done():
            waiting.set_result(line)

    async def open(self, token: str) -> None:
        """Make a stream of steps of the connection. Raises `ConnectionError`."""
        self.write(_UPGRADE.format(token).encode())
        await self.accepted

    def hang(self, bell: _Lines) -> None:
        """Ring at ``bell`` for each line from now on: the daemon listens here no more."""
        self._bell = bell
        self._ring()

    def write(self, data: bytes) -> None:
        """Write bytes to the daemon. Raises ConnectionError once the connection is closed."""
        if self._transport is None:
            raise ConnectionError("the daemon closed the connection")
        self._transport.write(data)

    def ask(
        self, line: bytes, *, is_begin: bool = False, is_patient: bool = False
    ) -> asyncio.Future[bytes]:
        """Send a line and return its answer to come; ``is_begin``: it asks for a step.
        ``is_patient``: the daemon need not be woken at once. Raises `ConnectionError`."""
        answer = self._send(line)
        if is_begin:
            self._begun, self.is_clear = answer, False
        if is_patient:
            self._ring_later()
        else:
            self._ring()
        return answer

    def _send(self, line: bytes) -> asyncio.Future[bytes]:
        self.write(line + b"\n")
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers.append(answer)
        return answer

    def _ring(self) -> None:
        """Wake the daemon by its bell to read what was written meanwhile."""
        self._stop_ringing()
        self._unheard_since = None
        if self._bell is not None and self._bell.is_open:
            self._bell.write(b"\n")

    def _ring_later(self) -> None:
        """Ring once calls pause: the daemon may want the core on which they pass."""
        self._stop_ringing()
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._unheard_since is None:
            self._unheard_since = now
        due = min(now + SILENCE_S, self._unheard_since + AGE_S)
        self._ringing = loop.call_at(due, self._ring)

    def _stop_ringing(self) -> None:
        """Cancel the bell that is due, if there is one."""
        if self._ringing is not None:
            self._ringing.cancel()
            self._ringing = None

    def ask_begin(self, begin: Mapping[str, object]) -> tuple[asyncio.Future[bytes], bool]:
        """Ask for a step; returns the answer to come, and whether the step comes before everything
        that happens from now on. Raises `ConnectionError`."""
        line = orjson.dumps({"begin": begin})
        if not self._may_pass(line):
            return self.ask(line, is_begin=True), False
        answer = self.ask(line[:-1] + b',"passes":true}', is_begin=True, is_patient=True)
        is_first = not self._is_backed_up()
        if not is_first:
            self._ring()
        return answer, is_first

    def _may_pass(self, line: bytes) -> bool:
        """Whether a call may go on before its step is answered: the daemon has nothing left to look
        at, and the line is short."""
        is_clear = self.is_clear or (self.is_ahead and len(self._answers) < MAX_AHEAD)
        return is_clear and self._bell is not None and len(line) <= MAX_PASSING

    def _is_backed_up(self) -> bool:
        """Return whether something that was sent has no room in the connection yet."""
        return self._transport is None or self._transport.get_write_buffer_size() > 0

    def close(self) -> None:
        """Close at once. Whatever the daemon has no room for is not waited for: while it stands
        still, it may never be sent."""
        self._stop_ringing()
        if self._transport is not None:
            self._transport.abort()
        if self._bell is not None:
            self._bell.close()


def read_answer(raw: bytes) -> dict[str, Any]:
    """Return what the daemon answered to a line. Raises `ReportError` for a refusal, `ValueError`
    for what is no answer."""
    answer: dict[str, Any] = orjson.loads(raw)
    if "status" in answer:
        raise ReportError(f"the daemon refused it: {str(answer.get('detail'))[:300]}")
    return answer


def _return_line(
    step: BegunStep, returned: Mapping[str, object], *, is_last: bool
) -> dict[str, object]:
    """Return the line that reports a return, and ends the step with the last one."""
    line: dict[str, object] = {"return": returned}
    if is_last:
        line["end"] = step.number
    return line


class DaemonPort:
    """The control port of the daemon whose state folder is ``state``, of `agentd run` or
    `agentd join`: of the latter that of the episode which runs."""

    def __init__(self, state: Path) -> None:
        self._state, self._own_address = state, os.fspath(state / "agentd.json")
        self._where: dict[str, Any] = {}
        """To where the connection is."""
        self._found: dict[str, Any] = {}
        self._token = ""
        self._read_from: tuple[Path, int] | None = None
        """Of which folder, as it was when, address and token are."""
        self._lines: _Lines | None = None
        self._began_on: _Lines | None = None
        """Where the last step was asked for."""

    def find_obstacle(self) -> str | None:
        """Return why no step can begin now, as far as the state folder says."""
        try:
            _read_address(_running(self._state))
        except (OSError, ValueError) as error:
            return f"no daemon listens, as far as {self._state} says: {error}"
        return None

    def send_begin(self, action: object, call: Mapping[str, object]) -> SentBegin | None:
        """Begin a step without waiting for its number; None where the daemon is not connected."""
        try:
            lines = self._connected()
            if lines is None:
                return None
            answer, is_first = lines.ask_begin({"action": action, "call": call})
            self._began_on = lines
            self._watch(lines, answer)
            return SentBegin(answer, is_first, BegunStep(str(self._where["episode"]), None))
        except (OSError, ValueError, KeyError):
            return None

    def send_return(
        self, step: BegunStep, returned: Mapping[str, object], *, is_last: bool
    ) -> asyncio.Future[bytes] | None:
        """Report a return without waiting; None where the step is of another connection or
        episode."""
        try:
            lines = self._connected()
            if lines is None or self._where["episode"] != step.episode:
                return None
            if step.number is None and lines is not self._began_on:
                return None
            line = orjson.dumps(_return_line(step, returned, is_last=is_last))
            answer = lines.ask(line, is_patient=lines.is_ahead)
        except (OSError, ValueError, KeyError):
            return None
        self._watch(lines, answer)
        return answer

    def _watch(self, lines: _Lines, answer: asyncio.Future[bytes]) -> None:
        """Close the connection if an answer does not come in time."""
        timer = asyncio.get_running_loop().call_later(REQUEST_S, lines.close)
        answer.add_done_callback(lambda _: timer.cancel())

    async def begin(
        self,
        action: object,
        call: Mapping[str, object],
        sent: asyncio.Future[bytes] | None = None,
    ) -> BegunStep:
        begun = await self._ask({"begin": {"action": action, "call": call}}, None, sent)
        return BegunStep(str(self._where["episode"]), int(begun["step"]))

    def is_connected(self) -> bool:
        """Whether a daemon is connected that can take lines now."""
        try:
            return self._connected() is not None
        except (OSError, ValueError, KeyError):
            return False

    def is_current(self, step: BegunStep) -> bool:
        """Whether a step is of the episode that the daemon works on now."""
        try:
            return bool(_read_address(_running(self._state))["episode"] == step.episode)
        except (OSError, ValueError, KeyError):
            return True  # a daemon that is started again goes on with its episode

    async def report_call(self, step: BegunStep, call: Mapping[str, object]) -> None:
        await self._ask({"call": call}, step)

    async def report_return(
        self, step: BegunStep, returned: Mapping[str, object], *, is_last: bool
    ) -> None:
        await self._ask(_return_line(step, returned, is_last=is_last), step)

    async def end(self, step: BegunStep) -> None:
        await self._ask({"end": step.number}, step)

    async def miss(self, kinds: Sequence[str], reason: str) -> None:
        await self._ask({"missed": list(kinds), "reason": reason}, None)

    async def close(self) -> None:
        """Close the connection to the daemon, if there is one."""
        if self._lines is not None:
            self._lines.close()
        self._lines = None

    async def _ask(
        self,
        line: Mapping[str, object],
        step: BegunStep | None,
        sent: asyncio.Future[bytes] | None = None,
    ) -> dict[str, Any]:
        """Tell the daemon, of an episode with ``step`` in it; ``sent``: it was told already. Raises
        `ReportError`."""
        try:
            async with asyncio.timeout(REQUEST_S):
                if sent is None:
                    lines = await self._connect()
                    if step is not None and self._where["episode"] != step.episode:
                        raise ReportError(f"the episode {step.episode} is over")
                    if step is not None and step.number is None and lines is not self._began_on:
                        raise ReportError("whether its step began is not known")
                    sent = lines.ask(orjson.dumps(line), is_begin="begin" in line)
                answer = read_answer(await asyncio.shield(sent))
        except TimeoutError:
            await self.close()
            raise ReportError(f"the daemon did not answer within {REQUEST_S:g} s") from None
        except asyncio.CancelledError:
            await self.close()
            raise
        except (OSError, ValueError, KeyError) as error:
            await self.close()
            raise ReportError(
                f"no daemon listens, as far as {self._state} says: {str(error) or repr(error)}"
            ) from error
        return answer

    def _find(self) -> tuple[Path, int]:
        """Return the state folder of the daemon that runs, and when it said where it listens."""
        try:
            return self._state, os.stat(self._own_address).st_mtime_ns
        except FileNotFoundError:
            folder = _running(self._state)
            return folder, (folder / "agentd.json").stat().st_mtime_ns

    def _connected(self) -> _Lines | None:
        """Return the connection to where the daemon listens now, if it stands. Raises `OSError`,
        `ValueError` or `KeyError`."""
        folder, changed_ns = self._find()
        if (folder, changed_ns) != self._read_from:
            self._found = _read_address(folder)
            self._token = (folder / "control.token").read_text().strip()
            self._read_from = folder, changed_ns
        is_open = self._lines is not None and self._lines.is_open
        return self._lines if is_open and self._found == self._where else None

    async def _connect(self) -> _Lines:
        """Connect to where the daemon listens now. Raises `OSError`, `ValueError` or `KeyError`."""
        known = self._connected()
        if known is not None:
            return known
        await self.close()
        where = self._found
        if "socket" in where:
            lines = await self._connect_socket(where["socket"])
        elif "steps" in where and self._read_from is not None:
            # The state folder may stand elsewhere here than where the daemon runs.
            path = self._read_from[0] / Path(where["steps"]).name
            try:
                lines = await self._connect_socket(path)
            except OSError:  # there is no such socket here, or nobody listens: each call waits
                await self.close()
                lines = await self._connect_port(int(where["port"]))
        else:
            lines = await self._connect_port(int(where["port"]))
        self._where = where
        return lines

    async def _connect_socket(self, path: str | Path) -> _Lines:
        """Connect to the daemon's socket twice: for the lines, and for the bell that wakes it."""
        loop = asyncio.get_running_loop()
        _, lines = await loop.create_unix_connection(_Lines, os.fspath(path))
        self._lines = lines
        await lines.open(self._token)
        _, bell = await loop.create_unix_connection(_Lines, os.fspath(path))
        try:
            await bell.open(self._token)
            await lines.ask(b'{"listen":false}')
        except BaseException:
            bell.close()
            raise
        lines.hang(bell)
        return lines

    async def _connect_port(self, port: int) -> _Lines:
        loop = asyncio.get_running_loop()
        _, lines = await loop.create_connection(_Lines, "127.0.0.1", port)
        self._lines = lines
        await lines.open(self._token)
        return lines


def _read_address(folder: Path) -> dict[str, Any]:
    """Return where a daemon listens, and its episode. Raises `OSError` or `ValueError`."""
    address = json.loads((folder / "agentd.json").read_bytes())
    if not isinstance(address, dict):
        raise ValueError(f"{folder / 'agentd.json'}: expected an object")
    return address


def _running(state: Path) -> Path:
    """Return the state folder of the daemon that runs. Raises `FileNotFoundError`."""
    if (state / "agentd.json").exists():
        return state
    episodes = (state / "episodes").glob("*/agentd.json")
    latest = max(episodes, key=lambda file: file.stat().st_mtime, default=None)
    if latest is None:
        raise FileNotFoundError(f"{state / 'agentd.json'} is missing")
    return latest.parent
