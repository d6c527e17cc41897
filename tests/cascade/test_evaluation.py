"""`milestoned cascade eval`: what is measured, by hand and on the recorded verdicts of larger judges."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from api.cascade.evaluation import measures
from api.cascade.evaluation.fitting import cross_fitted
from api.cascade.evaluation.measures import Scored
from api.cascade.evaluation.records import RecordError, read_records
from api.cascade.evaluation.report import report

CASES = Path("../shared/cases/judged-trajectories/dev.jsonl.gz")


def scored(score: list[float], decision: list[float], label: list[float]) -> Scored:
    """A scorer, each trajectory a group of its own."""
    one, two, three = (np.array(values, dtype=np.float64) for values in (score, decision, label))
    return Scored(one, two, three, np.arange(len(label)))


def test_measures_by_hand() -> None:
    """An abstention counts for coverage and recall, and for nothing else."""
    none = float("nan")
    s = scored([0.9, 0.8, 0.7, 0.2, 0.1], [1, 1, none, 0, 0], [1, 0, 1, 0, 1])
    assert measures.accuracy(s) == 0.5
    assert (measures.precision(s), measures.npv(s)) == (0.5, 0.5)
    assert measures.recall(s) == pytest.approx(1 / 3)
    assert measures.coverage(s) == 0.8
    assert measures.auc(s) == 0.5
    assert measures.auc(scored([1, 1, 0], [1, 1, 0], [1, 0, 0])) == 0.75
    assert measures.ece(scored([0.95, 0.95, 0.05], [1, 1, 0], [1, 0, 0])) == pytest.approx((0.9 + 0.05) / 3)


def test_coverage_at_a_risk_takes_the_surest_first_and_equals_together() -> None:
    """The two surest are right, the next is wrong, the last two are as sure as each other."""
    s = scored([0.99, 0.02, 0.9, 0.6, 0.4], [1, 0, 1, 1, 0], [1, 0, 0, 1, 0])
    assert measures.coverage_at(s, 0.05) == 0.4
    assert measures.coverage_at(s, 0.20) == 1.0
    assert measures.coverage_at(scored([1, 1, 1], [1, 1, 1], [1, 1, 0]), 0.1) == 0.0


def test_a_fit_never_sees_the_group_that_it_speaks_about() -> None:
    """A feature that names the group exactly, and nothing else, predicts nothing where groups are left out."""
    group = np.repeat(np.arange(40), 5)
    label = np.repeat(np.random.default_rng(1).integers(0, 2, 40), 5).astype(np.float64)
    names = (group[:, None] == np.arange(40)[None, :]).astype(np.float64)
    told = cross_fitted(names, label, group)
    assert measures.auc(Scored(told, told, label, group)) < 0.6


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"label_success": "Yes"}, "label_success", id="no label"),
        pytest.param({"cum_reward": "1"}, "cum_reward", id="a text for a number"),
        pytest.param({"terminated": None}, "terminated", id="not said"),
        pytest.param({"judges": {"j": {"verdict": "maybe"}}}, "verdict", id="no verdict"),
    ],
)
def test_what_is_no_record_is_named(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    """Line, field, value and what was wanted."""
    whole = {"label_success": "Successful", "cum_reward": 1, "terminated": True, "judges": {}}
    (tmp_path / "a.jsonl").write_text(json.dumps(whole) + "\n" + json.dumps(whole | change))
    with pytest.raises(RecordError, match=f"line 2: {named}"):
        read_records(tmp_path / "a.jsonl")


def test_gzip_or_not_and_labels_that_decide_nothing(tmp_path: Path) -> None:
    """Unsure trajectories are left out and counted; a judge without a verdict abstained."""
    one = {"label_success": "Successful", "cum_reward": 1, "terminated": True, "judges": {"j": {"verdict": None}}}
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"\n".join(json.dumps({**one, **m}).encode() for m in ({}, UNSURE))))
    records, unsure = read_records(tmp_path / "a.gz")
    assert (len(records), unsure, dict(records[0].judges)) == (1, 1, {})


UNSURE = {"label_success": "Unsure"}


@pytest.mark.slow
@pytest.mark.skipif(not CASES.exists(), reason=f"{CASES} is missing")
def test_recorded_verdicts_of_larger_judges() -> None:
    """What was wanted of the cascade, beside what it is made of."""
    found = report(*read_records(CASES))["of"]
    assert found["environment"]["all"]["accuracy"][0] == pytest.approx(0.868, abs=0.002)
    assert found["judge webjudge_7B"]["all"]["accuracy"][0] == pytest.approx(0.855, abs=0.002)
    cascade = {name: values[0] for name, values in found["cascade"]["all"].items()}
    assert cascade["precision"] >= 0.92
    assert cascade["npv"] >= 0.93
    assert cascade["coverage"] >= 0.70
    assert found["cascade"]["terminated"]["auc"][0] > 0.825
