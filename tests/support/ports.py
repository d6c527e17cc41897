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
    this one."""
    first_given = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(_LOWEST, first_given), _TRIES):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"ports {_LOWEST} to {first_given - 1}: expected a free one")
