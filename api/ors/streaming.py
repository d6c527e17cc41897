"""A tool call as the standard streams it: its id, pings while it runs, its result in chunks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import structlog

from api.core.errors import ProblemError, UnavailableError
from api.ors.sessions import StoredCall

CHUNK = 4_096
"""Characters of a chunk, as the standard's own server has it."""
PING_S = 10.0
_PING = b": ping\r\n\r\n"
log = structlog.get_logger(__name__)


def encode_event(name: str, data: str) -> bytes:
    """Return one server-sent event. ``data`` is one line."""
    return f"event: {name}\r\ndata: {data}\r\n\r\n".encode()


def split_chunks(text: str) -> Iterator[str]:
    """Split into chunks of `CHUNK` characters or a little more: none but the first begins with a
    space, for the standard's clients strip those."""
    start = 0
    while start < len(text):
        end = start + CHUNK
        while end < len(text) and text[end].isspace():
            end += 1
        yield text[start:end]
        start = end


async def stream_call(id: str, task: asyncio.Task[StoredCall] | None) -> AsyncIterator[bytes]:
    """Stream the call ``id``, None: there is no such call. Whoever goes away changes nothing.

    A stream that ends without `end` or `error` was cut because the service stops: its client comes
    back with the call's id.
    """
    if task is None:
        yield encode_event("error", "unknown task_id")
        return
    yield encode_event("task_id", id)
    while not task.done():
        await asyncio.wait({task}, timeout=PING_S)
        if not task.done():
            yield _PING
    if task.cancelled():
        return
    try:
        call = task.result()
    except UnavailableError:
        return
    except ProblemError as problem:
        yield encode_event("error", _one_line(problem.detail))
        return
    assert call.result is not None
    text = call.result.decode()
    if call.failed:
        yield encode_event("error", _one_line(text))
        return
    *chunks, last = split_chunks(text)
    for chunk in chunks:
        yield encode_event("chunk", chunk)
    yield encode_event("end", last)


def _one_line(text: str) -> str:
    return " ".join(text.split())
