"""The reward model: a question about a step, the reading of the step's events before it, steps in
batches, and what it adds to a process's memory.

The model is trained here on a made-up corpus with the settings of `milestoned rm train`, so that
its trees are as many and as deep as a real one's; what it says is of no matter. Each part runs in a
fresh process. All questions are asked in three of them: the least that a step took in one of these
is what it takes by itself, the rest is who else was on the machine. The memory is that of a process which has loaded a service and nothing else:
questions are made in another one, and numpy comes with the model.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from api.stages.model.stage import ModelStage
    from detectors.model.types import Event

from benchmarks.figures import LOWER, NEITHER, Wanted, at_least, at_most
from benchmarks.measure import Estimate, estimate_longest, estimate_quantile, single
from benchmarks.report import PartReport

STEPS, QUICK_STEPS, SHOWN, LONG, FILES = 400, 200, 25, 100, 100
"""Questions of the latency, lines of text that come in a step, steps of an episode, files."""
QUESTIONS, FIGURES = "questions.pickle", "figures.json"
RUN, RUNS, QUICK_RUNS = ".run.pickle", 3, 2
"""The end of a run's file, and how many runs."""
Episodes = dict[str, list[tuple[str, "list[Event]"]]]
"""Instruction and log of each episode, by what they are about."""


class Job(NamedTuple):
    """What a process of this part is given: where all is, its number, and whether it is the short
    form."""

    folder: Path
    number: int
    is_quick: bool

    @property
    def figures(self) -> Path:
        """Return the file of the rows that the process printed."""
        return self.folder / f"{self.number}-{FIGURES}"


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("spawn")
        runs = [_serve] * report.choose(RUNS, QUICK_RUNS)
        targets = [_train, _make_questions, _measure_growth, *runs, _report_serving]
        for number, target in enumerate(targets):
            job = Job(Path(folder), number, report.is_quick)
            process = context.Process(target=target, args=(job,))
            process.start()
            process.join()
            if process.exitcode:
                raise RuntimeError(f"{target.__name__} ended with {process.exitcode}")
            if job.figures.exists():
                report.read_figures(job.figures)


def _train(job: Job) -> None:
    import orjson

    from api.stages.model.folder import save
    from lab.training.pairing import preferences_of
    from lab.training.preferences import read_preferences
    from lab.training.training import Learner
    from tests.training.synthetic import corpus

    path = job.folder
    file = path / "preferences.jsonl"
    file.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in preferences_of(corpus(path))))
    save(path / "models" / "bench", Learner(read_preferences([file])).model("bench", {}))


def _make_questions(job: Job) -> None:
    """Write instruction and log of each episode that is asked about."""
    from tests.training.synthetic import episode, fill, instruction, submit

    shown = [f"line {n} of the page with some words in it" for n in range(SHOWN)]
    steps = [
        fill(f"value {n}") if n % 2 else submit(*(f"{n} {one}" for one in shown))
        for n in range(LONG)
    ]
    number_of = (QUICK_STEPS if job.is_quick else STEPS) // LONG
    pages = [
        (instruction("amber"), episode("amber", *steps, name=f"ep_{number}"))
        for number in range(number_of)
    ]
    desks = list(map(_desk, range(number_of)))
    made: Episodes = {"pages": pages, "desktops and files": desks}
    (job.folder / QUESTIONS).write_bytes(pickle.dumps(made))


def _read_questions(job: Job) -> Episodes:
    made: Episodes = pickle.loads((job.folder / QUESTIONS).read_bytes())
    return made


def _measure_growth(job: Job) -> None:
    """What serving the model adds to a process that has loaded a service: before the model is
    imported, when it is loaded, and after all questions."""
    import api.app  # noqa: F401  # what a service has loaded anyway

    assert "numpy" not in sys.modules, "numpy was loaded before the model"
    episodes = _read_questions(job)
    before = _resident_mb()
    from api.stages.model.stage import load_stage

    stage = load_stage(job.folder / "models", "bench", 0.2)
    loaded = _resident_mb()
    for asked in episodes.values():
        _ask(stage, asked)
    after = _resident_mb()
    report = PartReport("model", is_quick=job.is_quick)
    reference = "a service's modules, and questions"
    report.add("resident before the model", single(before), "MB", NEITHER)
    report.add("the model adds, numpy among it", single(loaded - before), "MB", LOWER, reference)
    row = "the model adds, after all questions"
    report.add(row, single(after - before), "MB", at_most(150), reference)
    report.write_figures(job.figures)


def _resident_mb() -> float:
    """The memory of this process that is resident now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _serve(job: Job) -> None:
    """Ask all questions once, and write down what each took."""
    import numpy as np

    from api.core.gc_tuning import spare
    from api.stages.model.stage import load_stage, scores

    stage = load_stage(job.folder / "models", "bench", 0.2)
    episodes = _read_questions(job)
    spare()  # as a service does once all is loaded
    times = {what: _ask(stage, asked) for what, asked in episodes.items()}
    rows = np.random.default_rng(0).normal(size=(6_000, len(stage.model.known.middle)))
    start = time.process_time()
    scores(stage.model, rows)
    spent = time.process_time() - start
    trees = len(stage.model.heads["success"].roots)
    run = Run(times, trees, len(rows) / spent)
    (job.folder / f"{job.number}{RUN}").write_bytes(pickle.dumps(run))


def _report_serving(job: Job) -> None:
    files = sorted(job.folder.glob(f"*{RUN}"))
    runs: list[Run] = [pickle.loads(file.read_bytes()) for file in files]
    report = PartReport("model", is_quick=job.is_quick)
    report.head(
        f"model: {runs[0].trees} trees; episodes of {LONG} steps, each read as it comes, then asked"
        " about: digest, answer; but for the first two rows of each the core's own time"
    )
    for what, taken in runs[0].times.items():
        _report_times(report, what, taken)
        _report_least(report, what, [run.times[what] for run in runs])
    rate = max(run.rate for run in runs)
    report.add("rows in batches, one core", single(rate), "steps/s", at_least(3_000))
    report.write_figures(job.figures)


def _report_least(report: PartReport, what: str, runs: list[list[Taken]]) -> None:
    """The least that each step took, its events and its question together."""
    steps = [step for step in zip(*runs, strict=True) if not step[0].is_first]
    least = [min(one.both for one in step) for step in steps]
    for share, name, wanted in (
        (0.5, "p50", LOWER),
        (0.99, "p99", at_most(2)),
        (1, "longest", LOWER),
    ):
        row = f"{what}: both, the least of all runs, {name}"
        report.add(row, _in_ms(least, share), "ms", wanted)


def _report_times(report: PartReport, what: str, taken: list[Taken]) -> None:
    """A question; what its events took before, as they came; and both, without the opening."""
    steps = [one for one in taken if not one.is_first]
    asked = [one.asked for one in taken]
    asked_cpu = [one.asked_cpu for one in taken]
    read = [sum(one.parts) for one in steps]
    both = [one.both for one in steps]
    openings = [sum(one.parts) for one in taken if one.is_first]
    parts = [part for one in taken for part in one.parts]
    rows: tuple[tuple[str, list[float], float, Wanted], ...] = (
        ("a question by the clock, p50", asked, 0.5, LOWER),
        ("a question by the clock, p99", asked, 0.99, at_most(2)),
        ("a question, p99", asked_cpu, 0.99, at_most(2)),
        ("the longest question", asked_cpu, 1, LOWER),
        ("a step's events, as they come, p50", read, 0.5, LOWER),
        ("a step's events, as they come, p99", read, 0.99, LOWER),
        ("both, p50", both, 0.5, LOWER),
        ("both, p99", both, 0.99, LOWER),
        ("an opening, as it comes, the median", openings, 0.5, LOWER),
        ("the longest opening", openings, 1, LOWER),
        ("a part that is read at once, p99", parts, 0.99, LOWER),
        ("the longest part that is read at once", parts, 1, LOWER),
    )
    for row, times, share, wanted in rows:
        report.add(f"{what}: {row}", _in_ms(times, share), "ms", wanted)


def _in_ms(seconds: list[float], share: float) -> Estimate:
    """Return a quantile in milliseconds."""
    times = [one * 1e3 for one in seconds]
    return estimate_longest(times) if share == 1 else estimate_quantile(times, share)


def _desk(seed: int) -> tuple[str, list[Event]]:
    """Instruction and log of a desktop on which a hundred files and widgets stand."""
    from tests.support.logs import log
    from tests.training.random_desks import draw_desk

    said, events = draw_desk(seed, LONG)
    many: list[tuple[str, dict[str, Any]]] = []
    for number in range(FILES):
        name = f"{number}.txt"
        known = {"root": "h", "path": name, "name": name, "size": 9, "sha256": f"{number:064x}"}
        many.append(("file.created", {**known, "via": "write"}))
        widget = {"role": "text", "name": "", "path": [9, number]}
        at = {"app": "editor", "window": "9", "widget": widget}
        many.append(("widget.text_changed", {**at, "text": f"line {number} of it\n" * FILES}))
    return said, log(*many, *((event.kind, dict(event.data)) for event in events))


class Taken(NamedTuple):
    """Seconds of one step: of its question, and of the core's own; of each part of the log that was
    read before it."""

    asked: float
    asked_cpu: float
    parts: list[float]
    is_first: bool

    @property
    def both(self) -> float:
        """Of the core's own time: the events and the question."""
        return sum(self.parts) + self.asked_cpu


class Run(NamedTuple):
    """What all questions took once; how many trees were asked; rows a second of the core's own."""

    times: dict[str, list[Taken]]
    trees: int
    rate: float


def _ask(stage: ModelStage, episodes: list[tuple[str, list[Event]]]) -> list[Taken]:
    """Let the log of each step be read as it comes, then ask about the step; in order."""
    from api.stages.base import Question

    taken: list[Taken] = []
    for number, (instruction, events) in enumerate(episodes):
        name = f"{instruction[:8]}-{number}"
        task = {"id": "t", "instruction": instruction}
        seals = [at + 1 for at, event in enumerate(events) if event.kind == "step.sealed"]
        for step, cut in enumerate(seals):
            question = Question(name, step, "step", False, task, (), events[:cut], ())
            parts: list[float] = []
            unread = cut
            while unread:
                began = time.thread_time()
                unread = stage.read(name, task, question.events)
                parts.append(time.thread_time() - began)
            start, began = time.perf_counter(), time.thread_time()
            stage.digest(question)
            stage.answer(question)
            asked = time.perf_counter() - start
            taken.append(Taken(asked, time.thread_time() - began, parts, step == 0))
    return taken
