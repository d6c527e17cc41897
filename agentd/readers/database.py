"""SQLite databases: read from a copy in memory, so that no lock, journal or time of the file is
touched."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

from agentd.readers.bounds import DamagedError
from agentd.readers.tables import sheet
from agentd.readers.texts import whole

MAX_TABLES = 32
MAX_ROWS = 500
_JOURNAL_MODE = slice(18, 20)
_DENIED = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA)


def read_sqlite(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{sheets}``: a sheet a table with its columns as the first row and ``count`` rows, or what
    ``query`` gives.

    What a program that still runs has written into its write-ahead log counts too: ``wal`` is its
    descriptor.
    """
    data = bytearray(whole(file))
    if not data.startswith(b"SQLite format 3\0"):
        raise DamagedError("no SQLite database")
    wal = os.fdopen(asked["wal"], "rb").read() if asked.get("wal") is not None else b""
    try:
        if wal:
            with tempfile.TemporaryDirectory() as folder:
                return _of_both(Path(folder) / "copy", bytes(data), wal, asked.get("query"))
        data[_JOURNAL_MODE] = b"\1\1"  # a copy in memory has no log beside it
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(bytes(data))
            return _read(database, asked.get("query"))
    except sqlite3.Error as error:
        raise DamagedError(str(error)) from None


def _of_both(path: Path, data: bytes, wal: bytes, query: str | None) -> dict[str, Any]:
    path.write_bytes(data)
    path.with_name(path.name + "-wal").write_bytes(wal)
    with closing(sqlite3.connect(path)) as database:
        return _read(database, query)


def _read(database: sqlite3.Connection, query: str | None) -> dict[str, Any]:
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    database.execute("PRAGMA query_only = 1")
    names = [
        row[0]
        for row in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        )
    ]
    database.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action in _DENIED else sqlite3.SQLITE_OK
    )
    if query is not None:
        found = _rows(database, "", query)
        return {"sheets": [found], "cut": "more" in found}
    sheets = []
    for name in names[:MAX_TABLES]:
        quoted = '"' + name.replace('"', '""') + '"'
        (count,) = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()
        sheets.append(_rows(database, name, f"SELECT * FROM {quoted}") | {"count": count})
    cut = len(names) > MAX_TABLES or any("more" in one for one in sheets)
    return {"sheets": sheets, "tables": names, "cut": cut}


def _rows(database: sqlite3.Connection, name: str, query: str) -> dict[str, Any]:
    done = database.execute(query)
    columns = [column[0] for column in done.description or ()]
    rows = [[_cell(cell) for cell in row] for row in done.fetchmany(MAX_ROWS + 1)]
    return sheet(
        name, [columns, *rows[:MAX_ROWS]], **({"more": True} if len(rows) > MAX_ROWS else {})
    )


def _cell(value: Any) -> Any:
    return f"x'{value[:64].hex()}'" if isinstance(value, bytes) else value
