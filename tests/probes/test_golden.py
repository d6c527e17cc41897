"""A recorded episode with probes, replayed: the same rewards, and an example of what a probe says."""

from __future__ import annotations

from typing import Any

import orjson

from detectors.engine import Engine
from detectors.kinds import KINDS
from tests.probes.record_golden import GOLDEN, RULES, as_events


def lines(name: str) -> list[Any]:
    return [orjson.loads(line) for line in (GOLDEN / name).read_bytes().splitlines()]


def test_the_recording_gives_its_rewards() -> None:
    """The cart fills in a step in which the note can't be read: unknown what leans on that, and it stays so until it
    was read again; then the note pays."""
    rewards = Engine(RULES, "E").feed(as_events(lines("probes.log.jsonl"))).rewards
    assert [reward.reward for reward in rewards] == [None, None, 0.5, 0.0]
    assert "probe" in str(rewards[0].reason)


def test_every_kind_has_an_example_with_its_fields() -> None:
    told = lines("probes.seen.jsonl")
    assert {kind for kind, _ in told} == {"probe.answered", "probe.failed"}
    for kind, data in told:
        named = {field.rstrip("?") for field in KINDS[kind].fields}
        assert set(data) <= named, f"{kind} has {set(data) - named} beside its fields"
        missing = {field for field in KINDS[kind].fields if not field.endswith("?")} - set(data)
        assert not missing, f"{kind} lacks {missing}"
