"""pass@k, consistency, what steps did, and which version people preferred: as tables, and over the
wire."""

from __future__ import annotations

import math

import pytest

from api.audit.evaluation import (
    Estimate,
    PolicyOutcomes,
    StepCounts,
    TaskOutcomes,
    describe_actions,
    estimate_chance,
    estimate_mean,
    estimate_share,
    find_pass_all,
    find_pass_at,
)
from api.audit.report_text import as_html, as_report_text
from api.labelling.ratings import Comparison, rate_versions
from api.labelling.store import LabelWord
from tests.api.audit.audited import sign
from tests.api.audit.test_reports import FARM, GAP, played
from tests.api.service import Service
from tests.support.logs import clicked, went

TRIES: list[tuple[int, int, int, float, float]] = [
    (4, 0, 2, 0.0, 0.0),
    (4, 4, 2, 1.0, 1.0),
    (4, 1, 1, 1 / 4, 1 / 4),
    (4, 1, 2, 1 / 2, 0.0),
    (4, 2, 2, 5 / 6, 1 / 6),
    (4, 3, 4, 1.0, 0.0),
    (2, 1, 2, 1.0, 0.0),
]
MEANS: list[tuple[list[float], Estimate]] = [
    ([], Estimate(None, None, None)),
    ([0.5], Estimate(0.5, None, None)),
    ([0.5, 0.5, 0.5], Estimate(0.5, 0.5, 0.5)),
    ([0.0, 1.0], Estimate(0.5, 0.5 - 0.98, 0.5 + 0.98)),
]


@pytest.mark.parametrize(("known", "successes", "k", "at_least_one", "all_of_them"), TRIES)
def test_tries(known: int, successes: int, k: int, at_least_one: float, all_of_them: float) -> None:
    outcomes = TaskOutcomes(known, successes)
    assert find_pass_at(outcomes, k) == pytest.approx(at_least_one)
    assert find_pass_all(outcomes, k) == pytest.approx(all_of_them)


@pytest.mark.parametrize(("values", "expected"), MEANS)
def test_a_mean_has_an_interval(values: list[float], expected: Estimate) -> None:
    found = estimate_mean(values)
    assert (found.value, found.low, found.high) == (
        expected.value,
        None if expected.low is None else pytest.approx(expected.low, abs=1e-4),
        None if expected.high is None else pytest.approx(expected.high, abs=1e-4),
    )


def test_tasks_that_are_all_failed_leave_room_for_chance() -> None:
    few, many = estimate_chance([0.0] * 3), estimate_chance([0.0] * 30)
    assert (few.value, few.low) == (many.value, many.low) == (0.0, 0.0)
    assert few.high is not None
    assert many.high is not None
    assert few.high > 0.5 > many.high > 0


def test_a_share_of_nothing_is_not_known() -> None:
    assert estimate_share(0, 0) == Estimate(None, None, None)
    none_of_ten = estimate_share(0, 10)
    assert (none_of_ten.value, none_of_ten.low) == (0.0, 0.0)
    assert none_of_ten.high == pytest.approx(0.2775, abs=1e-4)


def test_a_task_with_fewer_episodes_than_tries_is_left_out() -> None:
    outcomes = PolicyOutcomes("v1")
    for task, success in ((1, True), (1, False), (2, True), (2, None)):
        outcomes.count(task, opened_at="2026-11-25", success=success, total=None)
    tried = {row["k"]: row["tasks"] for row in outcomes.to_json()["pass_at"]}  # type: ignore[attr-defined]
    assert tried == {1: 2, 2: 1}


def test_steps_that_are_not_known_are_no_idle_steps() -> None:
    assert describe_actions(StepCounts(1, 2, 1, 6)) == {
        "earned": 0.25, "idle": 0.5, "wrong": 0.25, "known_steps": 4, "unknown_steps": 6
    }  # fmt: skip
    assert describe_actions(StepCounts(0, 0, 0, 3)) == {
        "earned": None, "idle": None, "wrong": None, "known_steps": 0, "unknown_steps": 3
    }  # fmt: skip


def preferred(wins: int, losses: int, ties: int = 0) -> list[Comparison]:
    return [
        *[Comparison("new", "old", "first")] * wins,
        *[Comparison("new", "old", "second")] * losses,
        *[Comparison("old", "new", "tie")] * ties,
    ]


def test_who_wins_more_is_rated_higher() -> None:
    ratings = [rate_versions(preferred(wins, 10 - wins))[0].rating for wins in (6, 8, 10)]
    assert ratings == sorted(ratings)
    best, worst = rate_versions(preferred(8, 2))
    assert (best.version, worst.version, best.comparisons) == ("new", "old", 10)
    assert best.rating == pytest.approx(-worst.rating)
    # The gap of the greatest likelihood without the tie against 0 would be 400·log10(4) = 241.
    assert 200 < best.rating - worst.rating < 241
    assert best.rating_low < best.rating < best.rating_high


def test_more_comparisons_make_a_rating_surer() -> None:
    few, many = (rate_versions(preferred(6 * n, 4 * n))[0] for n in (1, 25))
    assert many.rating_high - many.rating_low < few.rating_high - few.rating_low
    assert many.win_high - many.win_low < few.win_high - few.win_low


def test_ratings_compare_along_a_chain() -> None:
    chain = [Comparison("c", "b", "first")] * 9 + [Comparison("b", "a", "first")] * 9
    assert [one.version for one in rate_versions(chain)] == ["c", "b", "a"]


@pytest.mark.parametrize(
    "comparisons",
    [[], [Comparison("a", "a", "first")], [Comparison("a", "b", "unsure")]],
    ids=["nothing", "a version with itself", "unsure"],
)
def test_what_says_nothing_rates_nobody(comparisons: list[Comparison]) -> None:
    assert rate_versions(comparisons) == []


def test_only_ties_rate_all_the_same() -> None:
    assert [(one.win_rate, one.rating) for one in rate_versions(preferred(0, 0, 4))] == [
        (0.5, pytest.approx(0.0, abs=1e-6)),
        (0.5, pytest.approx(0.0, abs=1e-6)),
    ]


async def test_versions_are_evaluated_over_the_wire(service: Service) -> None:
    done = [went("/cart"), clicked("Buy")]
    good = await played(service, "v1", done, [went("/other")])
    bad = await played(service, "v2", [went("/cart")], [*GAP])
    await played(service, "v1", [went("/other")])
    await sign(service)
    word = LabelWord(FARM["id"], min(good, bad), max(good, bad), -1, "", "first")
    first_is_good = word.first == good
    await service.app.state.parts.preferences.say("default", "somebody", word)
    asked = {"task": FARM["id"]}
    evaluation = (await service.get("/v1/reports/evaluation", params=asked)).json()
    first, second = evaluation["versions"]
    assert (first["version"], first["episodes"], first["known"]) == ("v1", 2, 2)
    assert first["success"]["value"] == 0.5
    assert {row["k"]: row["any"]["value"] for row in first["pass_at"]} == {1: 0.5, 2: 1.0}
    assert {row["k"]: row["all"]["value"] for row in first["pass_at"]} == {1: 0.5, 2: 0.0}
    assert math.isclose(first["actions"]["earned"], 1 / 3)
    assert (second["known"], second["success"]["value"]) == (0, None)
    assert (second["actions"]["known_steps"], second["actions"]["unknown_steps"]) == (1, 1)
    best = evaluation["preferred"][0]
    assert (best["version"], best["comparisons"]) == ("v1" if first_is_good else "v2", 1)
    split = (await service.get("/v1/audit/report", params={**asked, "split": "policy"})).json()
    rows = split["evaluation"]["versions"]
    assert [(one["version"], one["split"]) for one in rows] == [("v1", "v1"), ("v2", "v2")]
    assert "any of 1 50.0%" in as_report_text(split)
    assert "Evaluation by policy" in as_html(split)


async def test_pairs_of_others_are_not_counted(service: Service) -> None:
    first, second = await played(service, "v1", []), await played(service, "v2", [])
    word = LabelWord(FARM["id"], min(first, second), max(first, second), -1, "", "first")
    await service.app.state.parts.preferences.say("another", "somebody", word)
    found = (await service.get("/v1/reports/evaluation", params={"task": FARM["id"]})).json()
    assert found["preferred"] == []
    await service.app.state.parts.preferences.say("default", "somebody", word)
    for query, many in (({}, 2), ({"label": "policy=v1"}, 0), ({"until": "2000-01-01"}, 0)):
        found = (await service.get("/v1/reports/evaluation", params=query)).json()
        assert len(found["preferred"]) == many
