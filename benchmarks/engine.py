"""The engine against decoding the same bytes, and a thousand milestones against ten: of rules that
are found by what an event names, of conditions on a part of such a name, on what is seen, and on
what a text means."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import workload
from benchmarks.figures import HIGHER, LOWER, RATIO, at_most
from benchmarks.measure import estimate_median, estimate_rate, interleaved, ratio
from benchmarks.report import PartReport
from detectors.engine.engine import Engine
from detectors.model.codec import decode_segment
from detectors.model.types import Segment
from detectors.task.ruleset import Ruleset

EVENTS, ROUNDS, QUICK_ROUNDS = 100_000, 7, 5
PARTED_EVENTS, SEEN_EVENTS, DATED_EVENTS = 20_000, 10_000, 1_000
"""Of logs for conditions on parts of texts, on what is seen and what it means, and on dates."""
ROWS = (
    ("", ""),
    ("_parted", ", conditions on a part of a text"),
    ("_seen", ", texts, dialogs and numbers"),
    ("_amounts", ", amounts of money"),
    ("_dates", ", dates, which are asked of each text with a digit"),
)


def main(report: PartReport) -> None:
    """Take the measurements and report their figures."""
    texts = workload.segments(workload.events(EVENTS))
    segments = [decode_segment(text) for text in texts]
    few_segments = segments[: PARTED_EVENTS // 500]
    ten, thousand = workload.task(10), workload.task(1000)
    ten_parted, thousand_parted = (workload.parted_task(n) for n in (10, 1000))
    seen = [decode_segment(text) for text in workload.segments(workload.seen_events(SEEN_EVENTS))]
    ten_seen, thousand_seen = (workload.seen_task(n) for n in (10, 1000))
    few_seen = seen[: DATED_EVENTS // 500]
    ten_amounts, thousand_amounts = (workload.amounts_task(n) for n in (10, 1000))
    ten_dates, thousand_dates = (workload.dates_task(n) for n in (10, 1000))

    def decode() -> None:
        for text in texts:
            decode_segment(text)

    took = interleaved(
        report.choose(ROUNDS, QUICK_ROUNDS),
        decode=decode,
        ten=lambda: _feed(ten, segments),
        thousand=lambda: _feed(thousand, segments),
        ten_parted=lambda: _feed(ten_parted, few_segments),
        thousand_parted=lambda: _feed(thousand_parted, few_segments),
        ten_seen=lambda: _feed(ten_seen, seen),
        thousand_seen=lambda: _feed(thousand_seen, seen),
        ten_amounts=lambda: _feed(ten_amounts, seen),
        thousand_amounts=lambda: _feed(thousand_amounts, seen),
        ten_dates=lambda: _feed(ten_dates, few_seen),
        thousand_dates=lambda: _feed(thousand_dates, few_seen),
    )
    size = sum(map(len, texts)) / EVENTS
    report.head(f"engine: {EVENTS} events of {size:.0f} bytes, 500 a segment")
    same = "decoding the same bytes"
    report.add("decoding", estimate_rate(EVENTS, took["decode"]), "events/s", HIGHER)
    report.add(
        "engine, 10 milestones, one core", estimate_rate(EVENTS, took["ten"]), "events/s", HIGHER
    )
    for name, row, wanted in (("ten", "10", at_most(2.0)), ("thousand", "1,000", LOWER)):
        figure = ratio(took[name], took["decode"])
        report.add(f"engine / decoding, {row} milestones", figure, RATIO, wanted, same)
    for suffix, how in ROWS:
        figure = ratio(took[f"thousand{suffix}"], took[f"ten{suffix}"])
        row = f"1,000 milestones / 10 milestones{how}"
        report.add(row, figure, RATIO, at_most(1.2), "10 milestones, the same log")
    # A date is asked of each title, a third of this log's events.
    asked = [seconds / (1_000 * DATED_EVENTS / 3) * 1e9 for seconds in took["thousand_dates"]]
    report.add("a condition on a date, asked once", estimate_median(asked), "ns", LOWER)


def _feed(rules: Ruleset, segments: Sequence[Segment]) -> None:
    engine = Engine(rules, "ep_bench")
    for segment in segments:
        engine.feed(segment.events)
