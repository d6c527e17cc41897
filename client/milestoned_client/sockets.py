"""Unix sockets as addresses: ``http+unix://``, and the socket's path, percent-encoded, where a host
would stand."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

SCHEME = "http+unix://"
HOST = "http://agentd"
"""What the daemon is told as its host: it looks at none."""


def socket_url(path: str | Path) -> str:
    """The address of the socket at ``path``."""
    return SCHEME + quote(str(path), safe="")


def socket_of(url: str) -> tuple[str | None, str]:
    """The socket's path (None: no such address) and the address to ask for over it."""
    if not url.startswith(SCHEME):
        return None, url
    host, slash, rest = url.removeprefix(SCHEME).partition("/")
    return unquote(host), HOST + slash + rest
