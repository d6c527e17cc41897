"""The engine against decoding the same bytes, and a thousand milestones against ten."""

from __future__ import annotations

from benchmarks import workload
from benchmarks.measure import beside, interleaved, line, rate
from detectors.engine.engine import Engine
from detectors.model.codec import decode_segment
from detectors.task.ruleset import Ruleset

EVENTS = 100_000


def main() -> None:
    """Take the measurements and print their figures."""
    texts = workload.segments(workload.events(EVENTS))
    segments = [decode_segment(text) for text in texts]
    ten, thousand = workload.task(10), workload.task(1000)

    def feed(rules: Ruleset) -> None:
        engine = Engine(rules, "ep_bench")
        for segment in segments:
            engine.feed(segment.events)

    def decode() -> None:
        for text in texts:
            decode_segment(text)

    took = interleaved(
        7,
        decode=decode,
        ten=lambda: feed(ten),
        thousand=lambda: feed(thousand),
    )
    size = sum(map(len, texts)) / EVENTS
    print(
        f"engine: {EVENTS} events of {size:.0f} bytes, 500 a segment; reference: decoding the same"
        " bytes"
    )
    line("decoding, events/s", rate(EVENTS, took["decode"]))
    line("engine, 10 milestones, events/s and core", rate(EVENTS, took["ten"]))
    line("engine / decoding, 10 milestones", beside(took["ten"], took["decode"]), "wanted <= 2.0")
    line("engine / decoding, 1,000 milestones", beside(took["thousand"], took["decode"]))
    line("1,000 milestones / 10 milestones", beside(took["thousand"], took["ten"]), "wanted <= 1.3")


if __name__ == "__main__":
    main()
