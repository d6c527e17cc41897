"""Answers are taken as they are sent: unpacking could make gigabytes of a few kilobytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

HEADERS = {"accept-encoding": "identity"}


async def refuse_packed(response: httpx.Response) -> None:
    """Raise `httpx.RemoteProtocolError` for an answer that is packed, before anything of it is
    read."""
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing != "identity":
        raise httpx.RemoteProtocolError(
            f"content-encoding: expected none, got {packing[:40]!r}", request=response.request
        )


HOOKS: dict[str, list[Callable[..., Any]]] = {"response": [refuse_packed]}
"""For `httpx.AsyncClient`, beside `HEADERS`."""
