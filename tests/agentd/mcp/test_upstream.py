"""The way from the gateway to a server: what it sends, what it takes for an answer, and which
connections it uses again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest

from agentd.mcp.upstream import MAX_WAITING, DirectUpstream, UpstreamError, UpstreamRequest

POST = UpstreamRequest("POST", "/mcp?a=b", [(b"x-one", b"1"), (b"x-one", b"2")], b"hello")
OK = b"HTTP/1.1 200 OK\r\n"
HI = OK + b"content-length: 2\r\n\r\nhi"


@dataclass
class RawServer:
    """Answers each request with the next of ``answers``; None: it closes the connection there."""

    answers: list[Sequence[bytes | None]]
    heard: list[bytes] = field(default_factory=list)
    connections: int = 0
    url: str = ""
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.tasks.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while self.answers:
                self.heard.append(await _read_request(reader))
                for part in self.answers.pop(0):
                    if part is None:
                        writer.close()
                        return
                    writer.write(part)
                    await writer.drain()
            await reader.read()
        writer.close()


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    if b"chunked" in head:
        return head + await reader.readuntil(b"0\r\n\r\n")
    _, _, length = head.partition(b"content-length: ")
    return head + await reader.readexactly(int(length.split(b"\r\n")[0] or 0))


@asynccontextmanager
async def before(
    *answers: Sequence[bytes | None],
) -> AsyncIterator[tuple[DirectUpstream, RawServer]]:
    """The way to a server that gives these answers."""
    raw = RawServer(list(answers))
    async with await asyncio.start_server(raw.accept, "127.0.0.1", 0) as server:
        raw.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        upstream = DirectUpstream(raw.url + "/mcp")
        try:
            async with asyncio.timeout(20):
                yield upstream, raw
        finally:
            upstream.close()
            await asyncio.gather(*raw.tasks)


async def ask(
    upstream: DirectUpstream, request: UpstreamRequest = POST
) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Status, headers and body of the answer."""
    async with upstream.ask(request) as answer:
        return answer.status, list(answer.headers), b"".join([part async for part in answer.parts])


async def test_what_is_sent() -> None:
    async with before([HI]) as (upstream, raw):
        await ask(upstream)
        host = raw.url.removeprefix("http://").encode()
        assert raw.heard == [
            b"POST /mcp?a=b HTTP/1.1\r\nhost: " + host + b"\r\nx-one: 1\r\nx-one: 2\r\n"
            b"content-length: 5\r\n\r\nhello"
        ]


async def rest() -> AsyncIterator[bytes]:
    yield b" world"
    yield b""
    yield b"!"


LENGTHS: Mapping[str, tuple[list[tuple[bytes, bytes]], bytes]] = {
    "of a length that is known": (
        [(b"content-length", b"12")],
        b"content-length: 12\r\n\r\nhello world!",
    ),
    "of none": (
        [],
        b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n1\r\n!\r\n0\r\n\r\n",
    ),
}


@pytest.mark.parametrize("case", LENGTHS)
async def test_a_long_body_is_sent_as_it_comes(case: str) -> None:
    headers, sent = LENGTHS[case]
    async with before([HI]) as (upstream, raw):
        await ask(upstream, UpstreamRequest("POST", "/", headers, b"hello", rest()))
        assert raw.heard[0].endswith(sent)


ANSWERS: Mapping[str, tuple[Sequence[bytes | None], int, bytes]] = {
    "of a length": ([HI], 200, b"hi"),
    "in pieces": ([OK, b"content-len", b"gth: 2\r\n\r\n", b"h", b"i"], 200, b"hi"),
    "in chunks": (
        [OK + b"transfer-encoding: chunked\r\n\r\n1\r\nh\r\n", b"1\r\ni\r\n0\r\n\r\n"],
        200,
        b"hi",
    ),
    "to the connection's end": ([OK + b"\r\nh", b"i", None], 200, b"hi"),
    "without a body": ([b"HTTP/1.1 204 No Content\r\n\r\n"], 204, b""),
    "after one that says to go on": ([b"HTTP/1.1 100 Continue\r\n\r\n" + HI], 200, b"hi"),
    "an error": ([b"HTTP/1.1 404 Not Found\r\ncontent-length: 1\r\n\r\nx"], 404, b"x"),
}


@pytest.mark.parametrize("case", ANSWERS)
async def test_an_answer(case: str) -> None:
    parts, status, body = ANSWERS[case]
    async with before(parts) as (upstream, _):
        found = await ask(upstream)
    assert (found[0], found[2]) == (status, body)


async def test_headers_keep_order_repetition_and_values() -> None:
    headers = b"X-A: 1\r\nx-b: \xe4\r\nX-A: 2\r\ncontent-length: 0\r\n\r\n"
    async with before([OK + headers]) as (upstream, _):
        _, found, _ = await ask(upstream)
    assert found[:3] == [(b"x-a", b"1"), (b"x-b", b"\xe4"), (b"x-a", b"2")]


NO_ANSWERS: Mapping[str, tuple[Sequence[bytes | None], str]] = {
    "nothing": ([None], "it closed the connection"),
    "half a head": ([OK, None], "it closed the connection"),
    "half a body": ([OK + b"content-length: 5\r\n\r\nhi", None], "it closed the connection"),
    "half of the chunks": (
        [OK + b"transfer-encoding: chunked\r\n\r\n1\r\nh\r\n", None],
        "it closed the connection",
    ),
    "another protocol": ([b"SSH-2.0-x\r\n\r\n"], "no answer of HTTP"),
    "an upgrade": (
        [b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"],
        "no answer of HTTP",
    ),
    "two lengths": (
        [OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\nhi"],
        "no answer of HTTP",
    ),
    "packed": ([OK + b"content-encoding: gzip\r\ncontent-length: 1\r\n\r\nx"], "content-encoding"),
}


@pytest.mark.parametrize("case", NO_ANSWERS)
async def test_what_is_no_answer(case: str) -> None:
    parts, why = NO_ANSWERS[case]
    async with before(parts) as (upstream, _):
        with pytest.raises(UpstreamError, match=why):
            await ask(upstream)


AGAIN: Mapping[str, tuple[Sequence[Sequence[bytes | None]], int]] = {
    "two whole answers": ([[HI], [HI]], 1),
    "a server that closes": ([[OK + b"connection: close\r\ncontent-length: 2\r\n\r\nhi"], [HI]], 2),
    "an answer to the connection's end": ([[OK + b"\r\nhi", None], [HI]], 2),
    "more than an answer": ([[HI + b"HTTP/1.1 200 OK\r\nx: y\r\n\r\n"], [HI]], 2),
}


@pytest.mark.parametrize("case", AGAIN)
async def test_a_connection_is_used_again_after(case: str) -> None:
    answers, connections = AGAIN[case]
    async with before(*answers) as (upstream, raw):
        for _ in answers:
            assert (await ask(upstream))[2] == b"hi"
        assert raw.connections == connections


async def test_an_answer_to_head_has_no_body() -> None:
    async with before([OK + b"content-length: 2\r\n\r\n"], [HI]) as (upstream, raw):
        assert (await ask(upstream, POST._replace(method="HEAD", body=b"")))[2] == b""
        assert (await ask(upstream))[2] == b"hi"
        assert raw.connections == 2


async def test_who_leaves_an_answer_half_read_closes_its_connection() -> None:
    async with before([OK + b"content-length: 5\r\n\r\nhi"], [HI]) as (upstream, raw):
        async with upstream.ask(POST) as answer:
            assert await anext(aiter(answer.parts)) == b"hi"
        assert (await ask(upstream))[2] == b"hi"
        assert raw.connections == 2


async def test_a_server_waits_where_nobody_reads() -> None:
    """And all that it sends comes, in its order."""
    body = bytes(range(256)) * (16 * MAX_WAITING // 256)
    head = OK + b"content-length: %d\r\n\r\n" % len(body)
    async with before([head, body]) as (upstream, raw), upstream.ask(POST) as answer:
        got = bytearray()
        async for part in answer.parts:
            got += part
            await asyncio.sleep(0)
        assert got == body
        assert raw.connections == 1


async def test_calls_at_once_have_a_connection_each() -> None:
    async with before([HI], [HI], [HI]) as (upstream, raw):
        assert [one[2] for one in await asyncio.gather(*[ask(upstream) for _ in range(3)])] == [
            b"hi"
        ] * 3
        assert raw.connections == 3
