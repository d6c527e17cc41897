"""The reward model: a step with its features, steps in batches, and what it adds to a process's
memory.

The model is trained here on a made-up corpus with the settings of `milestoned rm train`, so that
its trees are as many and as deep as a real one's; what it says is of no matter.
"""

from __future__ import annotations

import multiprocessing
import resource
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


def main() -> None:
    """Take the measurements and print their figures."""
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder) / "models"
        context = multiprocessing.get_context("spawn")  # training's memory is not serving's
        for target, given in ((_train, (folder,)), (_serve, (str(models),))):
            part = context.Process(target=target, args=given)
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


def _serve(models: str) -> None:
    import orjson  # noqa: F401  # what a service has loaded anyway

    from tests.training.synthetic import episode, fill, instruction, submit

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    import numpy as np

    from api.core.gc_tuning import spare
    from api.stages.model.stage import load_stage, scores

    stage = load_stage(Path(models), "bench", 0.2)
    shown = [f"line {n} of the page with some words in it" for n in range(SHOWN)]
    steps = [
        fill(f"value {n}") if n % 2 else submit(*(f"{n} {one}" for one in shown))
        for n in range(LONG)
    ]
    task = {"id": "t", "instruction": instruction("amber")}
    pages = [
        (task, episode("amber", *steps, name=f"ep_{number}")) for number in range(STEPS // LONG)
    ]
    desks = [({"id": "t", "instruction": said}, events) for said, events in map(_desk, range(4))]
    spare()  # as a service does once all is loaded
    times = {"pages": _ask(stage, pages), "desktops and files": _ask(stage, desks)}
    rows = np.random.default_rng(0).normal(size=(6_000, len(stage.model.known.middle)))
    start = time.process_time()
    scores(stage.model, rows)
    spent = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
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
            "the same on a busy machine",
        )
    line("rows in batches, steps/s and core", f"{len(rows) / spent:,.0f}", "wanted >= 3,000")
    line("resident growth, numpy among it, MB", f"{grown:.0f}", "wanted <= 150")


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
    stage: ModelStage, episodes: list[tuple[dict[str, Any], list[Event]]]
) -> tuple[list[float], list[float]]:
    """Ask about every step of these episodes, in order: seconds, and seconds of the core's own."""
    from api.stages.base import Question

    took: list[float] = []
    cpu: list[float] = []
    for number, (task, events) in enumerate(episodes):
        name = f"{task['instruction'][:8]}-{number}"
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
