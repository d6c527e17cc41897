"""What a reader is asked and what comes back, as it crosses between the daemon and the child."""

from __future__ import annotations

from typing import Any, TypedDict

Facts = dict[str, Any]
"""What a file says, as JSON; the docstring of each ``read_…`` function names the keys."""


class ReadRequest(TypedDict, total=False):
    """``format``: a key of `agentd.readers.formats.FORMATS`; ``query``: SQL for a database;
    ``wal``: the descriptor of its write-ahead log; ``folder``: an empty one for a copy of both,
    which whoever asks removes, as a reader that is killed removes nothing."""

    format: str
    query: str | None
    wal: int | None
    folder: str | None


class ReadAnswer(TypedDict, total=False):
    """``status``: ``read``, or why there are no facts; ``cut``: whether facts were left out;
    ``ms``: how long reading took."""

    status: str
    facts: Facts
    cut: bool
    reason: str
    ms: int


def without_empty(facts: Facts) -> Facts:
    """Return the facts that say something; empty, false and missing ones are left out."""
    return {name: value for name, value in facts.items() if value}
