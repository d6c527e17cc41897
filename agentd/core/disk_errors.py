"""What the disk refuses in the daemon's own directory, as errors that an operator can read."""

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
    """Raise what the disk refuses while files of ``state`` are made as an `AgentdError` that names
    the directory."""
    try:
        yield
    except OSError as error:
        raise disk_error(state, _describe(error)) from None
    except sqlite3.OperationalError as error:
        raise disk_error(state, str(error)) from None


def _describe(error: OSError) -> str:
    """Return an error of the disk in words: that there is no room, or which file could not be
    written and why."""
    if error.errno in _NO_ROOM:
        return "no room"
    return f"{error.filename or 'cannot be written'}: {error.strerror}"


def disk_error(state: Path, what: str) -> AgentdError:
    """Make the error that says ``what`` the disk refused in ``state``, and what is expected."""
    return AgentdError(
        f"{state}: {what}; wanted a directory with room, that this daemon may write in"
    )
