"""The file of results: a header with the sha256 of the file, then a line an episode, in order. It
is also how a run that was killed goes on.

While a run writes, the file is ``FILE.part``; its lines are what is done already. A torn last line
is cut off. When all is done it becomes ``FILE``. The bytes depend on the episodes and the rulesets
alone: not on the workers, not on whether the run was interrupted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import orjson

from common.regular_file import open_regular
from detectors.model.codec import canonical

FORMAT = 2
MAX_HEADER = 4_096
"""Bytes of a first line that are looked at, of a file that may be none of results."""
_UNFINISHED = "0" * 64
"""In the place of the digest, while lines are still added."""


class ResultsError(ValueError):
    """A results file is not one, or not of this run; the message says where and why."""


class Results:
    """Writes one results file; ``plan`` is the digest of what is scored by what. Use as a context
    manager.

    ``force``: also in the place of a file that holds no results. ``begun``: an earlier run is gone
    on with.
    """

    def __init__(self, path: Path, plan: str, *, force: bool = False) -> None:
        self._force = force
        self._path, self._part = path, path.with_name(path.name + ".part")
        self._plan = plan
        self._file: BinaryIO | None = None
        self.begun = False

    def __enter__(self) -> Results:
        """Open the file, new or to go on with. Raises `ResultsError` for one of another run."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not (self._force or _is_replaceable(self._path)):
            raise ResultsError(
                f"--out {self._path}: is there and holds no results of a rescore; expected another"
                " file, or --force to replace it"
            )
        if self._part.exists():
            open_regular(self._part).close()
        self._file = self._part.open("a+b")
        self._file.seek(0)
        header = self._file.readline()
        started = _header(self._plan, _UNFINISHED)
        if not header.endswith(b"\n") and started.startswith(header):
            self._file.truncate(0)
            self._file.write(started)
        elif _without_digest(header) != started:
            self._file.close()
            raise ResultsError(
                f"{self._part}: was begun by a run over other episodes, rules or options; remove it"
                " to begin anew"
            )
        else:
            self.begun = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self._file is not None
        self._file.close()

    def finished_lines(self) -> Iterator[bytes]:
        """The lines of the run so far, once; what comes after the last whole one is cut off."""
        assert self._file is not None
        whole = self._file.tell()
        for line in iter(self._file.readline, b""):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            yield line[:-1]
        self._file.truncate(whole)

    def add(self, line: bytes) -> None:
        """Append one more line, without its end of line, to the file."""
        assert self._file is not None
        self._file.write(line + b"\n")

    def flush(self) -> None:
        """What was added outlives this process."""
        assert self._file is not None
        self._file.flush()

    def finish(self) -> None:
        """All is done: the file gets its name."""
        assert self._file is not None
        self._file.flush()
        with self._part.open("r+b") as written:
            written.write(_header(self._plan, _UNFINISHED))
            written.seek(0)
            digest = hashlib.file_digest(written, "sha256").hexdigest()
            written.seek(0)
            written.write(_header(self._plan, digest))
            written.flush()
            os.fsync(written.fileno())
        self._part.replace(self._path)


class Kept:
    """An earlier results file, looked up by what was scored: the sha256 of an episode's frames."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at: dict[str, tuple[int, str]] = {}
        """content → (place of its line, name)"""
        try:
            with open_regular(path) as file:
                self._read(file)
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise ResultsError(
                f"{path}: not a results file: {type(error).__name__}: {error}"
            ) from None

    def _read(self, file: BinaryIO) -> None:
        """Note where each episode's result stands. Raises `ResultsError` for a file that was
        changed."""
        first = file.readline()
        header: Any = orjson.loads(first)
        if header["milestoned"] != "results" or header["format"] != FORMAT:
            raise ResultsError(
                f"{self._path}: wanted results of format {FORMAT}, got {str(header)[:120]}"
            )
        digest = hashlib.sha256(_without_digest(first))
        place = file.tell()
        for line in iter(file.readline, b""):
            digest.update(line)
            told = orjson.loads(line)
            self._at[told["content"]] = (place, told["name"])
            place += len(line)
        if header["sha256"] != digest.hexdigest():
            raise ResultsError(
                f"{self._path}: sha256: expected {str(header['sha256'])[:64]}, got"
                f" {digest.hexdigest()}: it was cut off or changed"
            )

    def result(self, content: str) -> bytes | None:
        """The result of the episode with these frames, None where there is none."""
        found = self._at.get(content)
        if found is None:
            return None
        with open_regular(self._path) as file:
            file.seek(found[0])
            told = orjson.loads(file.readline())
        return None if told["result"] is None else canonical(told["result"])

    def names(self) -> dict[str, str]:
        """The name of each episode, by its content."""
        return {content: name for content, (_, name) in self._at.items()}


def _is_replaceable(path: Path) -> bool:
    """Whether there is no file, an empty one, or one of results."""
    if not path.exists():
        return True
    with open_regular(path) as file:
        first = file.readline(MAX_HEADER)
    try:
        header = orjson.loads(first or b'{"milestoned":"results"}')
    except orjson.JSONDecodeError:
        return False
    return isinstance(header, dict) and header.get("milestoned") == "results"


def _header(plan: str, digest: str) -> bytes:
    """The first line, as long for every ``digest``, the sha256 of the file before it had one."""
    told = {"milestoned": "results", "format": FORMAT, "plan": plan, "sha256": digest}
    return canonical(told) + b"\n"


def _without_digest(line: bytes) -> bytes:
    """A first line with `_UNFINISHED` in the place of its digest; any other line as it is."""
    end = len(b'"}\n')
    return line[: -end - len(_UNFINISHED)] + _UNFINISHED.encode() + line[-end:]
