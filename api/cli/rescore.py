"""`milestoned rescore`: what would a changed task, or a changed rule, have paid? A diff, and an
exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from tqdm import tqdm

from api.cascade.stages import StageError, stages_of
from api.cli.common import Overrides, whole_number
from api.cli.corpus import (
    FAILED,
    RECORDINGS_ALONE,
    CorpusUsageError,
    Recordings,
    Stored,
    run_guarded,
    tasks_of,
)
from api.cli.stages import NO_STAGES, StageOptions
from api.rescoring import recorded, stored
from api.rescoring.again import Again
from api.rescoring.corpus import CorpusSelection
from api.rescoring.crews import Batch, answers
from api.rescoring.kept import Kept, Results
from api.rescoring.report import Tally, episode_lines, summary_lines
from api.rescoring.running import run as over
from api.rescoring.work import EpisodeOutcome, Material, RescoreOutcome
from api.rewards.scored_episode import task_bytes
from common.command_line import option
from common.regular_file import read_regular
from detectors.model.codec import canonical, sha256
from detectors.model.optional_values import drop_keys

SAME, CHANGED = 0, 1
MAX_PROCESSES = 4_096
_STAGES = ("MILESTONED_MODEL", "MILESTONED_JUDGE")
"""What the environment says of stages."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RescoreSettings:
    """What is scored again, by what, and who does the work."""

    task: Annotated[
        tuple[Path, ...],
        option(
            "the task to score by; several: each episode by the one that it names. Stored episodes"
            " have theirs",
            "FILE",
        ),
    ] = ()
    against: Annotated[
        tuple[Path, ...],
        option(
            "for recordings, what to compare with: the task as it was, or the --out of an earlier"
            " run (.jsonl)",
            "FILE",
        ),
    ] = ()
    set_: Overrides = ()
    out: Annotated[
        Path | None, option("keep the results; an interrupted run goes on", "FILE.jsonl")
    ] = None
    force: Annotated[
        bool, option("replace --out also if what is there holds no results of a rescore")
    ] = False
    json: Annotated[bool, option("one JSON object a changed episode, then the summary")] = False
    workers: Annotated[
        int | None, option("processes (default: one a core)", "N", whole_number(1, MAX_PROCESSES))
    ] = None
    engine: Annotated[Literal["processes", "ray"], option("who does the work", "processes|ray")] = (
        "processes"
    )
    ray: Annotated[
        str | None,
        option("of a Ray cluster (default: one is started on this machine)", "ADDRESS"),
    ] = None
    ask_again: Annotated[
        bool,
        option(
            "ask the stages everything that the rules ask, instead of reading back what was"
            " answered (docs/cascade.md); people's words stay"
        ),
    ] = False
    stored: Stored = RECORDINGS_ALONE
    stages: StageOptions = NO_STAGES


DEFAULTS = RescoreSettings()


def run(recordings: Recordings = (), /, *, rescore: RescoreSettings = DEFAULTS) -> int:
    """Score stored episodes or recordings by changed rules, and show what differs.

    Exit codes: 0 nothing changed; 1 something did; 2 something could not be scored, or was not
    asked right.
    """
    return run_guarded(lambda: _rescore(recordings, rescore))


def _rescore(recordings: Sequence[Path], args: RescoreSettings) -> int:
    """Rescore and print. Raises what `run_guarded` catches."""
    work = _Work(recordings, args)
    tally = Tally(again=args.ask_again)
    # Who waits for answers needs no crew, and what was paid for is kept episode by episode.
    workers = args.workers or (1 if args.ask_again else None)

    def crew(batches: Iterable[Batch]) -> Iterator[list[EpisodeOutcome]]:
        return answers(batches, args.engine, workers, args.ray)

    with ExitStack() as closing:
        results = None
        if args.out is not None:
            results = closing.enter_context(Results(args.out, work.plan, force=args.force))
        again = closing.enter_context(_again(args, results)) if args.ask_again else None
        bar = closing.enter_context(
            tqdm(total=work.count, unit="episode", disable=None, leave=False)
        )
        ask = again.ask_all if again else None
        for answer in over(work.materials(), crew, results, ask, grows=work.grows):
            told = tally.take(answer)
            if told is not None:
                bar.clear()
                _tell(told, args.json)
            bar.update()
        summary = {**tally.summary(), "gone": work.missing_episodes()}
        if again is not None:
            summary["asked"] |= again.spent()
            again.finish()
    return _end(args, summary)


def _again(args: RescoreSettings, results: Results | None) -> Again:
    """Return who is asked anew, with the file that keeps answers between runs. Raises
    `CorpusUsageError`."""
    settings = args.stages.settings()
    try:
        stages = stages_of(settings)
    except StageError as error:
        raise CorpusUsageError(str(error)) from None
    for why in stages.off.values():
        print(why, file=sys.stderr)
    path = None
    if results is not None and args.out is not None:
        path = args.out.with_name(args.out.name + ".asked")
    return Again(stages, settings, path, go_on=results is not None and results.begun)


def _end(args: RescoreSettings, summary: dict[str, Any]) -> int:
    """Print the summary; the exit status."""
    if args.json:
        sys.stdout.buffer.write(canonical({"summary": summary}) + b"\n")
    else:
        _print_summary(summary)
    if summary["failed"]:
        return FAILED
    unmatched = summary["scored"] if args.against else 0
    has_changes = summary["changed"] or summary["gone"] or unmatched
    return CHANGED if has_changes else SAME


def _print_summary(summary: dict[str, Any]) -> None:
    """Print the episodes that are gone, then the counts."""
    for name in summary["gone"]:
        print(f"{name}: has an earlier result, but is not there any more")
    print("\n".join(summary_lines(summary)))


def _tell(told: RescoreOutcome, as_json: bool) -> None:
    """Print an outcome as text, or as a line of JSON without the result itself."""
    if not as_json:
        print("\n".join(episode_lines(told)), flush=True)
        return
    shown = drop_keys(told, ("result",))
    sys.stdout.buffer.write(canonical(shown) + b"\n")


class _Work:
    """What is to be scored by what, as the arguments say. Raises `CorpusUsageError`,
    `ResultsError`, `OSError`."""

    def __init__(self, recordings: Sequence[Path], args: RescoreSettings) -> None:
        names_a_stage = args.stages.model or args.stages.judge or args.stages.budget
        if names_a_stage and not args.ask_again:
            raise CorpusUsageError(
                "--model, --judge, --budget: nobody is asked; wanted --ask-again with them"
            )
        self._keep = args.out is not None
        self._selection = args.stored.selection(recordings)
        self._tasks = tasks_of(args.task, dict(args.set_))
        self._kept: Kept | None = None
        self._old: dict[str, bytes] = {}
        if self._selection is None:
            self._paths = recorded.files(recordings)
            self.count = len(self._paths)
            self._take_old(args)
        else:
            self.count = self._count_stored(args, self._selection)
        self.plan = self._plan(args)

    def _count_stored(self, args: RescoreSettings, selection: CorpusSelection) -> int:
        """Narrow the selection to the task, where there is one alone, and count its episodes."""
        if args.against:
            raise CorpusUsageError(
                "--against: stored episodes are compared with what they were paid; wanted none"
            )
        self._url = args.stored.database_url()
        if len(self._tasks) == 1 and selection.task is None:
            selection = selection._replace(task=self._tasks[0].id)
        self._selection = selection
        count = stored.count(self._url, selection)
        if count == 0:
            raise CorpusUsageError("--stored: no closed episode is selected")
        return count

    def _take_old(self, args: RescoreSettings) -> None:
        """Read what is compared with: earlier results, or the task as it was. Raises
        `CorpusUsageError`."""
        if not self._tasks:
            raise CorpusUsageError(
                "--task: recordings do not hold the task they are scored by; wanted its file"
            )
        if not args.against and args.out is None:
            raise CorpusUsageError(
                "--against: wanted the task as it was or earlier results to compare with, or --out"
                " FILE"
            )
        if [path.suffix for path in args.against] == [".jsonl"]:
            self._kept = Kept(args.against[0])
        else:
            self._old = {
                task.id: task_bytes(task) for task in tasks_of(args.against, dict(args.set_))
            }

    def _plan(self, args: RescoreSettings) -> str:
        """A digest of everything but the episodes themselves, which are checked one by one."""
        if self._kept:
            old = [sha256(read_regular(path)) for path in args.against]
        else:
            old = _digests(self._old.values())
        which = None
        if self._selection is not None:
            which = {**self._selection._asdict(), "database": self._url}
        new = _digests(task_bytes(task) for task in self._tasks)
        compared = {"new": new, "old": old, "selection": which}
        return sha256(canonical(compared | _stage_options(args)))

    @property
    def grows(self) -> bool:
        """Whether there may be more episodes while the run goes on: the service goes on too."""
        return self._selection is not None

    def materials(self) -> Iterator[Material]:
        """The episodes, in the order of their names."""
        if self._selection is None:
            yield from recorded.materials(
                self._paths, self._tasks, self._kept or self._old, self._keep
            )
            return
        by_id = {task.id: task_bytes(task) for task in self._tasks}
        only = next(iter(by_id.values())) if len(by_id) == 1 else None
        for one in stored.episodes(self._url, self._selection):
            yield stored.material(one, only or by_id.get(one.row.task), self._keep)

    def missing_episodes(self) -> list[str]:
        """Names of episodes that the earlier results have and this run has not."""
        if self._kept is None:
            return []
        here = {sha256(read_regular(path)) for path in self._paths}
        return sorted(name for content, name in self._kept.names().items() if content not in here)


def _stage_options(args: RescoreSettings) -> dict[str, object]:
    """Whom a run asks and for how much, without its keys; nothing where nobody is asked."""
    if not args.ask_again:
        return {}
    budgets = sorted(((scope, *astuple(budget)) for scope, budget in args.stages.budget), key=repr)
    named = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_STAGES) and "_KEY" not in name
    }
    return {
        "ask_again": {
            "model": args.stages.model,
            "judges": args.stages.judge,
            "budgets": budgets,
            "environment": named,
        }
    }


def _digests(tasks: Iterable[bytes]) -> list[str]:
    return sorted(map(sha256, tasks))
