"""A recorded episode with probes, replayed: the same rewards, and an example of what a probe
says."""

from __future__ import annotations

from detectors.engine.engine import Engine
from tests.probes.record_golden import GOLDEN, RULES, as_events
from tests.support.golden import lines


def test_the_recording_gives_its_rewards() -> None:
    """The cart fills in a step in which the note can't be read: unknown what leans on that, and it
    stays so until it was read again; then the note pays."""
    rewards = Engine(RULES, "E").feed(as_events(lines(GOLDEN / "probes.log.jsonl"))).rewards
    assert [reward.reward for reward in rewards] == [None, None, 0.5, 0.0]
    assert "probe" in str(rewards[0].reason)


def test_both_kinds_have_an_example() -> None:
    assert {"probe.answered", "probe.failed"} <= {
        kind for kind, _ in lines(GOLDEN / "probes.seen.jsonl")
    }
