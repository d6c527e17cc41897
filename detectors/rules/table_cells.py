"""Cells, rows or formulas of a table are as wanted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from detectors.matchers import IntRange, TextMatch
from detectors.matchers.masked import is_masked
from detectors.model.codec import canonical
from detectors.model.kinds.limits import READ_COLUMNS, READ_ITEMS
from detectors.model.safe_json import mapping
from detectors.model.three_valued import all_verdict, any_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import FieldsMatch, arg
from detectors.sdk.file_reads import (
    ReadArgs,
    as_object_list,
    facts_of,
    goes_on,
    has_masked_facts,
    is_cut,
    may_be_nulled,
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
MAX_ROWS = 1 << 62
"""More rows than any table has."""


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
    version=4,
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
    text. Where a sheet was not reported whole and the rest decides, or a secret that the daemon
    masked, the step is null; the number of its rows is known all the same. True until the file is
    read with other content, or is gone.
    """
    facts = facts_of(event, args)
    if facts is None:
        return
    cut, masked = is_cut(event), has_masked_facts(event)
    found = _find_sheet(facts, args.sheet)
    if found is not None:
        sheet = replace(_read_sheet(found, facts, cut), masked=masked)
        yield from tell_verdict(event, _judge_sheet(sheet, args))
    elif may_go_on(facts, "sheets", cut) or (masked and _has_masked_name(facts)):
        yield from tell_verdict(event, None)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What was told of a sheet. ``more``: it has more rows than were counted; ``cut``: ends of its
    texts may have been left out; ``partial``: rows, cells and formulas, too; ``nulled``: a null may
    stand for a value; ``masked``: the daemon masked a secret in the file."""

    rows: Sequence[list[object]]
    size: Sequence[object]
    formulas: Mapping[str, object]
    more: bool
    cut: bool
    partial: bool
    nulled: bool
    masked: bool = False


def _find_sheet(facts: Mapping[str, object], name: TextMatch | None) -> Mapping[str, object] | None:
    for sheet in as_object_list(facts.get("sheets")):
        if not isinstance(sheet, Mapping):
            continue
        if name is None or name.matches(str(sheet.get("name"))):
            return sheet
    return None


def _has_masked_name(facts: Mapping[str, object]) -> bool:
    """Whether a sheet of which the name is masked may be the one that is asked for."""
    sheets = as_object_list(facts.get("sheets"))
    return any(is_masked(mapping(sheet).get("name")) for sheet in sheets)


def _read_sheet(sheet: Mapping[str, object], facts: Mapping[str, object], cut: bool) -> _Sheet:
    rows = [as_object_list(row) for row in as_object_list(sheet.get("rows"))]
    size = as_object_list(sheet.get("size"))
    formulas = mapping(sheet.get("formulas"))
    more = sheet.get("more") is True
    nulled = cut and may_be_nulled(facts)
    # Rows are cut at one length: where the widest is whole, each is.
    is_whole = size == [len(rows), max(map(len, rows), default=0)] and not nulled
    partial = more or (cut and not is_whole)
    return _Sheet(rows, size, formulas, more, cut or more, partial, nulled)


def _judge_sheet(sheet: _Sheet, args: TableCellsArgs) -> bool | None:
    """Whether the sheet has all that the rule asks for; None where that hangs on what was left
    out."""
    return all_verdict(
        (
            args.cells is None or _judge_cells(sheet, args.cells),
            args.row is None or _judge_row(sheet, args.row),
            args.formulas is None or _judge_formulas(sheet, args.formulas),
            args.table is None or _judge_table(sheet, args.table),
            args.rows is None or _judge_count(sheet, args.rows),
        )
    )


def _judge_cells(sheet: _Sheet, cells: FieldsMatch) -> bool | None:
    return all_verdict(
        _judge_value(wanted, _cell_at(sheet, cell), sheet) for cell, wanted in cells.fields
    )


def _judge_row(sheet: _Sheet, wanted: FieldsMatch) -> bool | None:
    """Whether one of the rows below the first has these values."""
    if not sheet.rows:
        return None if sheet.partial else False
    heads = sheet.rows[0]
    names = [None if _is_open(head, sheet) else str(value_text(head)) for head in heads]
    columns: list[tuple[int, TextMatch | bool]] = []
    for name, value in wanted.fields:
        if name not in names:
            return None if sheet.partial or None in names else False
        columns.append((names.index(name), value))
    return any_verdict(
        (_judge_columns(row, columns, sheet) for row in sheet.rows[1:]), more=sheet.partial
    )


def _is_open(head: object, sheet: _Sheet) -> bool:
    """Whether not all of a column's name is known."""
    return goes_on(head, sheet.cut) or (sheet.masked and is_masked(head))


def _judge_columns(
    row: Sequence[object], columns: Sequence[tuple[int, TextMatch | bool]], sheet: _Sheet
) -> bool | None:
    return all_verdict(
        _judge_value(value, _cell_text(row, place, sheet), sheet) for place, value in columns
    )


def _judge_formulas(sheet: _Sheet, wanted: FieldsMatch) -> bool | None:
    partial = sheet.partial or (sheet.cut and len(sheet.formulas) in READ_ITEMS)
    return all_verdict(
        _judge_value(value, sheet.formulas.get(cell), replace(sheet, partial=partial))
        for cell, value in wanted.fields
    )


def _judge_table(sheet: _Sheet, wanted: TextMatch) -> bool | None:
    """Whether the sheet is this table: it is not if its size, or one of its rows, rules that
    out."""
    rows = [row if _is_certain(row, sheet) else None for row in sheet.rows]
    if not sheet.partial and None not in rows:
        is_told = list(sheet.size[:1]) == [len(rows)]
        return is_told and wanted.matches(canonical(rows).decode())
    counted = sheet.size[0] if sheet.size and not sheet.more else None
    count = counted if isinstance(counted, int) else None
    return wanted.judge_rows(rows, count)


def _is_certain(row: Sequence[object], sheet: _Sheet) -> bool:
    """Whether the row is told with all its cells, and each of them whole."""
    if sheet.masked and is_masked(row):
        return False
    if not sheet.cut:
        return True
    is_wide = len(row) in READ_ITEMS or len(row) >= READ_COLUMNS
    if is_wide and list(sheet.size[1:2]) != [len(row)]:
        return False
    return not any(goes_on(cell, True) or (cell is None and sheet.nulled) for cell in row)


def _judge_count(sheet: _Sheet, wanted: IntRange) -> bool | None:
    count = sheet.size[0] if sheet.size else None
    if not isinstance(count, int):
        return None if sheet.cut else False
    if not sheet.more:
        return wanted.matches(count)
    if wanted.matches(count + 1) and wanted.matches(MAX_ROWS):
        return True
    return False if wanted.most <= count else None


def _cell_at(sheet: _Sheet, cell: str) -> object:
    place = _CELL.fullmatch(cell)
    if place is None:
        return None
    column = 0
    for letter in place[1]:
        column = column * 26 + ord(letter) - 64
    row = int(place[2])
    if row > len(sheet.rows) or column > max(map(len, sheet.rows)):
        return None
    return _cell_text(sheet.rows[row - 1], column - 1, sheet)


def _cell_text(row: Sequence[object], place: int, sheet: _Sheet) -> object:
    """What stands there; an empty cell is the empty text, but where something was left out."""
    found = row[place] if place < len(row) else None
    return "" if found is None and not sheet.partial else found


def _judge_value(wanted: TextMatch | bool, value: object, sheet: _Sheet) -> bool | None:
    """Whether a value is as wanted; None where it, or its end, was left out."""
    if value is None:
        return None if sheet.partial else False
    if isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, int | float) and wanted.matches_json(value):
        return True  # by its number, whatever a locale makes of its digits
    text = value_text(value)
    if text is None:
        return False
    return text_is(wanted, text, goes_on(value, sheet.cut), masked=sheet.masked)
