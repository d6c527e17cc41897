"""`milestoned task propose`: a task file from recordings of successes and failures."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

from api.proposal.confirmed_task import confirm_with_tests
from api.proposal.confirming import NotConfirmedError
from api.proposal.drafting import TaskDraftError, draft_at_judge, find_named_origin
from api.proposal.slots import NoTemplateError
from api.proposal.support import RecordedRun
from api.proposal.task_text import NotEditableError
from api.proposal.tested_task import (
    NO_INSTRUCTION,
    ComparedRuns,
    check_head,
    fill_slots,
    propose_with_tests,
)
from api.proposal.writing import TaskHead
from api.replay.recordings import RecordingError
from api.replay.task_tests import lacking, read_log
from api.stages.judge.ballot import Bill
from api.stages.judge.settings import judge_settings
from api.stages.peer import RefusedError, UnreachableError
from api.suggestions.event_values import find_origin
from api.tasks.task_files import BadTaskError
from common.command_line import option
from common.output_file import why_not_new
from common.regular_file import NotRegularError, read_regular
from common.yaml_text import MAX_BYTES, BadYamlError, read_yaml
from detectors.model.codec import CodecError
from detectors.model.json_value import JsonObject


def run(
    *,
    from_: Annotated[
        tuple[Path, ...],
        option("a recorded success, .mrec or .jsonl; may be given again", "GOOD", many=True),
    ] = (),
    against: Annotated[
        tuple[Path, ...], option("a recorded failure; may be given again", "BAD", many=True)
    ] = (),
    instruction: Annotated[
        str,
        option(
            "what the agent was told; with --instructions, as a template; without --from, what the"
            " judge's endpoint (MILESTONED_JUDGE_URL) drafts a task of",
            "TEXT",
        ),
    ] = "",
    instructions: Annotated[
        Path | None,
        option("YAML: what the agent was told in each recording, by its file name", "FILE"),
    ] = None,
    draft: Annotated[
        Path | None, option("a draft of an instruction, to be confirmed by the recordings", "FILE")
    ] = None,
    origin: Annotated[
        str | None,
        option(
            "the site (default: where most pages were opened, or what the instruction names)", "URL"
        ),
    ] = None,
    id: Annotated[str, option("the task's id (default: proposal)", "ID")] = "proposal",
    out: Annotated[
        Path | None, option("a file that does not exist yet (default: print it)", "FILE")
    ] = None,
) -> int:
    """Propose a task of what all successes share and failures lack, or draft one from an
    instruction alone; exit 1 if that is nothing."""
    problem = None if out is None else why_not_new(out)
    if problem is not None:
        print(f"--out {problem}", file=sys.stderr)
        return 2
    needs_success = bool(against) or draft is not None or instructions is not None
    if not from_ and (needs_success or not instruction):
        print(
            "--from: expected a recorded success, or --instruction alone for a draft",
            file=sys.stderr,
        )
        return 2
    if draft is not None:
        return _confirm(draft, from_, against, out)
    if not _is_head(TaskHead(id, instruction or NO_INSTRUCTION, origin)):
        return 2
    if from_:
        return _propose(from_, against, instruction, instructions, origin, id, out)
    return _draft(id, instruction, origin, out)


def _is_head(head: TaskHead) -> bool:
    """Return whether a task can have this head; what is wrong with it is printed."""
    try:
        check_head(head)
    except BadTaskError as error:
        print("\n".join(f"--{one}" for one in error.problems), file=sys.stderr)
        return False
    return True


def _draft(id: str, instruction: str, origin: str | None, out: Path | None) -> int:
    """Ask the judge's endpoint for a draft, and write it; exit 1 if its answer is none."""
    head = TaskHead(id, instruction, origin or find_named_origin(instruction))
    try:
        settings = judge_settings()
        if settings is None:
            raise ValueError("MILESTONED_JUDGE_URL: not set; expected the endpoint that drafts")
        text = asyncio.run(draft_at_judge(settings, head, Bill()))
    except TaskDraftError as error:
        print(error, file=sys.stderr)
        return 1
    except (ValueError, UnreachableError, RefusedError) as error:
        print(error, file=sys.stderr)
        return 2
    if out is None:
        print(text, end="")
        return 0
    out.write_text(text)
    print(f"{out}: a draft; `milestoned task propose --from GOOD --draft {out}` confirms it")
    return 0


def _confirm(file: Path, from_: Sequence[Path], against: Sequence[Path], out: Path | None) -> int:
    """Hold a draft against recordings, and write what they confirm; exit 1 if that is no goal."""
    try:
        good, bad = _read_all(from_, against)
        text = read_regular(file, MAX_BYTES).decode()
        confirmed = confirm_with_tests(text, good, bad, _name_files((*from_, *against), out))
    except NotConfirmedError as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{file}: {error.strerror or error}", file=sys.stderr)
        return 2
    except (_UnreadableError, BadTaskError, NotEditableError) as error:
        where = "" if isinstance(error, _UnreadableError) else f"{file}: "
        print(f"{where}{error}", file=sys.stderr)
        return 2
    except (NotRegularError, UnicodeDecodeError) as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 2
    for one in confirmed.confirmation.left_out:
        print(f"left out {one.id}: {one.why}", file=sys.stderr)
    _keep(confirmed.text, confirmed.tests, confirmed.notes, out)
    return 0


def _propose(
    from_: Sequence[Path],
    against: Sequence[Path],
    instruction: str,
    instructions: Path | None,
    origin: str | None,
    id: str,
    out: Path | None,
) -> int:
    """Propose a task from recordings, and write it."""
    try:
        runs = _read_runs(from_, against, instruction, instructions)
    except (_UnreadableError, NoTemplateError) as error:
        print(error, file=sys.stderr)
        return 2
    site = origin or find_origin(chain.from_iterable(log.events for log in runs.good))
    try:
        written = propose_with_tests(id, site, runs, _name_files((*from_, *against), out))
    except BadTaskError as error:
        print(f"the proposal is refused: {error}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    _keep(written.text, written.tests, written.proposal.notes, out)
    return 0


def _read_runs(
    from_: Sequence[Path], against: Sequence[Path], instruction: str, instructions: Path | None
) -> ComparedRuns:
    """Read the successes and the failures, with the values that their instructions give a
    template's slots. Raises `_UnreadableError` and `NoTemplateError`."""
    runs = ComparedRuns(*_read_all(from_, against), instruction)
    if instructions is None:
        return runs
    return fill_slots(runs, _read_instructions(instructions, runs.all))


def _name_files(paths: Sequence[Path], out: Path | None) -> list[str]:
    """Return how a task file at ``out`` names recordings beside it."""
    folder = Path() if out is None else out.parent
    return [os.path.relpath(path, folder) for path in paths]


def _read_instructions(path: Path, logs: Sequence[RecordedRun]) -> list[str]:
    """Read what the agent was told in each of the recordings. Raises `_UnreadableError`."""
    try:
        told, _ = read_yaml(read_regular(path, MAX_BYTES).decode())
    except OSError as error:
        raise _UnreadableError(f"{path}: {error.strerror or error}") from None
    except (NotRegularError, BadYamlError, UnicodeDecodeError) as error:
        raise _UnreadableError(f"{path}: {error}") from None
    by_name = told if isinstance(told, dict) else {}
    for log in logs:
        if not isinstance(by_name.get(log.name), str):
            got = by_name.get(log.name) if by_name else told
            raise _UnreadableError(
                f"{path}: {log.name}: got {str(got)[:80]!r}, expected the text of its instruction"
            )
    return [by_name[log.name] for log in logs]


def _keep(text: str, tests: Sequence[JsonObject], notes: Sequence[str], out: Path | None) -> None:
    """Write a task file, or print it; say what could not be found out."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if out is None:
        print(text, end="")
        return
    out.write_text(text)
    missing = lacking(list(tests))
    if missing is None:
        print(f"{out}: written; try `milestoned task test {out}`")
    else:
        print(f"{out}: written; it lacks {missing}: record more, and propose again")


class _UnreadableError(ValueError):
    """A recording that cannot be read; the message names it and what was expected."""


def _read_all(
    from_: Sequence[Path], against: Sequence[Path]
) -> tuple[list[RecordedRun], list[RecordedRun]]:
    """Read the successes and the failures. Raises `_UnreadableError` for the first one that cannot
    be read."""
    paths = (*from_, *against)
    runs = [_read(path, name) for path, name in zip(paths, _name_runs(paths), strict=True)]
    return runs[: len(from_)], runs[len(from_) :]


def _name_runs(paths: Sequence[Path]) -> list[str]:
    """Return the names by which recordings are told apart: those of their files, with folders
    before them where two files have one name."""
    depth = max(len(path.parts) for path in paths)
    for count in range(1, depth):
        names = ["/".join(path.parts[-count:]) for path in paths]
        if len({*names}) == len({*paths}):
            return names
    return [str(path) for path in paths]


def _read(path: Path, name: str) -> RecordedRun:
    """Read a recording whole. Raises `_UnreadableError`."""
    try:
        events = read_log(path).events
    except OSError as error:
        raise _UnreadableError(f"{path}: {error.strerror or error}") from None
    except (NotRegularError, RecordingError, CodecError) as error:
        raise _UnreadableError(f"{path}: {error}") from None
    if not events:
        raise _UnreadableError(f"{path}: expected a recording with events, got none")
    return RecordedRun(name, events)
