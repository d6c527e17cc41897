"""Where a daemon can't write in its own directory, before its journal could say so: words instead
of a traceback."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from agentd.core.errors import AgentdError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def room_in(state: Path) -> Iterator[None]:
    """While files of ``state`` are made: what the disk refuses is an `AgentdError` that names the
    directory."""
    try:
        yield
    except OSError as error:
        what = (
            "no room"
            if error.errno in _NO_ROOM
            else f"{error.filename or 'cannot be written'}: {error.strerror}"
        )
        raise refused(state, what) from None
    except sqlite3.OperationalError as error:
        raise refused(state, str(error)) from None


def refused(state: Path, what: str) -> AgentdError:
    """The error."""
    return AgentdError(
        f"{state}: {what}; wanted a directory with room, that this daemon may write in"
    )
