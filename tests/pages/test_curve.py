"""A reward curve's numbers: the running total, stacked components, flags, what is not known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.pages.curve import HEIGHT, WIDTH, curve, running_totals


def reward(
    step: int, paid: float | None, milestones: tuple[str, ...] = (), **components: float
) -> dict[str, Any]:
    earned = [{"id": id, "worth": paid, "baseline": False} for id in milestones]
    known = {
        "status": "unobserved" if paid is None else "sealed",
        "mask": paid is None,
        "reason": None,
    }
    return {"step": step, "reward": paid, "components": components, "milestones": earned, **known}


def test_without_rewards_there_is_no_curve() -> None:
    assert curve([]) is None


def test_the_line_is_the_running_total() -> None:
    drawn = curve([reward(0, 0.0), reward(1, 0.5, nav=0.5), reward(2, 0.5, goal=0.5)])
    assert drawn is not None
    heights = [float(point.split(",")[1]) for point in drawn.line.split()]
    assert heights[0] == drawn.zero
    assert drawn.zero - heights[1] == pytest.approx((drawn.zero - heights[2]) / 2, abs=0.02)


def test_what_is_still_to_come_begins_with_all_and_ends_with_the_last() -> None:
    drawn = curve([reward(0, 0.0), reward(1, 0.5, nav=0.5), reward(2, 0.25, goal=0.25)])
    assert drawn is not None
    heights = [drawn.zero - float(point.split(",")[1]) for point in drawn.to_go.split()]
    assert heights[0] == heights[1] == pytest.approx(3 * heights[2], abs=0.03)


def test_components_stack_above_zero_and_penalties_hang_below() -> None:
    drawn = curve([reward(0, 0.2, nav=0.2, ui=0.3, form=-0.3)])
    assert drawn is not None
    nav, ui, form = drawn.bars
    assert nav.y + nav.height == pytest.approx(drawn.zero)
    assert ui.y + ui.height == pytest.approx(nav.y, abs=0.02)
    assert form.y == pytest.approx(drawn.zero)


def test_a_step_that_is_not_known_is_a_band_and_the_total_is_known_no_more() -> None:
    drawn = curve([reward(0, 0.5, nav=0.5), reward(1, None), reward(2, 0.5, ("late",), nav=0.5)])
    assert drawn is not None
    [(x, width)] = drawn.masked
    assert x == pytest.approx(drawn.left + width, abs=0.02)
    assert len(drawn.line.split()) == 1, "a line that goes on would take null for 0"
    assert running_totals([0.5, None, 0.5]) == [0.5, None, None]
    [flag] = drawn.flags
    assert flag.y < float(drawn.line.split(",")[1]), "a milestone after it still has its flag"


def test_what_was_still_to_come_is_known_after_the_last_step_that_is_not() -> None:
    drawn = curve([reward(0, 0.5, nav=0.5), reward(1, None), reward(2, 0.25), reward(3, 0.25)])
    assert drawn is not None
    places, heights = zip(
        *(map(float, point.split(",")) for point in drawn.to_go.split()), strict=True
    )
    assert places == pytest.approx([drawn.left + drawn.slot * (n + 0.5) for n in (2, 3)], abs=0.02)
    assert drawn.zero - heights[0] == pytest.approx(2 * (drawn.zero - heights[1]), abs=0.03)


def test_a_milestone_has_a_flag_where_it_was_reached_but_what_was_true_already_has_none() -> None:
    met = reward(0, 0.0, ("so already",))
    met["milestones"][0]["baseline"] = True
    drawn = curve([met, reward(1, 0.5, ("a", "b"), nav=0.5)])
    assert drawn is not None
    assert [(flag.step, flag.id) for flag in drawn.flags] == [(1, "a"), (1, "b")]


@given(st.lists(st.one_of(st.none(), st.floats(-3, 20)), min_size=1, max_size=40))
def test_everything_lies_on_the_sheet(paid: list[float | None]) -> None:
    drawn = curve(
        [reward(n, one, ("m",) if one else (), goal=one or 0.0) for n, one in enumerate(paid)]
    )
    assert drawn is not None
    points = [
        tuple(map(float, point.split(","))) for point in (drawn.line + " " + drawn.to_go).split()
    ]
    points += [(bar.x + bar.width, bar.y + bar.height) for bar in drawn.bars] + [
        (bar.x, bar.y) for bar in drawn.bars
    ]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
