"""The gateway before a server that speaks over its standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol, SupportsIndex

import structlog

from agentd.core.errors import UsageError
from agentd.mcp.brackets import CallBrackets
from agentd.mcp.framing import LineSplitter, StreamPiece
from agentd.mcp.messages import Cancellation, ToolRequest, ToolReturn, read_messages

CHUNK_BYTES = 64 << 10
SCOPE = "stdio"
log = structlog.get_logger(__name__)


class ByteReader(Protocol):
    """Where bytes come from; b"" at their end."""

    async def read(self, n: int) -> bytes: ...


class ByteWriter(Protocol):
    """Where bytes go to. Raises `OSError` where nobody reads any more."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...

    def close(self) -> None: ...


async def run_stdio(command: Sequence[str], brackets: CallBrackets) -> int:
    """Start a server, pass everything between it and whoever started us, and return its exit status
    (of a signal 128 and its number). Raises `UsageError` where it cannot be started."""
    end, theirs = os.pipe()
    try:
        server = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=theirs
        )
    except OSError as error:
        os.close(end)
        raise UsageError(
            f"{command[0]}: {error.strerror}; expected a command that can be run"
        ) from None
    finally:
        os.close(theirs)
    _pass_signals(server)
    assert server.stdin is not None
    requests = await _open_reader(_take_over(0, os.O_RDONLY))
    answers = await _open_writer(_take_over(1, os.O_WRONLY))
    asking = asyncio.create_task(pass_requests(requests, server.stdin, brackets), name="requests")
    await pass_answers(await _open_passing(end, answers), brackets)
    answers.close()
    code = await server.wait()
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
    status = code if code >= 0 else 128 - code
    brackets.lose(SCOPE, f"the server ended with status {status}")
    await brackets.drain()
    return status


async def pass_requests(
    client: ByteReader, server: asyncio.StreamWriter, brackets: CallBrackets
) -> None:
    """Pass what the client sends, each tool call once its step has begun, until the client sends no
    more; then the server's input is closed."""
    lines = LineSplitter()
    try:
        while chunk := await client.read(CHUNK_BYTES):
            for piece in lines.feed(chunk):
                await _pass_request(piece, server, brackets)
        if (rest := lines.finish()) is not None:
            await _pass_request(rest, server, brackets)
    except ConnectionError:
        log.debug("The server reads no more: its output tells the client.")
    finally:
        server.close()


async def _pass_request(piece: StreamPiece, server: ByteWriter, brackets: CallBrackets) -> None:
    """Begin steps for the calls in a line, then pass it on; a cancellation ends its call."""
    messages = read_messages(piece.raw) if piece.is_line else []
    calls = [message for message in messages if isinstance(message, ToolRequest)]
    if calls:
        await brackets.begin(SCOPE, calls)
    server.write(piece.raw)
    await server.drain()
    for message in messages:
        if isinstance(message, Cancellation):
            brackets.cancel(SCOPE, message.request, message.reason)


class PassingReader(asyncio.StreamReader):
    """What the server sends: written to ``client`` as it comes, before anybody is woken to read
    it."""

    def __init__(self, client: ByteWriter) -> None:
        super().__init__(CHUNK_BYTES)
        self.client = client
        self.is_taken = True
        """Whether the client still reads."""

    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        """Take a chunk; name and type are asyncio's own."""
        if self.is_taken:
            self.client.write(bytes(data))
        super().feed_data(data)


async def pass_answers(server: PassingReader, brackets: CallBrackets) -> None:
    """Read what the server sends and the client has already, until it sends no more.

    Each chunk is read before anything that the client does next is: its answers come first.
    """
    lines = LineSplitter()
    while chunk := await server.read(CHUNK_BYTES):
        for piece in lines.feed(chunk):
            _note_answers(piece, brackets)
        server.is_taken = server.is_taken and await _drain(server.client)
    if (rest := lines.finish()) is not None:
        _note_answers(rest, brackets)


async def _drain(client: ByteWriter) -> bool:
    """Wait until all is written; False where the client reads no more."""
    try:
        await client.drain()
    except OSError as error:
        # The server runs on as it would: it learns of it when its input ends.
        log.warning("The client reads no more.", why=str(error))
        return False
    return True


def _note_answers(piece: StreamPiece, brackets: CallBrackets) -> None:
    """Finish the calls that a line answers; after a line that is too long nobody knows which it
    answered."""
    if not brackets.is_running():
        return
    if not piece.is_line:
        brackets.lose_sight(SCOPE)
        return
    for message in read_messages(piece.raw):
        if isinstance(message, ToolReturn):
            brackets.finish(SCOPE, message)


def _pass_signals(server: asyncio.subprocess.Process) -> None:
    """Let the server decide what TERM, INT and HUP mean: the gateway ends with it."""
    loop = asyncio.get_running_loop()

    def pass_on(number: int) -> None:
        with suppress(ProcessLookupError):
            server.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, pass_on, number)


class _File:
    """A regular file as input or output, which asyncio's pipes refuse; it never blocks for long."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def read(self, n: int) -> bytes:
        return os.read(self._descriptor, n)

    def write(self, data: bytes) -> None:
        """Write all of the data, in as many writes as it takes."""
        while data:
            data = data[os.write(self._descriptor, data) :]

    async def drain(self) -> None:
        return  # everything is written

    def close(self) -> None:
        os.close(self._descriptor)


def _take_over(descriptor: int, mode: int) -> int:
    """Return a duplicate of standard input or output, in whose place nothing stands from now on:
    no stray word gets between the messages."""
    own = os.dup(descriptor)
    nothing = os.open(os.devnull, mode | os.O_CLOEXEC)
    os.dup2(nothing, descriptor)
    os.close(nothing)
    return own


async def _open_reader(descriptor: int) -> ByteReader:
    """Open a descriptor for reading without blocking the loop; files are read as they are."""
    if _is_file(descriptor):
        return _File(descriptor)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(CHUNK_BYTES)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    return reader


async def _open_passing(descriptor: int, client: ByteWriter) -> PassingReader:
    loop = asyncio.get_running_loop()
    reader = PassingReader(client)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    return reader


async def _open_writer(descriptor: int) -> ByteWriter:
    """Open a descriptor for writing without blocking the loop; files are written as they are."""
    if _is_file(descriptor):
        return _File(descriptor)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop),
        os.fdopen(descriptor, "wb", 0),
    )
    transport.set_write_buffer_limits(0)  # to wait until all of it is written
    return asyncio.StreamWriter(transport, protocol, None, loop)


def _is_file(descriptor: int) -> bool:
    """Whether a descriptor is of a file, which no loop can wait for."""
    mode = os.fstat(descriptor).st_mode
    return not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor))
