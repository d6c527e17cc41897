"""What an option needs beside the base install, checked first: an extra, a display."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping

from agentd.core.errors import UsageError


def require_extra(option: str, extra: str, *modules: str) -> None:
    """Import ``modules``; raises `UsageError` naming ``option`` and the ``extra`` that has them."""
    for module in modules:
        try:
            importlib.import_module(module)
        except (ImportError, OSError) as error:  # OSError: a system library is missing, as libxcb
            raise UsageError(
                f"{option}: {error}; wanted: pip install 'milestoned[{extra}]'"
            ) from None


def display_for(option: str, environ: Mapping[str, str] = os.environ) -> str:
    """The X display that the daemon was given; raises `UsageError` that names the option."""
    if not environ.get("DISPLAY"):
        raise UsageError(
            f"{option}: DISPLAY is not set; wanted the sandbox's X display, as in DISPLAY=:0"
        )
    return environ["DISPLAY"]
