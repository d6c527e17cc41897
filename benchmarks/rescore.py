"""Rescoring a corpus against decoding it, two processes against one, and how long the log is.

The episodes are real ones: what Chromium, desktop programs and the file system did in the golden
scenes of the tests, one after the other, in steps of ten events. All episodes hold the same events
under ids of their own.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from agentd.core.clock import GRAIN_NS
from api.replay.recordings import read_recording
from api.rescoring.crews import answers, pool
from api.rescoring.recorded import files, materials
from api.rescoring.running import run
from api.rewards.scored_episode import task_bytes
from api.tasks.task_files import load_task_file
from benchmarks import workload
from benchmarks.figures import HIGHER, LOWER, NEITHER, RATIO, at_least, at_most
from benchmarks.measure import estimate_median, estimate_rate, exact, interleaved, ratio
from benchmarks.report import PartReport
from common.frames import Packer, live_packer
from detectors.model.codec import GENESIS, encode_event, join_segment, sha256
from detectors.model.kinds import KINDS
from detectors.task.language import Task

ROOT = Path(__file__).parent.parent
EPISODES, QUICK_EPISODES = 10_000, 400
ROUNDS, QUICK_ROUNDS, STEP = 5, 3, 10
PACE_NS = 30_000_000
"""Mean time between two events of the scenes, whose own times the golden files leave out."""

Row = tuple[str, dict[str, Any]]


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    lines = golden_lines()
    with tempfile.TemporaryDirectory() as folder:
        _record(Path(folder), lines, report.choose(EPISODES, QUICK_EPISODES))
        _rescore(report, Path(folder), len(lines))
    _size(report, lines)


def _rescore(report: PartReport, folder: Path, events: int) -> None:
    paths = files([folder])
    task = load_task_file(ROOT / "examples" / "shop" / "task.yaml", {"version": "2"})
    old = load_task_file(ROOT / "examples" / "shop" / "task.yaml")

    deaf = workload.deaf().task
    took = interleaved(
        report.choose(ROUNDS, QUICK_ROUNDS),
        decode=lambda: _decode(paths),
        decode_two=lambda: _decode_apart(paths, 2),
        decode_apart=lambda: _decode_apart(paths, 1),
        deaf=lambda: _scored(paths, deaf, {}, 1),
        one=lambda: _scored(paths, task, {}, 1),
        two=lambda: _scored(paths, task, {}, 2),
        both=lambda: _scored(paths[: len(paths) // 10], task, {old.id: task_bytes(old)}, 1),
    )
    total = events * len(paths)
    report.head(f"rescore: {len(paths)} recordings of {events} events")
    same = "reading and decoding the same files"
    report.add("decoding", estimate_rate(total, took["decode"]), "events/s", NEITHER)
    report.add("rescore, one process", estimate_rate(total, took["one"]), "events/s", HIGHER)
    figure = ratio(took["one"], took["decode"])
    report.add("rescore / decoding", figure, RATIO, at_most(1.5), same)
    figure = ratio(took["one"], took["two"])
    report.add("rescore, two processes / one", figure, RATIO, at_least(1.9), "one process")
    figure = ratio(took["deaf"], took["decode"])
    row = "rescore under a task that hears nothing / decoding"
    report.add(row, figure, RATIO, NEITHER, same)
    figure = ratio(took["decode_apart"], took["decode_two"])
    row = "decoding the same files, two processes / one"
    report.add(row, figure, RATIO, NEITHER, "one process beside this one")
    figure = ratio([10 * one for one in took["both"]], took["decode"])
    report.add("rescore under an old task and a new one / decoding", figure, RATIO, LOWER, same)


def _scored(paths: Sequence[Path], task: Task, old: dict[str, bytes], workers: int) -> None:
    """What `milestoned rescore` does with these files."""
    found = run(
        materials(paths, [task], old, False),
        lambda given: answers(given, "processes", workers),
        None,
    )
    if any(answer.status == "failed" for answer in found):
        raise RuntimeError("a recording of the benchmark could not be scored")


def _decode_apart(paths: Sequence[Path], workers: int) -> None:
    """Read and decode the files in so many processes, which hand nothing back: what two can gain."""
    with pool(workers) as crew:
        for _ in crew.map(_decode, [paths[n::workers] for n in range(workers)]):
            pass


def _decode(paths: Sequence[Path]) -> None:
    for path in paths:
        for _ in read_recording(path):
            pass


def _size(report: PartReport, lines: Sequence[bytes]) -> None:
    mean = sum(map(len, lines)) / len(lines)
    report.head(
        f"log size: {len(lines)} events of the golden scenes, {mean:.0f} bytes each as JSON"
    )
    live, plain = live_packer(), Packer()
    for size, what, most in (
        (500, "500 events a segment", 20),
        (STEP, f"{STEP} events a segment, as a live step", 30),
    ):
        texts = list(_texts("ep_bench", lines, size))
        for packer, how, wanted in (
            (live, "", at_most(most)),
            (plain, ", without the dictionary", NEITHER),
        ):
            taken = exact(_pack_all(packer, texts) / len(lines))
            report.add(f"bytes an event, {what}{how}", taken, "bytes", wanted)
        took = interleaved(
            report.choose(ROUNDS, QUICK_ROUNDS),
            live=partial(_pack_all, live, texts),
            plain=partial(_pack_all, plain, texts),
        )
        for name, how in (("live", ""), ("plain", ", without the dictionary")):
            micros = estimate_median([seconds / len(lines) * 1e6 for seconds in took[name]])
            report.add(f"packing an event, {size} a segment{how}", micros, "µs", LOWER)


def _pack_all(packer: Packer, texts: Sequence[bytes]) -> int:
    return sum(len(packer.pack(text)) for text in texts)


def golden_lines() -> list[bytes]:
    """Return the events of the golden scenes as a journal numbers them."""
    return _lines(_scenes())


def _scenes() -> list[Row]:
    """All golden scenes of the sources, cut into steps."""
    rows: list[Row] = [("episode.opened", {"task": "shop/buy-lamp", "digest": ""})]
    seen = [
        tuple(orjson.loads(text)) for path in _golden() for text in path.read_bytes().splitlines()
    ]
    seen = [row for row in seen if KINDS[row[0]].source not in ("journal", "steps")]
    for n in range(0, len(seen), STEP):
        step = n // STEP
        rows += [("step.began", {"step": step, "action": None}), *seen[n : n + STEP]]
        rows += [("step.ended", {"step": step}), ("step.sealed", {"step": step, "reason": "quiet"})]
    return [*rows, ("episode.closed", {"reason": "done"})]


def _golden() -> list[Path]:
    return sorted((ROOT / "tests").glob("*/golden/*.seen.jsonl"))


def _lines(rows: Sequence[Row]) -> list[bytes]:
    rng, at, lines = random.Random(1), 0, []
    for seq, (kind, data) in enumerate(rows, 1):
        at += int(rng.expovariate(1 / PACE_NS))
        lines.append(encode_event(seq, KINDS[kind].source, kind, at - at % GRAIN_NS, data))
    return lines


def _texts(episode: str, lines: Sequence[bytes], size: int) -> list[bytes]:
    texts, prev = [], GENESIS
    for first in range(0, len(lines), size):
        texts.append(join_segment(episode, first + 1, lines[first : first + size], prev))
        prev = sha256(texts[-1])
    return texts


def _record(folder: Path, lines: Sequence[bytes], episodes: int) -> None:
    """The corpus, each recording as a journal ships it once its sandbox is left alone: segments of
    a hundred."""
    pack = Packer().pack
    for n in range(episodes):
        path = folder / f"{n // 100:03}" / f"{n:05}.mrec"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(map(pack, _texts(f"ep_bench{n:05}", lines, 100))))
