"""The report of an evaluation, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from detectors.model.json_value import JsonValue
from lab.evaluation.measures import ScorerSample, auc, measured
from lab.evaluation.records import Record
from lab.evaluation.scorers import scorers


def report(records: Sequence[Record], unsure: int) -> dict[str, JsonValue]:
    """Every scorer's measures with intervals, over all and over terminated trajectories."""
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
    judge = name.removeprefix("judge ")
    spoken = records
    if name == "environment":
        spoken = [record for record in records if record.environment is not None]
    elif judge != name:
        spoken = [record for record in records if judge in record.judges]
    part = scored.select(np.flatnonzero([record.terminated is True for record in spoken]))
    known = not np.isnan(auc(part)) if len(part.label) else False
    return {
        "trajectories": len(scored.label),
        "all": measured(scored),
        "terminated": {"trajectories": len(part.label), **measured(part)} if known else None,
    }
