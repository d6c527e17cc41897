"""Answers are taken as they are sent: unpacking could make gigabytes of a few kilobytes."""

from __future__ import annotations

from collections.abc import Callable

import httpx

HEADERS = {"accept-encoding": "identity"}


def refuse_packed(response: httpx.Response) -> None:
    """Raise `httpx.RemoteProtocolError` for an answer that is packed, before anything of it is
    read."""
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing != "identity":
        raise httpx.RemoteProtocolError(
            f"content-encoding: expected none, got {packing[:40]!r}", request=response.request
        )


async def refuse_packed_later(response: httpx.Response) -> None:
    """Do the same for an asynchronous client."""
    refuse_packed(response)


HOOKS: dict[str, list[Callable[..., object]]] = {"response": [refuse_packed]}
"""For `httpx.Client`, beside `HEADERS`."""
ASYNC_HOOKS: dict[str, list[Callable[..., object]]] = {"response": [refuse_packed_later]}
"""For `httpx.AsyncClient`."""
