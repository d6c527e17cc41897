"""`milestoned task import KIND SOURCE --out DIR`: other people's tasks as task files of ours."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import orjson

from api.tasks.task_files import BadTaskError, check_task
from lab.benchmarks import IMPORTERS
from lab.benchmarks.base import BadSourceError, Imported


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `milestoned task import`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "kinds:\n" + "\n".join(
        f"  {kind:<18} SOURCE is {says}" for kind, (_, says) in IMPORTERS.items()
    )
    parser.add_argument("kind", choices=IMPORTERS, metavar="KIND", help="one of those below")
    parser.add_argument("source", type=Path, metavar="SOURCE", help="the benchmark's own data")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="where the task files go, as JSON"
    )
    parser.add_argument(
        "--site",
        action="append",
        default=[],
        metavar="NAME=URL",
        help="where a site of the benchmark's is served",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    sites: dict[str, str] = {}
    for pair in args.site:
        name, found, url = pair.partition("=")
        if not found:
            sys.exit(f"--site {pair}: wanted NAME=URL, such as gitlab=http://127.0.0.1:8023")
        sites[name] = url
    counted: Counter[str] = Counter()
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        for one in import_module(IMPORTERS[args.kind][0]).tasks(args.source, sites):
            counted[one.kind] += 1
            _keep(one, args.out)
    except (BadSourceError, BadTaskError, OSError) as error:
        print(f"{args.source}: {error}", file=sys.stderr)
        return 1
    print(
        f"{args.out}: {sum(counted.values())} tasks: "
        + ", ".join(f"{n} {kind}" for kind, n in counted.items())
    )
    return 0


def _keep(one: Imported, out: Path) -> None:
    """Write the task, checked; say on stderr what is to be known of it."""
    for remark in one.remarks:
        print(f"{one.name}: {remark}", file=sys.stderr)
    if one.spec is None:
        return
    # The name comes from the benchmark's data: nothing in it may lead out of the folder.
    if (
        any(part in ("", ".", "..") for part in one.name.replace("\\", "/").split("/"))
        or "\0" in one.name
    ):
        raise BadSourceError(
            f"the task's name: got {one.name!r:.200}, wanted one that is a file below {out}"
        )
    try:
        check_task(one.spec)
    except BadTaskError as error:
        raise BadSourceError(f"{one.name}: the task that came out is refused: {error}") from None
    path = out / f"{one.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(one.spec, option=orjson.OPT_INDENT_2) + b"\n")
