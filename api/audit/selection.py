"""Which episodes a report is about."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson

from api.errors import InvalidError
from api.store.audits import Audits


@dataclass(frozen=True, slots=True)
class Selection:
    """None means any. ``since`` and ``until`` (exclusive) are of the opening, as ISO dates or times in UTC;
    ``label`` is ``NAME=VALUE``."""

    task: str | None = None
    status: str | None = None
    label: str | None = None
    since: str | None = None
    until: str | None = None
    tenant: str | None = None

    def __post_init__(self) -> None:
        if self.label is not None and "=" not in self.label:
            raise InvalidError(f"label: got {self.label[:80]!r}, wanted NAME=VALUE")
        if self.status not in (None, "open", "closing", "closed"):
            raise InvalidError(f"status: got {self.status[:80]!r}, wanted open, closing or closed")

    async def rows(self, audits: Audits) -> AsyncIterator[tuple[Any, dict[str, Any]]]:
        """Each episode's row with its facts, and its labels."""
        wanted = {name: getattr(self, name) for name in ("task", "status", "since", "until", "tenant")}
        name, _, value = (self.label or "").partition("=")
        async for row in audits.episode_rows(**wanted):
            labels = orjson.loads(row.labels)
            if self.label is None or as_text(labels.get(name)) == value:
                yield row, labels

    def to_json(self) -> dict[str, str]:
        """What was asked for."""
        names = ("task", "status", "label", "since", "until")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def as_text(label: Any) -> str:
    """A label's value as a query names it."""
    return label if isinstance(label, str) else orjson.dumps(label).decode()
