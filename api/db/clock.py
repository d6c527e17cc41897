"""The database's own clock in statements: replicas never compare theirs."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Float, cast, func, literal_column


def clock(embedded: bool) -> ColumnElement[float]:
    """Seconds since 1970, as the database that runs the statement reads them."""
    if embedded:
        # unixepoch('subsec') would say it better, but SQLite has it only since 3.42.
        return literal_column("(julianday('now') - 2440587.5) * 86400.0", Float())
    now: object = func.extract("epoch", func.clock_timestamp())
    return cast(now, Float)
