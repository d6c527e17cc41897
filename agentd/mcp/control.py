"""Steps at the control port of the daemon beside the gateway: one connection, a request at a time.

By h11 over asyncio's own streams, for a tool call waits for it: httpx takes twice as long.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import h11
import orjson

REQUEST_S = 30.0
"""How long the daemon may take to answer one request, in seconds."""
MAX_ANSWER = 64 << 10
"""Bytes of an answer that are read."""
_READ_BYTES = 16 << 10


class ReportError(Exception):
    """The daemon did not take what was reported."""


class BegunStep(NamedTuple):
    """A step that has begun, by its episode and its number there."""

    episode: str
    number: int


class StepPort(Protocol):
    """Where steps begin and end, and what happens there is reported. Each raises `ReportError`."""

    async def begin(self, action: object, call: Mapping[str, object]) -> BegunStep:
        """Begin the next step with a tool call."""
        ...

    def is_current(self, step: BegunStep) -> bool:
        """Return whether the step's episode is the one that runs."""
        ...

    async def report_call(self, step: BegunStep, call: Mapping[str, object]) -> None:
        """Report a further tool call of the step that runs."""
        ...

    async def report_return(self, step: BegunStep, returned: Mapping[str, object]) -> None:
        """Report what a tool call came back with."""
        ...

    async def end(self, step: BegunStep) -> None:
        """End a step, whose seal follows by itself."""
        ...


class DaemonPort:
    """The control port of the daemon whose state folder is ``state``, of `agentd run` or
    `agentd join`: of the latter that of the episode which runs."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._where: dict[str, Any] = {}
        """To where the connection is."""
        self._found: dict[str, Any] = {}
        self._token = ""
        self._read_from: tuple[Path, int] | None = None
        """Of which folder, as it was when, address and token are."""
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._http = h11.Connection(h11.CLIENT)

    def find_obstacle(self) -> str | None:
        """Return why no step can begin now, as far as the state folder says."""
        try:
            _read_address(_running(self._state))
        except (OSError, ValueError) as error:
            return f"no daemon listens, as far as {self._state} says: {error}"
        return None

    async def begin(self, action: object, call: Mapping[str, object]) -> BegunStep:
        begun = await self._post("/v1/steps", {"action": action, "call": call}, None)
        return BegunStep(str(self._where["episode"]), int(begun["step"]))

    def is_current(self, step: BegunStep) -> bool:
        try:
            return bool(_read_address(_running(self._state))["episode"] == step.episode)
        except (OSError, ValueError, KeyError):
            return True  # a daemon that is started again goes on with its episode

    async def report_call(self, step: BegunStep, call: Mapping[str, object]) -> None:
        await self._post("/v1/tools:call", call, step)

    async def report_return(self, step: BegunStep, returned: Mapping[str, object]) -> None:
        await self._post("/v1/tools:return", returned, step)

    async def end(self, step: BegunStep) -> None:
        await self._post(f"/v1/steps/{step.number}:end", {}, step)

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _post(
        self, path: str, body: Mapping[str, object], step: BegunStep | None
    ) -> dict[str, Any]:
        """Ask the daemon, of an episode with ``step`` in it. Raises `ReportError`."""
        try:
            async with asyncio.timeout(REQUEST_S):
                token = await self._connect()
                if step is not None and self._where["episode"] != step.episode:
                    raise ReportError(f"the episode {step.episode} is over")
                status, answer = await self._ask(path, token, orjson.dumps(body))
        except TimeoutError:
            await self.close()
            raise ReportError(f"the daemon did not answer within {REQUEST_S:g} s") from None
        except asyncio.CancelledError:
            await self.close()
            raise
        except (OSError, ValueError, KeyError, h11.ProtocolError) as error:
            await self.close()
            raise ReportError(
                f"no daemon listens, as far as {self._state} says: {str(error) or repr(error)}"
            ) from error
        if status != 200:
            raise ReportError(f"the daemon refused {path}: {answer[:300].decode(errors='replace')}")
        document: dict[str, Any] = orjson.loads(answer)
        return document

    async def _connect(self) -> str:
        """Connect to where the daemon listens now, and return the token. Raises `OSError`,
        `ValueError` or `KeyError`."""
        folder = _running(self._state)
        changed_ns = (folder / "agentd.json").stat().st_mtime_ns
        if (folder, changed_ns) != self._read_from:
            self._found = _read_address(folder)
            self._token = (folder / "control.token").read_text().strip()
            self._read_from = folder, changed_ns
        where, token = self._found, self._token
        is_open = self._reader is not None and not self._reader.at_eof()
        if where == self._where and is_open and self._http.our_state is h11.IDLE:
            return token
        await self.close()
        if "socket" in where:
            opening = asyncio.open_unix_connection(where["socket"])
        else:
            opening = asyncio.open_connection("127.0.0.1", int(where["port"]))
        self._reader, self._writer = await opening
        self._http = h11.Connection(h11.CLIENT)
        self._where = where
        return token

    async def _ask(self, path: str, token: str, body: bytes) -> tuple[int, bytes]:
        assert self._reader is not None
        assert self._writer is not None
        headers = [
            ("host", "agentd"),
            ("authorization", f"Bearer {token}"),
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
        ]
        request = h11.Request(method="POST", target=path, headers=headers)
        for part in (request, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._http.send(part) or b"")
        status, answer = 0, b""
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_READ_BYTES))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                answer += event.data
                if len(answer) > MAX_ANSWER:
                    raise ValueError(f"an answer longer than {MAX_ANSWER} bytes")
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                raise ConnectionError("the daemon closed the connection")
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        return status, answer


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
