"""From the rewards of turns to the tensors that a trainer trains on, by the trainer's own code on
the CPU (`make test-all`)."""

from __future__ import annotations

import pytest

from tests.api.processes import Process
from tests.support.logs import went
from tests.trainers.support import EFFECTS, GONE, Effects, run_harness

pytestmark = pytest.mark.slow

CART: Effects = {0: [went("/cart")]}
NOTHING: Effects = {}


async def test_openrlhf_trains_on_the_folded_reward_and_on_no_placeholder(process: Process) -> None:
    """One number a rollout: all its turns, with the close. One that is not known is generated again
    and moves no baseline."""
    found = await run_harness(
        "openrlhf_tensors",
        process,
        venv="verl",
        effects=[EFFECTS, GONE, NOTHING, EFFECTS, CART],
        more={"MILESTONED_RESAMPLE": "1"},
    )
    paid = [0.5, 0.0, 0.5, 0.1]
    group = found["group"]
    assert group["rewards"] == pytest.approx(paid)
    mean = sum(paid) / len(paid)
    for reward, advantages, mask in zip(
        paid, group["advantages"], group["action_mask"], strict=True
    ):
        assert advantages == pytest.approx([(reward - mean) * of_agent for of_agent in mask])
    assert found["known_share"] == [1.0] * 4
    moved = [row for row in found["placeholder"][1:] if row in group["advantages"]]
    assert moved == [], "a placeholder is a number to OpenRLHF: that is why none is given"
