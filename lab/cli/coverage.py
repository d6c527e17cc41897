"""`milestoned coverage [NAME SOURCE]`: how much of others' benchmarks our tasks say, as
docs/coverage.md's tables."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from api.core.regular_file import read_regular
from lab.benchmarks import IMPORTERS
from lab.benchmarks.base import BadSourceError, CoverageTable

BEGIN, END = "<!-- milestoned coverage {name} -->\n", "<!-- end -->\n"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `milestoned coverage`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "names:\n" + "\n".join(
        f"  {name:<18} SOURCE is {says}" for name, (_, says) in IMPORTERS.items()
    )
    parser.add_argument(
        "name",
        choices=IMPORTERS,
        nargs="?",
        metavar="NAME",
        help="one of those below; all are listed",
    )
    parser.add_argument(
        "source", type=Path, nargs="?", metavar="SOURCE", help="where that benchmark's data is"
    )
    parser.add_argument(
        "--into", type=Path, metavar="FILE", help="replace the table between its marks in this file"
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if args.name is None or args.source is None:
        for name, (_, says) in IMPORTERS.items():
            print(f"milestoned coverage {name} SOURCE    SOURCE is {says}")
        return 0 if args.name is None else 2
    try:
        table: CoverageTable = import_module(IMPORTERS[args.name][0]).coverage(args.source)
        if args.into is not None:
            args.into.write_text(
                within(read_regular(args.into).decode(), args.name, table), "utf-8"
            )
            return 0
    except (BadSourceError, OSError) as error:
        print(f"{args.source}: {error}", file=sys.stderr)
        return 1
    print(f"## {table.title}\n\n{table.markdown()}", end="")
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
