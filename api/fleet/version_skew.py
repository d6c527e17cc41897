"""Which daemons this service takes: its own version's and older ones of the same major, never a
newer one.

Upgrade the service first, the daemons after: a newer daemon may tell of what this service can't
read, and the text that it was going to send would be refused in mid-episode.
"""

from __future__ import annotations

import re

from api.core.errors import VersionSkewError
from detectors.model.wire_versions import WIRE

_NUMBERS = re.compile(r"(\d+)\.(\d+)")


def check(service: str, agentd: str, wire: int) -> None:
    """Raise `VersionSkewError` unless a daemon ``agentd`` that writes ``wire`` can work with
    ``service``."""
    stands = {"service": service, "service_wire": WIRE}
    if wire > WIRE:
        raise VersionSkewError(
            f"wire: the daemon writes {wire}, this service (milestoned {service}) reads up to"
            f" {WIRE}; wanted the service upgraded first",
            **stands,
        )
    theirs, ours = _release(agentd), _release(service)
    if theirs is None or ours is None:
        raise VersionSkewError(
            f"agentd: got {agentd!r}, wanted a version such as {service}", **stands
        )
    if theirs[0] != ours[0] or theirs > ours:
        what = "the service upgraded first" if theirs > ours else "the daemon upgraded"
        raise VersionSkewError(
            f"agentd: the daemon is {agentd}, this service {service}, which takes daemons from"
            f" {ours[0]}.0 to {ours[0]}.{ours[1]}; wanted {what}",
            **stands,
        )


def _release(version: str) -> tuple[int, int] | None:
    found = _NUMBERS.match(version)
    return None if found is None else (int(found[1]), int(found[2]))
