"""Limits of a process that reads what strangers sent."""

from __future__ import annotations

import resource


def limit_process(cpu_s: int, memory: int) -> None:
    """Allow this process ``cpu_s`` seconds of a core and ``memory`` bytes of addresses, no file to
    be written and no core dump; a lower hard limit that it has already stays."""
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: cpu_s,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for what, limit in limits.items():
        _, hard = resource.getrlimit(what)
        soft = limit if hard < 0 else min(limit, hard)
        resource.setrlimit(what, (soft, hard))
