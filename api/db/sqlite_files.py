"""The files of an SQLite database, as they stood when it was opened: in the place of one that is
removed or replaced while connections have it open, nobody finds what is written."""

from __future__ import annotations

import os
from pathlib import Path

from detectors.model.optional_values import entries_without_none

SIDES = ("-wal", "-shm")
"""Ends of the names of the log and its index: what was committed lately stands in them alone."""
Identity = tuple[int, int]


class SqliteFiles:
    """Knows which files stood at ``file`` and beside it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._main = identify(str(file))
        self._sides: dict[str, Identity] = {}

    def note_sides(self) -> None:
        """Remember the files beside, once: call it while a connection is open that stays so, as
        SQLite removes them with the last one."""
        if not self._sides:
            found = {end: identify(f"{self.file}{end}") for end in SIDES}
            self._sides = entries_without_none(found)

    @property
    def is_noted(self) -> bool:
        """Whether `note_sides` has found files to remember."""
        return bool(self._sides)

    def is_main_gone(self) -> bool:
        """Whether the database's own file is not the one that was opened."""
        return identify(str(self.file)) != self._main

    def find_gone_side(self) -> str | None:
        """Return the name of a file beside that is not the one that was noted; None if all are."""
        changed = (
            f"{self.file.name}{end}"
            for end, noted in self._sides.items()
            if identify(f"{self.file}{end}") != noted
        )
        return next(changed, None)

    def is_written_by_others(self) -> bool:
        """Whether another log stands in the place of the noted one, with something in it."""
        path = f"{self.file}-wal"
        found = identify(path)
        return found not in (None, self._sides.get("-wal")) and os.path.getsize(path) > 0


def identify(path: str) -> Identity | None:
    """Return which file of which disk stands at ``path``; None for none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
