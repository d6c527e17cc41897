"""SQLite databases: read from a copy in memory, so that no lock, journal or time of the file is
touched."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from agentd.readers.bounds import DamagedError
from agentd.readers.request import Facts, ReadRequest
from agentd.readers.tables import sheet
from agentd.readers.texts import whole

MAX_TABLES = 32
MAX_ROWS = 500
_JOURNAL_MODE = slice(18, 20)
"""The bytes of the header that say whether there is a write-ahead log."""
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
_DENIED = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA)


def read_sqlite(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{sheets, tables}``: for each table a sheet whose first row has the column names, and
    its ``count`` of rows; with ``query`` the one sheet that it gives.

    What a program that still runs has written into its write-ahead log (``wal``) counts too.
    """
    data = whole(file)
    if not data.startswith(b"SQLite format 3\0"):
        raise DamagedError("no SQLite database")
    descriptor = request.get("wal")
    wal = b"" if descriptor is None else os.fdopen(descriptor, "rb").read()
    try:
        with _open(data, wal, request.get("folder")) as database:
            return _read(database, request.get("query"))
    except sqlite3.Error as error:
        raise DamagedError(str(error)) from None


@contextmanager
def _open(data: bytes, wal: bytes, folder: str | None) -> Iterator[sqlite3.Connection]:
    """Open a copy of a database: in memory, or with its log in ``folder``."""
    if wal:
        assert folder is not None, "a log is read with a folder for the copy"
        path = Path(folder) / "copy"
        path.write_bytes(data)
        path.with_name(path.name + "-wal").write_bytes(wal)
        with closing(sqlite3.connect(path)) as database:
            yield database
        return
    alone = bytearray(data)
    alone[_JOURNAL_MODE] = b"\1\1"  # a copy in memory has no log beside it
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(bytes(alone))
        yield database


def _read(database: sqlite3.Connection, query: str | None) -> Facts:
    """Return the rows of a query, or of all tables with their counts. The database can't be written
    to."""
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    database.execute("PRAGMA query_only = 1")
    names = [name for (name,) in database.execute(_TABLES)]
    database.set_authorizer(_authorize)
    if query is not None:
        result = _rows(database, "", query)
        return {"sheets": [result], "cut": "more" in result}
    sheets = []
    for name in names[:MAX_TABLES]:
        quoted = '"' + name.replace('"', '""') + '"'
        (count,) = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()
        sheets.append(_rows(database, name, f"SELECT * FROM {quoted}") | {"count": count})
    cut = len(names) > MAX_TABLES or any("more" in table for table in sheets)
    return {"sheets": sheets, "tables": names, "cut": cut}


def _authorize(action: int, *_: object) -> int:
    """Allow SQLite to do what only reads; anything else is denied."""
    return sqlite3.SQLITE_DENY if action in _DENIED else sqlite3.SQLITE_OK


def _rows(database: sqlite3.Connection, name: str, query: str) -> Facts:
    """Return the sheet of a query's result; ``more``: it has more than `MAX_ROWS` rows."""
    cursor = database.execute(query)
    columns = [column[0] for column in cursor.description or ()]
    rows = [[_cell(cell) for cell in row] for row in cursor.fetchmany(MAX_ROWS + 1)]
    facts = sheet(name, [columns, *rows[:MAX_ROWS]])
    if len(rows) > MAX_ROWS:
        facts["more"] = True
    return facts


def _cell(value: object) -> object:
    """Return a cell as JSON can hold it; bytes as SQL writes them, up to 64."""
    return f"x'{value[:64].hex()}'" if isinstance(value, bytes) else value
