"""Takes signed notes out of the database: to a file that only grows, or to an HTTP endpoint.

A note is delivered at least once: a crash between the delivery and its record repeats the same
bytes.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from common.plain_answers import ASYNC_HOOKS, HEADERS

TIMEOUT_S = 10.0


class DeliveryError(Exception):
    """A note could not be delivered now; it is tried again."""


class Delivery(Protocol):
    """Where checkpoints go."""

    async def send(self, note: str) -> None:
        """Deliver one note; it is safe once this returns. Raises `DeliveryError`."""

    async def close(self) -> None:
        """Let go of what is held."""


class ToFile:
    """Appends each note and an empty line, on the disk when it returns."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def send(self, note: str) -> None:
        """Append the note to the file, flushed to the disk."""
        try:
            await asyncio.to_thread(self._append, f"{note}\n".encode())
        except OSError as error:
            raise DeliveryError(f"{self._path}: {error.strerror}") from error

    async def close(self) -> None:
        """Do nothing: no file is open between notes."""

    def _append(self, data: bytes) -> None:
        """Append to the file and wait for the disk; what fits only in part is taken back. Raises
        OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o644)
        try:
            size = os.fstat(file).st_size
            try:
                written = os.write(file, data)
                os.fsync(file)
            except OSError:
                os.ftruncate(file, size)
                raise
            if written != len(data):
                # Half a note would hide the next one behind it.
                os.ftruncate(file, size)
                raise OSError(28, "only a part of the note fitted on the disk")
        finally:
            os.close(file)


class ToUrl:
    """POSTs each note as text; any 2xx is an acknowledgement."""

    def __init__(self, url: str) -> None:
        self._url = url
        at = urlsplit(url)  # what is said of it bears no password
        self._said = f"{at.scheme}://{at.hostname}{at.path}"
        self._client = httpx.AsyncClient(
            timeout=TIMEOUT_S, trust_env=False, headers=HEADERS, event_hooks=ASYNC_HOOKS
        )

    async def send(self, note: str) -> None:
        """POST the note. Raises `DeliveryError` for any answer but 2xx."""
        headers = {"content-type": "text/plain; charset=utf-8"}
        try:
            answer = await self._client.post(self._url, content=note.encode(), headers=headers)
        except httpx.HTTPError as error:
            raise DeliveryError(f"{self._said}: {str(error) or type(error).__name__}") from error
        if not answer.is_success:
            raise DeliveryError(f"{self._said}: answered {answer.status_code}, wanted 2xx")

    async def close(self) -> None:
        """Close the connections that are kept open."""
        await self._client.aclose()


def delivery_of(where: str) -> Delivery | None:
    """The delivery that ``--checkpoints`` names: none, an address or a file."""
    if not where:
        return None
    return ToUrl(where) if where.startswith(("http://", "https://")) else ToFile(Path(where))
