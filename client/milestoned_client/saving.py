"""Puts a download on disk whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def save(content: bytes, target: Path) -> int:
    """Write ``content`` as ``target``, replacing it at once; gives the size in bytes. Raises
    `OSError`."""
    part = target.with_name(target.name + ".part")
    part.write_bytes(content)
    os.replace(part, target)
    return len(content)
