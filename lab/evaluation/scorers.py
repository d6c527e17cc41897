"""Who is measured: the environment, a model of the trajectory's shape, each recorded judge, and
their cascade.

The cascade decides as the routes do (docs/cascade.md), by fixed rules over words that never saw the
label: a success is what the environment and at least one judge call so; a failure what neither the
environment nor any judge calls so and the model does not contradict. All else is unscored. The
model, and how sure the cascade is, are fitted on other groups than those that they speak about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.evaluation.features import UNKNOWN, table
from lab.evaluation.fitting import cross_fitted
from lab.evaluation.measures import Array, Labels, ScorerSample
from lab.evaluation.records import Record

CONTRADICTS = 0.5
"""From which probability on the model is at odds with a judge who says no."""


def scorers(records: Sequence[Record]) -> dict[str, ScorerSample]:
    """Every scorer by its name, each on the trajectories that it has a word on."""
    listed = list(records)
    label = np.array([float(record.label) for record in listed])
    group = _group_numbers(listed)
    reward = np.array([_truth(record.environment_says) for record in listed])
    known = np.flatnonzero(~np.isnan(reward))
    environment = np.nan_to_num(reward, nan=UNKNOWN)
    shape = table(listed)
    model = cross_fitted(shape, label, group)
    found = {
        "environment": ScorerSample(reward, reward, label, group).select(known),
        "model": ScorerSample(model, np.round(model), label, group),
    }
    judges = set[str]().union(*(record.judges for record in listed))
    for judge in sorted(judges):
        said = np.array([float(record.judges.get(judge, np.nan)) for record in listed])
        spoken = np.flatnonzero(~np.isnan(said))
        found[f"judge {judge}"] = ScorerSample(said, said, label, group).select(spoken)
    yes = np.array([*map(_share, listed)])
    judged = np.nan_to_num(yes, nan=UNKNOWN)
    inputs = np.column_stack([environment, judged, environment * judged, shape])
    fitted = cross_fitted(inputs, label, group)
    found["cascade"] = ScorerSample(fitted, _agreed(reward, yes, model), label, group)
    return found


def _group_numbers(records: Sequence[Record]) -> Labels:
    """The group of each record as a number, in the order in which groups come."""
    names = [record.group for record in records]
    numbers = {name: n for n, name in enumerate(dict.fromkeys(names))}
    return np.array([*map(numbers.get, names)], dtype=np.int64)


def _truth(value: bool | None) -> float:
    return float("nan") if value is None else float(value)


def _share(record: Record) -> float:
    """The share of judges that call it a success; NaN without any."""
    return sum(record.judges.values()) / len(record.judges) if record.judges else float("nan")


def _agreed(environment: Array, yes: Array, model: Array) -> Array:
    out = np.full(len(environment), np.nan)
    out[(environment == 1) & (yes > 0)] = 1.0
    out[(environment == 0) & (yes == 0) & (model <= CONTRADICTS)] = 0.0
    return out
