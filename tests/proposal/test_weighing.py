"""What each milestone of a proposal is worth: support among successes, times lift over failures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from api.proposal.mining import propose
from api.proposal.support import RecordedRun
from api.proposal.weighing import MilestoneWeight, share_components
from api.proposal.writing import RecordingCounts, TaskHead, write_proposal
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from tests.support.examples import examples
from tests.support.logs import ORIGIN, Said, clicked, episode, filled, finished, log, went

Counts = tuple[int, int, int, int]
"""In how many of how many successes, and in how many of how many failures."""

VALUES: list[tuple[Counts, float]] = [
    ((3, 3, 0, 3), 4.0),
    ((3, 3, 1, 3), 2.0),
    ((3, 3, 2, 3), 1.3333),
    ((3, 3, 3, 3), 1.0),
    ((2, 4, 0, 3), 1.25),
    ((1, 1, 0, 0), 1.3333),
    ((9, 9, 0, 0), 1.8182),
    ((0, 3, 3, 3), 0.0001),
]


@pytest.mark.parametrize(("counts", "value"), VALUES)
def test_a_weight_is_support_times_lift(counts: Counts, value: float) -> None:
    assert MilestoneWeight(*counts).value == value


MORE: list[tuple[Counts, Counts]] = [
    ((3, 3, 0, 3), (3, 3, 3, 3)),
    ((3, 3, 0, 3), (3, 3, 1, 3)),
    ((3, 3, 1, 3), (3, 3, 2, 3)),
    ((3, 3, 2, 3), (3, 3, 3, 3)),
    ((1, 1, 0, 1), (1, 1, 1, 1)),
    ((500, 500, 0, 900), (500, 500, 900, 900)),
    ((3, 3, 1, 3), (2, 3, 1, 3)),
    ((3, 3, 0, 9), (3, 3, 0, 3)),  # nine failures without it say more than three
]


@pytest.mark.parametrize(("more", "less"), MORE)
def test_what_separates_weighs_more(more: Counts, less: Counts) -> None:
    assert MilestoneWeight(*more).value > MilestoneWeight(*less).value


NO_MORE: list[tuple[Counts, Counts]] = [
    ((3, 3, 3, 3), (3, 3, 0, 3)),
    ((3, 3, 1, 3), (3, 3, 1, 3)),
    ((1, 1, 1, 1), (1, 1, 0, 0)),  # a failure that met it is no reason to pay more
    ((2, 2, 2, 2), (9, 9, 0, 2)),
]


@pytest.mark.parametrize(("one", "other"), NO_MORE)
def test_what_separates_no_better_weighs_no_more(one: Counts, other: Counts) -> None:
    assert MilestoneWeight(*one).value <= MilestoneWeight(*other).value


@pytest.mark.parametrize("counts", [counts for counts, _ in VALUES])
def test_the_explanation_adds_up(counts: Counts) -> None:
    weight = MilestoneWeight(*counts)
    found = re.search(
        r"support (\S+) × lift (\S+), which is (\d+)/(\d+) \(.*\) over (\d+)/(\d+)",
        weight.explain(),
    )
    assert found is not None, weight.explain()
    support, lift = float(found[1]), float(found[2])
    over_good, over_bad = int(found[3]) / int(found[4]), int(found[5]) / int(found[6])
    assert lift == pytest.approx(over_good / over_bad, rel=1e-3)
    assert weight.value == pytest.approx(support * lift, rel=2e-3, abs=1e-4)


SHARES: list[tuple[list[tuple[str, float]], dict[str, float]]] = [
    ([], {"goal": 1.0}),
    ([("nav", 2.0)], {"nav": 0.4, "goal": 0.6}),
    ([("nav", 1.0), ("ui", 3.0)], {"nav": 0.1, "ui": 0.3, "goal": 0.6}),
    ([("nav", 1.0), ("nav", 1.0), ("ui", 1.0)], {"nav": 0.2667, "ui": 0.1333, "goal": 0.6}),
    ([("nav", 0.0001), ("ui", 400.0)], {"nav": 0.0001, "ui": 0.3999, "goal": 0.6}),
]


@pytest.mark.parametrize(("milestones", "shares"), SHARES)
def test_components_share_as_their_milestones_weigh(
    milestones: list[tuple[str, float]], shares: dict[str, float]
) -> None:
    assert share_components(milestones) == shares


def right(number: int) -> list[list[Said]]:
    return [
        [went("/")],
        [clicked("Lamps"), went("/lamps")],
        [filled("Amount", "2"), clicked("Order")],
        [finished("POST", f"/orders/{number}", 201), went("/thanks")],
    ]


WRONG: list[list[list[Said]]] = [
    right(1)[:1],
    right(1)[:2],
    [*right(1)[:3], [finished("DELETE", "/orders/1", 204)]],
]


def worths(good: Sequence[list[list[Said]]], bad: Sequence[list[list[Said]]]) -> dict[str, float]:
    """What each milestone of the proposal pays at most."""
    _, rules = written(good, bad)
    pairs = zip(rules.task.milestones, rules.share, strict=True)
    return {one.id: share for one, share in pairs}


def written(
    good: Sequence[list[list[Said]]], bad: Sequence[list[list[Said]]]
) -> tuple[str, Ruleset]:
    """The text of the proposal, and its rules."""
    runs = [RecordedRun(f"good-{n}", log(*episode(*steps))) for n, steps in enumerate(good)]
    failures = [RecordedRun(f"bad-{n}", log(*episode(*steps))) for n, steps in enumerate(bad)]
    proposal = propose(runs, failures, ORIGIN)
    head = TaskHead("t", "Order two lamps.", ORIGIN)
    text = write_proposal(head, proposal, RecordingCounts(len(good), len(bad)), [])
    return text, compile_task(task_from_json(yaml.safe_load(text)))


def test_a_milestone_of_every_run_pays_less_than_one_of_successes_alone() -> None:
    """In whatever component: they are worth as their weights are, 1 to 4/3 to 2 to 4."""
    paid = worths([right(1), right(2), right(3)], WRONG)
    assert paid.pop("request-delete-orders") == -0.1, "a guard has no weight"
    assert paid.pop("done") == 0.6
    unit = paid["page"]
    assert {name: round(worth / unit, 2) for name, worth in paid.items()} == {
        "page": 1.0,
        "click-button-lamps": 1.33,
        "page-lamps": 1.33,
        "field-amount": 2.0,
        "click-button-order": 2.0,
        "request-post-orders": 4.0,
        "page-thanks": 4.0,
    }


def test_without_failures_all_that_successes_share_pays_alike() -> None:
    paid = worths([right(1), right(2)], [])
    del paid["done"]
    assert max(paid.values()) == pytest.approx(min(paid.values()), rel=0.01)


def test_the_file_says_where_each_weight_comes_from() -> None:
    text, rules = written([right(1), right(2), right(3)], WRONG)
    of_lamps = text.index("id: page-lamps")
    assert (
        "support 1 × lift 1.333, which is 4/5 (of successes) over 3/5 (of failures)"
        in (text[:of_lamps].rpartition("# in 3 of 3 successes and 2 of 3 failures")[2])
    )
    explained = text.count("# weight: support ")
    earning = [one for one in rules.task.milestones if one.penalty is None]
    assert explained == len(earning) - 1, "all but the goal"
    assert "a weight is worth the same in each component" in text


BUTTONS = ("Lamps", "Chairs", "Cart", "Order", "Pay")
RUNS = st.lists(st.sampled_from(BUTTONS), max_size=4)


def presses(buttons: Sequence[str]) -> list[list[Said]]:
    return [[went("/")], *([clicked(name), went(f"/{name}")] for name in buttons)]


@settings(max_examples=examples(30))
@given(
    good=st.lists(RUNS, min_size=1, max_size=3),
    bad=st.lists(RUNS, max_size=3),
    draw=st.randoms(use_true_random=False),
)
def test_weights_of_any_recordings(
    good: list[list[str]], bad: list[list[str]], draw: Random
) -> None:
    """They are positive and sum to 1, the goal's is the largest, more failures never pay more, and
    the order of the recordings changes nothing."""
    text, rules = written([presses(run) for run in good], [presses(run) for run in bad])
    weights = yaml.safe_load(text)["weights"]
    used = {one.component for one in rules.task.milestones if one.penalty is None}
    assert set(weights) == used
    assert sum(weights.values()) == pytest.approx(1.0, abs=1e-12)
    assert min(weights.values()) > 0
    assert weights["goal"] == max(weights.values())
    assert all(one.weight > 0 for one in rules.task.milestones)
    reached = [int(number) for number in re.findall(r"successes and (\d+) of", text)]
    guarded = [one.penalty is not None for one in rules.task.milestones[:-1]]
    told = zip(reached, rules.share[:-1], guarded, strict=True)
    pairs = sorted((number, share) for number, share, is_guard in told if not is_guard)
    for (fewer, more_paid), (more, less_paid) in pairwise(pairs):
        assert fewer == more or less_paid < more_paid
    shuffled = [sorted(runs, key=lambda _: draw.random()) for runs in (good, bad)]
    other = worths(*([presses(run) for run in runs] for runs in shuffled))
    assert other == dict(zip((one.id for one in rules.task.milestones), rules.share, strict=True))
