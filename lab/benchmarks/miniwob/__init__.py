"""MiniWoB++: a task of ours for each instance of its pages, from what the environment says of it.

A source is a file of JSON lines, an instance a line: {"page", "utterance", "html"?, "fields"?,
"seed"?, "runs"?}; ``runs`` are outcomes of scripted episodes, of which the coverage table is made.
docs/coverage.md says how to get one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from common.regular_file import read_regular
from detectors.model.json_value import JsonObject, JsonValue, objects_in
from lab.benchmarks.base import SECRET, BadSourceError, CoverageTable, Imported, asks_secret
from lab.benchmarks.miniwob import pages
from lab.benchmarks.miniwob.instance import Instance
from lab.benchmarks.miniwob.plan import UnobservableError, document
from lab.benchmarks.miniwob.registry import GENERATORS, UNOBSERVABLE
from lab.benchmarks.miniwob.table import InstanceLine, table

__all__ = ["coverage", "pages", "task_of", "tasks"]


def task_of(instance: Instance) -> JsonObject:
    """The task of one instance. Raises `BadSourceError`, and `UnobservableError` where nobody can
    judge the page."""
    if instance.page in UNOBSERVABLE:
        raise UnobservableError(UNOBSERVABLE[instance.page])
    if instance.page not in GENERATORS:
        raise BadSourceError(
            f"page: got {instance.page!r}, wanted one of MiniWoB++ that is known here"
        )
    try:
        task = document(GENERATORS[instance.page](instance), instance)
        if asks_secret([milestone["when"] for milestone in objects_in(task["milestones"])]):
            raise UnobservableError(SECRET)
        return task
    except BadSourceError:
        raise
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError) as error:
        # A generator reads what its page always has; an instance without it is of no page.
        why = f"{type(error).__name__} {error}"
        raise BadSourceError(
            f"utterance: got {instance.utterance!r:.200}, which is not {instance.page}'s ({why})"
        ) from None


def tasks(source: Path, sites: Mapping[str, str]) -> Iterator[Imported]:
    """Every instance's task; ``sites`` may say where the pages are (`miniwob`)."""
    for number, line in _lines(source):
        try:
            instance = Instance.from_json(line, sites.get("miniwob"))
            name = f"{instance.page}-{instance.seed or number}"
            yield Imported(name, task_of(instance), "task")
        except UnobservableError as reason:
            yield Imported(name, None, "unobservable", (str(reason),))
        except BadSourceError as error:
            raise BadSourceError(f"{source}, line {number}: {error}") from error


def coverage(source: Path) -> CoverageTable:
    """The table of pages, by the runs that stand in the source."""
    lines = []
    for number, line in _lines(source):
        try:
            lines.append(InstanceLine.from_json(line))
        except BadSourceError as error:
            raise BadSourceError(f"{source}, line {number}: {error}") from None
    return table(lines)


def _lines(source: Path) -> Iterator[tuple[int, JsonValue]]:
    """Yield the value of each line that is not empty, with the line's number. Raises
    `BadSourceError` that names the line."""
    # Not splitlines(): a text in JSON may hold the other ends of lines.
    for number, line in enumerate(read_regular(source).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:  # too many digits, too deep
            raise BadSourceError(f"{source}, line {number}: no JSON: {error}") from error
