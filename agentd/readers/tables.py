"""Tables written as text."""

from __future__ import annotations

import csv
import io
from typing import Any, BinaryIO

from agentd.readers.bounds import MAX_ITEMS, DamagedError
from agentd.readers.texts import decoded


def read_csv(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{sheets: [{name, rows, size}]}``: one nameless sheet of texts; tab, semicolon or comma,
    whichever it has."""
    text = decoded(file)
    # no more than that is taken from a guess: a beginning without "" does not say that there is
    # none
    try:
        delimiter = csv.Sniffer().sniff(text[:8192], ",;\t|").delimiter
    except csv.Error:
        delimiter = ","
    lines = io.StringIO(text, newline="")  # only a newline ends a row, and none within quotes does
    try:
        rows = list(
            csv.reader(lines, delimiter=delimiter, quotechar='"', doublequote=True, strict=True)
        )
    except csv.Error as error:
        raise DamagedError(str(error)) from None
    return {"sheets": [sheet("", rows)]}


def sheet(name: str, rows: list[list[Any]], **more: Any) -> dict[str, Any]:
    """A sheet as facts; ``size``: its rows and columns, of which the first `MAX_ITEMS` are told."""
    size = [len(rows), max(map(len, rows), default=0)]
    return {"name": name, "rows": rows[: MAX_ITEMS + 1], "size": size, **more}
