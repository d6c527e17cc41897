"""Tables written as text."""

from __future__ import annotations

import csv
import io
from typing import Any, BinaryIO

from agentd.readers.bounds import MAX_ITEMS, DamagedError
from agentd.readers.request import Facts, ReadRequest
from agentd.readers.texts import decode_text


def read_csv(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{sheets: [{name, rows, size}]}``: one nameless sheet of texts.

    Its cells are parted by tab, semicolon, bar or comma, whichever the file has.
    """
    text = decode_text(file)
    lines = io.StringIO(text, newline="")  # only a newline ends a row, and none within quotes does
    reader = csv.reader(
        lines, delimiter=_guess_delimiter(text), quotechar='"', doublequote=True, strict=True
    )
    try:
        return {"sheets": [sheet("", list(reader))]}
    except csv.Error as error:
        raise DamagedError(str(error)) from None


def _guess_delimiter(text: str) -> str:
    """Return what separates the cells of a text; a comma where nothing tells."""
    # Nothing else of the sniffer's guess is used: a beginning without "" does not say that there is
    # none.
    try:
        return csv.Sniffer().sniff(text[:8192], ",;\t|").delimiter
    except csv.Error:
        return ","


def sheet(name: str, rows: list[list[Any]]) -> Facts:
    """Return a sheet as facts; ``size``: its rows and columns, of which `MAX_ITEMS` are in it."""
    size = [len(rows), max(map(len, rows), default=0)]
    return {"name": name, "rows": rows[: MAX_ITEMS + 1], "size": size}
