"""What the daemon was started with, as values; the options that they are read from are in
agentd/run/options.py."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from agentd.core.source import Source

KEEP_BYTES = 1 << 30
"""The cap's default: 1 GiB of event lines."""
SCREENS_BYTES = 256 << 20
"""The default of --screens-max."""
VISUAL_BYTES = 64 << 20
"""The default of --visual-max."""
BODY_S = 60.0
"""The default of --body-wait."""
READY_S = 60.0
"""The default of --ready-wait."""
MAX_WAIT_S = 86_400
"""The longest wait that can be asked for, in seconds."""


class Line(NamedTuple):
    """Another way to the browser than its port: what opens a connection
    (agentd/sources/cdp/transport/connection.py), raising `SourceLostError`, and the browser context
    that it is for (None: all)."""

    open: Callable[[], Awaitable[Any]]
    scope: str | None = None


@dataclass(frozen=True)
class Settings:
    """What the daemon was started with; never changes."""

    service: str | None = None
    episode: str | None = None
    token_file: Path | None = None
    listen: tuple[str, int] | None = None
    name: str | None = None
    label: tuple[tuple[str, str], ...] = ()
    address: str | None = None
    address_token: Path | None = None
    once: bool = False
    state: Path | None = None
    file: Path | None = None
    as_: str | None = None
    query: str | None = None
    out: Path | None = None
    force: bool = False
    cdp: str | None = None
    profile: Path | None = None
    files: tuple[tuple[str, Path], ...] = ()
    desktop: bool = False
    processes: str | None = None
    clipboard: frozenset[str] | None = None
    screen: str | None = None
    screens_max: int = SCREENS_BYTES
    visual: bool = False
    visual_max: int = VISUAL_BYTES
    mask: tuple[str, ...] = ()
    edge: Path | None = None
    allow_commands: bool = False
    task: Path | None = None
    also: tuple[str, ...] = ()
    port: int = 0
    socket: Path | None = None
    body_wait: float = BODY_S
    detach: bool = False
    ready_wait: float = READY_S
    journal_max: int = KEEP_BYTES
    journal_after: str = "keep"
    steps: str = "auto"
    connect: Callable[[Mapping[str, Any]], Source] | None = None
    """Makes the browser source inside a harness's process; never an option."""
    line: Line | None = None
    """How script probes reach the browser there; never an option."""
