"""One database behind two doors: many readers, one writer.

SQLite has a single writer. A queue of our own in front of it costs nothing and never times out,
where its own lock would be polled. Postgres has as many as there are connections; rows are locked
by whoever needs them. A full disk, a locked or a lost database is `UnavailableError`: the
transaction is rolled back, the caller may try again.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any
from weakref import WeakSet

import aiosqlite
from sqlalchemy import Connection, Engine, Executable, create_engine, event, func, select
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, InterfaceError, InvalidatePoolError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, StaticPool

from api.core.errors import InvalidError, UnavailableError
from api.db.held_connections import HeldConnections
from api.db.sqlite_files import SqliteFiles

READS, SINGLE_WRITES, TRANSACTIONS, SESSIONS = 5, 4, 8, 3
"""Connections of one replica to Postgres by what they are for, so that whoever waits for a row's
lock keeps no reader waiting. Of the service three use a session, one each (`Database.alone`)."""
CONNECTIONS = READS + SINGLE_WRITES + TRANSACTIONS + SESSIONS
Borrow = Callable[[], AbstractAsyncContextManager[AsyncConnection]]
"""Lends a connection for a block."""
# Reads are single statements, each its own snapshot: autocommit spares them two round trips.
_AUTOCOMMIT: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT", "pool_reset_on_return": None}
_NO_TEXT = ("22021", "22P05")
_TOO_LONG = ("22001", "22003")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BUSY_MS = 5_000
"""How long SQLite waits for another process's write, such as a backup's or a migration's."""
END_S = 5.0
"""How long `Database.close` waits for threads of connections that others hold or gave up."""


def now(later: timedelta = timedelta()) -> str:
    """The time for people, ``later`` than it is: UTC, to the millisecond, in texts that sort as
    time."""
    return (datetime.now(UTC) + later).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def file_of(url: str) -> Path | None:
    """The file of SQLite's that ``url`` names."""
    found = make_url(url)
    return Path(found.database) if found.get_backend_name() == "sqlite" and found.database else None


def is_missing(url: str) -> bool:
    """Whether ``url`` names a file of SQLite's that is not there; opening it would make it."""
    file = file_of(url)
    return file is not None and not file.is_file()


class Database:
    """Connections of one service. `close` it; it holds threads."""

    def __init__(self, url: str, readers: int = 4) -> None:
        self.url = make_url(url)
        if self.embedded and self.url.database:
            path = Path(self.url.database)
            path.parent.mkdir(parents=True, exist_ok=True)
            # It holds what would be right and what it pays. SQLite's other files get the mode of
            # this one.
            if not path.exists():
                path.touch(0o600)
        file = file_of(url)
        self._file = None if file is None else file.absolute()
        self._files = None if self._file is None else SqliteFiles(self._file)
        self._is_rescued = False
        self._threads: WeakSet[Thread] = WeakSet()
        if self.embedded:
            self.writer = self._embedded_engine(1, "BEGIN IMMEDIATE")
            self.reader = self._sessions = self._embedded_engine(readers, None)
            self.engines = [self.writer, self.reader]
            self._held: list[HeldConnections] = []
            self._borrow: Borrow = self.reader.connect
            self._borrow_writer: Borrow = self.writer.begin
        else:
            self.writer = self._server_engine(TRANSACTIONS, in_transactions=True)
            self.reader = self._server_engine(READS)
            self._sessions = self._server_engine(SESSIONS)
            single_writer = self._server_engine(SINGLE_WRITES)
            self.engines = [self.writer, self.reader, single_writer, self._sessions]
            reads = HeldConnections(self.reader, READS)
            writes = HeldConnections(single_writer, SINGLE_WRITES)
            self._held = [reads, writes]
            self._borrow, self._borrow_writer = reads.borrow, writes.borrow
        self._lock = asyncio.Lock() if self.embedded else nullcontext()
        self._pen = ThreadPoolExecutor(1, "sqlite-pen") if self.embedded else None
        self._direct = self._direct_engine() if self.embedded else None

    @property
    def embedded(self) -> bool:
        """Whether the database lives in a file of this service's own: SQLite."""
        return self.url.get_backend_name() == "sqlite"

    def _server_engine(self, size: int, *, in_transactions: bool = False) -> AsyncEngine:
        """Return a pool of connections to Postgres."""
        options = {} if in_transactions else _AUTOCOMMIT
        engine = create_async_engine(self.url, pool_size=size, max_overflow=0, **options)
        event.listen(engine.sync_engine, "checkout", _refuse_closed)
        return engine

    def _embedded_engine(self, size: int, begin: str | None) -> AsyncEngine:
        """Return a pool of connections to SQLite; ``begin`` None: each statement is a transaction
        of its own."""
        engine = create_async_engine(
            self.url,
            poolclass=AsyncAdaptedQueuePool,
            pool_size=size,
            max_overflow=0,
            pool_timeout=30,
            connect_args={"async_creator_fn": self._connect},
            **({} if begin else _AUTOCOMMIT),
        )
        event.listen(engine.sync_engine, "connect", _prepare)
        if begin is not None:
            event.listen(engine.sync_engine, "begin", lambda conn: conn.exec_driver_sql(begin))
        return engine

    async def all(
        self, statement: Executable, values: Mapping[str, object] | None = None
    ) -> Sequence[Any]:
        """Return all rows of one SELECT, in memory."""
        await self._refuse_other_files()
        with translated(self._file):
            async with self._borrow() as conn:
                return (await conn.execute(statement, values)).all()

    async def first(self, statement: Executable, values: Mapping[str, object] | None = None) -> Any:
        """The first row of one SELECT, or None."""
        await self._refuse_other_files()
        with translated(self._file):
            async with self._borrow() as conn:
                return (await conn.execute(statement, values)).first()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection for a few SELECTs, each of a snapshot of its own."""
        await self._refuse_other_files()
        with translated(self._file):
            async with self._borrow() as conn:
                yield conn

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncConnection]:
        """A connection that commits each statement, for what belongs to a session."""
        await self._refuse_other_files()
        with translated(self._file):
            async with self._sessions.connect() as conn:
                yield conn

    async def check_file(self) -> None:
        """Read SQLite's whole file and compare its structure; of a server nothing. Raises
        `UnavailableError` that says what is damaged."""
        if not self.embedded:
            return
        async with self.session() as conn:
            found = (await conn.exec_driver_sql("PRAGMA quick_check(1)")).scalar()
        if found != "ok":
            raise UnavailableError(_name_damage(self._file, str(found).replace("\n", " ")))

    @asynccontextmanager
    async def alone(self, key: int) -> AsyncIterator[bool]:
        """Whether this process may do the work of ``key`` until the block ends: of many on one
        Postgres, one at a time may."""
        if self.embedded:
            yield True  # a data folder has one service; see `milestoned serve`
            return
        # The session's lock, not a transaction's: deliveries may take long, and an open transaction
        # holds up others.
        async with self.session() as conn:
            mine = bool((await conn.execute(select(func.pg_try_advisory_lock(key)))).scalar())
            try:
                yield mine
            finally:
                if mine:
                    await conn.execute(select(func.pg_advisory_unlock(key)))

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """The one write transaction: committed when the block ends, rolled back when it raises."""
        with translated(self._file):
            async with self._lock, self.writer.begin() as conn:
                yield conn
        await self._note_sides()
        await self._refuse_other_files()

    async def run(self, work: Callable[[Connection], None], *, single: bool = False) -> None:
        """Run ``work`` in the one write transaction; ``single``: to a server it is one statement,
        which needs none.

        The async driver of SQLite crosses threads three times a statement; here a whole transaction
        crosses once, and costs a quarter. The work is the same on every database.
        """
        with translated(self._file):
            async with self._lock:
                if self._pen is None or self._direct is None:
                    async with self._borrow_writer() if single else self.writer.begin() as conn:
                        await conn.run_sync(work)
                    return
                loop = asyncio.get_running_loop()
                # Shielded: the thread goes on whoever gives up waiting, so its end must not go
                # unseen.
                await asyncio.shield(
                    loop.run_in_executor(self._pen, _in_transaction, self._direct, work)
                )
        await self._note_sides()
        await self._refuse_other_files()

    async def _note_sides(self) -> None:
        """Remember SQLite's log once the pen has it open, which keeps it until `close`."""
        if self._files is None or self._files.is_noted or self._pen is None or self._direct is None:
            return
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._pen, _in_transaction, self._direct, _touch)
        self._files.note_sides()

    async def _refuse_other_files(self) -> None:
        """Raise `UnavailableError` where one of SQLite's files is not the one that was opened: a
        backup was put in its place, or it was removed.

        What is written then goes into a file that nobody can open again. It is asked after each
        write, before anybody is told that it is kept, and before each read. Where the log alone is
        gone, what was kept in it is written into the database first.
        """
        if self._files is None:
            return
        gone = self._files.file.name if self._files.is_main_gone() else None
        if gone is None and (gone := self._files.find_gone_side()) is not None:
            await self._rescue()
        if gone is not None:
            raise UnavailableError(
                f"the database's file {gone} was removed, or another one was put in its place,"
                " while the service ran: restart the service"
            )

    async def _rescue(self) -> None:
        """Write what stands in the log that this process alone has into the database, once; not
        where another process has begun a log of its own."""
        if self._is_rescued or self._files is None or self._files.is_written_by_others():
            return
        if self._pen is None or self._direct is None:
            return
        self._is_rescued = True
        loop = asyncio.get_running_loop()
        with translated(self._file):
            await asyncio.shield(loop.run_in_executor(self._pen, _checkpoint, self._direct))

    def _connect(self, *where: Any, **options: Any) -> aiosqlite.Connection:
        """Return a connection to SQLite, not yet awaited, as SQLAlchemy makes it itself; its thread
        is kept for `close`."""
        connection = aiosqlite.connect(*where, **options)
        thread = connection._thread
        thread.daemon = True
        self._threads.add(thread)
        return connection

    def _direct_engine(self) -> Engine:
        engine = create_engine(self.url.set(drivername="sqlite"), poolclass=StaticPool)
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", lambda conn: conn.exec_driver_sql("BEGIN IMMEDIATE"))
        return engine

    async def close(self) -> None:
        """Close every connection and end its thread.

        A connection whose user was cancelled is closed by its thread alone, which then answers to
        the event loop: while that runs, its end is waited for, at most `END_S`.
        """
        if self._pen is not None and self._direct is not None:
            await asyncio.get_running_loop().run_in_executor(self._pen, self._direct.dispose)
            self._pen.shutdown()
        for held in self._held:
            await held.close()
        for engine in self.engines:
            await engine.dispose()
        if pending := [thread for thread in self._threads if thread.is_alive()]:
            await asyncio.to_thread(_join, pending)


def _join(threads: Sequence[Thread]) -> None:
    """Wait for the end of all ``threads``, at most `END_S` in all."""
    until = time.monotonic() + END_S
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0))


def _touch(conn: Connection) -> None:
    """Read something, so that the connection has SQLite's log open."""
    conn.exec_driver_sql("SELECT 1 FROM sqlite_master LIMIT 1").all()


def _checkpoint(engine: Engine) -> None:
    """Write SQLite's log into its database."""
    raw = engine.raw_connection()  # in a transaction, as others begin one, it is refused
    try:
        raw.cursor().execute("PRAGMA wal_checkpoint(FULL)").fetchall()
    finally:
        raw.close()


def _in_transaction(engine: Engine, work: Callable[[Connection], None]) -> None:
    with engine.begin() as conn:
        work(conn)


@contextmanager
def translated(file: Path | None = None) -> Iterator[None]:
    """Turn a driver's operational errors (disk full, locked, connection lost) into
    `UnavailableError`, and what it says of a damaged ``file`` of SQLite's."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise UnavailableError(f"the database can't be used now: {error.orig}") from error
    except DBAPIError as error:
        if _sqlstate(error) in _NO_TEXT:
            raise InvalidError(
                "text: got a NUL character, which no text in the database can hold"
            ) from error
        if _sqlstate(error) in _TOO_LONG:
            raise InvalidError(
                f"text: {error.orig}; wanted what the database has room for"
            ) from error
        if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            raise UnavailableError(_name_damage(file, str(error.orig))) from error
        if not _passing(error):
            raise
        raise UnavailableError(f"the database can't be used now: {error.orig}") from error
    except OSError as error:
        raise UnavailableError(f"the database can't be reached now: {error}") from error
    except PoolTimeoutError as error:
        raise UnavailableError("the database is busy: no connection came free in 30 s") from error


def _name_damage(file: Path | None, what: str) -> str:
    return (
        f"the database {file}: {what}; expected a whole file of SQLite's: put a backup in its place"
    )


def _passing(error: DBAPIError) -> bool:
    """Whether a driver's error is of a moment: connection lost or refused, deadlock, no room,
    shutting down; or no such role, database or privilege (42501), which an operator mends while the
    service waits.

    By the class of SQLSTATE (Postgres' documentation, appendix A).
    """
    state = _sqlstate(error)
    passing = state == "42501" or state[:2] in ("08", "28", "3D", "40", "53", "55", "57", "58")
    return error.connection_invalidated or passing


def _sqlstate(error: DBAPIError) -> str:
    """Return the server's code of an error, "" where it has none."""
    return str(getattr(error.orig, "sqlstate", None) or "")


def _refuse_closed(connection: Any, _record: object, _proxy: object) -> None:
    """Refuse a connection that the server closed, and with it all others of the pool."""
    # What Postgres closed in between is noticed before it is used, and with it all the others. The
    # driver knows without asking: a ping before each statement (pool_pre_ping) is a round trip for
    # each.
    if connection.driver_connection.is_closed():
        raise InvalidatePoolError


def _prepare(connection: DBAPIConnection, _record: object) -> None:
    """Set a new connection of SQLite up: its journal, waits, and foreign keys."""
    # SQLAlchemy emits BEGIN itself (see the "begin" hook): the driver would do it late, after the
    # first read.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        f"busy_timeout={BUSY_MS}",
        "foreign_keys=ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
