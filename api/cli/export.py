"""`milestoned export`: episodes as Parquet tables, chat data, traces, trajectories, or pages."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, NamedTuple, get_args

from tqdm import tqdm

from api.cli.common import CreditTo, Overrides
from api.cli.corpus import (
    RECORDINGS_ALONE,
    CorpusUsageError,
    Recordings,
    Stored,
    run_guarded,
    tasks_of,
)
from api.cli.telemetry import resource_of
from api.exporting.atif import AtifExport
from api.exporting.card import dataset_card, tables_card
from api.exporting.chats import PURIFIABLE, ChatExport
from api.exporting.rows import Exported, Rows, note_siblings, tables
from api.exporting.staging import content_version, staged_in
from api.exporting.stored import of_store
from api.rescoring import recorded
from api.rescoring import stored as corpus
from api.rescoring.corpus import CorpusSelection
from api.rescoring.work import Material
from api.rewards.siblings import SiblingReturns
from api.telemetry.spans import unix_ns
from common.command_line import option
from detectors.engine.attribution import Credit

ExportForm = Literal["tables", "sft", "dpo", "kto", "prm", "otlp", "atif", "html"]
EXPORT_FORMS: tuple[ExportForm, ...] = get_args(ExportForm)

Source = Callable[[], tuple[Iterator[Exported], int]]
"""Reads the selected episodes; with how many they are."""

EPOCH = "1970-01-01T00:00:00Z"


def _read_gamma(text: str) -> float:
    """Read a number from 0 to 1. Raises ValueError."""
    gamma = float(text) if re.fullmatch(r"[0-9.]{1,20}", text) else -1.0
    if not 0.0 <= gamma <= 1.0:
        raise ValueError("expected a number from 0 to 1")
    return gamma


def _read_total(text: str) -> float:
    """Read a number of at most a billion either way. Raises ValueError."""
    try:
        total = float(text)
    except ValueError:
        total = math.nan
    if not -1e9 <= total <= 1e9:
        raise ValueError("expected a number")
    return total


def _read_moment(text: str) -> str:
    """Check that a text is a time, and return it as it is. Raises ValueError."""
    try:
        unix_ns(text)
    except ValueError:
        raise ValueError("expected a time such as 2026-11-25T21:20:00Z") from None
    return text


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
    out: Annotated[
        str,
        option(
            "where the files go: .parquet, of otlp .jsonl, of atif .json, .html; a folder, or an"
            " object store by s3://, gs://, az:// or file://",
            "DIR|URL",
        ),
    ],
    gamma: Annotated[
        tuple[float, ...],
        option("of returns-to-go (default 0.99); may be repeated", "γ", _read_gamma, many=True),
    ] = (0.99,),
    credit_to: CreditTo = "as_paid",
    form: Annotated[
        ExportForm,
        option(
            "`tables` (default), or chat data: conversations of successes, pairs of actions, single"
            " actions, or labels a step; or traces of OpenTelemetry; or trajectories in Harbor's"
            " format; or `html`: a file an episode that opens anywhere",
            "|".join(EXPORT_FORMS),
        ),
    ] = "tables",
    min_total: Annotated[
        float | None,
        option("of sft: episodes worth at least this, instead of the successes", "N", _read_total),
    ] = None,
    purified: Annotated[
        bool, option("of sft, kto, prm: without the steps that led nowhere, which each row names")
    ] = False,
    opened_at: Annotated[
        str,
        option(
            "of otlp: when recordings were opened, which they do not say (default: 1970)",
            "TIME",
            _read_moment,
        ),
    ] = EPOCH,
    content: Annotated[
        bool, option("of otlp: with actions, arguments, results and answers, as they are")
    ] = False,
) -> int:
    """Write episodes as Parquet files: tables for analysis, or chat data for fine-tuning; or as
    OTLP/JSON, as trajectories (ATIF), or as HTML.

    --credit-to is of the column `credit` and of returns-to-go.
    """
    wrong = _wrong_options(form, gamma, credit_to, min_total)
    wrong = wrong or _wrong_purification(form, purified)
    wrong = wrong or _wrong_trace_options(form, opened_at, content)

    def work() -> int:
        """Export the chosen episodes in the form that is asked for, and print what was written."""
        if wrong is not None:
            raise CorpusUsageError(wrong)
        source = _source(recordings, stored, task, dict(set_))
        episodes, count = source()
        with _out_folder(out) as folder:
            if form == "otlp":
                lines = _export_traces(episodes, count, folder, opened_at, content)
            elif form == "atif":
                lines = _export_trajectories(episodes, count, folder)
            elif form == "html":
                lines = _export_pages(episodes, count, folder)
            elif form == "tables":
                gammas = list(dict.fromkeys(gamma))
                view = _view(source, credit_to)
                lines = _export_tables(episodes, count, folder, gammas, view)
            else:
                export = ChatExport(form, gamma[0], min_total, purified)
                lines = _export_chats(episodes, count, folder, export)
        first, *others = lines
        print(f"{out}: {first}")
        for line in others:
            print(line)
        return 0

    return run_guarded(work)


def _wrong_options(
    form: ExportForm, gamma: Sequence[float], credit_to: Credit, min_total: float | None
) -> str | None:
    """Return what is wrong with the options of a form, or None."""
    if min_total is not None and form != "sft":
        return f"--min-total: got {min_total:g} with --form {form}; expected --form sft"
    if form != "tables" and len(gamma) > 1:
        return f"--gamma: got {len(gamma)} values with --form {form}; expected one"
    if form != "tables" and credit_to != "as_paid":
        return f"--credit-to: got {credit_to} with --form {form}; expected as_paid"
    return None


def _wrong_purification(form: ExportForm, purified: bool) -> str | None:
    """Return what is wrong with `--purified`, or None."""
    if purified and form not in PURIFIABLE:
        expected = ", ".join(PURIFIABLE)
        return f"--purified: got it with --form {form}; expected --form one of {expected}"
    return None


def _wrong_trace_options(form: ExportForm, opened_at: str, content: bool) -> str | None:
    """Return what is wrong with the options of traces, or None."""
    if form != "otlp" and opened_at != EPOCH:
        return f"--opened-at: got {opened_at} with --form {form}; expected --form otlp"
    if form != "otlp" and content:
        return f"--content: got it with --form {form}; expected --form otlp"
    return None


def _export_traces(
    episodes: Iterator[Exported], count: int, out: Path, opened_at: str, content: bool
) -> list[str]:
    """Export traces; return what to print. Raises what `run_guarded` catches."""
    try:
        exporting = import_module("api.telemetry.exported")
    except ImportError:
        raise CorpusUsageError(
            "export: opentelemetry-proto is not installed; wanted `pip install 'milestoned[otel]'`"
        ) from None
    try:
        resource = resource_of(os.environ)
    except ValueError as error:
        raise CorpusUsageError(str(error)) from None
    opened_ns = unix_ns(opened_at)
    with tqdm(total=count, unit="episode", disable=None, leave=False) as bar:
        traces = (
            exporting.exported_trace(episode, opened_ns, content=content)
            for episode in _counted(episodes, bar)
        )
        spans, evaluations = exporting.write_traces(out, traces, resource)
    return [f"{count} traces, {spans} spans, {evaluations} evaluations"]


def _export_chats(
    episodes: Iterator[Exported], count: int, out: Path, export: ChatExport
) -> list[str]:
    """Export one form with its card; return what to print. Raises what `run_guarded` catches."""
    parquet = _parquet()
    schemas = {export.form: parquet.CHAT_SCHEMAS[export.form]}
    with tqdm(total=count, unit="episode", disable=None, leave=False) as bar:
        rows = export.rows(_counted(episodes, bar))
        counts = parquet.write(out, ({export.form: [row]} for row in rows), schemas)
    written = counts[export.form]
    (out / "README.md").write_text(dataset_card(export, written, content_version(out)))
    return [
        f"{written} rows of {export.form} data from {count} episodes",
        *(f"purified: {number} steps {kind}" for kind, number in export.detours.items()),
        *_left_out(export.left_out),
    ]


def _export_trajectories(episodes: Iterator[Exported], count: int, out: Path) -> list[str]:
    """Export a trajectory of each closed episode; return what to print.

    Raises what `run_guarded` catches.
    """
    export = AtifExport()
    with tqdm(total=count, unit="episode", disable=None, leave=False) as bar:
        written = export.write(out, _counted(episodes, bar))
    return [f"{written} trajectories from {count} episodes", *_left_out(export.left_out)]


def _left_out(left_out: Mapping[str, int]) -> list[str]:
    """Return a line for each reason why episodes were left out."""
    return [f"left out: {number} episodes {reason}" for reason, number in left_out.items()]


def _export_pages(episodes: Iterator[Exported], count: int, out: Path) -> list[str]:
    """Export a page of each episode; return what to print. Raises what `run_guarded` catches."""
    # Here: pages are the service's own, which takes longer to import than a small export.
    standalone = import_module("api.pages.standalone")
    with tqdm(total=count, unit="episode", disable=None, leave=False) as bar:
        written = standalone.write_pages(out, _counted(episodes, bar))
    return [f"{written} pages"]


def _counted(episodes: Iterator[Exported], bar: tqdm[Any]) -> Iterator[Exported]:
    """Yield episodes, and move the bar with each."""
    for episode in episodes:
        yield episode
        bar.update()


def _parquet() -> ModuleType:
    """Return the module that writes Parquet files, which an extra installs."""
    try:
        return import_module("api.exporting.parquet")
    except ImportError:
        raise CorpusUsageError(
            "export: pyarrow is not installed; wanted `pip install 'milestoned[export]'`"
        ) from None


def _export_tables(
    episodes: Iterator[Exported], count: int, out: Path, gammas: list[float], view: ExportView
) -> list[str]:
    """Export the tables; return what to print. Raises what `run_guarded` catches."""
    parquet = _parquet()
    with tqdm(total=count, unit="episode", disable=None, leave=False) as bar:
        counts = parquet.write(out, _tables(episodes, gammas, view, bar))
    parquet.write_rewards_twin(out)
    card = tables_card(counts, gammas, view.credit_to, content_version(out))
    (out / "README.md").write_text(card, encoding="utf-8")
    return [", ".join(f"{count} {name}" for name, count in counts.items())]


@contextmanager
def _out_folder(out: str) -> Iterator[Path]:
    """Give the folder to write to; its files are at ``out`` once the block ends, none of them if it
    raises. Raises `CorpusUsageError`."""
    if "://" not in out:
        with staged_in(Path(out)) as folder:
            yield folder
        return
    try:
        stores = import_module("api.exporting.object_stores")
    except ImportError:
        raise CorpusUsageError(
            "--out: obstore is not installed; wanted `pip install 'milestoned[object-store]'`"
        ) from None
    try:
        with stores.staged_for(out) as folder:
            yield folder
    except stores.ObjectStoreError as error:
        raise CorpusUsageError(str(error)) from None


class ExportView(NamedTuple):
    """Which view credits are of; ``siblings``: what the view `siblings` compares episodes with."""

    credit_to: Credit
    siblings: SiblingReturns | None


def _view(source: Source, credit_to: Credit) -> ExportView:
    """Return the view; that of siblings reads all episodes once before they are exported."""
    if credit_to != "siblings":
        return ExportView(credit_to, None)
    episodes, count = source()
    with tqdm(total=count, unit="episode", disable=None, leave=False) as bar:
        return ExportView(credit_to, note_siblings(_counted(episodes, bar)))


def _source(
    recordings: Recordings, stored: Stored, task: tuple[Path, ...], changed: dict[str, str]
) -> Source:
    """Return what reads the selected episodes from the first on, each time that it is called."""
    chosen = stored.selection(recordings)
    if chosen is None:
        return partial(_recorded, recordings, task, changed)
    return partial(_stored, stored, chosen, task)


def _recorded(
    recordings: Sequence[Path], task: Sequence[Path], changed: dict[str, str]
) -> tuple[Iterator[Exported], int]:
    """Return recordings with the tasks that they are scored by, and how many there are. Raises
    `CorpusUsageError`."""
    if not task:
        raise CorpusUsageError(
            "--task: recordings do not hold the task they are scored by; wanted its file"
        )
    paths, tasks = recorded.files(list(recordings)), tasks_of(task, changed)
    return map(_of_recording, recorded.materials(paths, tasks, None, True)), len(paths)


def _of_recording(material: Material) -> Exported:
    """Return a recording as an episode to export. Raises `CorpusUsageError` for one that is
    wrong."""
    if material.wrong is not None:
        raise CorpusUsageError(material.wrong)
    return Exported(material.name, material.content, task=material.task)


def _stored(
    stored: Stored, chosen: CorpusSelection, task: Sequence[Path]
) -> tuple[Iterator[Exported], int]:
    """Return the stored episodes that are selected, and how many there are. Raises
    `CorpusUsageError`."""
    if task:
        raise CorpusUsageError(
            "--task: stored episodes are exported as they were paid; wanted `milestoned rescore`"
            " for that"
        )
    url = stored.database_url()
    count = corpus.count(url, chosen)
    if count == 0:
        raise CorpusUsageError("--stored: no closed episode is selected")
    return map(of_store, corpus.episodes(url, chosen)), count


def _tables(
    episodes: Iterator[Exported], gammas: list[float], view: ExportView, bar: tqdm[Any]
) -> Iterator[Rows]:
    """Yield the rows of one episode after the other, and move the bar."""
    for one in episodes:
        yield tables([one], gammas, view.credit_to, view.siblings)
        bar.update()
