"""Calibration, conformal sets and the gate, on scores whose truth is known because we drew it."""

from __future__ import annotations

import numpy as np
import pytest

from api.stages.model.calibration import (
    MIN_GROUPS,
    Calibration,
    CaseKind,
    _standard_error,
    _threshold,
    calibrate,
    collection_of,
    from_json,
    gate,
    gates,
    is_of_desktop,
    kind_of,
    sigmoid,
)
from api.stages.model.isotonic import isotonic
from api.stages.model.schema import NAMES
from lab.training.measures import auroc, bootstrap, coverage_at, curve, ece


def drawn(count: int, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and successes with the chance σ(2·score + 0.5)."""
    draw = np.random.default_rng(seed)
    scores = draw.normal(scale=2 * noise, size=count)
    return scores, draw.random(count) < sigmoid(2 * scores + 0.5)


def made(count: int = 2_000, seed: int = 0) -> Calibration:
    scores, truth = drawn(count, seed)
    found = calibrate(scores.tolist(), truth.tolist(), [0.5] * count)
    assert found is not None
    return found


def test_platt_finds_the_curve_that_made_the_cases() -> None:
    """Slope 2, offset 0.5; on fresh cases the probabilities are right."""
    found = made()
    assert found.slope == pytest.approx(2, abs=0.3)
    assert found.offset == pytest.approx(0.5, abs=0.25)
    scores, truth = drawn(4_000, seed=9)
    assert ece(found.chance(scores), truth) < 0.03


def test_the_isotonic_curve_is_the_nearest_one_that_never_falls() -> None:
    """By hand: neighbours in the wrong order share their mean, and equal scores are one."""
    scores = np.asarray([1.0, 2.0, 2.0, 3.0, 4.0, 5.0])
    curve = isotonic(scores, np.asarray([False, True, True, False, True, True]))
    assert curve.scores.tolist() == [1, 2, 3, 4, 5]
    assert curve.chances == pytest.approx([0, 2 / 3, 2 / 3, 1, 1])
    assert curve.evaluate(np.asarray([0.0, 1.5, 9.0])) == pytest.approx([0, 1 / 3, 1])


def test_a_truth_with_steps_is_followed() -> None:
    """Where the chance jumps no sigmoid can be right; a chance never falls as the score rises."""
    draw = np.random.default_rng(4)
    scores = draw.normal(scale=2, size=6_000)
    truth = draw.random(6_000) < np.where(scores < 0, 0.1, np.where(scores < 2, 0.6, 0.95))
    found = calibrate(scores[:3_000].tolist(), truth[:3_000].tolist(), [0.5] * 3_000)
    assert found is not None
    stiff = sigmoid(found.slope * scores[3_000:] + found.offset)
    followed = found.chance(scores[3_000:])
    assert ece(followed, truth[3_000:]) < 0.8 * ece(stiff, truth[3_000:])
    assert (np.diff(found.chance(np.sort(scores))) >= 0).all()


def test_p_values_are_what_the_definition_says() -> None:
    """By counting, one by one, as Vovk's inductive Mondrian predictor does."""
    found = made(200)
    for score in (-3.0, -0.1, 0.0, 0.7, float(found.scores[3])):
        yes = 1 + sum(found.scores[found.success] <= score)
        no = 1 + sum(found.scores[~found.success] >= score)
        wanted = {True: yes / (1 + found.success.sum()), False: no / (1 + (~found.success).sum())}
        assert found.p_values(score) == pytest.approx(wanted)


def test_conformal_sets_hold_what_they_promise() -> None:
    """The truth is outside in about the stated share of fresh cases."""
    found, (scores, truth) = made(), drawn(3_000, seed=5)
    for risk in (0.05, 0.2):
        door = gate(found, risk)
        inside = [
            bool(t) in door.judge(found, float(s), 0.5).possible
            for s, t in zip(scores, truth, strict=True)
        ]
        assert np.mean(inside) == pytest.approx(1 - risk, abs=0.025)


@pytest.mark.parametrize("risk", [0.01, 0.05, 0.1])
def test_the_stated_risk_is_kept_on_fresh_cases(risk: float) -> None:
    """And a larger risk answers more."""
    found, (scores, truth) = made(), drawn(2_000, seed=7)
    narrow, wide = gate(found, risk), gate(found, risk * 2)
    said = [narrow.judge(found, float(score), 0.5).answers for score in scores]
    answered = np.asarray([one is not None for one in said])
    wrong = np.asarray([one is not None and one != t for one, t in zip(said, truth, strict=True)])
    assert wrong.sum() / answered.sum() <= risk * 1.5
    wider = [wide.judge(found, float(score), 0.5).answers for score in scores]
    assert sum(one is not None for one in wider) >= answered.sum() > 0


def test_a_cut_falls_between_confidences() -> None:
    """Whoever is as sure as the last one is answered as well: of equal ones all count, or none."""
    sure, alone = np.asarray([0.9] * 60 + [0.8] * 40), np.arange(100)
    right = np.asarray([True] * 99 + [False])
    assert _threshold(sure, right, alone, 0 * alone, 0.05) == 0.8
    wrong = np.asarray([True] * 80 + [False] * 20)
    assert _threshold(sure, wrong, alone, 0 * alone, 0.05) == 0.9
    few = np.asarray([True] * 40 + [False] * 20)
    assert _threshold(sure[:60], few, alone[:60], 0 * alone[:60], 0.05) is None
    assert _threshold(sure[:0], right[:0], alone[:0], alone[:0], 0.05) is None


@pytest.mark.parametrize(
    ("answers", "groups", "wrong", "answered"),
    [
        (19, 19, [], True),
        (18, 18, [], False),
        (100, 100, [0], True),
        (100, 100, [0, 1], False),
        (200, 200, [0, 1, 2, 3, 4], True),
        (200, 200, [0, 1, 2, 3, 4, 5], False),
        (200, 10, [0, 1, 2, 3], True),
        (200, 10, [0, 10, 20], True),
        (200, 10, [0, 10, 20, 30], False),
        (200, 1, [], False),
    ],
    ids=[
        "one error more is within", "one too few", "one of a hundred", "two: not surely within",
        "five of two hundred", "six", "four apart", "three of a group", "four of a group",
        "of one group nothing is known of others",
    ],
)  # fmt: skip
def test_errors_must_surely_be_within_the_risk_and_count_by_groups(
    answers: int, groups: int, wrong: list[int], answered: bool
) -> None:
    """At a risk of 5 %: case i is of the group i modulo ``groups``."""
    cases = np.arange(answers)
    right = ~np.isin(cases, wrong)
    found = _threshold(np.full(answers, 0.9), right, cases % groups, 0 * cases, 0.05)
    assert (found is not None) is answered


def test_the_error_of_a_sum_is_that_of_its_groups() -> None:
    """Beside the formula, sum by sum; of one group it is not known."""
    draw = np.random.default_rng(0)
    values, group = draw.normal(size=40), draw.integers(0, 6, 40)
    for count in range(1, 41):
        some, of = values[:count], group[:count]
        names = np.unique(of)
        rest = [some[of == one].sum() - some.mean() * (of == one).sum() for one in names]
        scale = len(names) / (len(names) - 1) if len(names) > 1 else np.inf
        wanted = np.sqrt(scale * np.square(rest).sum()) if len(names) > 1 else np.inf
        assert _standard_error(values, group)[count - 1] == pytest.approx(wanted)


def programs(draw: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidences, right ones and groups of programs of 20 cases: in one of eight programs two
    thirds of what is not quite sure are wrong."""
    sure = draw.uniform(0.5, 1, (count, 20))
    hard = draw.random((count, 1)) < 1 / 8
    wrong = (sure < 0.9) & hard & (draw.random((count, 20)) < 2 / 3)
    return sure.ravel(), ~wrong.ravel(), np.repeat(np.arange(count), 20)


def test_the_stated_risk_is_kept_on_groups_that_are_fresh() -> None:
    """Of 400 choices of a threshold, each by 24 programs, few leave more than 5 % of the answers on
    fresh programs wrong; where cases count as if they had no groups, several times as many do."""
    draw = np.random.default_rng(1)
    fresh, fresh_right, _ = programs(draw, 400)
    above = {True: 0, False: 0}
    for _ in range(400):
        sure, right, groups = programs(draw, 24)
        for grouped in (True, False):
            counted = groups if grouped else np.arange(len(sure))
            least = _threshold(sure, right, counted, 0 * counted, 0.05) or 2.0
            said = fresh >= least
            above[grouped] += bool(said.any() and (~fresh_right[said]).mean() > 0.05)
    assert above[True] <= 0.15 * 400
    assert above[False] > 2 * above[True]


def test_what_is_unlike_training_is_not_answered() -> None:
    """However sure the score is."""
    found = made()
    door = gate(found, 0.1)
    assert door.judge(found, 9.0, 0.5).answers is True
    said = door.judge(found, 9.0, 0.6)
    assert said.answers is None
    assert "unlike" in said.why


def test_scores_that_say_nothing_are_never_answered() -> None:
    """Noise has no threshold at which it is right."""
    draw = np.random.default_rng(2)
    found = calibrate(
        draw.normal(size=400).tolist(), (draw.random(400) < 0.5).tolist(), [0.0] * 400
    )
    assert found is not None
    door = gate(found, 0.05)
    said = [door.judge(found, float(score), 0.0).answers for score in draw.normal(size=200)]
    assert said.count(None) >= 190


@pytest.mark.parametrize(
    ("count", "truth"),
    [(29, [True, False]), (60, [True]), (60, [False])],
    ids=["few", "successes", "failures"],
)
def test_too_little_to_calibrate_with(count: int, truth: list[bool]) -> None:
    """None, so that the model abstains."""
    success = (truth * count)[:count]
    assert calibrate([float(n) for n in range(count)], success, [0.0] * count) is None


def test_calibration_is_read_back_as_it_was() -> None:
    """Through its JSON."""
    found = made(100)
    again = from_json(found.to_json())
    assert again.p_values(0.3) == found.p_values(0.3)
    assert gate(again, 0.1).sure == pytest.approx(gate(found, 0.1).sure, abs=1e-4)
    assert again.kind.tolist() == found.kind.tolist() == [CaseKind.PAGES] * 100
    assert again.group.tolist() == found.group.tolist() == list(range(100))
    scores, truth = drawn(100)
    named = calibrate(scores.tolist(), truth.tolist(), [0.5] * 100, (), ["b", "a"] * 50)
    assert named is not None
    assert from_json(named.to_json()).group.tolist() == [1, 0] * 50


def test_many_easy_cases_of_desktops_promise_nothing_of_pages() -> None:
    """Of 400 cases of desktops all sure ones are right, of 100 of pages one in five is wrong: by one
    threshold for both the risk is kept on the whole and not on pages; by two it is kept on each."""
    draw, count = np.random.default_rng(3), 400
    scores = draw.choice([-4.0, 4.0], 500) + draw.normal(scale=0.2, size=500)
    desktop = np.arange(500) < count
    flipped = ~desktop & (draw.random(500) < 0.2)
    truth = (scores > 0) ^ flipped
    kinds = np.where(desktop, CaseKind.WINDOWS, CaseKind.PAGES).tolist()
    found = calibrate(scores.tolist(), truth.tolist(), [0.5] * 500, kinds)
    assert found is not None
    both, each = gate(found, 0.05), gates(found, 0.05)
    sure = [float(score) for score in scores[count:]]
    assert any(both.judge(found, score, 0.5).answers is not None for score in sure)
    assert all(each[CaseKind.PAGES].judge(score, 0.5).answers is None for score in sure)
    assert "not sure enough" in each[CaseKind.PAGES].judge(sure[0], 0.5).why
    answers = [each[CaseKind.WINDOWS].judge(float(score), 0.5).answers for score in scores[:count]]
    assert sum(answer is not None for answer in answers) > 0.9 * count
    assert gates(found, 0.4)[CaseKind.PAGES].judge(4.0, 0.5).answers is True


def test_many_easy_cases_of_one_collection_promise_nothing_of_another() -> None:
    """Of 900 cases of one collection all sure ones are right, of 100 of another one in eight is
    wrong: nobody knows of which a new case is, so none is answered. A collection of few groups has
    no say."""
    draw = np.random.default_rng(3)
    scores = draw.choice([-4.0, 4.0], 1_000) + draw.normal(scale=0.2, size=1_000)
    is_hard = np.arange(1_000) >= 900
    truth = (scores > 0) ^ (is_hard & (np.arange(1_000) % 8 == 0))

    def answered(groups: int, collections: list[int], risk: float = 0.05) -> int:
        """How many sure scores are answered, where each collection has so many groups."""
        of = [f"{hard}/{at % groups}" for at, hard in enumerate(is_hard)]
        columns = scores.tolist(), truth.tolist(), [0.5] * 1_000, (), of, collections
        found = calibrate(*columns)
        assert found is not None
        door = gate(found, risk)
        return sum(door.judge(found, score, 0.5).answers is not None for score in (-4.0, 4.0))

    apart = is_hard.astype(int).tolist()
    assert answered(20, [0] * 1_000) == 2
    assert answered(20, apart) == 0
    assert answered(20, apart, risk=0.4) == 2
    assert answered(MIN_GROUPS - 1, apart) == 2


def test_the_risk_is_kept_by_all_at_the_threshold_that_is_chosen() -> None:
    """One collection never keeps it; above its surest case stand three of the other, one of them
    wrong: at no cut do both keep it, so nothing is answered."""
    easy = [*np.linspace(0.6, 0.97, 200).tolist(), 0.98, 0.985, 0.99]
    hard = np.linspace(0.6, 0.975, 60).tolist()
    sure, right = np.asarray([*easy, *hard]), np.ones(263, np.bool_)
    right[200] = False
    right[203::4] = False
    named = [f"a/{at % 20}" for at in range(203)] + [f"b/{at % 20}" for at in range(60)]
    found = calibrate(
        sure.tolist(), right.tolist(), [0.5] * 263, (), named, [name[0] for name in named]
    )
    assert found is not None
    group, collection = found.group, found.collection
    easy_alone = (sure[:203], right[:203], group[:203], collection[:203])
    assert _threshold(*easy_alone, 0.05) is not None
    assert _threshold(sure, right, group, collection, 0.05) is None
    surely = np.append(right[:203], np.ones(60, np.bool_))
    assert _threshold(sure, surely, group, collection, 0.05) is not None


@pytest.mark.parametrize(
    ("group", "collection"),
    [("miniwob/login", "miniwob"), ("gedit", ""), ("a/b/c", "a"), ("", ""), ("/x", "")],
)
def test_the_collection_of_a_group_is_what_stands_before_its_slash(
    group: str, collection: str
) -> None:
    assert collection_of(group) == collection


@pytest.mark.parametrize(
    ("reported", "kind"),
    [
        ({"desk_reported"}, CaseKind.FILES),
        ({"desk_reported", "windows"}, CaseKind.WINDOWS),
        ({"desk_reported", "widgets_set"}, CaseKind.WINDOWS),
        ({"desk_reported", "windows", "text_reported"}, CaseKind.PAGES),
        ({"desk_reported", "text_reported"}, CaseKind.PAGES),
        ({"desk_reported", "clicks"}, CaseKind.PAGES),
        ({"desk_reported", "navigated"}, CaseKind.PAGES),
        ({"text_reported"}, CaseKind.PAGES),
        (set(), CaseKind.PAGES),
    ],
)
def test_a_page_beside_an_observed_folder_is_a_page(reported: set[str], kind: CaseKind) -> None:
    """Whatever its first step did, and its last."""
    rows = np.zeros((2, len(NAMES)))
    for name in reported:
        rows[1 if name == "desk_reported" else 0, NAMES.index(name)] = 1.0
    assert kind_of(rows) is kind
    assert is_of_desktop(rows) is (kind is not CaseKind.PAGES)


def test_a_kind_without_cases_is_never_answered() -> None:
    """A model of pages alone says nothing of a desktop."""
    found = made()
    assert gates(found, 0.2)[CaseKind.PAGES].judge(9.0, 0.5).answers is True
    said = gates(found, 0.2)[CaseKind.WINDOWS].judge(9.0, 0.5)
    assert said.answers is None
    assert "unlike" in said.why


def test_measures_on_cases_done_by_hand() -> None:
    """Ties half; the surest first; whole groups drawn."""
    truth = np.asarray([True, False, True, False])
    assert auroc(np.asarray([3.0, 1.0, 1.0, 0.0]), truth) == 0.875
    coverage, risk = curve(np.asarray([0.9, 0.8, 0.7, 0.6]), np.asarray([True, True, False, True]))
    assert coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert risk.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 4])
    assert (
        coverage_at(np.asarray([0.9, 0.8, 0.7, 0.6]), np.asarray([True, True, False, True]), 0.25)
        == 1.0
    )
    assert ece(
        np.asarray([0.9, 0.9, 0.1, 0.1]), np.asarray([True, True, False, False])
    ) == pytest.approx(0.1)
    alone = bootstrap(["a", "a", "b", "b"], lambda at: float(truth[at].mean()))
    assert alone == (0.5, 0.5)
