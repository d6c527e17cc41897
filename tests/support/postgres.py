"""Debian's Postgres for tests: a data folder and a port of its own, ended by its pid; a fresh
database for each test.

Postgres refuses to run as root: then it runs as Debian's user ``postgres``.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import psutil
import pytest

from tests.support.ports import free_port

START_S = 60.0
_FAST = ("fsync=off", "full_page_writes=off", "max_connections=200")
"""What is lost when the machine dies need not be kept by a test; tests of crashes kill processes, not machines."""
_MEMORY = Path("/dev/shm")
_MEMORY_NEEDED = 1 << 30
"""A server that drops its databases keeps about 100 MB; Docker's own /dev/shm of 64 MB is too small for any."""


def programs() -> Path | None:
    """The folder of initdb and postgres, of the newest version that is installed."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    return found[-1].parent if found else None


needs_postgres = pytest.mark.skipif(programs() is None, reason="Postgres is missing")


def _in_memory() -> bool:
    # A database is 430 files: made and removed in memory in a third of the time that a disk takes.
    return (
        _MEMORY.is_dir()
        and os.access(_MEMORY, os.W_OK)
        and shutil.disk_usage(_MEMORY).free >= _MEMORY_NEEDED
    )


class Postgres:
    """One running server, reached over loopback by the user ``postgres``; `database` makes a new
    one. Its data are in memory where there is room, unless the caller names a folder or settings of
    its own: what benchmarks measure is a disk's."""

    def __init__(self, folder: Path | None = None, settings: Sequence[str] = _FAST) -> None:
        self._settings = settings
        memory = folder is None and settings is _FAST and _in_memory()
        self._folder = folder or Path(
            tempfile.mkdtemp(prefix="milestoned-postgres-", dir=_MEMORY if memory else None)
        )
        self._folder.mkdir(exist_ok=True)
        # Copying files is the quicker way in memory; on a disk it is the slower one, for its
        # checkpoints.
        self._copying = " STRATEGY FILE_COPY" if memory else ""
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def pid(self) -> int:
        """The server's process."""
        assert self._process is not None, "the server was not started"
        return self._process.pid

    def __enter__(self) -> Postgres:
        if os.getuid() == 0:
            shutil.chown(self._folder, "postgres", "postgres")
        self._run(
            "initdb",
            "--pgdata",
            self._data,
            "--username=postgres",
            "--auth=trust",
            "--no-sync",
            "--no-locale",
            "-E",
            "UTF8",
        )
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        # Hundreds of databases are hundreds of thousands of files.
        subprocess.run(["rm", "-rf", str(self._folder)], check=False)

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def start(self) -> None:
        """Start the server, after a stop or a kill on the same port over the same data, and wait
        until it answers."""
        self.port = self.port or free_port()
        settings = [
            f"-c{one}"
            for one in (
                *self._settings,
                f"port={self.port}",
                "listen_addresses=127.0.0.1",
                f"unix_socket_directories={self._folder}",
            )
        ]
        deadline = time.monotonic() + START_S
        self._launch(settings)
        while self._sql("SELECT 1").returncode != 0:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"Postgres did not start: {(self._folder / 'log').read_text()[-2000:]}"
                )
            if self._process is None or self._process.poll() is not None:
                self._launch(
                    settings
                )  # the children of one that was killed may still hold its memory
            time.sleep(0.05)

    def _launch(self, settings: list[str]) -> None:
        with (self._folder / "log").open("ab") as log:
            command = [*_as_user(), str(_programs() / "postgres"), "-D", self._data, *settings]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder
            )

    def kill(self) -> None:
        """kill -9 of the postmaster; returns when its children have noticed, too: until then they
        answer as before."""
        children = psutil.Process(self.pid).children(recursive=True)
        os.kill(self.pid, signal.SIGKILL)
        assert self._process is not None
        self._process.wait()
        psutil.wait_procs(children, timeout=30)

    def stop(self) -> None:
        """End the server at once, without waiting for its clients."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()

    def database(self, like: str = "") -> str:
        """A new database, empty or with all that is in the one at ``like``; its address for
        SQLAlchemy."""
        name = f"t{uuid.uuid4().hex}"
        template = f" TEMPLATE {like.rpartition('/')[2]}" if like else ""
        made = self._sql(f"CREATE DATABASE {name}{template}{self._copying}")
        assert made.returncode == 0, made.stderr
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def drop(self, address: str) -> None:
        """Remove the database at ``address``, whoever is still connected."""
        dropped = self._sql(f"DROP DATABASE {address.rpartition('/')[2]} WITH (FORCE)")
        assert dropped.returncode == 0, dropped.stderr

    def put_back(self, address: str, backup: str) -> None:
        """Put a copy of the database at ``backup`` in the place of the one at ``address``."""
        self.drop(address)
        name, copied = (one.rpartition("/")[2] for one in (address, backup))
        made = self._sql(f"CREATE DATABASE {name} TEMPLATE {copied}{self._copying}")
        assert made.returncode == 0, made.stderr

    def ask(self, statement: str, name: str) -> str:
        """The one value that a query gives in the database ``name``."""
        asked = self._sql(statement, name=name)
        assert asked.returncode == 0, asked.stderr
        return asked.stdout.strip()

    def try_in(self, name: str, *statements: str) -> bool:
        """Whether all of the statements could be carried out in the database ``name``."""
        return self._sql(*statements, name=name).returncode == 0

    def _sql(self, *statements: str, name: str = "postgres") -> subprocess.CompletedProcess[str]:
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", name]
        said = [part for statement in statements for part in ("-c", statement)]
        return subprocess.run(
            [_programs() / "psql", *where, "-qAt", "-v", "ON_ERROR_STOP=1", *said],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )

    def _run(self, program: str, *arguments: str) -> None:
        command = [*_as_user(), str(_programs() / program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._folder)


def _programs() -> Path:
    found = programs()
    assert found is not None, "Postgres is missing"
    return found


def _as_user() -> list[str]:
    # setpriv replaces itself, so that the process started is Postgres and its pid the one to end.
    return (
        ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        if os.getuid() == 0
        else []
    )
