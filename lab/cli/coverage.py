"""`milestoned coverage [NAME SOURCE]`: how much of others' benchmarks our tasks say, as
docs/coverage.md's tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from common.command_line import option
from common.regular_file import read_regular_text
from lab.benchmarks import IMPORTERS, importer_of
from lab.benchmarks.base import BadSourceError, CoverageTable
from lab.cli.task_import import read_benchmark

BEGIN, END = "<!-- milestoned coverage {name} -->\n", "<!-- end -->\n"


def run(
    name: Annotated[
        str | None,
        option("a benchmark; without it, all are listed", "NAME", read_benchmark),
    ] = None,
    source: Annotated[Path | None, option("where that benchmark's data is", "SOURCE")] = None,
    /,
    *,
    into: Annotated[
        Path | None, option("replace the table between its marks in this file", "FILE")
    ] = None,
) -> int:
    """Count how much of others' benchmarks our tasks say, as tables."""
    if name is None or source is None:
        for benchmark, (_, says) in IMPORTERS.items():
            print(f"milestoned coverage {benchmark} SOURCE    SOURCE is {says}")
        return 0 if name is None else 2
    try:
        table = importer_of(name).coverage(source)
    except (BadSourceError, OSError) as error:
        print(f"{source}: {error}", file=sys.stderr)
        return 1
    if into is not None:
        return _replace(into, name, table)
    print(f"## {table.title}\n\n{table.markdown()}", end="")
    return 0


def _replace(file: Path, name: str, table: CoverageTable) -> int:
    try:
        file.write_text(within(read_regular_text(file), name, table), "utf-8")
    except (BadSourceError, OSError) as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 1
    return 0


def within(page: str, name: str, table: CoverageTable) -> str:
    """The page with the table between its marks. Raises `BadSourceError` for a page without
    them."""
    before, mark, rest = page.partition(BEGIN.format(name=name))
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise BadSourceError(
            f"wanted the lines {BEGIN.format(name=name).strip()} and {END.strip()} in the page"
        )
    return f"{before}{mark}{table.markdown()}{end}{after}"
