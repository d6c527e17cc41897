"""`milestoned export`: episodes, steps, rewards, milestones and returns-to-go as Parquet files."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from api.cli.common import add_credit, overrides
from api.cli.corpus import UsageError, add_corpus, database_of, guarded, selection, tasks_of
from api.exporting.rows import Exported, Rows, tables
from api.exporting.stored import of_store
from api.rescoring import recorded, stored
from api.rescoring.corpus import CorpusSelection
from api.rescoring.work import Material
from detectors.engine.attribution import Credit


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `milestoned export`."""
    add_corpus(parser)
    parser.add_argument(
        "--task",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="for recordings, the task to score by; stored episodes are exported as they were paid",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="replace a key of the tasks"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="where the .parquet files go"
    )
    parser.add_argument(
        "--gamma",
        action="append",
        type=float,
        metavar="γ",
        help="of returns-to-go (default 0.99); may be repeated",
    )
    add_credit(parser, "of the column `credit` and of returns-to-go")
    parser.set_defaults(run=lambda args: guarded(args, run))


def run(args: argparse.Namespace) -> int:
    """Export and say how much. Raises what `guarded` catches."""
    try:
        from api.exporting.parquet import write
    except ImportError:
        raise UsageError(
            "export: pyarrow is not installed; wanted `pip install 'milestoned[export]'`"
        ) from None
    gammas = list(dict.fromkeys(args.gamma or [0.99]))
    for gamma in gammas:
        if not (math.isfinite(gamma) and 0.0 <= gamma <= 1.0):
            raise UsageError(f"--gamma {gamma}: wanted a number from 0 to 1")
    chosen = selection(args)
    episodes, count = _recorded(args) if chosen is None else _stored(args, chosen)
    with tqdm(total=count, unit="episode", disable=None, leave=False) as bar:
        counts = write(args.out, _tables(episodes, gammas, args.credit_to, bar))
    print(f"{args.out}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return 0


def _recorded(args: argparse.Namespace) -> tuple[Iterator[Exported], int]:
    if not args.task:
        raise UsageError(
            "--task: recordings do not hold the task they are scored by; wanted its file"
        )
    paths, tasks = recorded.files(args.recordings), tasks_of(args.task, overrides(args.set))
    return map(_of_recording, recorded.materials(paths, tasks, None, True)), len(paths)


def _of_recording(material: Material) -> Exported:
    if material.wrong is not None:
        raise UsageError(material.wrong)
    return Exported(material.name, material.content, task=material.task)


def _stored(args: argparse.Namespace, chosen: CorpusSelection) -> tuple[Iterator[Exported], int]:
    if args.task:
        raise UsageError(
            "--task: stored episodes are exported as they were paid; wanted `milestoned rescore`"
            " for that"
        )
    url = database_of(args)
    count = stored.count(url, chosen)
    if count == 0:
        raise UsageError("--stored: no closed episode is selected")
    return map(of_store, stored.episodes(url, chosen)), count


def _tables(
    episodes: Iterator[Exported], gammas: list[float], credit_to: Credit, bar: tqdm[Any]
) -> Iterator[Rows]:
    for one in episodes:
        yield tables([one], gammas, credit_to)
        bar.update()
