"""Rules of others that are installed beside the service; looked for once in a process, before any
task is read."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from detectors.sdk.plugins import GROUP, FoundPlugin, take


@cache
def load_plugins() -> tuple[str, ...]:
    """The names of the rules that were taken. Raises `PlugInError` for one that is refused."""
    found = entry_points(group=GROUP)
    return tuple(
        take(
            FoundPlugin(one.name, one.dist.name, one.dist.version, one.load)
            for one in found
            if one.dist
        )
    )
