"""A file that a command is to write: nothing that stands there is lost unasked."""

from __future__ import annotations

from pathlib import Path


def why_not_writable(path: Path, *, force: bool) -> str | None:
    """Return what keeps a command from writing ``path``, in words; None where nothing does.

    A file that is there is replaced only with ``force``.
    """
    if not path.resolve().parent.is_dir():
        return f"{path}: its directory does not exist"
    if path.is_dir():
        return f"{path}: is a directory; wanted a file"
    if not force and path.exists():
        return f"{path}: is there already; wanted another name, or --force to replace it"
    return None


def why_not_new(path: Path) -> str | None:
    """Return what keeps a command from making the file ``path``, in words: that it is there, or
    that it has no place."""
    if path.exists():
        return f"{path}: expected a file that does not exist yet"
    return why_not_writable(path, force=False)
