"""Times as other programs write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_to_ns(text: str) -> int:
    """Return an ISO 8601 time, UTC where it names no zone, as nanoseconds since 1970. Raises
    `ValueError`."""
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
