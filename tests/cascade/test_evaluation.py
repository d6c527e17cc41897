"""`milestoned cascade eval`: what is measured, by hand and on the recorded verdicts of larger
judges."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from api.cli.main import main
from lab.evaluation import intervals, measures
from lab.evaluation.fitting import cross_fitted
from lab.evaluation.measures import ScorerSample
from lab.evaluation.records import RecordError, read_records
from lab.evaluation.report import report
from tests.support.cases import CASES

JUDGED = "judged-trajectories/dev.jsonl.gz"


def scored(score: list[float], decision: list[float], label: list[float]) -> ScorerSample:
    """A scorer, each trajectory a group of its own."""
    one, two, three = (np.array(values, dtype=np.float64) for values in (score, decision, label))
    return ScorerSample(one, two, three, np.arange(len(label)))


def test_measures_by_hand() -> None:
    """An abstention counts for coverage and recall, and for nothing else."""
    none = float("nan")
    s = scored([0.9, 0.8, 0.7, 0.2, 0.1], [1, 1, none, 0, 0], [1, 0, 1, 0, 1])
    shares = {name: share_of(s).value for name, share_of in measures.SHARES.items()}
    assert shares == pytest.approx(
        {
            "accuracy": 0.5,
            "precision": 0.5,
            "npv": 0.5,
            "recall": 1 / 3,
            "false_positive_rate": 0.5,
            "coverage": 0.8,
        }
    )
    assert measures.auc(s) == 0.5
    assert measures.auc(scored([1, 1, 0], [1, 1, 0], [1, 0, 0])) == 0.75
    assert measures.ece(scored([0.95, 0.95, 0.05], [1, 1, 0], [1, 0, 0])) == pytest.approx(
        (0.9 + 0.05) / 3
    )


KAPPAS: list[tuple[list[float], list[float], float | None]] = [
    ([1, 1, 0, 0], [1, 1, 0, 0], 1.0),
    ([1, 0, 1, 0], [1, 1, 0, 0], 0.0),
    ([0, 0, 1, 1], [1, 1, 0, 0], -1.0),
    ([1, 1, 0, 0], [1, 0, 0, 0], 0.5),
    ([1, float("nan"), 0], [1, 0, 0], 1.0),
    ([1, 1], [1, 1], None),
    ([float("nan")], [1], None),
]


@pytest.mark.parametrize(("decision", "label", "expected"), KAPPAS)
def test_kappa_is_agreement_beyond_chance(
    decision: list[float], label: list[float], expected: float | None
) -> None:
    """Of what was decided; where one side always says the same there is none."""
    found = measures.kappa(scored([0.5] * len(label), decision, label))
    assert (None if np.isnan(found) else found) == (
        None if expected is None else pytest.approx(expected)
    )


def test_figures_by_length_and_family(tmp_path: Path) -> None:
    """A line has its family from `benchmark`, else from its task's id."""
    rows = lines(24)
    for number, row in enumerate(rows):
        history = "\n".join(f"{n}. click('1')" for n in range(1, 4 if number < 10 else 13))
        row |= {"action_history": history, "task_id": f"shop.{number}"}
        if number < 6:
            row["benchmark"] = "arena"
    rows[23]["judges"] = {"j": {"verdict": False}}
    judge = evaluated(tmp_path, rows)["of"]["judge j"]
    counts = {name: part["trajectories"] for name, part in judge["by_length"].items()}
    assert counts == {" 0 to 5 actions": 10, "11 to 20 actions": 14}
    assert judge["by_length"][" 0 to 5 actions"]["kappa"][0] == 1.0
    assert judge["by_length"]["11 to 20 actions"]["npv"][0] == pytest.approx(7 / 8)
    families = {name: part["trajectories"] for name, part in judge["by_family"].items()}
    assert families == {"arena": 6, "shop": 18}


def test_coverage_at_a_risk_takes_the_surest_first_and_equals_together() -> None:
    """The two surest are right, the next is wrong, the last two are as sure as each other."""
    s = scored([0.99, 0.02, 0.9, 0.6, 0.4], [1, 0, 1, 1, 0], [1, 0, 0, 1, 0])
    assert measures.coverage_at(s, 0.05) == 0.4
    assert measures.coverage_at(s, 0.20) == 1.0
    assert measures.coverage_at(scored([1, 1, 1], [1, 1, 1], [1, 1, 0]), 0.1) == 0.0


def test_a_fit_never_sees_the_group_that_it_speaks_about() -> None:
    """A feature that names the group exactly, and nothing else, predicts nothing where groups are
    left out."""
    group = np.repeat(np.arange(40), 5)
    label = np.repeat(np.random.default_rng(1).integers(0, 2, 40), 5).astype(np.float64)
    names = (group[:, None] == np.arange(40)[None, :]).astype(np.float64)
    told = cross_fitted(names, label, group)
    assert measures.auc(ScorerSample(told, told, label, group)) < 0.6


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"label_success": "Yes"}, "label_success", id="no label"),
        pytest.param({"label_success": ["Successful"]}, "label_success", id="a list for a label"),
        pytest.param({"cum_reward": "1"}, "cum_reward", id="a text for a number"),
        pytest.param({"cum_reward": True}, "cum_reward", id="a truth for a number"),
        pytest.param(
            {"cum_reward": float("nan")},
            "cum_reward: got nan, wanted a finite number",
            id="not a number",
        ),
        pytest.param({"cum_reward": float("inf")}, "cum_reward", id="no finite number"),
        pytest.param({"cum_reward": 10**400}, "cum_reward", id="a number of 400 digits"),
        pytest.param(
            {"terminated": "yes"},
            "terminated: got 'yes', wanted true, false, or null",
            id="a word for a truth",
        ),
        pytest.param({"judges": {"j": {"verdict": "maybe"}}}, "verdict", id="no verdict"),
        pytest.param(
            {"judges": {"j": {}}}, "verdict: got 'nothing'", id="a judge without a verdict"
        ),
    ],
)
def test_what_is_no_record_is_named(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    """Line, field, value and what was wanted."""
    whole = {"label_success": "Successful", "cum_reward": 1, "terminated": True, "judges": {}}
    (tmp_path / "a.jsonl").write_text(json.dumps(whole) + "\n" + json.dumps(whole | change))
    with pytest.raises(RecordError, match=f"line 2: {named}"):
        read_records(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" * 100_000, id="too deep"),
        pytest.param(b"{", id="cut short"),
        pytest.param(gzip.compress(b"{}" * 99)[:-9], id="a gzip cut short"),
        pytest.param(b"\x1f\x8b\x08\x00" + b"\xff" * 40, id="no sound gzip"),
    ],
)
def test_a_file_that_is_none_of_json_lines_is_named_by_the_command(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Too deep, cut short, no sound gzip."""
    (tmp_path / "a.jsonl").write_bytes(content)
    assert main(["cascade", "eval", str(tmp_path / "a.jsonl")]) == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path}/a.jsonl: ")


def test_gzip_or_not_and_labels_that_decide_nothing(tmp_path: Path) -> None:
    """Unsure trajectories are left out and counted; a judge without a verdict abstained."""
    one = {
        "label_success": "Successful",
        "cum_reward": 1,
        "terminated": True,
        "judges": {"j": {"verdict": None}},
    }
    (tmp_path / "a.gz").write_bytes(
        gzip.compress(b"\n".join(json.dumps({**one, **m}).encode() for m in ({}, UNSURE)))
    )
    records, unsure = read_records(tmp_path / "a.gz")
    assert (len(records), unsure, dict(records[0].judges)) == (1, 1, {})


UNSURE = {"label_success": "Unsure"}


def lines(count: int, **more: Any) -> list[dict[str, Any]]:
    """Labelled trajectories, each a task of its own; every second a success, as environment and
    judge say too."""
    return [
        {
            "task_id": f"t{number}",
            "label_success": "Successful" if number % 2 else "Unsuccessful",
            "cum_reward": number % 2,
            "terminated": True,
            "judges": {"j": {"verdict": bool(number % 2)}},
            **more,
        }
        for number in range(count)
    ]


def evaluated(tmp_path: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return report(*read_records(tmp_path / "a.jsonl"))


def test_what_is_unknown_of_a_trajectory_is_a_value(tmp_path: Path) -> None:
    """``terminated: null`` is of no terminated trajectory, a reward of null leaves the environment
    without a word."""
    rows = lines(40)
    rows[3]["terminated"] = None
    rows[4]["cum_reward"] = None
    rows[5]["judges"] = None
    rows[6]["label_success"] = None
    found = evaluated(tmp_path, rows)
    assert (found["trajectories"], found["unsure"]) == (39, 1)
    assert found["unknown"] == {"terminated": 1, "cum_reward": 1}
    counts = {
        name: (of["trajectories"], of["terminated"]["trajectories"])
        for name, of in found["of"].items()
    }
    assert counts == {
        "environment": (38, 37),
        "model": (39, 38),
        "judge j": (38, 37),
        "cascade": (39, 38),
    }
    assert found["of"]["cascade"]["all"]["coverage"][0] <= 37 / 39 + 1e-4


def test_of_nothing_but_unknown_rewards_the_environment_is_not_measured(tmp_path: Path) -> None:
    """The rest is."""
    found = evaluated(tmp_path, lines(10, cum_reward=None))
    assert set(found["of"]) == {"model", "judge j", "cascade"}
    assert found["of"]["cascade"]["all"]["coverage"][0] == 0.0


@pytest.mark.parametrize(
    ("p", "n", "wanted"),
    [
        pytest.param(1.0, 21, (0.8454, 1.0), id="all of 21"),
        pytest.param(0.0, 21, (0.0, 0.1546), id="none of 21"),
        pytest.param(0.5, 10, (0.2366, 0.7634), id="half of 10"),
        pytest.param(81 / 263, 263, (0.2553, 0.3662), id="81 of 263, of Newcombe 1998"),
    ],
)
def test_wilson_s_interval(p: float, n: float, wanted: tuple[float, float]) -> None:
    """Worked examples."""
    assert intervals.wilson(p, n) == pytest.approx(wanted, abs=1e-4)


def test_no_share_of_a_few_cases_has_an_interval_without_a_width(tmp_path: Path) -> None:
    """21 right of 21 are not [1, 1]; where resampling says nothing and nothing else is known, there
    is none."""
    found = evaluated(tmp_path, lines(21))["of"]["judge j"]["all"]
    value, low, high = found["false_positive_rate"]
    assert (value, low) == (0.0, 0.0)
    assert 0.14 < high < 0.3
    for name in measures.SHARES.keys() - {"false_positive_rate"}:
        value, low, high = found[name]
        assert (value, high) == (1.0, 1.0), name
        assert 0.7 < low < 0.86, name
    assert found["accuracy"][1] == pytest.approx(0.8454, abs=1e-4)
    assert (found["auc"][0], found["auc"][2]) == (1.0, 1.0)
    assert 0.6 < found["auc"][1] < 0.9
    assert found["coverage_at_5%"] == [1.0, None, None]


def test_trajectories_of_one_group_say_less_than_as_many_of_their_own() -> None:
    """Ten tasks run six times each, alike within: as ten; unlike within: as sixty; all right: as
    ten."""
    group, tasks = np.repeat(np.arange(10), 6), np.arange(60)
    alike, mixed, right = (
        np.repeat(np.arange(10) < 8, 6),
        np.arange(60) % 5 > 0,
        np.ones(60, dtype=np.bool_),
    )

    def width(hits: Any, group: Any) -> float:
        low, high = intervals.share_interval(hits, group)
        return high - low

    assert width(alike, group) > 1.8 * width(alike, tasks)
    assert width(mixed, group) == pytest.approx(width(mixed, tasks), rel=0.05)
    assert intervals.share_interval(right, group) == pytest.approx(intervals.wilson(1.0, 10))
    assert intervals.group_size(np.array([1, 1, 1, 1, 2])) == pytest.approx(25 / 17)


def test_the_interval_covers_the_share_in_nearly_19_of_20_draws_of_groups() -> None:
    """Also where a share is near one, and groups are alike within."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        rates = rng.beta(19, 1, 30)
        hits = rng.random(120) < np.repeat(rates, 4)
        low, high = intervals.share_interval(hits, np.repeat(np.arange(30), 4))
        held += low <= 0.95 <= high
    assert held >= 0.93 * 400


def test_the_area_s_interval_lies_around_it_and_narrows() -> None:
    """Also at 0 and 1; with a hundred of each it is a few hundredths wide."""
    for area in (0.0, 0.2, 0.5, 0.9, 1.0):
        wide, narrow = (intervals.area_interval(area, n, n) for n in (5, 100))
        assert wide[0] <= narrow[0] <= area <= narrow[1] <= wide[1]
        assert 0.015 < narrow[1] - narrow[0] < 0.2
    assert intervals.area_interval(1.0, 10, 11)[0] == pytest.approx(
        1 - intervals.area_interval(0.0, 10, 11)[1]
    )


@pytest.mark.slow
@pytest.mark.shared_cases(JUDGED)
def test_recorded_verdicts_of_larger_judges() -> None:
    """What was wanted of the cascade, beside what it is made of."""
    found = report(*read_records(CASES / JUDGED))["of"]
    assert found["environment"]["all"]["accuracy"][0] == pytest.approx(0.868, abs=0.002)
    assert found["judge webjudge_7B"]["all"]["accuracy"][0] == pytest.approx(0.855, abs=0.002)
    cascade = {name: values[0] for name, values in found["cascade"]["all"].items()}
    assert cascade["precision"] >= 0.92
    assert cascade["npv"] >= 0.93
    assert cascade["coverage"] >= 0.70
    assert found["cascade"]["terminated"]["auc"][0] > 0.825
    bounds = [row[1:] for of in found.values() for row in of["all"].values()]
    assert all(low is None or low < high for low, high in bounds)
