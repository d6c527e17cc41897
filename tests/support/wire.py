"""A network that can be cut, slowed and silenced: TCP between those who connect and the servers
behind.

``with Wire(url) as wire``: clients are told ``wire.url``. With several servers, connections go to
one after the other, as through a load balancer.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from types import TracebackType
from typing import Literal
from urllib.parse import urlsplit

from tests.support.beside import Beside

CHUNK = 16 * 1024
State = Literal["whole", "cut", "silent"]


class Wire(Beside):
    """``cut``: connections are reset and new ones too. ``silence``: they stay and carry nothing.
    ``mend``: whole."""

    def __init__(self, *servers: str) -> None:
        self._servers = itertools.cycle(
            [(url.hostname, url.port) for url in map(urlsplit, servers)]
        )
        self._state: State = "whole"
        self._delay_s, self._bytes_a_second = 0.0, 0.0
        self._pairs: set[asyncio.StreamWriter] = set()
        self.connections = 0

    def __enter__(self) -> Wire:
        super().__enter__()
        self._flows = asyncio.Event()
        self._flows.set()
        self._server = self.do(asyncio.start_server(self._join, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        super().__exit__(kind, error, trace)

    def cut(self) -> None:
        """Break every connection, and every new one."""
        self.do(self._become("cut"))

    def silence(self) -> None:
        """Carry nothing any more, and say nothing about it."""
        self.do(self._become("silent"))

    def mend(self) -> None:
        """Carry again; connections that were silent are broken, as a router forgets them."""
        self.do(self._become("whole"))

    def slow(self, delay_s: float, bytes_a_second: float) -> None:
        """From now on carry each piece so much later and so slowly."""
        self._delay_s, self._bytes_a_second = delay_s, bytes_a_second

    async def _become(self, state: State) -> None:
        before, self._state = self._state, state
        if state == "cut" or before == "silent":
            for writer in self._pairs:
                writer.transport.abort()
        if state == "silent":
            self._flows.clear()
        else:
            self._flows.set()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self._state == "cut":
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection(*next(self._servers))
        except OSError:
            writer.transport.abort()
            return
        self._pairs |= {writer, back}
        try:
            await asyncio.gather(self._carry(reader, back), self._carry(there, writer))
        finally:
            self._pairs -= {writer, back}
            for one in (writer, back):
                one.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(CHUNK):
                if self._delay_s:
                    await asyncio.sleep(self._delay_s + len(piece) / self._bytes_a_second)
                await self._flows.wait()
                writer.write(piece)
                await writer.drain()
            writer.write_eof()
