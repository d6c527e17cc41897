"""The pictures' files beside the journal: named by their content, so that a screen that stands
still is kept once."""

from __future__ import annotations

from pathlib import Path

import structlog

log = structlog.get_logger(__name__)


class ShotStore:
    """``folder`` is made for its owner's eyes alone. At ``max_bytes`` nothing is added, and nothing
    is ever removed: a log may name every picture in it."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._bytes = sum(file.stat().st_size for file in folder.iterdir())

    def keep(self, name: str, data: bytes) -> str | None:
        """Keep ``data`` as the file ``name``; None, or why it could not be kept."""
        path = self._folder / name
        if path.exists():
            return None
        if self._bytes + len(data) > self._max_bytes:
            return f"the screenshots reached their cap of {self._max_bytes} bytes (--screens-max)"
        fresh = path.with_name(name + ".new")
        try:
            fresh.write_bytes(data)
            fresh.replace(path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            return f"{path}: {error.strerror}"
        self._bytes += len(data)
        return None
