"""Spreadsheets: the values that their program computed last, and the formulas by which it did."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

from agentd.readers.archives import bounded_zip
from agentd.readers.bounds import MAX_ITEMS, DamagedError
from agentd.readers.tables import sheet
from agentd.readers.texts import whole

MAX_SHEETS = 32
MAX_COLUMNS = 256
MAX_FORMULAS = MAX_ITEMS + 1
"""One more than is told, so that it is told cut."""
UNREADABLE = (
    KeyError, ValueError, TypeError, AttributeError, IndexError, zipfile.BadZipFile, EOFError, SyntaxError,
    NotImplementedError, RuntimeError, OSError, zlib.error, struct.error,
)  # fmt: skip
"""What libraries raise over a file whose parts do not fit together, are locked or packed in an unknown way: both XML
libraries' errors are a SyntaxError. RecursionError is a RuntimeError too, and heavy: `damaged` lets it through."""


@contextmanager
def damaged(kind: str, *more: type[Exception]) -> Iterator[None]:
    """What a library raises over a bad file as `DamagedError`, ``more`` among it; what is too much
    stays so."""
    bad: tuple[type[Exception], ...] = (*more, *UNREADABLE)
    try:
        yield
    except RecursionError:
        raise
    except bad as error:
        raise DamagedError(f"no {kind}: {error}") from None


def read_xlsx(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{sheets: [{name, rows, size, formulas?, hidden?, frozen?, merged?}], active}``: empty cells
    are null; formulas by cell, as in ``{"B3": "=SUM(B1:B2)"}``."""
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    bounded_zip(file)
    data = whole(file)
    with damaged("xlsx", InvalidFileException):
        computed = load_workbook(io.BytesIO(data), data_only=True, keep_links=False)
        written = load_workbook(io.BytesIO(data), keep_links=False)
        sheets = [_sheet(one, written[one.title]) for one in computed.worksheets[:MAX_SHEETS]]
        active = computed.active.title if computed.active is not None else None
        cut = len(computed.worksheets) > MAX_SHEETS or any(
            _is_wide(one) for one in computed.worksheets
        )
    return {"sheets": sheets, "active": active, "cut": cut}


def _is_wide(one: Any) -> bool:
    """Whether something stands beyond the columns that are told: programs store empty cells there
    for their looks."""
    if one.max_column <= MAX_COLUMNS:
        return False
    return any(
        cell.value is not None for (_, column), cell in one._cells.items() if column > MAX_COLUMNS
    )


def _sheet(one: Any, written: Any) -> dict[str, Any]:
    columns, last = min(one.max_column, MAX_COLUMNS), min(one.max_row, MAX_ITEMS + 1)
    rows = [list(row) for row in one.iter_rows(max_row=last, max_col=columns, values_only=True)]
    cells = (
        cell
        for row in written.iter_rows(max_row=last, max_col=columns)
        for cell in row
        if cell.data_type == "f"
    )
    formulas = {
        cell.coordinate: getattr(cell.value, "text", cell.value)
        for cell in islice(cells, MAX_FORMULAS)
    }
    more: dict[str, Any] = {"formulas": formulas} if formulas else {}
    more |= {"hidden": True} if one.sheet_state != "visible" else {}
    more |= {"frozen": one.freeze_panes} if one.freeze_panes else {}
    more |= (
        {"merged": [str(area) for area in one.merged_cells.ranges]}
        if one.merged_cells.ranges
        else {}
    )
    return sheet(one.title, rows, **more) | {"size": [one.max_row, one.max_column]}


def read_ods(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{sheets: [{name, rows, size}]}``: empty rows and columns at the end are left out."""
    sheets = []
    document = open_document(file, "ods")
    with damaged("ods"):
        tables = document.body.tables
        for table in tables[:MAX_SHEETS]:
            table.rstrip(aggressive=True)
            rows = [list(row)[:MAX_COLUMNS] for row in islice(table.iter_values(), MAX_ITEMS + 1)]
            sheets.append(sheet(table.name, rows) | {"size": [table.height, table.width]})
    return {
        "sheets": sheets,
        "cut": len(tables) > MAX_SHEETS or any(one["size"][1] > MAX_COLUMNS for one in sheets),
    }


def open_document(file: BinaryIO, wanted: str) -> Any:
    """An OpenDocument file. Raises `DamagedError` for one that is none, or of another kind than
    ``wanted``."""
    from odfdo import Document

    bounded_zip(file)
    kinds = {"ods": "spreadsheet", "odt": "text", "odp": "presentation"}
    data = whole(file)
    with damaged(wanted, AssertionError):
        document = Document(io.BytesIO(data))
        kind = document.get_type()
        assert document.body is not None
    if not kind.startswith(kinds[wanted]):
        raise DamagedError(f"no {wanted}: it is a {kind}")
    return document
