"""What commands over many episodes share: how they are told which ones, and by which tasks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from api.cli.common import add_store, store_settings
from api.core.errors import UnavailableError
from api.db.database import is_missing
from api.replay.recordings import RecordingError
from api.rescoring.corpus import CorpusSelection
from api.rescoring.crews import NoCrewError
from api.rescoring.kept import ResultsError
from api.tasks.task_files import BadTaskError, load_task_file
from detectors.model.types import Task

FAILED = 2
"""The exit status of a run that could not do what was asked."""


class UsageError(ValueError):
    """The arguments do not go together; the message says what was wanted."""


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Declare which episodes are meant."""
    parser.add_argument(
        "recordings",
        nargs="*",
        type=Path,
        metavar="RECORDING",
        help="files, or folders of .mrec files",
    )
    stored = parser.add_argument_group("stored episodes instead of recordings (closed ones)")
    stored.add_argument(
        "--stored", action="store_true", help="those of the service's database, by what follows"
    )
    stored.add_argument(
        "--episode", action="append", metavar="ID", help="this one; may be given several times"
    )
    stored.add_argument("--of-task", metavar="TASK", help="of this task's id")
    stored.add_argument("--of-version", metavar="VERSION", help="of this version of their task")
    stored.add_argument(
        "--label", action="append", default=[], metavar="KEY=VALUE", help="with this label"
    )
    add_store(stored)


def selection(args: argparse.Namespace) -> CorpusSelection | None:
    """The stored episodes that are meant; None: recordings are. Raises `UsageError`."""
    chosen = [args.episode, args.of_task, args.of_version, args.label]
    if not args.stored:
        if any(chosen):
            raise UsageError(
                "--episode, --of-task, --of-version, --label: wanted --stored with them"
            )
        if not args.recordings:
            raise UsageError("nothing to score: wanted recordings, folders of them, or --stored")
        return None
    if args.recordings:
        raise UsageError(f"--stored: wanted no recordings with it, got {args.recordings[0]}")
    labels = {name: _value(value) for name, value in (_pair(text) for text in args.label)}
    episodes = None if args.episode is None else tuple(args.episode)
    return CorpusSelection(None, episodes, args.of_task, args.of_version, None, labels)


def database_of(args: argparse.Namespace) -> str:
    """The address of the database of ``--stored``. Raises `UsageError`."""
    url = store_settings(args).database
    if is_missing(url):
        raise UsageError(
            f"--stored: there is no database at {url}; wanted --data or --database of a service"
        )
    return url


def tasks_of(paths: list[Path], overrides: dict[str, str]) -> list[Task]:
    """The tasks in these files. Raises `UsageError` naming every problem, `OSError`."""
    found = []
    for path in paths:
        try:
            found.append(load_task_file(path, overrides))
        except BadTaskError as error:
            raise UsageError(
                "\n".join(f"{path}: {problem}" for problem in error.problems)
            ) from None
    twice = [task.id for task in found if [one.id for one in found].count(task.id) > 1]
    if twice:
        raise UsageError(f"--task: {twice[0]} is given twice; wanted one file a task")
    return found


def guarded(args: argparse.Namespace, do: Callable[[argparse.Namespace], int]) -> int:
    """What ``do`` gives, or `FAILED` with the reason on stderr."""
    try:
        return do(args)
    except (UsageError, ResultsError, RecordingError, NoCrewError) as error:
        print(error, file=sys.stderr)
    except UnavailableError as error:
        print(error.detail, file=sys.stderr)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read it has enough
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return FAILED


def _pair(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark:
        raise UsageError(f"--label {text}: wanted KEY=VALUE")
    return name, value


def _value(text: str) -> Any:
    """A label's value as JSON where it is some, else as text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
