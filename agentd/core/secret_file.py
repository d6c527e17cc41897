"""Secrets that the daemon makes for itself, in files of its state directory."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from agentd.core.errors import UsageError
from common.regular_file import read_regular

LETTERS = 43
"""Of a secret: 32 random bytes in base64."""
_MAX_BYTES = 4_096


def read_or_make_secret(path: Path) -> str:
    """Return the secret in ``path``, made on the first call and readable by the owner alone.

    Raises `UsageError` where the file holds something else, `OSError`.
    """
    if not path.exists():
        fresh = path.with_name(f"{path.name}.new")
        fresh.unlink(missing_ok=True)
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())  # else a lost machine may leave an empty file of that name
        fresh.replace(path)
    text = read_regular(path, _MAX_BYTES).decode("ascii", "replace").strip()
    if len(text) != LETTERS or not text.replace("-", "").replace("_", "").isalnum():
        raise UsageError(
            f"{path}: got {len(text)} characters, expected the {LETTERS} letters of a secret that a"
            " daemon made; remove it to have a new one made"
        )
    return text
