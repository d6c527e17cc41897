"""`milestoned mcp`: what a service knows of episodes, as tools for a coding agent."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import httpx

from api.cli.access import find_access
from api.cli.common import STORE, Store
from common.command_line import option
from common.plain_answers import ASYNC_HOOKS, HEADERS

PATIENCE_S = 60.0


def run(
    *,
    service: Annotated[
        str | None, option("its address (default: the service of the data folder)", "URL")
    ] = None,
    token_file: Annotated[
        Path | None, option("of a trainer or operator (default: the first admin's)", "FILE")
    ] = None,
    store: Store = STORE,
) -> int:
    """Serve read-only tools over standard input and output: list and show episodes, explain a step,
    say what came nearest, compare two episodes."""
    try:
        from api.mcp.server import make_server
    except ModuleNotFoundError:
        print("mcp is not installed; wanted `pip install 'milestoned[mcp]'`", file=sys.stderr)
        return 1
    from api.mcp.reading import ServiceReader

    access = find_access(store.settings(token_file), service)
    if access is None:
        return 1
    address, headers = access

    async def serve() -> None:
        async with httpx.AsyncClient(
            base_url=address,
            headers={**headers, **HEADERS},
            event_hooks=ASYNC_HOOKS,
            timeout=PATIENCE_S,
        ) as http:
            await make_server(ServiceReader(http)).run_stdio_async()

    asyncio.run(serve())
    return 0
