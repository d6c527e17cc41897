"""The journal's SQL: rows of events, bounds of segments, a few named values."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from agentd.core.errors import JournalError
from detectors.model.optional_values import first_or_none

STATE_SOURCES = ("journal", "steps")
"""Whose events are never forgotten: a restarted daemon rebuilds its state from them."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS named (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY, source TEXT NOT NULL, kind TEXT NOT NULL, line BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS segments (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, prev TEXT NOT NULL, digest TEXT NOT NULL);
"""


class JournalRow(NamedTuple):
    """One event as stored: its number, two columns to find it by, its encoded line."""

    seq: int
    source: str
    kind: str
    line: bytes


class JournalStore:
    """The file; every writing method is one transaction, wholly done or not at all (sqlite3 errors
    pass through)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._acknowledged: int | None = None
        """What `write` noted last."""
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
        except sqlite3.OperationalError:
            self._db.close()
            raise  # of the disk: see `agentd.core.disk_errors`
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise JournalError(
                f"{path}: {error}; wanted a journal that this daemon made, or no such file"
            ) from None

    def get(self, name: str, default: bytes) -> bytes:
        """Return the value under ``name``, ``default`` where there is none."""
        row = self._db.execute("SELECT value FROM named WHERE name = ?", (name,)).fetchone()
        return bytes(row[0]) if row else default

    def put(self, values: Mapping[str, bytes]) -> None:
        with self._transaction():
            self._put(values)

    def _put(self, values: Mapping[str, bytes]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO named VALUES (?, ?)", values.items())

    def write(
        self,
        rows: Sequence[JournalRow],
        cuts: Sequence[tuple[int, int, str, str]],
        acknowledged: int,
    ) -> None:
        """Add events and segments, and note what is acknowledged, all or nothing.

        What is as it was is not written again: a tool call waits for this.
        """
        with self._transaction():
            self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", rows)
            if cuts:
                self._db.executemany("INSERT INTO segments VALUES (?, ?, ?, ?)", cuts)
            if acknowledged != self._acknowledged:
                self._put({"acknowledged": str(acknowledged).encode()})
        self._acknowledged = acknowledged

    def rewrite(self, rows: Sequence[JournalRow], values: Mapping[str, bytes]) -> None:
        """Put events in the place of those of the same numbers, and named values, all or
        nothing."""
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?)", rows)
            self._put(values)

    def forget(self, through: int) -> int:
        """Delete events up to ``through`` that are nobody's state; returns the bytes of their
        lines."""
        which = f"seq <= ? AND source NOT IN ({','.join('?' * len(STATE_SOURCES))})"
        args = (through, *STATE_SOURCES)
        with self._transaction():
            size = self._db.execute(
                f"SELECT COALESCE(SUM(LENGTH(line)), 0) FROM events WHERE {which}", args
            ).fetchone()
            self._db.execute(f"DELETE FROM events WHERE {which}", args)
        return int(size[0])

    def size(self) -> int:
        """Return the bytes of all event lines together."""
        return int(
            self._db.execute("SELECT COALESCE(SUM(LENGTH(line)), 0) FROM events").fetchone()[0]
        )

    def rows(
        self, *, after: int = 0, through: int = 2**62, source: str | None = None
    ) -> Iterator[JournalRow]:
        """Yield events with ``after`` < seq <= ``through``, in order."""
        sql = "SELECT seq, source, kind, line FROM events WHERE seq > ? AND seq <= ?"
        args: tuple[object, ...] = (after, through)
        if source is not None:
            sql += " AND source = ?"
            args = (*args, source)
        for row in self._db.execute(sql + " ORDER BY seq", args):
            yield JournalRow(*row)

    def last_line(self) -> bytes | None:
        """Return the line of the last event, None in an empty journal."""
        row = self._db.execute("SELECT line FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        return first_or_none(row)

    def last_cut(self) -> tuple[int, int, str, str] | None:
        row: tuple[int, int, str, str] | None
        row = self._db.execute(
            "SELECT first, last, prev, digest FROM segments ORDER BY first DESC LIMIT 1"
        ).fetchone()
        return row

    def cut_from(self, first: int) -> tuple[int, int, str, str] | None:
        row: tuple[int, int, str, str] | None
        row = self._db.execute(
            "SELECT first, last, prev, digest FROM segments WHERE first = ?", (first,)
        ).fetchone()
        return row

    def has_cut(self, last: int, digest: str) -> bool:
        found = self._db.execute(
            "SELECT 1 FROM segments WHERE last = ? AND digest = ?", (last, digest)
        ).fetchone()
        return found is not None

    def limit_pages(self, pages: int) -> None:
        """Let the file grow to ``pages`` pages and no further (0: as far as the disk goes)."""
        self._db.execute(f"PRAGMA max_page_count = {int(pages) or 2**31 - 2}")

    def pages(self) -> int:
        return int(self._db.execute("PRAGMA page_count").fetchone()[0])

    def close(self) -> None:
        self._db.close()

    def remove(self) -> None:
        """Close the database, and delete its file with those that SQLite keeps beside it."""
        self._db.close()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _transaction(self) -> _Transaction:
        return _Transaction(self._db)


class _Transaction:
    """BEGIN … COMMIT, rolled back on any error; sqlite3 has sometimes rolled back by itself when a
    disk is full."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit, or roll back after an error, also after one of the commit itself."""
        if kind is None:
            try:
                self._db.execute("COMMIT")
            except sqlite3.Error:
                self._rollback()
                raise
        else:
            self._rollback()

    def _rollback(self) -> None:
        """Roll back, unless SQLite has done so by itself."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
