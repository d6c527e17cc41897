"""A bare HTTP/1.1 client over keep-alive sockets: little enough that the server is what is
measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence


def request(
    method: str, path: str, token: str = "", body: bytes = b"", kind: str = "application/json"
) -> bytes:
    """The bytes of one HTTP request as it is sent."""
    head = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Content-Length: {len(body)}",
        f"Content-Type: {kind}",
    ]
    if token:
        head.append(f"Authorization: Bearer {token}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


async def _send_requests(port: int, requests: Sequence[bytes]) -> list[bytes]:
    bodies = []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for sent in requests:
        writer.write(sent)
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        length = next(
            (int(h[16:]) for h in head.lower().split(b"\r\n") if h.startswith(b"content-length: ")),
            0,
        )
        body = await reader.readexactly(length)
        if status >= 300:
            raise RuntimeError(f"{sent[:80]!r} was answered {status}: {body[:400]!r}")
        bodies.append(body)
    writer.close()
    await writer.wait_closed()
    return bodies


async def _all(port: int, connections: Sequence[Sequence[bytes]]) -> list[list[bytes]]:
    return await asyncio.gather(*(_send_requests(port, requests) for requests in connections))


def fetch(port: int, connections: Sequence[Sequence[bytes]]) -> list[list[bytes]]:
    """Send each connection's requests one after the other, and return their bodies. Raises on any
    refusal."""
    return asyncio.run(_all(port, connections))


def drive(port: int, connections: Sequence[Sequence[bytes]]) -> float:
    """Seconds until every connection has had all its answers, one after the other. Raises on any
    refusal."""
    start = time.perf_counter()
    asyncio.run(_all(port, connections))
    return time.perf_counter() - start
