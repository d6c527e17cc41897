"""Recordings as a corpus: which files, in which order, each with the task that it is scored by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import orjson
import zstandard

from api.replay.recordings import MAX_FILE, MAX_FRAME_TEXT
from api.rescoring.kept import Kept
from api.rescoring.work import Material
from api.rewards.scored_episode import task_bytes
from common.frames import decompressor
from common.regular_file import read_regular
from detectors.model.codec import sha256
from detectors.task.language import Task

SUFFIX = ".mrec"
_FIRST_BYTES = 64 * 1024


def files(given: Iterable[Path]) -> list[Path]:
    """The recordings that are meant: files as they are, folders with every `SUFFIX` file below
    them; sorted.

    Raises `FileNotFoundError` for what is not there, and for a folder without any.
    """
    found: set[Path] = set()
    for path in given:
        below = (
            {one for one in path.rglob(f"*{SUFFIX}") if one.is_file()} if path.is_dir() else {path}
        )
        if not below or not all(one.is_file() for one in below):
            raise FileNotFoundError(
                2, f"no recording there; wanted a file, or a folder with {SUFFIX} files", str(path)
            )
        found |= below
    return sorted(found)


def materials(
    paths: Iterable[Path], tasks: Sequence[Task], old: Mapping[str, bytes] | Kept | None, keep: bool
) -> Iterator[Material]:
    """Each recording with its task: the only one, or of several the one that its first event names.

    ``old`` is what to compare with: tasks by id (the only one whatever its id), or earlier results.
    """
    new = {task.id: task_bytes(task) for task in tasks}
    for path in paths:
        content = read_regular(path, MAX_FILE)
        asked = (
            _task_id_of(content)
            if len(new) > 1 or (isinstance(old, dict) and len(old) > 1)
            else None
        )
        task = _by_id(new, asked)
        if task is None:
            wrong = (
                f"{path}: its first event names task {asked!r}; wanted one of"
                f" {', '.join(sorted(new))}"
            )
            yield Material(str(path), content, b"", wrong=wrong)
        elif isinstance(old, Kept):
            yield Material(
                str(path), content, task, old_result=old.result(sha256(content)), keep=keep
            )
        else:
            yield Material(str(path), content, task, old_task=_by_id(old or {}, asked), keep=keep)


def _by_id(tasks: Mapping[str, bytes], id: str | None) -> bytes | None:
    """Return the task of an id; the only one for any."""
    if len(tasks) == 1:
        return next(iter(tasks.values()))
    return None if id is None else tasks.get(id)


def _task_id_of(content: bytes) -> str | None:
    """The task that `episode.opened` names; None where the file does not begin with one, which its
    scoring will say."""
    try:
        beginning = decompressor(content, MAX_FRAME_TEXT).stream_reader(content).read(_FIRST_BYTES)
        _, _, _, kind, data = orjson.loads(beginning.split(b"\n", 2)[1])
        return str(data["task"]) if kind == "episode.opened" else None
    except (
        zstandard.ZstdError,
        orjson.JSONDecodeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
    ):
        return None
