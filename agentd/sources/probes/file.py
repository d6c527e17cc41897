"""The content of a file in a watched directory, read as the files source reads: no link followed,
no time changed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from agentd.sources.files.facts import FileGlance
from agentd.sources.files.troubles import Troubles
from agentd.sources.files.walk import Root, read_only, spot
from agentd.sources.probes.answer import ProbeAnswer, ProbeFailedError, text_of
from detectors.model.kinds.limits import MAX_PROBE_BYTES


class FileProbe:
    """The file's text, or what its JSON says; null where there is no file."""

    def __init__(self, plan: Mapping[str, object], roots: Mapping[str, Path]) -> None:
        self._root = str(plan["root"])
        self._path = str(plan["path"])
        self._as = str(plan.get("as", "text"))
        self._roots = roots

    async def ask(self, budget_s: float) -> ProbeAnswer:
        """Read the file; raises `ProbeFailedError` with why that failed."""
        if self._root not in self._roots:
            raise ProbeFailedError(f"the daemon was given no --files {self._root}=DIR")
        return await asyncio.to_thread(self._read)

    def _read(self) -> ProbeAnswer:
        """Read the file as the probe's answer; null where there is none. Raises
        `ProbeFailedError`."""
        try:
            root = Root(self._root, self._roots[self._root], Troubles())
            with spot(root, self._path) as fd:
                if FileGlance.from_stat(self._path, os.fstat(fd)).what != "file":
                    raise ProbeFailedError(f"{self._path} is no plain file")
                opened = read_only(root, fd)
        except (FileNotFoundError, NotADirectoryError):
            return ProbeAnswer(None)
        except OSError as error:
            raise ProbeFailedError(f"{self._path}: {error.strerror}") from None
        try:
            data = _read(opened)
        finally:
            os.close(opened)
        if len(data) > MAX_PROBE_BYTES:
            return ProbeAnswer(None, cut=True)
        return ProbeAnswer(text_of(data, self._as, self._path))


def _read(opened: int) -> bytes:
    """Read up to one byte more than an answer may have."""
    data = b""
    while len(data) <= MAX_PROBE_BYTES and (
        chunk := os.read(opened, MAX_PROBE_BYTES + 1 - len(data))
    ):
        data += chunk
    return data
