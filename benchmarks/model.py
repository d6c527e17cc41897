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

from benchmarks.measure import line, quantile

STEPS, SHOWN, LONG, FILES = 400, 25, 100, 100
"""Questions of the latency, lines of text that come in a step, steps of an episode, files."""
QUESTIONS = "questions.pickle"
RUN, RUNS = ".run.pickle", 3
"""The end of a run's file, and how many runs."""
Episodes = dict[str, list[tuple[str, "list[Event]"]]]
"""Instruction and log of each episode, by what they are about."""


def main() -> None:
    """Take the measurements and print their figures."""
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("spawn")
        parts = [_train, _make_questions, _measure_growth, *[_serve] * RUNS, _print_serving]
        for number, target in enumerate(parts):
            part = context.Process(target=target, args=(folder, number))
            part.start()
            part.join()
            if part.exitcode:
                sys.exit(part.exitcode)


def _train(folder: str, number: int) -> None:
    import orjson

    from api.stages.model.folder import save
    from lab.training.pairing import preferences_of
    from lab.training.preferences import read_preferences
    from lab.training.training import Learner
    from tests.training.synthetic import corpus

    path = Path(folder)
    file = path / "preferences.jsonl"
    file.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in preferences_of(corpus(path))))
    save(path / "models" / "bench", Learner(read_preferences([file])).model("bench", {}))


def _make_questions(folder: str, number: int) -> None:
    """Write instruction and log of each episode that is asked about."""
    from tests.training.synthetic import episode, fill, instruction, submit

    shown = [f"line {n} of the page with some words in it" for n in range(SHOWN)]
    steps = [
        fill(f"value {n}") if n % 2 else submit(*(f"{n} {one}" for one in shown))
        for n in range(LONG)
    ]
    number_of = STEPS // LONG
    pages = [
        (instruction("amber"), episode("amber", *steps, name=f"ep_{number}"))
        for number in range(number_of)
    ]
    desks = list(map(_desk, range(number_of)))
    made: Episodes = {"pages": pages, "desktops and files": desks}
    (Path(folder) / QUESTIONS).write_bytes(pickle.dumps(made))


def _read_questions(folder: str) -> Episodes:
    made: Episodes = pickle.loads((Path(folder) / QUESTIONS).read_bytes())
    return made


def _measure_growth(folder: str, number: int) -> None:
    """What serving the model adds to a process that has loaded a service: before the model is
    imported, when it is loaded, and after all questions."""
    import api.app  # noqa: F401  # what a service has loaded anyway

    assert "numpy" not in sys.modules, "numpy was loaded before the model"
    episodes = _read_questions(folder)
    before = _resident_mb()
    from api.stages.model.stage import load_stage

    stage = load_stage(Path(folder) / "models", "bench", 0.2)
    loaded = _resident_mb()
    for asked in episodes.values():
        _ask(stage, asked)
    after = _resident_mb()
    line("resident before the model, MB", f"{before:.0f}", "a service's modules, and questions")
    line("it adds when it is loaded, numpy among it, MB", f"{loaded - before:.0f}")
    line("and after all questions, MB", f"{after - before:.0f}", "wanted <= 150")


def _resident_mb() -> float:
    """The memory of this process that is resident now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _serve(folder: str, number: int) -> None:
    """Ask all questions once, and write down what each took."""
    import numpy as np

    from api.core.gc_tuning import spare
    from api.stages.model.stage import load_stage, scores

    stage = load_stage(Path(folder) / "models", "bench", 0.2)
    episodes = _read_questions(folder)
    spare()  # as a service does once all is loaded
    times = {what: _ask(stage, asked) for what, asked in episodes.items()}
    rows = np.random.default_rng(0).normal(size=(6_000, len(stage.model.known.middle)))
    start = time.process_time()
    scores(stage.model, rows)
    spent = time.process_time() - start
    trees = len(stage.model.heads["success"].roots)
    run = Run(times, trees, len(rows) / spent)
    (Path(folder) / f"{number}{RUN}").write_bytes(pickle.dumps(run))


def _print_serving(folder: str, number: int) -> None:
    files = sorted(Path(folder).glob(f"*{RUN}"))
    runs: list[Run] = [pickle.loads(file.read_bytes()) for file in files]
    print(
        f"model: {runs[0].trees} trees; episodes of {LONG} steps, each read as it comes, then asked"
        " about: digest, answer"
    )
    for what, taken in runs[0].times.items():
        _print_times(what, taken)
        _print_least(what, [run.times[what] for run in runs])
    rate = f"{max(run.rate for run in runs):,.0f}"
    line("rows in batches, steps/s and core", rate, "wanted >= 3,000")


def _print_least(what: str, runs: list[list[Taken]]) -> None:
    """The least that each step took, its events and its question together."""
    steps = [step for step in zip(*runs, strict=True) if not step[0].is_first]
    least = [min(one.both for one in step) for step in steps]
    figures = " / ".join(f"{quantile(least, q) * 1e3:.2f}" for q in (0.5, 0.99, 1))
    name = f"{what}: both, the least of {len(runs)} runs, p50 / p99 / longest, ms"
    line(name, figures, "wanted <= 2 at p99")


def _print_times(what: str, taken: list[Taken]) -> None:
    """A question; what its events took before, as they came; and both, without the opening."""
    asked = [one.asked for one in taken]
    asked_cpu = [one.asked_cpu for one in taken]
    steps = [one for one in taken if not one.is_first]
    line(f"{what}: a question, p50, ms", f"{quantile(asked, 0.5) * 1e3:.2f}")
    line(f"{what}: a question, p99, ms", f"{quantile(asked, 0.99) * 1e3:.2f}", "wanted <= 2")
    line(
        f"{what}: a question, p99 of the core's own time, ms",
        f"{quantile(asked_cpu, 0.99) * 1e3:.2f}",
        "wanted <= 2 on a busy machine",
    )
    line(f"{what}: the longest question, of the core's own time, ms", f"{max(asked_cpu) * 1e3:.2f}")
    read = [sum(one.parts) for one in steps]
    both = [one.both for one in steps]
    for name, times in (("a step's events, as they come", read), ("both", both)):
        figures = " / ".join(f"{quantile(times, q) * 1e3:.2f}" for q in (0.5, 0.99))
        line(f"{what}: {name}, p50 / p99 of the core's own time, ms", figures)
    openings = [sum(one.parts) * 1e3 for one in taken if one.is_first]
    line(f"{what}: openings, as they come, ms", " ".join(f"{one:.1f}" for one in openings))
    parts = [part for one in taken for part in one.parts]
    line(
        f"{what}: the longest part that is read at once, ms",
        f"{max(parts) * 1e3:.2f}",
        f"p99 {quantile(parts, 0.99) * 1e3:.2f}",
    )


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


if __name__ == "__main__":
    main()
