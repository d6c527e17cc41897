"""Plays a recording back and holds its rewards against those that the service gave, byte by
byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from api.replay.recordings import replay
from detectors.model.codec import sha256
from detectors.model.rewards import encode_reward
from detectors.task.ruleset import Ruleset


@dataclass(frozen=True, slots=True)
class Compared:
    """What a replay gave. ``unlike``: the steps whose bytes differ; ``digest`` is over all replayed
    bytes."""

    events: int
    steps: int
    unlike: tuple[int, ...]
    digest: str


def compare(recording: Path, ruleset: Ruleset, given: Mapping[int, bytes]) -> Compared:
    """Replay ``recording`` and compare it with ``given``: reward bytes by step. Raises
    `RecordingError`."""
    engine, rewards = replay(recording, ruleset)
    replayed = {reward.step: encode_reward(reward) for reward in rewards}
    unlike = tuple(
        step for step in sorted({*given, *replayed}) if given.get(step) != replayed.get(step)
    )
    joined = b"\n".join(replayed[step] for step in sorted(replayed))
    return Compared(engine.through, len(replayed), unlike, sha256(joined))
