"""What a list of episodes comes to as a file: its rows as CSV, its episodes as Parquet tables or as
recordings."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from api.core.errors import InvalidError
from api.episodes.search import EpisodeQuery, Search
from api.episodes.store import describe
from api.exporting.rows import tables
from api.exporting.stored import of_store, recording
from api.http.dependencies import DatabasePart, SearchPart
from api.pages.listing import ListFilters, wanted_of
from api.pages.viewer import Viewer, ViewerStream
from api.pages.zipping import as_file, stream_archive, whole
from api.rescoring.corpus import Corpus, StoredEpisode
from common.scratch import scratch_folder

TOGETHER = 500
MAX_EPISODES = 1_000
"""Episodes in one file of recordings or of Parquet tables; `milestoned export` has no limit."""
GAMMA = 0.99
_COLUMNS = (
    "episode",
    "task",
    "version",
    "digest",
    "seed",
    "status",
    "success",
    "total",
    "step",
    "through",
    "opened_at",
    "closed_at",
    "labels",
)
_RISKY = ("=", "+", "-", "@", "\t", "\r")

router = APIRouter(include_in_schema=False)


@router.get("/episodes/export")
async def export(
    who: Viewer,
    asked: ListFilters,
    search: SearchPart,
    database: DatabasePart,
    stream: ViewerStream,
    form: Annotated[Literal["csv", "parquet", "recordings"], Query(alias="format")] = "csv",
) -> Response:
    """All that the filters of the list select, in its order, as ``?format=``."""
    wanted = wanted_of(who.tenant, asked)
    if form == "csv":
        # What is refused is, before the answer begins.
        first = await search.page(wanted, TOGETHER)
        told = _csv(search, wanted, *first)
        return stream.file(told, as_file("episodes.csv"), "text/csv; charset=utf-8")
    rows, more = await search.page(wanted, MAX_EPISODES)
    if more is not None:
        raise InvalidError(
            f"episodes: more than {MAX_EPISODES} are selected, wanted fewer; `milestoned export`"
            " has no limit"
        )
    closed = [row for row in rows if row.status == "closed"]
    if not closed:
        raise InvalidError("episodes: none that is closed is selected, wanted one at least")
    stored = whole(Corpus(database), closed)
    files = _recordings(stored) if form == "recordings" else _parquet(stored)
    return await stream_archive(f"{form}.zip", files, stream)


async def _csv(
    search: Search, wanted: EpisodeQuery, rows: Sequence[Any], following: Any
) -> AsyncIterator[bytes]:
    """Yield the found episodes as lines of CSV, page by page."""
    yield (",".join(_COLUMNS) + "\r\n").encode()
    while True:
        out = io.StringIO()
        csv.writer(out).writerows(_line(row) for row in rows)
        yield out.getvalue().encode()
        if following is None:
            return
        rows, following = await search.page(wanted._replace(after=following), TOGETHER)


def _line(row: Any) -> list[Any]:
    told = describe(row) | {"labels": row.labels}
    return [_plain(told[name]) for name in _COLUMNS]


def _plain(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is told to be one: labels come from
    outside."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_RISKY) else value


async def _recordings(stored: AsyncIterator[StoredEpisode]) -> AsyncIterator[tuple[str, bytes]]:
    async for one in stored:
        yield f"{one.row.id}.mrec", recording(one)


async def _parquet(stored: AsyncIterator[StoredEpisode]) -> AsyncIterator[tuple[str, bytes]]:
    """Yield the tables' files of the found episodes. Raises `InvalidError` without pyarrow."""
    try:
        from api.exporting.parquet import write
    except ImportError:
        raise InvalidError(
            "format: parquet takes pyarrow; wanted `pip install 'milestoned[export]'`"
        ) from None
    loop = asyncio.get_running_loop()

    def each() -> Iterator[Any]:
        # The writer asks for the next episode from its thread, and the database answers on the
        # loop.
        while (one := asyncio.run_coroutine_threadsafe(_next(stored), loop).result()) is not None:
            yield tables([of_store(one)], [GAMMA])

    with scratch_folder("milestoned-tables-") as folder:
        await asyncio.to_thread(write, folder, each())
        for path in await asyncio.to_thread(_written_files, folder):
            yield path.name, await asyncio.to_thread(path.read_bytes)


def _written_files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def _next(stored: AsyncIterator[StoredEpisode]) -> StoredEpisode | None:
    return await anext(stored, None)
