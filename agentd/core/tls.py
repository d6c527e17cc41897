"""The certificates that the daemon's HTTP clients trust."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def default_tls() -> ssl.SSLContext:
    """Return httpx's own settings of TLS, made once: to read all certificates takes 20 ms, during
    which the event loop stands still."""
    return httpx.create_ssl_context(trust_env=False)
