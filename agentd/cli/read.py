"""`agentd read FILE`: the facts that an event would have of the file, for who writes a task or
needs a picture's reference."""

from __future__ import annotations

import asyncio
import os
import stat

import orjson

from agentd.core.errors import UsageError
from agentd.core.settings import ReadSettings
from agentd.readers.asking import read_in_child
from agentd.readers.formats import FORMATS, format_of
from agentd.readers.mime import HEAD, mime_of

BUDGET_S = 60.0
"""Seconds for reading: more than in an episode, as no step waits for its seal meanwhile."""


def show(settings: ReadSettings) -> str:
    """Return the answer as JSON: {format, status, facts?, ...}; nothing is masked.

    Raises `UsageError`.
    """
    if settings.as_ is not None and settings.as_ not in FORMATS:
        raise UsageError(f'--as: expected one of {", ".join(FORMATS)}, got "{settings.as_}"')
    try:
        fd = os.open(settings.file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise UsageError(f"{settings.file}: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise UsageError(f"{settings.file}: is no regular file; wanted one")
        name = settings.file.name
        format_ = settings.as_ or format_of(mime_of(os.pread(fd, HEAD, 0), name), name)
        answer = asyncio.run(read_in_child(fd, format_, BUDGET_S, settings.query))
    except OSError as error:
        raise UsageError(f"{settings.file}: {error.strerror}") from None
    finally:
        os.close(fd)
    return orjson.dumps({"format": format_, **answer}, option=orjson.OPT_INDENT_2).decode()
