"""`milestoned task refine`: what a service's stored episodes say of a task's milestones."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple, cast

import orjson
from tqdm import tqdm

from api.cli.common import whole_number
from api.cli.corpus import RECORDINGS_ALONE, CorpusUsageError, Stored, run_guarded
from api.proposal.reach import ReachedMilestones, read_reached
from api.proposal.refining import TaskRefinement, describe_finding, refine
from api.proposal.task_text import NotEditableError, TaskText
from api.rescoring import stored as stored_episodes
from api.rescoring.corpus import CorpusSelection, StoredEpisode
from api.rescoring.crews import answers
from api.rescoring.running import batches
from api.rescoring.work import Material, RescoreOutcome, unknown_from_json
from api.rewards.scored_episode import Result, task_bytes
from api.tasks.task_files import BadTaskError, check_task, load_task_yaml, read_task_yaml
from common.command_line import option
from common.output_file import why_not_new
from common.regular_file import NotRegularError, read_regular
from detectors.task.language import Task
from detectors.task.templates import PARAMETERS, written_version

NOTHING_KNOWN = 1
MAX_BYTES = 4 << 20
MAX_PROCESSES = 4_096


@dataclass(frozen=True, slots=True)
class _TaskFile:
    """A task file's text and its task; ``is_template``: of a template, with its examples."""

    path: Path
    text: str
    task: Task
    is_template: bool


class _ReadEpisodes(NamedTuple):
    """What was read of the store: the episodes that were scored, and how many were left out."""

    episodes: list[ReachedMilestones]
    failed: int
    other_versions: int


def run(
    file: Annotated[Path, option("the task file", "TASK")],
    /,
    *,
    stored: Stored = RECORDINGS_ALONE,
    outcome: Annotated[
        str,
        option(
            "the label that says true or false of an episode's success (default: the success that"
            " the service sealed)",
            "LABEL",
        ),
    ] = "",
    out: Annotated[
        Path | None,
        option("write the refined task there, a file that does not exist yet", "FILE"),
    ] = None,
    workers: Annotated[
        int | None, option("processes (default: one a core)", "N", whole_number(1, MAX_PROCESSES))
    ] = None,
) -> int:
    """Say which milestones stored episodes never or always reach, which say nothing of success,
    and what they should weigh.

    Exit codes: 0 something is known; 1 nothing is; 2 it was not asked right.
    """
    return run_guarded(lambda: _refine(file, stored, outcome, out, workers))


def _refine(file: Path, stored: Stored, outcome: str, out: Path | None, workers: int | None) -> int:
    """Read, count and report. Raises what `run_guarded` catches."""
    problem = None if out is None else why_not_new(out)
    if problem is not None:
        raise CorpusUsageError(f"--out {problem}")
    if not stored.stored:
        raise CorpusUsageError("--stored: expected it, the episodes of a service's database")
    selection = stored.selection(())
    assert selection is not None, "stored episodes are meant"
    of = _read_file(file)
    if selection.task is None:
        selection = selection._replace(task=of.task.id)
    url = stored.database_url()
    read = _read_episodes(url, selection, of, outcome, workers)
    for name, count in (("not scored", read.failed), ("of another version", read.other_versions)):
        if count:
            print(f"{count} episodes are left out: {name}", file=sys.stderr)
    if not read.episodes:
        print(f"no closed episode of {of.task.id} can be scored", file=sys.stderr)
        return NOTHING_KNOWN
    refinement = refine(of.task, read.episodes, own_verdict=not outcome)
    print("\n".join(_report(of.task, refinement)))
    if out is None:
        return 0
    return _write(of, refinement, out)


def _read_file(path: Path) -> _TaskFile:
    """Read a task file. Raises `CorpusUsageError`, and `OSError` for one that cannot be read."""
    try:
        text = read_regular(path, MAX_BYTES).decode()
        spec, lines = read_task_yaml(text)
        task = check_task(spec, lines)
    except BadTaskError as error:
        raise CorpusUsageError("\n".join(f"{path}: {one}" for one in error.problems)) from None
    except (NotRegularError, UnicodeDecodeError) as error:
        raise CorpusUsageError(f"{path}: {error}") from None
    return _TaskFile(path, text, task, isinstance(spec, Mapping) and PARAMETERS in spec)


def _read_episodes(
    url: str, selection: CorpusSelection, of: _TaskFile, outcome: str, workers: int | None
) -> _ReadEpisodes:
    """Score the selected episodes by the file, those of a template by their own task, which has
    their values."""
    verdicts: dict[str, bool | None] = {}
    left_out = 0

    def materials() -> Iterator[Material]:
        """Yield what each stored episode is replayed from, and note its verdict; episodes of
        another version of a template are counted and left out."""
        nonlocal left_out
        for one in stored_episodes.episodes(url, selection):
            if of.is_template and written_version(one.row.version) != written_version(
                of.task.version
            ):
                left_out += 1
                continue
            verdicts[one.row.id] = _find_verdict(one, outcome)
            task = None if of.is_template else task_bytes(of.task)
            yield stored_episodes.material(one, task, keep=True)._replace(tells_unknown=True)

    ids = [one.id for one in of.task.milestones]
    episodes: list[ReachedMilestones] = []
    failed = 0
    with ExitStack() as closing:
        bar = closing.enter_context(tqdm(unit="episode", disable=None, leave=False))
        for batch in answers(batches(materials()), "processes", workers):
            for answer in batch:
                told: RescoreOutcome = orjson.loads(answer.line)
                bar.update()
                if told["result"] is None:
                    failed += 1
                    print(f"{told['name']}: {told['error']}", file=sys.stderr)
                    continue
                success = verdicts.pop(told["name"])
                unknown = unknown_from_json(told["unknown"])
                result = cast(Result, told["result"])
                episodes.append(read_reached(result, success, ids, unknown))
    return _ReadEpisodes(episodes, failed, left_out)


def _find_verdict(one: StoredEpisode, outcome: str) -> bool | None:
    """Return whether an episode was a success: as was sealed, or by its label; None: unknown."""
    if not outcome:
        return one.row.success
    said = orjson.loads(one.row.labels).get(outcome)
    return said if isinstance(said, bool) else None


def _report(task: Task, refinement: TaskRefinement) -> Iterator[str]:
    """Yield the lines of the report."""
    yield f"{task.id} version {task.version}: {_count_episodes(refinement)}"
    weights = {one.id: one.weight for one in task.milestones}
    for finding in refinement.findings:
        yield finding.id
        yield from (f"    {line}" for line in describe_finding(finding))
        if finding.weight is not None:
            yield f"    weight: {weights[finding.id]:g}, the counts suggest {finding.weight:g}"
    yield from (f"note: {note}" for note in refinement.notes)


def _count_episodes(refinement: TaskRefinement) -> str:
    whole = refinement.successes + refinement.failures + refinement.undecided
    return (
        f"{whole} stored episodes, {refinement.successes} successes,"
        f" {refinement.failures} failures, {refinement.undecided} of unknown success"
    )


def _write(of: _TaskFile, refinement: TaskRefinement, out: Path) -> int:
    """Write the refined task file, if it checks."""
    try:
        text = _edit(of, refinement)
        task = load_task_yaml(text)
    except (NotEditableError, BadTaskError) as error:
        raise CorpusUsageError(
            f"--out {out}: the file cannot be refined in place: {error}"
        ) from None
    if _list_unrefined(task, refinement.weights) != _list_unrefined(of.task, refinement.weights):
        raise CorpusUsageError(
            f"--out {out}: the file cannot be refined in place; write it by hand"
        )
    with out.open("x", encoding="utf-8") as written:
        written.write(text)
    print(f"{out}: written; try `milestoned rescore --stored --task {out}`")
    return 0


def _edit(of: _TaskFile, refinement: TaskRefinement) -> str:
    """Return the text with the suggested weights and what is known as comments. Raises
    `NotEditableError`."""
    text = TaskText(of.text)
    version = text.set_version()
    for finding in refinement.findings:
        text.comment(finding.id, list(describe_finding(finding)))
        if finding.weight is not None:
            text.set_weight(finding.id, finding.weight)
    head = [f"Version {version}, refined from {_count_episodes(refinement)}."]
    return text.apply([*head, *(f"Note: {note}." for note in refinement.notes)])


def _list_unrefined(task: Task, weights: Mapping[str, float]) -> Sequence[object]:
    """Return what a refinement leaves as it was."""
    return [
        (one.id, one.when, one.penalty, one.component, one.after, weights.get(one.id, one.weight))
        for one in task.milestones
    ]
