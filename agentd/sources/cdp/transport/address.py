"""Where the browser listens: its own websocket address, from an http address or from a profile
folder."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from agentd.core.source import SourceLostError
from agentd.core.tls import default_tls
from common.plain_answers import ASYNC_HOOKS, HEADERS
from common.regular_file import read_regular

ASK_S = 5.0
_PORT = re.compile("[0-9]{1,5}", re.ASCII)
_PATH = re.compile("/[A-Za-z0-9/_-]+", re.ASCII)
MAX_PORT_FILE = 4096


async def websocket_address(endpoint: str | None, profile: Path | None) -> str:
    """Find the address anew, so that a browser restarted on another port is found.

    ``profile`` wins: its DevToolsActivePort names port and path. Raises SourceLostError with what
    is missing.
    """
    if profile is not None:
        return _from_profile(profile)
    if endpoint is None:
        raise ValueError(
            "CdpSource wants an endpoint (http://127.0.0.1:PORT) or a profile folder, got neither"
        )
    if endpoint.startswith(("ws://", "wss://")):
        return endpoint
    return await _from_endpoint(endpoint.rstrip("/"))


def _from_profile(profile: Path) -> str:
    """Return the address that a browser wrote into its profile. Raises `SourceLostError`."""
    path = profile / "DevToolsActivePort"
    try:
        lines = read_regular(path, MAX_PORT_FILE).decode("utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise SourceLostError(
            f"{path}: {why}; start the browser with --remote-debugging-port=0 and this profile"
        ) from None
    if len(lines) != 2 or not _PORT.fullmatch(lines[0]) or not _PATH.fullmatch(lines[1]):
        raise SourceLostError(f"{path}: wanted a port and a path, got {lines!r}")
    return f"ws://127.0.0.1:{lines[0]}{lines[1]}"


async def _from_endpoint(endpoint: str) -> str:
    """Ask a browser's port for its address. Raises `SourceLostError` where none answers."""
    try:
        async with httpx.AsyncClient(
            verify=default_tls(),
            trust_env=False,
            timeout=ASK_S,
            headers=HEADERS,
            event_hooks=ASYNC_HOOKS,
        ) as client:
            answer = await client.get(f"{endpoint}/json/version")
            address = answer.json()["webSocketDebuggerUrl"]
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise SourceLostError(
            f"{endpoint}/json/version does not answer as a browser does: {error!r}"
        ) from None
    return str(address)
