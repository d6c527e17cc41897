"""What a list of episodes comes to as a file: its rows as CSV, its episodes as Parquet tables or as recordings."""

from __future__ import annotations

import asyncio
import csv
import io
import tempfile
import zipfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from api.errors import InvalidError
from api.exporting.rows import tables
from api.exporting.stored import of_store
from api.pages.listing import asked_of, wanted_of
from api.pages.render import HEADERS
from api.pages.viewer import viewer
from api.parts import Parts
from api.routes.support import parts_of
from api.store.corpus import Corpus, Stored
from api.store.episodes import describe
from api.store.search import Wanted

TOGETHER = 500
MOST = 1_000
"""Episodes in one file of recordings or of Parquet tables; `milestoned export` has no limit."""
GAMMA = 0.99
FORMATS = ("csv", "parquet", "recordings")
_COLUMNS = (
    "episode", "task", "version", "digest", "seed", "status", "success", "total", "step", "through", "opened_at",
    "closed_at", "labels",
)  # fmt: skip
_RISKY = ("=", "+", "-", "@", "\t", "\r")

router = APIRouter(include_in_schema=False)


@router.get("/episodes/export")
async def export(request: Request) -> Response:
    """All that the filters of the list select, in its order, as ``?format=``."""
    who = await viewer(request)
    parts, form = parts_of(request), request.query_params.get("format", "csv")
    if form not in FORMATS:
        raise InvalidError(f"format: got {form[:40]!r}, wanted {', '.join(FORMATS)}")
    wanted = wanted_of(who.tenant, asked_of(request), {})
    if form == "csv":
        return StreamingResponse(_csv(parts, wanted), 200, _as_file("episodes.csv"), "text/csv; charset=utf-8")
    rows, more = await parts.search.page(wanted, MOST)
    if more is not None:
        raise InvalidError(f"episodes: more than {MOST} are selected, wanted fewer; `milestoned export` has no limit")
    closed = [row for row in rows if row.status == "closed"]
    if not closed:
        raise InvalidError("episodes: none that is closed is selected, wanted one at least")
    stored = await Corpus(parts.database).whole(closed)
    made = await asyncio.to_thread(_recordings if form == "recordings" else _parquet, stored)
    return Response(made, 200, _as_file(f"{form}.zip"), "application/zip")


def _as_file(name: str) -> dict[str, str]:
    return {**HEADERS, "content-disposition": f'attachment; filename="{name}"'}


async def _csv(parts: Parts, wanted: Wanted) -> AsyncIterator[bytes]:
    yield (",".join(_COLUMNS) + "\r\n").encode()
    while True:
        rows, following = await parts.search.page(wanted, TOGETHER)
        out = io.StringIO()
        csv.writer(out).writerows(_line(row) for row in rows)
        yield out.getvalue().encode()
        if following is None:
            return
        wanted = wanted._replace(after=following)


def _line(row: Any) -> list[Any]:
    told = describe(row) | {"labels": row.labels}
    return [_plain(told[name]) for name in _COLUMNS]


def _plain(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is told to be one: labels come from outside."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_RISKY) else value


def _recordings(stored: Sequence[Stored]) -> bytes:
    return _zipped([(f"{one.row.id}.mrec", one.content) for one in stored])


def _parquet(stored: Sequence[Stored]) -> bytes:
    try:
        from api.exporting.parquet import write
    except ImportError:
        raise InvalidError("format: parquet takes pyarrow; wanted `pip install 'milestoned[export]'`") from None
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), (tables([of_store(one)], [GAMMA]) for one in stored))
        return _zipped([(path.name, path.read_bytes()) for path in sorted(Path(folder).iterdir())])


def _zipped(files: Sequence[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as made:
        for name, content in files:
            made.writestr(name, content)
    return out.getvalue()
