"""The report of an evaluation, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from detectors.model.json_value import JsonValue
from lab.evaluation.measures import ScorerSample, auc, measure_sample, measured_in_part
from lab.evaluation.records import Record
from lab.evaluation.scorers import scorers

LENGTHS = (5, 10, 20)
"""The most actions of a short, a medium and a long trajectory; others are longer."""


def report(records: Sequence[Record], unsure: int) -> dict[str, JsonValue]:
    """Every scorer's measures with intervals, over all, over terminated trajectories, and by length
    and family."""
    found = scorers(records)
    return {
        "trajectories": len(records),
        "groups": len({record.group for record in records}),
        "successes": sum(record.label for record in records),
        "unsure": unsure,
        "unknown": {
            "terminated": sum(record.terminated is None for record in records),
            "cum_reward": sum(record.environment is None for record in records),
        },
        "of": {
            name: _figures(name, scored, records)
            for name, scored in found.items()
            if len(scored.label)
        },
    }


def _figures(name: str, scored: ScorerSample, records: Sequence[Record]) -> dict[str, JsonValue]:
    """All that the report says of one scorer; ``records``: all, of which it may know a part."""
    judge = name.removeprefix("judge ")
    spoken = records
    if name == "environment":
        spoken = [record for record in records if record.environment is not None]
    elif judge != name:
        spoken = [record for record in records if judge in record.judges]
    is_terminated = [record.terminated is True for record in spoken]
    part = scored.select(np.flatnonzero(is_terminated))
    terminated: JsonValue = None
    if len(part.label) and not np.isnan(auc(part)):
        terminated = {"trajectories": len(part.label), **measure_sample(part)}
    return {
        "trajectories": len(scored.label),
        "all": measure_sample(scored),
        "terminated": terminated,
        "by_length": _parts(scored, spoken, _length),
        "by_family": _parts(scored, spoken, lambda record: record.family),
    }


def _parts(
    scored: ScorerSample, spoken: Sequence[Record], name_of: Callable[[Record], str]
) -> dict[str, JsonValue]:
    """Return the figures of each part of the trajectories, by its name."""
    names = [name_of(record) for record in spoken]
    parts: dict[str, JsonValue] = {}
    for name in sorted(set(names)):
        part = scored.select(np.flatnonzero([one == name for one in names]))
        parts[name] = {"trajectories": len(part.label), **measured_in_part(part)}
    return parts


def _length(record: Record) -> str:
    """Return a name of a trajectory's length that sorts by length."""
    lowest = 0
    for most in LENGTHS:
        if len(record.actions) <= most:
            return f"{lowest:>2} to {most} actions"
        lowest = most + 1
    return f"{lowest} actions or more"
