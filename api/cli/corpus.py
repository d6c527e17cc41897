"""What commands over many episodes share: how they are told which ones, and by which tasks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import orjson
from cyclopts import Parameter

from api.cli.common import STORE, Store, read_pair
from api.core.errors import UnavailableError
from api.db.database import is_missing
from api.replay.recordings import RecordingError
from api.rescoring.corpus import CorpusSelection
from api.rescoring.crews import NoCrewError
from api.rescoring.kept import ResultsError
from api.tasks.task_files import BadTaskError, load_task_file
from common.command_line import option
from detectors.task.language import Task

FAILED = 2
"""The exit status of a run that could not do what was asked."""


class CorpusUsageError(ValueError):
    """The arguments do not go together; the message says what was wanted."""


Recordings = Annotated[tuple[Path, ...], option("files, or folders of .mrec files", "RECORDING")]


@Parameter(name="*", group="Stored episodes instead of recordings (closed ones)")
@dataclass(frozen=True, kw_only=True)
class Stored:
    """Which of the service's episodes are meant."""

    stored: Annotated[bool, option("those of the service's database, by what follows")] = False
    episode: Annotated[tuple[str, ...], option("this one; may be given several times", "ID")] = ()
    of_task: Annotated[str | None, option("of this task's id", "TASK")] = None
    of_version: Annotated[str | None, option("of this version of their task", "VERSION")] = None
    label: Annotated[
        tuple[tuple[str, str], ...], option("with this label", "KEY=VALUE", read_pair, many=True)
    ] = ()
    store: Store = STORE

    def selection(self, recordings: Sequence[Path]) -> CorpusSelection | None:
        """The stored episodes that are meant; None: recordings are. Raises `CorpusUsageError`."""
        if not self.stored:
            if self.episode or self.of_task or self.of_version or self.label:
                raise CorpusUsageError(
                    "--episode, --of-task, --of-version, --label: wanted --stored with them"
                )
            if not recordings:
                raise CorpusUsageError(
                    "nothing to score: wanted recordings, folders of them, or --stored"
                )
            return None
        if recordings:
            raise CorpusUsageError(f"--stored: wanted no recordings with it, got {recordings[0]}")
        labels = {name: _value(value) for name, value in self.label}
        episodes = self.episode or None
        return CorpusSelection(None, episodes, self.of_task, self.of_version, None, labels)

    def database_url(self) -> str:
        """The address of the database of ``--stored``. Raises `CorpusUsageError`."""
        url = self.store.settings().database
        if is_missing(url):
            raise CorpusUsageError(
                f"--stored: there is no database at {url}; wanted --data or --database of a service"
            )
        return url


RECORDINGS_ALONE = Stored()
"""No stored episode is meant."""


def tasks_of(paths: Iterable[Path], overrides: dict[str, str]) -> list[Task]:
    """The tasks in these files. Raises `CorpusUsageError` naming every problem, `OSError`."""
    found = []
    for path in paths:
        try:
            found.append(load_task_file(path, overrides))
        except BadTaskError as error:
            raise CorpusUsageError(
                "\n".join(f"{path}: {problem}" for problem in error.problems)
            ) from None
    twice = [task.id for task in found if [one.id for one in found].count(task.id) > 1]
    if twice:
        raise CorpusUsageError(f"--task: {twice[0]} is given twice; wanted one file a task")
    return found


def run_guarded(do: Callable[[], int]) -> int:
    """What ``do`` gives, or `FAILED` with the reason on stderr."""
    try:
        return do()
    except (CorpusUsageError, ResultsError, RecordingError, NoCrewError) as error:
        print(error, file=sys.stderr)
    except UnavailableError as error:
        print(error.detail, file=sys.stderr)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read it has enough
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return FAILED


def _value(text: str) -> object:
    """A label's value as JSON where it is some, else as text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
