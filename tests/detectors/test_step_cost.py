"""`step_cost`: what each step of the agent takes, down to the floor of the penalties."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.logs import Said, episode, resumed, ruleset, run, went, worth

GO: dict[str, Any] = {"id": "go", "component": "nav", "when": {"url_reached": {"url": "/a"}}}
BAD: dict[str, Any] = {
    "id": "bad",
    "component": "nav",
    "when": {"url_reached": {"url": "/b"}},
    "penalty": 0.3,
}
GAP: list[Said] = [
    ("gap.began", {"source": "cdp", "reason": "gone"}),
    ("gap.ended", {"source": "cdp"}),
]
PAID: list[tuple[dict[str, Any], list[list[Said]], list[float | None]]] = [
    ({}, [[], [went("/a")]], [0, 1]),
    ({"step_cost": 0.01}, [[], [went("/a")], []], [-0.01, 0.99, -0.01]),
    ({"step_cost": 0.4}, [[], [], [], []], [-0.4, -0.4, -0.2, 0]),
    ({"step_cost": 0.4, "penalty_floor": -0.5}, [[went("/b")], [], []], [-0.5, 0, 0]),
    ({"step_cost": 0.4}, [[], GAP, [], []], [-0.4, None, -0.4, -0.2]),
]


@pytest.mark.parametrize("play", [run, resumed])
@pytest.mark.parametrize(("top", "steps", "paid"), PAID)
def test_each_step_costs(
    play: Any, top: dict[str, Any], steps: list[list[Said]], paid: list[float | None]
) -> None:
    rules = ruleset(GO, BAD, weights={"nav": 1}, **top)
    assert worth(play(rules, *episode(*steps))) == paid


def test_it_is_a_component_of_its_own_and_no_part_of_what_can_be_earned() -> None:
    plain, costly = (ruleset(GO, weights={"nav": 1}, **top) for top in ({}, {"step_cost": 0.01}))
    (reward,) = run(costly, *episode([went("/a")]))
    assert reward.components == {"nav": 1.0, "step_cost": -0.01}
    assert [milestone.id for milestone in reward.milestones] == ["go", "(step_cost)"]
    assert plain.attainable == costly.attainable == 1.0
    assert plain.digest != costly.digest
