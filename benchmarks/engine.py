"""The engine against decoding the same bytes, and a thousand milestones against ten."""

from __future__ import annotations

from benchmarks import workload
from benchmarks.measure import interleaved, line
from detectors.codec import decode_segment
from detectors.engine import Engine
from detectors.ruleset import Ruleset

EVENTS = 100_000


def main() -> None:
    """Print the figures."""
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
    print(f"engine: {EVENTS} events of {size:.0f} bytes, 500 a segment; reference: decoding the same bytes")
    line("decoding, events/s", f"{EVENTS / took['decode']:,.0f}")
    line("engine, 10 milestones, events/s and core", f"{EVENTS / took['ten']:,.0f}")
    line("engine / decoding, 10 milestones", f"{took['ten'] / took['decode']:.2f}", "wanted <= 2.0")
    line("engine / decoding, 1,000 milestones", f"{took['thousand'] / took['decode']:.2f}")
    line("1,000 milestones / 10 milestones", f"{took['thousand'] / took['ten']:.2f}", "wanted <= 1.3")


if __name__ == "__main__":
    main()
