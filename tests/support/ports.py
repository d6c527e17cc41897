"""Ports that stay a test's own until its server listens, and while it is away.

A socket that asks for any port gets one of the kernel's range of its own choice: so may the next
one, in another test, between the end of a server and its second start.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

_LOWEST, _TRIES = 10_000, 100


def free_port() -> int:
    """A port of loopback that nobody listens at, and that no socket is given unless it asks for
    this one. Where the kernel gives away all from `_LOWEST` on, one of those below it."""
    ranges = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    first_given = int(ranges.split()[0])
    own = range(_LOWEST, first_given) if first_given > _LOWEST + _TRIES else range(1024, _LOWEST)
    for port in random.sample(own, _TRIES):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"ports {own[0]} to {own[-1]}: expected a free one")
