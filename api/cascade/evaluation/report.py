"""The report of an evaluation, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from api.cascade.evaluation.measures import Scored, auc, measured
from api.cascade.evaluation.records import Record
from api.cascade.evaluation.scorers import scorers


def report(records: Sequence[Record], unsure: int) -> dict[str, Any]:
    """Every scorer's measures with intervals, over all and over terminated trajectories."""
    ended = np.array([record.terminated for record in records])
    found = scorers(records)
    return {
        "trajectories": len(records),
        "groups": len({record.group for record in records}),
        "successes": sum(record.label for record in records),
        "unsure": unsure,
        "of": {name: _of(name, scored, records, ended) for name, scored in found.items()},
    }


def _of(name: str, scored: Scored, records: Sequence[Record], ended: Any) -> dict[str, Any]:
    whole = len(scored.label) == len(records)
    judge = name.removeprefix("judge ")
    places = ended if whole else np.array([r.terminated for r in records if judge in r.judges])
    part = scored.at(np.flatnonzero(places))
    known = not np.isnan(auc(part)) if len(part.label) else False
    return {
        "trajectories": len(scored.label),
        "all": measured(scored),
        "terminated": {"trajectories": len(part.label), **measured(part)} if known else None,
    }
