"""Cells, rows or formulas of a table are as wanted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from detectors.matchers import IntRange, TextMatch
from detectors.model.codec import canonical
from detectors.model.safe_json import mapping
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import FieldsMatch, arg
from detectors.sdk.file_reads import (
    ReadArgs,
    all_are,
    any_is,
    as_object_list,
    facts_of,
    goes_on,
    is_cut,
    may_go_on,
    read_index,
    read_keys,
    tell_verdict,
    text_is,
    value_text,
)
from detectors.sdk.registry import rule
from detectors.sdk.world import World

_CELL = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
MAX_QUERY = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCellsArgs(ReadArgs):
    sheet: TextMatch | None = arg(
        "The sheet's or database table's name; without it, the first.", None
    )
    cells: FieldsMatch | None = arg(
        "Cells and their values, such as {B2: {number: 12.5}, C2: true}.", None
    )
    row: FieldsMatch | None = arg(
        "Columns, by the first row's names, and their values in some one row below.", None
    )
    table: TextMatch | None = arg(
        "The whole sheet, as {table: [[...], ...]} with its options.", None
    )
    rows: IntRange | None = arg("How many rows there are, the one of names among them.", None)
    formulas: FieldsMatch | None = arg(
        "Cells and their formulas, such as {B9: '=SUM(B2:B8)'}.", None
    )
    query: str | None = arg(
        "SQL that only reads, for a SQLite file; the table is what it gives.", None
    )

    def __post_init__(self) -> None:
        ReadArgs.__post_init__(self)
        parts = (self.cells, self.row, self.table, self.rows, self.formulas)
        if not any(part is not None for part in parts):
            raise ValueError("at least one of cells, row, table, rows, formulas")
        for cells in (self.cells, self.formulas):
            if cells is not None:
                _check_cells(cells)
        if self.query is not None and not 0 < len(self.query) <= MAX_QUERY:
            raise ValueError(f"query: SQL of at most {MAX_QUERY} characters")

    def read_query(self) -> str | None:
        """Return the SQL that the daemon is to read the file with, if any."""
        return self.query


def _check_cells(cells: FieldsMatch) -> None:
    for name, _ in cells.fields:
        if _CELL.fullmatch(name) is None:
            raise ValueError(f"{name}: a cell such as B2")


@rule(
    version=3,
    component="file",
    hears=("file.read",),
    args=TableCellsArgs,
    index_args=read_index,
    index_event=read_keys,
)
def table_cells(event: Event, world: World, args: TableCellsArgs) -> Iterator[Reading]:
    """A spreadsheet, a CSV file, an HTML or document table or a database has the given cells, rows
    or formulas.

    Values of spreadsheets are those that their program stored last. An empty cell is the empty
    text. Where a sheet was not reported whole and the rest decides, as it does for `table` and
    `rows`, the step is null. True until the file is read with other content, or is gone.
    """
    facts = facts_of(event, args)
    if facts is None:
        return
    cut = is_cut(event)
    sheet = _find_sheet(facts, args.sheet)
    if sheet is not None:
        yield from tell_verdict(event, _is_as_expected(sheet, args, cut))
    elif may_go_on(facts, "sheets", cut):
        yield from tell_verdict(event, None)


def _is_as_expected(sheet: Mapping[str, object], args: TableCellsArgs, cut: bool) -> bool | None:
    """Whether the sheet has all that the rule asks for; None where that hangs on what was left out;
    ``cut``: not all of it was told."""
    rows = [as_object_list(row) for row in as_object_list(sheet.get("rows"))]
    size = as_object_list(sheet.get("size"))
    is_partial = cut or sheet.get("more") is True
    values = _has_values(sheet, rows, args, is_partial)
    return all_are((values, _has_size(rows, size, args, is_partial)))


def _has_size(
    rows: Sequence[Sequence[object]], size: Sequence[object], args: TableCellsArgs, cut: bool
) -> bool | None:
    """Whether it is the table, and has the number of rows, that the rule names."""
    if args.table is None and args.rows is None:
        return True
    if cut:
        return None
    is_table = args.table is None or (
        list(size[:1]) == [len(rows)] and args.table.matches(canonical(rows).decode())
    )
    return is_table and (args.rows is None or args.rows.matches(size[0] if size else None))


def _has_values(
    sheet: Mapping[str, object], rows: Sequence[Sequence[object]], args: TableCellsArgs, cut: bool
) -> bool | None:
    """Whether it has the cells, the row and the formulas that the rule names."""
    return all_are(
        (
            args.cells is None or _has_cells(rows, args.cells, cut),
            args.row is None or _some_row(rows, args.row, cut),
            args.formulas is None or _formulas(sheet.get("formulas"), args.formulas, cut),
        )
    )


def _has_cells(rows: Sequence[Sequence[object]], cells: FieldsMatch, cut: bool) -> bool | None:
    return all_are(_is(expected, _cell_at(rows, cell, cut), cut) for cell, expected in cells.fields)


def _find_sheet(facts: Mapping[str, object], name: TextMatch | None) -> Mapping[str, object] | None:
    for sheet in as_object_list(facts.get("sheets")):
        if not isinstance(sheet, Mapping):
            continue
        if name is None or name.matches(str(sheet.get("name"))):
            return sheet
    return None


def _cell_at(rows: Sequence[Sequence[object]], cell: str, cut: bool) -> object:
    place = _CELL.fullmatch(cell)
    if place is None:
        return None
    column = 0
    for letter in place[1]:
        column = column * 26 + ord(letter) - 64
    row = int(place[2])
    if row > len(rows) or column > max(map(len, rows)):
        return None
    return _cell_text(rows[row - 1], column - 1, cut)


def _cell_text(row: Sequence[object], place: int, cut: bool) -> object:
    """What stands there; an empty cell is the empty text, but where something was left out."""
    found = row[place] if place < len(row) else None
    return "" if found is None and not cut else found


def _is(wanted: TextMatch | bool, value: object, cut: bool) -> bool | None:
    """Whether a value is as wanted; None where it, or its end, was left out."""
    if value is None:
        return None if cut else False
    if isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, int | float) and wanted.matches_json(value):
        return True  # by its number, whatever a locale makes of its digits
    text = value_text(value)
    return text is not None and text_is(wanted, text, goes_on(value, cut))


def _some_row(rows: Sequence[Sequence[object]], wanted: FieldsMatch, cut: bool) -> bool | None:
    if not rows:
        return None if cut else False
    names = [str(value_text(name)) for name in rows[0]]
    columns: list[tuple[int, TextMatch | bool]] = []
    for name, value in wanted.fields:
        if name not in names:
            return None if cut else False
        columns.append((names.index(name), value))
    return any_is((_has_columns(row, columns, cut) for row in rows[1:]), more=cut)


def _has_columns(
    row: Sequence[object], columns: Sequence[tuple[int, TextMatch | bool]], cut: bool
) -> bool | None:
    return all_are(_is(value, _cell_text(row, place, cut), cut) for place, value in columns)


def _formulas(found: object, wanted: FieldsMatch, cut: bool) -> bool | None:
    known = mapping(found)
    return all_are(_is(value, known.get(cell), cut) for cell, value in wanted.fields)
