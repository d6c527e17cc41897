"""Files of every format, made by the libraries that people make them with, and what the real
reading process says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from agentd.readers.asking import read_in_child
from agentd.readers.formats import format_of
from agentd.readers.mime import HEAD, mime_of

BUDGET_S = 60.0
"""So long that only a reader that hangs fails, however busy the machine is."""


async def told(
    path: Path, format_: str | None = None, budget_s: float = BUDGET_S, **asked: Any
) -> dict[str, Any]:
    """The child's answer about the file."""
    fd = os.open(path, os.O_RDONLY)
    try:
        found = format_ or format_of(mime_of(os.pread(fd, HEAD, 0), path.name), path.name)
        return {"format": found, **await read_in_child(fd, found, budget_s, **asked)}
    finally:
        os.close(fd)


async def facts(path: Path, format_: str | None = None, **asked: Any) -> dict[str, Any]:
    """The facts of a file that can be read."""
    answer = await told(path, format_, **asked)
    assert answer["status"] == "read", answer
    return dict(answer["facts"])
