"""Which episodes a report is about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from api.audit.store import Audits
from api.core.errors import InvalidError
from api.episodes.label_index import label_key, label_text


@dataclass(frozen=True, slots=True)
class AuditSelection:
    """None means any. ``since`` and ``until`` (exclusive) are of the opening, as ISO dates or times
    in UTC; ``label`` is ``NAME=VALUE``; ``newest``: at most so many, those that were opened last.
    ``guided``: episodes in which hints were given are evaluated too.
    """

    task: str | None = None
    status: str | None = None
    label: str | None = None
    since: str | None = None
    until: str | None = None
    tenant: str | None = None
    newest: int | None = None
    guided: bool = False

    def __post_init__(self) -> None:
        """Refuse a label that is no pair, another status, and what is no time. Raises
        `InvalidError`."""
        if self.label is not None and "=" not in self.label:
            raise InvalidError(f"label: got {self.label[:80]!r}, wanted NAME=VALUE")
        if self.status not in (None, "open", "closing", "closed"):
            raise InvalidError(f"status: got {self.status[:80]!r}, wanted open, closing or closed")
        for name in ("since", "until"):
            _moment(name, getattr(self, name))

    async def rows(self, audits: Audits) -> AsyncIterator[tuple[Any, dict[str, Any]]]:
        """Each episode's row with its facts, and its labels."""
        wanted = {name: getattr(self, name) for name in ("task", "status", "tenant")}
        wanted |= {name: _moment(name, getattr(self, name)) for name in ("since", "until")}
        name, _, value = (self.label or "").partition("=")
        mark = None if self.label is None else label_key(name, value)
        async for row in audits.episode_rows(mark, self.newest, **wanted):
            yield row, orjson.loads(row.labels)

    def accepts(self, opened_at: str, labels: Mapping[str, object]) -> bool:
        """Return whether an episode's opening and labels are what ``label``, ``since`` and
        ``until`` ask for."""
        since = _moment("since", self.since)
        until = _moment("until", self.until)
        is_too_early = since is not None and opened_at < since
        is_too_late = until is not None and opened_at >= until
        if is_too_early or is_too_late:
            return False
        return self.label is None or _has_label(labels, self.label)

    def to_json(self) -> dict[str, str]:
        """Return the conditions that were given, by name."""
        given: dict[str, str] = {}
        for name in ("task", "status", "label", "since", "until"):
            value = getattr(self, name)
            if value is not None:
                given[name] = value
        return given


def _has_label(labels: Mapping[str, object], label: str) -> bool:
    """Whether an episode has a label, as ``NAME=VALUE``."""
    name, _, value = label.partition("=")
    return name in labels and label_text(labels[name]) == value


def _moment(name: str, said: str | None) -> str | None:
    """An ISO date or time, of UTC where it names no zone, as rows have theirs. Raises
    `InvalidError`."""
    if said is None:
        return None
    try:
        at = _in_utc(datetime.fromisoformat(said))
    except (ValueError, OverflowError):
        wanted = "wanted a date or time such as 2026-11-21 or 2026-11-21T09:30:00+01:00"
        raise InvalidError(f"{name}: got {said[:80]!r}, {wanted}") from None
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _in_utc(at: datetime) -> datetime:
    """Return a moment in UTC; one without a zone is of UTC already."""
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    return at.astimezone(UTC)
