"""`milestoned task import KIND SOURCE --out DIR`: other people's tasks as task files of ours."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import orjson

from api.tasks.task_files import BadTaskError, check_task
from common.command_line import option
from lab.benchmarks import IMPORTERS, importer_of
from lab.benchmarks.base import BadSourceError, Imported


def read_benchmark(text: str) -> str:
    """Read the name of a benchmark that can be imported."""
    if text not in IMPORTERS:
        raise ValueError(f"expected one of {', '.join(IMPORTERS)}")
    return text


def _read_site(text: str) -> tuple[str, str]:
    name, mark, url = text.partition("=")
    if not mark:
        raise ValueError("expected NAME=URL, such as gitlab=http://127.0.0.1:8023")
    return name, url


def run(
    kind: Annotated[
        str, option("a benchmark, as `milestoned coverage` lists them", "KIND", read_benchmark)
    ],
    source: Annotated[Path, option("the benchmark's own data", "SOURCE")],
    /,
    *,
    out: Annotated[Path, option("where the task files go, as JSON", "DIR")],
    site: Annotated[
        tuple[tuple[str, str], ...],
        option("where a site of the benchmark's is served", "NAME=URL", _read_site, many=True),
    ] = (),
) -> int:
    """Make task files of another benchmark's tasks."""
    counted: Counter[str] = Counter()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for one in importer_of(kind).tasks(source, dict(site)):
            counted[one.kind] += 1
            _keep(one, out)
    except (BadSourceError, BadTaskError, OSError) as error:
        print(f"{source}: {error}", file=sys.stderr)
        return 1
    print(
        f"{out}: {sum(counted.values())} tasks: "
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
