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
from statistics import median
from typing import Any

import orjson

from agentd.core.clock import GRAIN_NS
from api.replay.recordings import read_recording
from api.rescoring.crews import answers
from api.rescoring.recorded import files, materials
from api.rescoring.running import run
from api.rewards.scored_episode import task_bytes
from api.tasks.task_files import load_task_file
from benchmarks.measure import beside, interleaved, line, rate
from common.frames import Packer, live_packer
from detectors.model.codec import GENESIS, encode_event, join_segment, sha256
from detectors.model.kinds import KINDS
from detectors.task.language import Task

ROOT = Path(__file__).parent.parent
EPISODES, ROUNDS, STEP = 10_000, 5, 10
PACE_NS = 30_000_000
"""Mean time between two events of the scenes, whose own times the golden files leave out."""

Row = tuple[str, dict[str, Any]]


def main() -> None:
    """Take the measurements and print their figures."""
    lines = golden_lines()
    with tempfile.TemporaryDirectory() as folder:
        _record(Path(folder), lines)
        _rescore(Path(folder), len(lines))
    _size(lines)


def _rescore(folder: Path, events: int) -> None:
    paths = files([folder])
    task = load_task_file(ROOT / "examples" / "shop" / "task.yaml", {"version": "2"})
    old = load_task_file(ROOT / "examples" / "shop" / "task.yaml")

    def decode() -> None:
        for path in paths:
            for _ in read_recording(path):
                pass

    took = interleaved(
        ROUNDS,
        decode=decode,
        one=lambda: _scored(paths, task, {}, 1),
        two=lambda: _scored(paths, task, {}, 2),
        both=lambda: _scored(paths[: EPISODES // 10], task, {old.id: task_bytes(old)}, 1),
    )
    total = events * EPISODES
    print(
        f"rescore: {EPISODES} recordings of {events} events; reference: reading and decoding the"
        " same files"
    )
    line("decoding, events/s", rate(total, took["decode"]))
    line("rescore, one process, events/s and core", rate(total, took["one"]))
    line("rescore / decoding", beside(took["one"], took["decode"]), "wanted <= 2.0")
    line("two processes / one", beside(took["one"], took["two"]), "wanted >= 1.8")
    line(
        "old task and new, compared / decoding",
        beside([10 * one for one in took["both"]], took["decode"]),
    )


def _scored(paths: Sequence[Path], task: Task, old: dict[str, bytes], workers: int) -> None:
    """What `milestoned rescore` does with these files."""
    found = run(
        materials(paths, [task], old, False),
        lambda given: answers(given, "processes", workers),
        None,
    )
    if any(answer.status == "failed" for answer in found):
        raise RuntimeError("a recording of the benchmark could not be scored")


def _size(lines: Sequence[bytes]) -> None:
    mean = sum(map(len, lines)) / len(lines)
    print(f"log size: {len(lines)} events of the golden scenes, {mean:.0f} bytes each as JSON")
    live, plain = live_packer(), Packer()
    for size, what, wanted in (
        (500, "500 events a segment", "wanted <= 20"),
        (STEP, f"{STEP} events a segment, as a live step ships them", "wanted <= 30"),
    ):
        texts = list(_texts("ep_bench", lines, size))
        for packer, how, bound in ((live, "", wanted), (plain, ", without the dictionary", "")):
            taken = _pack_all(packer, texts)
            line(f"bytes an event, {what}{how}", f"{taken / len(lines):.1f}", bound)
        took = interleaved(
            ROUNDS,
            live=partial(_pack_all, live, texts),
            plain=partial(_pack_all, plain, texts),
        )
        for name, how in (("live", ""), ("plain", ", without the dictionary")):
            micros = median(took[name]) / len(lines) * 1e6
            line(f"packing, microseconds an event, {size} a segment{how}", f"{micros:.1f}")


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


def _record(folder: Path, lines: Sequence[bytes]) -> None:
    """The corpus, each recording as a journal ships it once its sandbox is left alone: segments of
    a hundred."""
    pack = Packer().pack
    for n in range(EPISODES):
        path = folder / f"{n // 100:03}" / f"{n:05}.mrec"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(map(pack, _texts(f"ep_bench{n:05}", lines, 100))))


if __name__ == "__main__":
    main()
