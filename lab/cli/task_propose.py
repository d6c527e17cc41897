"""`milestoned task propose`: a task file from recordings of successes and failures."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from api.replay.recordings import RecordingError
from api.replay.task_tests import read_log
from api.tasks.task_files import BadTaskError, load_task_yaml
from common.command_line import option
from common.regular_file import NotRegularError
from detectors.model.codec import CodecError
from detectors.model.json_value import JsonValue
from detectors.task.ruleset import compile_task
from lab.proposal.candidates import find_origin
from lab.proposal.mining import RecordedRun, propose, score_log
from lab.proposal.writing import RecordingCounts, TaskHead, write_proposal


def run(
    *,
    from_: Annotated[
        tuple[Path, ...],
        option("a recorded success, .mrec or .jsonl; may be given again", "GOOD", many=True),
    ],
    against: Annotated[
        tuple[Path, ...], option("a recorded failure; may be given again", "BAD", many=True)
    ] = (),
    instruction: Annotated[str, option("what the agent was told", "TEXT")] = "",
    origin: Annotated[
        str | None, option("the site (default: where most pages were opened)", "URL")
    ] = None,
    id: Annotated[str, option("the task's id (default: proposal)", "ID")] = "proposal",
    out: Annotated[
        Path | None, option("a file that does not exist yet (default: print it)", "FILE")
    ] = None,
) -> int:
    """Propose a task of what all successes share and failures lack; exit 1 if that is nothing."""
    if out is not None and out.exists():
        print(f"--out {out}: expected a file that does not exist yet", file=sys.stderr)
        return 2
    try:
        good, bad = _read_all(from_), _read_all(against)
    except _UnreadableError as error:
        print(error, file=sys.stderr)
        return 2
    site = origin or find_origin([log.events for log in good])
    try:
        proposal = propose(good, bad, site)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    head = TaskHead(id, instruction or "What the agent is told.", site)
    counts = RecordingCounts(len(good), len(bad))
    try:
        rules = compile_task(load_task_yaml(write_proposal(head, proposal, counts, ())))
    except BadTaskError as error:
        print(f"the proposal is refused: {error}", file=sys.stderr)
        return 1
    limits = [score_log(rules, log) for log in bad]
    folder = Path() if out is None else out.parent
    tests = _list_tests(folder, from_, dict(zip(against, limits, strict=True)))
    _keep(write_proposal(head, proposal, counts, tests), out)
    return 0


def _keep(text: str, out: Path | None) -> None:
    """Write a task file, or print it."""
    if out is None:
        print(text, end="")
        return
    out.write_text(text)
    print(f"{out}: written; try `milestoned task test {out}`")


def _list_tests(
    folder: Path, good: Sequence[Path], limits: Mapping[Path, float]
) -> list[dict[str, JsonValue]]:
    """Return the recordings as tests of a task in ``folder``; ``limits``: the most that each
    failure may earn."""
    oracles: list[dict[str, JsonValue]] = [
        {"oracle": os.path.relpath(path, folder)} for path in good
    ]
    adversaries: list[dict[str, JsonValue]] = [
        {"adversarial": os.path.relpath(path, folder), "at_most": round(limit, 6)}
        for path, limit in limits.items()
    ]
    return [*oracles, *adversaries]


class _UnreadableError(ValueError):
    """A recording that cannot be read; the message names it and what was expected."""


def _read_all(paths: Sequence[Path]) -> list[RecordedRun]:
    """Read recordings. Raises `_UnreadableError` for the first one that cannot be read."""
    return [_read(path) for path in paths]


def _read(path: Path) -> RecordedRun:
    """Read a recording whole, with its name. Raises `_UnreadableError`."""
    try:
        events = read_log(path).events
    except OSError as error:
        raise _UnreadableError(f"{path}: {error.strerror or error}") from None
    except (NotRegularError, RecordingError, CodecError) as error:
        raise _UnreadableError(f"{path}: {error}") from None
    if not events:
        raise _UnreadableError(f"{path}: expected a recording with events, got none")
    return RecordedRun(path.name, events)
