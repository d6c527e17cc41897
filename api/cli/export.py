"""`milestoned export`: episodes, steps, rewards, milestones and returns-to-go as Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from tqdm import tqdm

from api.cli.common import CreditTo, Overrides
from api.cli.corpus import RECORDINGS_ALONE, Recordings, Stored, UsageError, guarded, tasks_of
from api.core.command_line import option
from api.exporting.rows import Exported, Rows, tables
from api.exporting.stored import of_store
from api.rescoring import recorded
from api.rescoring import stored as corpus
from api.rescoring.corpus import CorpusSelection
from api.rescoring.work import Material
from detectors.engine.attribution import Credit


def _read_gamma(text: str) -> float:
    gamma = float(text) if re.fullmatch(r"[0-9.]{1,20}", text) else -1.0
    if not 0.0 <= gamma <= 1.0:
        raise ValueError("expected a number from 0 to 1")
    return gamma


def run(
    recordings: Recordings = (),
    /,
    *,
    stored: Stored = RECORDINGS_ALONE,
    task: Annotated[
        tuple[Path, ...],
        option(
            "for recordings, the task to score by; stored episodes are exported as they were paid",
            "FILE",
        ),
    ] = (),
    set_: Overrides = (),
    out: Annotated[Path, option("where the .parquet files go", "DIR")],
    gamma: Annotated[
        tuple[float, ...],
        option("of returns-to-go (default 0.99); may be repeated", "γ", _read_gamma, many=True),
    ] = (0.99,),
    credit_to: CreditTo = "as_paid",
) -> int:
    """Write episodes, rewards and returns-to-go as Parquet files.

    --credit-to is of the column `credit` and of returns-to-go.
    """

    def work() -> int:
        chosen = stored.selection(recordings)
        if chosen is None:
            episodes, count = _recorded(recordings, task, dict(set_))
        else:
            episodes, count = _stored(stored, chosen, task)
        return _export(episodes, count, out, list(dict.fromkeys(gamma)), credit_to)

    return guarded(work)


def _export(
    episodes: Iterator[Exported], count: int, out: Path, gammas: list[float], credit_to: Credit
) -> int:
    """Export and say how much. Raises what `guarded` catches."""
    try:
        from api.exporting.parquet import write
    except ImportError:
        raise UsageError(
            "export: pyarrow is not installed; wanted `pip install 'milestoned[export]'`"
        ) from None
    with tqdm(total=count, unit="episode", disable=None, leave=False) as bar:
        counts = write(out, _tables(episodes, gammas, credit_to, bar))
    print(f"{out}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return 0


def _recorded(
    recordings: Sequence[Path], task: Sequence[Path], changed: dict[str, str]
) -> tuple[Iterator[Exported], int]:
    if not task:
        raise UsageError(
            "--task: recordings do not hold the task they are scored by; wanted its file"
        )
    paths, tasks = recorded.files(list(recordings)), tasks_of(task, changed)
    return map(_of_recording, recorded.materials(paths, tasks, None, True)), len(paths)


def _of_recording(material: Material) -> Exported:
    if material.wrong is not None:
        raise UsageError(material.wrong)
    return Exported(material.name, material.content, task=material.task)


def _stored(
    stored: Stored, chosen: CorpusSelection, task: Sequence[Path]
) -> tuple[Iterator[Exported], int]:
    if task:
        raise UsageError(
            "--task: stored episodes are exported as they were paid; wanted `milestoned rescore`"
            " for that"
        )
    url = stored.database_url()
    count = corpus.count(url, chosen)
    if count == 0:
        raise UsageError("--stored: no closed episode is selected")
    return map(of_store, corpus.episodes(url, chosen)), count


def _tables(
    episodes: Iterator[Exported], gammas: list[float], credit_to: Credit, bar: tqdm[Any]
) -> Iterator[Rows]:
    for one in episodes:
        yield tables([one], gammas, credit_to)
        bar.update()
