"""What an option needs beside the base install, asked before anything is started: an extra, a display."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping

from agentd.errors import UsageError


def need(option: str, extra: str, *modules: str) -> None:
    """Make sure that ``modules`` are installed; raises `UsageError` that names the option and the extra."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise UsageError(f"{option}: the package of {module} is not installed; wanted: milestoned[{extra}]")


def display_for(option: str, environ: Mapping[str, str] = os.environ) -> str:
    """The X display that the daemon was given; raises `UsageError` that names the option."""
    if not environ.get("DISPLAY"):
        raise UsageError(f"{option}: DISPLAY is not set; wanted the sandbox's X display, as in DISPLAY=:0")
    return environ["DISPLAY"]
