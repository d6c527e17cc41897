"""`milestoned rescore`: what would a changed task, or a changed rule, have paid? A diff, and an exit status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

from tqdm import tqdm

from api.commands.corpus import FAILED, UsageError, add_corpus, database_of, guarded, selection, tasks_of
from api.commands.task import overrides
from api.rescoring import recorded, stored
from api.rescoring.crews import Batch, answers
from api.rescoring.kept import Kept, Results
from api.rescoring.report import Tally, episode_lines, summary_lines
from api.rescoring.running import run as over
from api.rescoring.scored import task_bytes
from api.rescoring.work import Answer, Material
from detectors.codec import canonical, sha256

SAME, CHANGED = 0, 1


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = (
        "exit codes: 0 nothing changed; 1 something did; 2 something could not be scored, or was not asked right"
    )
    add_corpus(parser)
    parser.add_argument(
        "--task",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="the task to score by; several: each episode by the one that it names. Stored episodes have theirs",
    )
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="for recordings, what to compare with: the task as it was, or the --out of an earlier run (.jsonl)",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="replace a task's top-level key"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="keep the results; an interrupted run goes on")
    parser.add_argument("--json", action="store_true", help="one JSON object a changed episode, then the summary")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--engine", choices=("processes", "ray"), default="processes", help="who does the work")
    parser.add_argument("--ray", metavar="ADDRESS", help="of a Ray cluster (default: one is started on this machine)")
    parser.set_defaults(run=lambda args: guarded(args, run))


def run(args: argparse.Namespace) -> int:
    """Rescore and print. Raises what `guarded` catches."""
    if args.workers is not None and args.workers < 1:
        raise UsageError(f"--workers {args.workers}: wanted at least 1")
    work = _Work(args)
    tally = Tally()

    def crew(batches: Iterable[Batch]) -> Iterator[list[Answer]]:
        return answers(batches, args.engine, args.workers, args.ray)

    with (
        Results(args.out, work.plan) if args.out else nullcontext() as results,
        tqdm(total=work.count, unit="episode", disable=None, leave=False) as bar,
    ):
        for answer in over(work.materials(), crew, results):
            told = tally.take(answer)
            if told is not None:
                bar.clear()
                _tell(told, args.json)
            bar.update()
    gone = work.gone()
    summary = {**tally.summary(), "gone": gone}
    if args.json:
        sys.stdout.buffer.write(canonical({"summary": summary}) + b"\n")
    else:
        lines = [f"{name}: has an earlier result, but is not there any more" for name in gone]
        print("\n".join([*lines, *summary_lines(summary)]))
    if summary["failed"]:
        return FAILED
    unmatched = summary["scored"] if args.against else 0
    return CHANGED if summary["changed"] or gone or unmatched else SAME


def _tell(told: dict[str, object], as_json: bool) -> None:
    if as_json:
        sys.stdout.buffer.write(canonical({name: value for name, value in told.items() if name != "result"}) + b"\n")
    else:
        print("\n".join(episode_lines(told)), flush=True)


class _Work:
    """What is to be scored by what, as the arguments say. Raises `UsageError`, `ResultsError`, `OSError`."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._keep = args.out is not None
        self._selection = selection(args)
        self._tasks = tasks_of(args.task, overrides(args.set))
        self._kept: Kept | None = None
        self._old: dict[str, bytes] = {}
        if self._selection is None:
            self._paths = recorded.files(args.recordings)
            self.count = len(self._paths)
            self._take_old(args)
        else:
            if args.against:
                raise UsageError("--against: stored episodes are compared with what they were paid; wanted none")
            self._url = database_of(args)
            if len(self._tasks) == 1 and self._selection.task is None:
                self._selection = self._selection._replace(task=self._tasks[0].id)
            self.count = stored.count(self._url, self._selection)
            if self.count == 0:
                raise UsageError("--stored: no closed episode is selected")
        self.plan = self._plan(args)

    def _take_old(self, args: argparse.Namespace) -> None:
        if not self._tasks:
            raise UsageError("--task: recordings do not hold the task they are scored by; wanted its file")
        if not args.against and args.out is None:
            raise UsageError("--against: wanted the task as it was or earlier results to compare with, or --out FILE")
        if [path.suffix for path in args.against] == [".jsonl"]:
            self._kept = Kept(args.against[0])
        else:
            self._old = {task.id: task_bytes(task) for task in tasks_of(args.against, overrides(args.set))}

    def _plan(self, args: argparse.Namespace) -> str:
        """A digest of everything but the episodes themselves, which are checked one by one."""
        old = [sha256(path.read_bytes()) for path in args.against] if self._kept else _digests(self._old.values())
        which = None if self._selection is None else {**self._selection._asdict(), "database": self._url}
        new = _digests(task_bytes(task) for task in self._tasks)
        return sha256(canonical({"new": new, "old": old, "selection": which}))

    def materials(self) -> Iterator[Material]:
        """The episodes, in the order of their names."""
        if self._selection is None:
            yield from recorded.materials(self._paths, self._tasks, self._kept or self._old, self._keep)
            return
        by_id = {task.id: task_bytes(task) for task in self._tasks}
        only = next(iter(by_id.values())) if len(by_id) == 1 else None
        for one in stored.episodes(self._url, self._selection):
            yield stored.material(one, only or by_id.get(one.row.task), self._keep)

    def gone(self) -> list[str]:
        """Names of episodes that the earlier results have and this run has not."""
        if self._kept is None:
            return []
        here = {sha256(path.read_bytes()) for path in self._paths}
        return sorted(name for content, name in self._kept.names().items() if content not in here)


def _digests(tasks: Iterable[bytes]) -> list[str]:
    return sorted(map(sha256, tasks))
