"""A zip archive as an answer, made in a file that has no name: of all that is in it only one part
is in memory."""

from __future__ import annotations

import asyncio
import tempfile
import zipfile
from collections.abc import AsyncIterator, Iterable
from typing import IO

from fastapi import Response

from api.episodes.rows import EpisodeRow
from api.http.streams import AuthorizedStream
from api.pages.render import HEADERS
from api.rescoring.corpus import Corpus, StoredEpisode

TOGETHER = 8
"""Episodes that are in memory at once: one may hold a hundred megabytes of pictures."""
PIECE = 1 << 20


def as_file(name: str) -> dict[str, str]:
    """The headers of what is to be saved under ``name``."""
    return {**HEADERS, "content-disposition": f'attachment; filename="{name}"'}


async def stream_archive(
    name: str, files: AsyncIterator[tuple[str, bytes]], stream: AuthorizedStream
) -> Response:
    """The archive ``name`` with these files in it, in their order."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115  # it is closed when the answer is over
    with zipfile.ZipFile(spool, "w", zipfile.ZIP_STORED) as made:
        async for path, content in files:
            await asyncio.to_thread(made.writestr, _entry(path), content)
    headers = {**as_file(name), "content-length": str(spool.tell())}
    spool.seek(0)
    return stream.file(_pieces(spool), headers, "application/zip")


def _entry(path: str) -> zipfile.ZipInfo:
    """Return an entry without a time of its own: the same files are the same bytes, whenever they
    are asked for."""
    made = zipfile.ZipInfo(path)
    made.external_attr = 0o600 << 16
    return made


async def _pieces(spool: IO[bytes]) -> AsyncIterator[bytes]:
    with spool:
        while piece := await asyncio.to_thread(spool.read, PIECE):
            yield piece


async def whole(corpus: Corpus, rows: Iterable[EpisodeRow]) -> AsyncIterator[StoredEpisode]:
    """Everything that is kept of these episodes, one after the other; of those that are deleted
    meanwhile nothing."""
    listed = list(rows)
    for at in range(0, len(listed), TOGETHER):
        for one in await corpus.existing(listed[at : at + TOGETHER]):
            yield one
