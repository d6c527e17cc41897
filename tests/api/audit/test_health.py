"""Each alarm with its table of yes and of no, a line a pair of versions."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from api.audit.declared import Declared, asking_for_documents
from api.audit.health import Counts, alarms, count, in_order
from tests.support.logs import ruleset


class Row(NamedTuple):
    """What `count` reads of an episode."""

    total: float | None = 0.5
    success: bool | None = False
    steps: int = 10
    calls: int = 10
    syntax_errors: int = 0
    execution_errors: int = 0
    repeated_calls: int = 0
    masked: int = 0
    judged: int = 0
    cost: float = 0.0
    opened_at: str = "2026-01-01"
    task: str = "t"


TASK = Declared("t", "1", 1.0, ("m",), frozenset({"m"}), {"m": "nav"}, frozenset())


def counted(version: str, *parts: tuple[int, dict[str, Any]], **facts: Any) -> Counts:
    """A version of (how many, how its episodes are)."""
    found = Counts(version)
    for many, row in parts:
        for n in range(many):
            # Totals scatter a little, as real ones do.
            total = row.get("total", 0.5)
            scattered = None if total is None else total + 0.02 * (n % 3 - 1)
            count(
                found,
                Row(**{**row, "total": scattered}),
                {"masks": {}, "milestones": {}, **facts},
                TASK,
            )
    return found


def goals(many: int, of: int = 100, **row: Any) -> tuple[tuple[int, dict[str, Any]], ...]:
    return ((many, {**row, "success": True}), (of - many, {**row, "success": False}))


def masks(steps: int) -> dict[str, Any]:
    return {"masks": {"cdp: gone": [steps, steps]}, "masked_while_acting": steps}


def paid(times: int, id: str = "m") -> dict[str, Any]:
    return {"milestones": {id: [times, 1.0, 0.1]}}


YES: list[tuple[str, Counts, Counts]] = [
    ("reward_without_goal", counted("a", *goals(30)), counted("b", *goals(30, total=0.7))),
    ("reward_without_goal", counted("a", *goals(30)), counted("b", *goals(10, total=0.56))),
    (
        "reward_without_goal",
        counted("a", (100, {"success": None})),
        counted("b", (100, {"success": None, "total": 0.7})),
    ),
    ("milestone_farmed", counted("a", *goals(30), **paid(1)), counted("b", *goals(30), **paid(3))),
    ("milestone_farmed", counted("a", *goals(30)), counted("b", *goals(30), **paid(2))),
    ("syntax_errors_jump", counted("a", *goals(30)), counted("b", *goals(30, syntax_errors=1))),
    (
        "execution_errors_jump",
        counted("a", *goals(30, execution_errors=1)),
        counted("b", *goals(30, execution_errors=2)),
    ),
    (
        "unnecessary_calls_rise",
        counted("a", *goals(30, repeated_calls=2)),
        counted("b", *goals(30, repeated_calls=4)),
    ),
    ("steps_per_success_grow", counted("a", *goals(30)), counted("b", *goals(30, steps=13))),
    ("masks_while_acting_rise", counted("a", *goals(30)), counted("b", *goals(30), **masks(1))),
]
NO: list[tuple[str, Counts, Counts]] = [
    ("the goal rises too", counted("a", *goals(30)), counted("b", *goals(60, total=0.8))),
    ("a rise within the noise", counted("a", *goals(30)), counted("b", *goals(30, total=0.53))),
    ("the reward falls", counted("a", *goals(30)), counted("b", *goals(30, total=0.2))),
    ("too few episodes", counted("a", *goals(30)), counted("b", *goals(5, 19, total=0.9))),
    ("totals are not known", counted("a", *goals(30)), counted("b", *goals(30, total=None))),
    (
        "paid in parts, but once",
        counted("a", *goals(30), **paid(1, "form")),
        counted("b", *goals(30), **paid(4, "form")),
    ),
    (
        "repeated as before",
        counted("a", *goals(30), **paid(10)),
        counted("b", *goals(30), **paid(11)),
    ),
    (
        "repeated, and it helps",
        counted("a", *goals(30), **paid(1)),
        counted("b", *goals(70), **paid(10)),
    ),
    (
        "what costs is not farmed",
        counted("a", *goals(30)),
        counted("b", *goals(30), **paid(3, "penalty")),
    ),
    (
        "errors rise a little",
        counted("a", *goals(30, calls=100, syntax_errors=1)),
        counted("b", *goals(30, calls=100, syntax_errors=3)),
    ),
    ("too few calls", counted("a", *goals(30, calls=0)), counted("b", *goals(30, calls=0))),
    ("errors fall", counted("a", *goals(30, syntax_errors=5)), counted("b", *goals(30))),
    ("a few steps more", counted("a", *goals(30)), counted("b", *goals(30, steps=12))),
    ("too few successes", counted("a", *goals(5)), counted("b", *goals(5, steps=30))),
    (
        "masked as before",
        counted("a", *goals(30), **masks(1)),
        counted("b", *goals(30), **masks(1)),
    ),
]


@pytest.mark.parametrize(("name", "before", "now"), YES)
def test_yes(name: str, before: Counts, now: Counts) -> None:
    assert [one.name for one in alarms([before, now])] == [name]


@pytest.mark.parametrize(("name", "before", "now"), NO, ids=[name for name, _, _ in NO])
def test_no(name: str, before: Counts, now: Counts) -> None:
    assert alarms([before, now]) == []


@pytest.mark.parametrize(
    ("facts", "rate"),
    [
        ({"masks": {"cdp: gone": [2, 2], "files: gone": [2, 2]}, "masked_while_acting": 2}, 0.2),
        ({"masks": {"cdp: gone": [2, 2], "files: gone": [1, 1]}, "masked_while_acting": 3}, 0.3),
        ({"masks": {"cdp: gone": [2, 1]}, "masked_while_acting": 1}, 0.1),
        # Counted before there was such a number.
        ({"masks": {"cdp: gone": [2, 1]}}, 0.1),
        ({"masks": {"cdp: gone": [2, 2], "files: gone": [2, 2]}}, 0.3),
    ],
)
def test_a_step_is_masked_once_however_many_sources_were_blind(
    facts: dict[str, Any], rate: float
) -> None:
    assert counted("a", (20, {"masked": 3}), **facts).to_json()["masked_while_acting_rate"] == rate


@pytest.mark.parametrize(
    ("known", "unknown", "components"),
    [
        (4, 0, {"nav": 0.1}),
        # Of an episode with a masked step nobody knows what it was paid: it is not one that was
        # paid less.
        (4, 12, {"nav": 0.1}),
        (0, 12, None),
    ],
)
def test_components_are_a_mean_over_episodes_whose_total_is_known(
    known: int, unknown: int, components: dict[str, float] | None
) -> None:
    of = counted("a", (known, {}), **paid(1))
    for _ in range(unknown):
        count(of, Row(total=None, masked=1), {"masks": {}, "milestones": {}}, TASK)
    assert of.to_json()["components"] == (None if components is None else pytest.approx(components))


def test_a_task_that_can_only_cost_has_a_mean_total_and_no_share() -> None:
    of = Counts("a")
    count(of, Row(total=-0.4), {"masks": {}, "milestones": {}}, TASK._replace(attainable=0.0))
    assert (of.to_json()["mean_total"], of.to_json()["reward"]) == (-0.4, None)


def test_each_version_is_compared_with_the_one_before_it_that_has_enough() -> None:
    low, high, few = (
        counted("a", *goals(30)),
        counted("c", *goals(30, total=0.9)),
        counted("b", *goals(1, 2)),
    )
    found = alarms([low, few, high, counted("d", *goals(30, total=0.9))])
    assert [(one.version, one.before) for one in found] == [("c", "a")]


def test_versions_are_ordered_by_their_first_episode() -> None:
    late, early = (
        counted("a", (1, {"opened_at": "2026-02"})),
        counted("b", (1, {"opened_at": "2026-01"})),
    )
    assert in_order([late, early]) == [early, late]


def test_what_asks_for_a_document_is_known_of_each_milestone() -> None:
    """Of those that nobody reaches the report says so: an application of one page reaches none."""
    there: dict[str, Any] = {"url_reached": {"url": "/a"}}
    by_script: dict[str, Any] = {"url_reached": {"url": "/a", "loaded": False}}
    click = {"element_clicked": {"name": "Buy"}}
    task = ruleset(
        {"id": "there", "when": there},
        {"id": "part", "when": {"all_of": [click, there]}, "component": "ui"},
        {"id": "gated", "when": click, "only_if": there},
        {"id": "by-script", "when": by_script},
        {"id": "click", "when": click},
        {"id": "guard", "when": there, "penalty": 0.1},
    ).task
    assert asking_for_documents(task) == {"there", "part", "gated"}
