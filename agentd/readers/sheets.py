"""Spreadsheets: the values that their program computed last, and the formulas by which it did."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, BinaryIO

from agentd.readers.archives import bounded_zip
from agentd.readers.bounds import MAX_ITEMS, DamagedError
from agentd.readers.request import Facts, ReadRequest, without_empty
from agentd.readers.tables import sheet
from agentd.readers.texts import whole

MAX_SHEETS = 32
MAX_COLUMNS = 256
MAX_FORMULAS = MAX_ITEMS + 1
"""One more than is reported, so that the rest is reported as cut."""
UNREADABLE = (
    KeyError, ValueError, TypeError, AttributeError, IndexError, zipfile.BadZipFile, EOFError,
    SyntaxError, NotImplementedError, RuntimeError, OSError, zlib.error, struct.error,
)  # fmt: skip
"""What libraries raise over a file whose parts do not fit together, are locked or packed in an
unknown way: both XML libraries' errors are a SyntaxError. RecursionError is a RuntimeError too, and
heavy: `damaged` lets it through."""


@contextmanager
def damaged(kind: str, *more: type[Exception]) -> Iterator[None]:
    """Raise what a library raises over a bad file as `DamagedError`; ``more``: errors of its own.

    What is too much for the stack stays as it is.
    """
    bad: tuple[type[Exception], ...] = (*more, *UNREADABLE)
    try:
        yield
    except RecursionError:
        raise
    except bad as error:
        raise DamagedError(f"no {kind}: {error}") from None


def read_xlsx(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{sheets: [{name, rows, size, formulas?, bold?, hidden?, frozen?, merged?}],
    active}``.

    Empty cells are null; formulas are named by their cells, as in ``{"B3": "=SUM(B1:B2)"}``, and so
    are cells in bold, as in ``{"A1": true}``.
    """
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    bounded_zip(file)
    data = whole(file)
    with damaged("xlsx", InvalidFileException):
        computed = load_workbook(io.BytesIO(data), data_only=True, keep_links=False)
        written = load_workbook(io.BytesIO(data), keep_links=False)
        pages = computed.worksheets
        return {
            "sheets": [_sheet(page, written[page.title]) for page in pages[:MAX_SHEETS]],
            "active": computed.active.title if computed.active is not None else None,
            "cut": len(pages) > MAX_SHEETS or any(map(_is_wide, pages)),
        }


def _is_wide(page: Any) -> bool:
    """Return whether something stands beyond the columns that are reported.

    Empty cells there do not count: programs store them for their looks.
    """
    if page.max_column <= MAX_COLUMNS:
        return False
    return any(
        cell.value is not None for (_, column), cell in page._cells.items() if column > MAX_COLUMNS
    )


def _sheet(page: Any, written: Any) -> Facts:
    """Return the facts of a sheet: ``page`` has its values, ``written`` its formulas."""
    area = {
        "max_row": min(page.max_row, MAX_ITEMS + 1),
        "max_col": min(page.max_column, MAX_COLUMNS),
    }
    rows = [list(row) for row in page.iter_rows(**area, values_only=True)]
    looks = {
        "formulas": _formulas(written.iter_rows(**area)),
        "bold": _bold(page.iter_rows(**area)),
        "hidden": page.sheet_state != "visible",
        "frozen": page.freeze_panes,
        "merged": [str(merged) for merged in page.merged_cells.ranges],
    }
    size = [page.max_row, page.max_column]
    return sheet(page.title, rows) | without_empty(looks) | {"size": size}


def _formulas(rows: Iterable[Iterable[Any]]) -> dict[str, Any]:
    """Return the first `MAX_FORMULAS` formulas by their cells."""
    cells = (cell for cell in chain.from_iterable(rows) if cell.data_type == "f")
    return {
        cell.coordinate: getattr(cell.value, "text", cell.value)
        for cell in islice(cells, MAX_FORMULAS)
    }


def _bold(rows: Iterable[Iterable[Any]]) -> dict[str, bool]:
    """The cells with something in them that are set in bold."""
    cells = chain.from_iterable(rows)
    found = (cell.coordinate for cell in cells if cell.value is not None and cell.font.b)
    return dict.fromkeys(islice(found, MAX_FORMULAS), True)


def read_ods(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{sheets: [{name, rows, size}]}``; empty rows and columns at the end are left out."""
    document = open_document(file, "ods")
    with damaged("ods"):
        tables = document.body.tables
        sheets = [_ods_sheet(table) for table in tables[:MAX_SHEETS]]
    is_wide = any(facts["size"][1] > MAX_COLUMNS for facts in sheets)
    return {"sheets": sheets, "cut": len(tables) > MAX_SHEETS or is_wide}


def _ods_sheet(table: Any) -> Facts:
    """Return a sheet's rows up to the bounds, and its size in rows and columns."""
    table.rstrip(aggressive=True)
    rows = [list(row)[:MAX_COLUMNS] for row in islice(table.iter_values(), MAX_ITEMS + 1)]
    return sheet(table.name, rows) | {"size": [table.height, table.width]}


def open_document(file: BinaryIO, wanted: str) -> Any:
    """Open an OpenDocument file as odfdo's Document; ``wanted``: ods, odt or odp, of which a
    drawing is one too.

    Raises `DamagedError` for one that is none, or of another kind.
    """
    from odfdo import Document

    bounded_zip(file)
    kinds = {
        "ods": ("spreadsheet",),
        "odt": ("text",),
        "odp": ("presentation", "drawing", "graphics"),
    }
    data = whole(file)
    with damaged(wanted, AssertionError):
        document = Document(io.BytesIO(data))
        kind = document.get_type()
        assert document.body is not None
    if not kind.startswith(kinds[wanted]):
        raise DamagedError(f"no {wanted}: it is a {kind}")
    return document
