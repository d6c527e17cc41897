"""What one kind of event is."""

from __future__ import annotations

from typing import NamedTuple


class EventKind(NamedTuple):
    """One kind of event. ``fields`` are names, ``?`` after one that may be missing; ``says`` is one
    sentence for docs and pages; ``asked``: reported only where a rule of the task hears it, or the
    daemon was told ``--also``."""

    source: str
    fields: tuple[str, ...]
    says: str
    asked: bool = False


def kind(source: str, fields: str, says: str, *, asked: bool = False) -> EventKind:
    """A line of a table: ``fields`` as words."""
    return EventKind(source, tuple(fields.split()), says, asked)
