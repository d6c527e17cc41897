"""The reward model: a step with its features, steps in batches, and what it adds to a process's
memory.

The model is trained here on a made-up corpus with the settings of `milestoned rm train`, so that
its trees are as many and as deep as a real one's; what it says is of no matter. Each part runs in a
fresh process, and the memory is that of a process which has loaded a service and nothing else:
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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from api.stages.model.stage import ModelStage
    from detectors.model.types import Event

from benchmarks.measure import line, quantile

STEPS, SHOWN, LONG, FILES = 400, 25, 100, 100
"""Questions of the latency, lines of text that come in a step, steps of an episode, files."""
QUESTIONS = "questions.pickle"
Episodes = dict[str, list[tuple[str, "list[Event]"]]]
"""Instruction and log of each episode, by what they are about."""


def main() -> None:
    """Take the measurements and print their figures."""
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("spawn")
        for target in (_train, _make_questions, _measure_growth, _serve):
            part = context.Process(target=target, args=(folder,))
            part.start()
            part.join()
            if part.exitcode:
                sys.exit(part.exitcode)


def _train(folder: str) -> None:
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


def _make_questions(folder: str) -> None:
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


def _measure_growth(folder: str) -> None:
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


def _serve(folder: str) -> None:
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
    print(
        f"model: {trees} trees; episodes of {LONG} steps, asked step by step: digest, features,"
        " answer"
    )
    for what, (took, cpu) in times.items():
        line(f"{what}: a step, p50, ms", f"{quantile(took, 0.5) * 1e3:.2f}")
        line(f"{what}: a step, p99, ms", f"{quantile(took, 0.99) * 1e3:.2f}", "wanted <= 2")
        line(
            f"{what}: a step, p99 of the core's own time, ms",
            f"{quantile(cpu, 0.99) * 1e3:.2f}",
            "wanted <= 2 on a busy machine",
        )
        line(f"{what}: the longest step, of the core's own time, ms", f"{max(cpu) * 1e3:.2f}")
    line("rows in batches, steps/s and core", f"{len(rows) / spent:,.0f}", "wanted >= 3,000")


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


def _ask(
    stage: ModelStage, episodes: list[tuple[str, list[Event]]]
) -> tuple[list[float], list[float]]:
    """Ask about every step of these episodes, in order: seconds, and seconds of the core's own."""
    from api.stages.base import Question

    took: list[float] = []
    cpu: list[float] = []
    for number, (instruction, events) in enumerate(episodes):
        name = f"{instruction[:8]}-{number}"
        task = {"id": "t", "instruction": instruction}
        seals = [at + 1 for at, event in enumerate(events) if event.kind == "step.sealed"]
        for step, cut in enumerate(seals):
            question = Question(name, step, "step", False, task, (), events[:cut], ())
            start, began = time.perf_counter(), time.thread_time()
            stage.digest(question)
            stage.answer(question)
            took.append(time.perf_counter() - start)
            cpu.append(time.thread_time() - began)
    return took, cpu


if __name__ == "__main__":
    main()
