"""Scoring one recording against its task, beside WebArena-Verified's own evaluator on the same HAR
and task.

Each in a process of its own that does nothing else, asked in turns.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson

from agentd.journal.recordings import segments, write_recording
from api.replay.recordings import read_recording, replay
from benchmarks.figures import LOWER, NEITHER, RATIO, Wanted, at_least
from benchmarks.measure import estimate_median, ratio
from benchmarks.report import PartReport
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import verified
from tests.importing.webarena.hars import PLACES, Case, cases, entry, timed
from tests.importing.webarena.scoring import HOME, PYTHON, ROOT, dataset, lines, written

TASKS, QUICK_TASKS = 20, 8
ROUNDS, QUICK_ROUNDS = 2, 1
COLD, QUICK_COLD = 3, 2
PAGES = 100
"""Requests beside those that count, as a browser makes them."""

PAUSE_S = 0.01
"""Before a recording is read alone: as when a replay is asked for, the caches hold something else."""
IMPORTS = "import cyclopts, detectors.task.task_json, yaml"
"""What any command imports that scores by a task, before it does anything."""


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    if not PYTHON.exists():
        report.leave_out(f"no {HOME.name} here; `make {HOME.name}/ready` makes it")
        return
    with tempfile.TemporaryDirectory() as folder:
        _run(report, Path(folder))


def _run(report: PartReport, folder: Path) -> None:
    chosen = _chosen(report.choose(TASKS, QUICK_TASKS))
    rounds = report.choose(ROUNDS, QUICK_ROUNDS)
    for one in verified.tasks(HOME, {}):
        if any(str(case.task) == one.name for case in chosen):
            (folder / f"{one.name}.json").write_bytes(orjson.dumps(one.spec))
    for case in chosen:
        recording = segments(f"bench-{case.task}", lines(case, written(case, folder)))
        write_recording(recording, folder / f"{case.task}.mrec", force=True)
    size = statistics.median(len(case.entries) for case in chosen)
    theirs, ours, reads, whole = [], [], [], []
    with (
        _Child(*_judge()) as judge,
        _Child(sys.executable, "-m", "benchmarks.webarena", str(folder)) as own,
    ):
        for number in range(rounds + 1):
            for case in chosen:
                paid, seconds = judge.score(case, folder)[:2]
                earned, taken, read = own.score(case, folder)
                began = time.process_time()
                again = lines(case, folder / f"{case.task}.har")
                converted = time.process_time() - began
                assert (paid, earned, len(again) > 0) == (1.0, 1.0, True), case.task
                if number:  # the first round warms both
                    theirs.append(seconds * 1000)
                    ours.append(taken * 1000)
                    reads.append(read * 1000)
                    whole.append((taken + converted) * 1000)
    report.head(
        f"webarena: {len(chosen)} tasks solved, HARs of {size:g} entries, {rounds} rounds, CPU time"
    )
    report.add("WebArena-Verified's evaluator", estimate_median(theirs), "ms", NEITHER)
    report.add("a recording replayed under its task", estimate_median(ours), "ms", LOWER)
    ratios: tuple[tuple[str, list[float], Wanted], ...] = (
        ("theirs / ours, warm", ours, at_least(5)),
        ("theirs / reading our recording alone, warm", reads, NEITHER),
        ("theirs / ours with the HAR's conversion, warm", whole, NEITHER),
    )
    for row, times, wanted in ratios:
        report.add(row, ratio(theirs, times), RATIO, wanted, "ours, the same HARs and tasks")
    _cold(report, chosen[: report.choose(COLD, QUICK_COLD)], folder)


def _cold(report: PartReport, chosen: list[Case], folder: Path) -> None:
    """A process each, from its start to its score."""
    theirs, ours, bare = [], [], []
    for case in chosen:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, check=True)
        bare.append(time.perf_counter() - began)
        began = time.perf_counter()
        with _Child(*_judge()) as judge:
            judge.score(case, folder)
        theirs.append(time.perf_counter() - began)
        command = [
            sys.executable,
            "-m",
            "api.cli.main",
            "replay",
            str(folder / f"{case.task}.mrec"),
        ]
        began = time.perf_counter()
        subprocess.run(
            [*command, "--task", str(folder / f"{case.task}.json")],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        ours.append(time.perf_counter() - began)
    report.add("theirs, a process from its start", estimate_median(theirs), "s", NEITHER)
    row = "ours, a process from its start (milestoned replay)"
    report.add(row, estimate_median(ours), "s", LOWER)
    row = "theirs / an interpreter that imports what reads our command line and a task, cold"
    report.add(row, ratio(theirs, bare), RATIO, NEITHER, "the same imports, no replay")
    figure = ratio(theirs, ours)
    row = "theirs / ours, cold"
    report.add(row, figure, RATIO, at_least(5), "ours, each in a process of its own")


def _chosen(tasks: int) -> list[Case]:
    """Tasks that are solved on the network, each with the requests of an ordinary session
    before."""
    found: list[Case] = []
    for task in dataset():
        kind = task["eval"][0]["expected"]["task_type"]
        draft = any(
            "dummy_bin" in str(config["expected"].get("url")) for config in task["eval"][1:]
        )
        markdown = "markdown" in str(task["eval"])
        if kind == "mutate" and not draft and not markdown and len(task["eval"]) > 1:
            right = next(cases(task))
            home = PLACES.rendered(f"__{task['sites'][0].upper()}__/")
            before = [entry("GET", f"{home}page-{n}.html?n={n}", 200) for n in range(PAGES)]
            found.append(right._replace(entries=timed([*before, *right.entries])))
    step = len(found) // tasks
    return found[::step][:tasks]


def _judge() -> tuple[str, ...]:
    """Their evaluator in its own environment."""
    return (str(PYTHON), "-m", "tests.importing.webarena.oracle", json.dumps(verified.SITES))


def _ours(folder: Path) -> None:
    """What their evaluator is asked, of our own: each recording in the folder has its task beside
    it."""
    rules = {
        path.stem: compile_task(task_from_json(orjson.loads(path.read_bytes())))
        for path in folder.glob("*.json")
    }
    # A replay has one thread, whose clock stays fine while the process is sampled (benchmarks.flame).
    for asked in sys.stdin:
        name = str(json.loads(asked)["task_id"])
        began = time.thread_time()
        engine, _ = replay(folder / f"{name}.mrec", rules[name])
        taken = time.thread_time() - began
        time.sleep(PAUSE_S)
        began = time.thread_time()
        for _ in read_recording(folder / f"{name}.mrec"):
            pass
        read = time.thread_time() - began
        print(json.dumps([float(engine.success is True), taken, read]), flush=True)


class _Child:
    """A process that scores, one question a line."""

    def __init__(self, *command: str) -> None:
        self._command = command

    def __enter__(self) -> _Child:
        self._child = subprocess.Popen(
            self._command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self

    def score(self, case: Case, folder: Path) -> list[float]:
        """Score one case; gives the score and the seconds it took, of ours also those of reading."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        har = str(folder / f"{case.task}.har")
        self._child.stdin.write(
            json.dumps({"task_id": case.task, "answer": case.answer, "har": har}) + "\n"
        )
        self._child.stdin.flush()
        return [float(each) for each in json.loads(self._child.stdout.readline())]

    def __exit__(self, *error: object) -> None:
        self._child.communicate()


if __name__ == "__main__":
    _ours(Path(sys.argv[1]))
