"""`python -m benchmarks soak --minutes N`: memory and losses for N minutes, then step times in
turns for N / 3."""

from __future__ import annotations

import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from benchmarks.figures import LOWER, NEITHER, RATIO, at_most
from benchmarks.measure import Estimate, estimate_median, ratio, single
from benchmarks.report import PartReport
from benchmarks.soak.counts import hold, kinds, losses
from benchmarks.soak.daemon import Recording, only_two_fields, recorded
from benchmarks.soak.scene import Scene, playing
from lab.demo.parts import start_service
from lab.demo.processes import DemoProcesses

WARM_MIN = 5.0
"""Minutes before memory is compared; a third of a shorter run."""
SAMPLE_S = 2.0
STEPS, FIRST = 40, 5
"""Timed steps of a block, and untimed ones before them."""
MIN_ROUNDS = 2
MIB = 1 << 20


def main(report: PartReport, minutes: float = 30.0, out: Path = Path(".build/soak.json")) -> None:
    """Report the figures, and write them with all samples to ``out``."""
    with (
        tempfile.TemporaryDirectory(prefix="milestoned-soak-") as name,
        DemoProcesses(Path(name) / "logs") as parts,
    ):
        folder = Path(name)
        with playing(folder) as scene:
            figures = {"minutes": minutes, **soak(parts, scene, folder, minutes)}
            _report_soak(report, figures)
            figures |= step_times(parts, scene, folder, minutes / 3)
            _report_steps(report, figures)
    _write(report, figures, out)


def steps(
    report: PartReport, minutes: float = 10.0, out: Path = Path(".build/soak-steps.json")
) -> None:
    """Report only the step times, for ``minutes``."""
    with (
        tempfile.TemporaryDirectory(prefix="milestoned-soak-") as name,
        DemoProcesses(Path(name) / "logs") as parts,
        playing(Path(name)) as scene,
    ):
        figures = step_times(parts, scene, Path(name), minutes)
    _report_steps(report, figures)
    _write(report, figures, out)


def _write(report: PartReport, figures: dict[str, Any], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(figures, indent=2) + "\n")
    report.head(f"  {out}")


# -- memory and losses


def soak(parts: DemoProcesses, scene: Scene, folder: Path, minutes: float) -> dict[str, Any]:
    """One daemon that hears everything, for ``minutes``."""
    scene.reload()
    recording = Recording(parts, scene, folder / "soak.mrec")
    start = time.monotonic()
    before = scene.page.evaluate("({...did})")
    samples: list[tuple[float, int]] = []
    step = 0
    while (at := time.monotonic() - start) < minutes * 60:
        recording.begin(step)
        scene.step(step)
        recording.end(step)
        step += 1
        if not samples or at - samples[-1][0] >= SAMPLE_S:
            samples.append((at, recording.memory()))
    recording.begin(step)
    did = scene.page.evaluate("halt()")
    took = time.monotonic() - start
    recording.end(step)
    events = recording.finish()
    held = hold(events, before, did)
    return {
        "steps": step,
        "changes_per_s": round((did["changes"] - before["changes"]) / took),
        "events": len(events),
        "kinds": kinds(events),
        "memory": memory(samples, minutes),
        "held": {what: {"did": one.did, "missing": one.missing} for what, one in held.items()},
        "losses": losses(events),
    }


def memory(samples: list[tuple[float, int]], minutes: float) -> dict[str, Any]:
    """The median of the tenth after the warm-up beside that of the last tenth, and all samples."""
    warm = min(WARM_MIN, minutes / 3) * 60
    after = [taken for at, taken in samples if at >= warm]
    tenth = max(len(after) // 10, 3)
    first, last = statistics.median(after[:tenth]), statistics.median(after[-tenth:])
    return {
        "after_warm_up": first,
        "at_the_end": last,
        "growth": last / first - 1,
        "most": max(taken for _, taken in samples),
        "samples": [[round(at, 1), taken] for at, taken in samples],
    }


def _report_soak(report: PartReport, figures: dict[str, Any]) -> None:
    taken, lost = figures["memory"], figures["losses"]
    report.head(
        f"soak: {figures['minutes']:g} minutes, everything heard, {figures['steps']} steps,"
        " LibreOffice typed into; memory: daemon and children, PSS"
    )
    report.add("DOM changes", single(figures["changes_per_s"]), "changes/s", NEITHER)
    report.add("events", single(figures["events"]), "events", NEITHER)
    warm, end = (single(taken[moment] / MIB) for moment in ("after_warm_up", "at_the_end"))
    report.add("memory after the warm-up", warm, "MiB", LOWER)
    report.add("memory at the end", end, "MiB", LOWER)
    growth = single(100 * taken["growth"])
    report.add("growth of memory", growth, "%", at_most(5), "the memory after the warm-up")
    for what, one in figures["held"].items():
        report.add(f"{what} that the page did", single(one["did"]), what, NEITHER)
        report.add(f"{what} that are not recorded", single(len(one["missing"])), what, at_most(0))
    report.add("dropped, on record", single(sum(lost["dropped"].values())), "events", LOWER)
    for gap, times in lost["gaps"].items():
        report.head(f"    gap, {times}×: {gap}")


# -- step times


def step_times(parts: DemoProcesses, scene: Scene, folder: Path, minutes: float) -> dict[str, Any]:
    """The agent's step without the daemon, and with one that hears everything, what is told
    unasked, two fields."""
    service = start_service(parts, folder / "service")
    ways: dict[str, Callable[[int], AbstractContextManager[None]]] = {
        "without": lambda n: contextlib.nullcontext(),
        "everything": lambda n: recorded(parts, scene, folder, n, also=True),
        "usual": lambda n: recorded(parts, scene, folder, n, also=False),
        "two fields": lambda n: only_two_fields(parts, scene, folder, n, service),
    }
    took: dict[str, list[float]] = {way: [] for way in ways}
    until = time.monotonic() + minutes * 60
    rounds = 0
    while rounds < MIN_ROUNDS or time.monotonic() < until:
        # Each way comes first, second and last in turn: a slow moment of the machine falls on all
        # of them.
        order = [list(ways)[(rounds + place) % len(ways)] for place in range(len(ways))]
        for way in order:
            scene.reload()
            with ways[way](rounds):
                took[way].append(_block(scene))
        rounds += 1
    medians = {way: statistics.median(times) for way, times in took.items()}
    ratios = {way: ratio(took[way], took["without"]) for way in ways if way != "without"}
    return {"rounds": rounds, "blocks_ms": took, "step_ms": medians, "ratios": ratios}


def _block(scene: Scene) -> float:
    """The median of a block's steps, in milliseconds."""
    for n in range(FIRST):
        scene.step(n)
    return statistics.median(scene.step(n) for n in range(STEPS)) * 1000


def _report_steps(report: PartReport, figures: dict[str, Any]) -> None:
    ratios: dict[str, Estimate] = figures["ratios"]
    report.head(
        f"step time: fill, click, read on the busy page, {figures['rounds']} rounds of {STEPS}"
        " steps a way, in turns"
    )
    for way, blocks in figures["blocks_ms"].items():
        wanted = NEITHER if way == "without" else LOWER
        report.add(f"step, {way}", estimate_median(blocks), "ms", wanted)
    for way, most in (("everything", 1.05), ("usual", 1.05), ("two fields", 1.02)):
        row = f"{way} / without"
        report.add(row, ratios[way], RATIO, at_most(most), "the same steps without the daemon")
