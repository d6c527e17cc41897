"""From the rewards of turns to the tensors that a trainer trains on, by the trainer's own code on
the CPU (`make test-all`)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.processes import Process
from tests.support.logs import clicked, went
from tests.trainers.support import EFFECTS, GONE, PARTLY, Effects, run_harness

pytestmark = pytest.mark.slow

CART: Effects = {0: [went("/cart")]}
NOTHING: Effects = {}
THREE: Effects = {1: [went("/cart")], 2: [clicked("Buy")]}
"""The first of three turns earns nothing, the second 0.1, the third 0.4."""


def by_turn(mask: list[float], values: list[float]) -> list[float]:
    """A row of a tensor: ``values`` on the last tokens of the turns, which ``mask`` is 1 on."""
    row = [0.0] * len(mask)
    ends = [at for at, of_agent in enumerate(mask) if of_agent and not [*mask, 0][at + 1]]
    for at, value in zip(ends, values, strict=True):
        row[at] = value
    return row


def by_turn_ends(mask: list[float], row: list[float]) -> list[float]:
    """What a row has on the last token of each turn; each token of the turn has the same."""
    ends = [at for at, of_agent in enumerate(mask) if of_agent and not [*mask, 0][at + 1]]
    starts = [at for at, of_agent in enumerate(mask) if of_agent and not [0, *mask][at]]
    for start, end in zip(starts, ends, strict=True):
        assert len(set(row[start : end + 1])) == 1
    return [row[end] for end in ends]


def first_turn(mask: list[float]) -> list[bool]:
    """A row that is true on the tokens of the first turn."""
    start = mask.index(1)
    end = mask.index(0, start)
    return [start <= at < end for at in range(len(mask))]


def assert_steps_along(
    found: dict[str, Any], advantages: list[list[float]], masks: list[list[float]]
) -> None:
    """The step pulls each token of the agent's as its advantage says, and no other token. The
    ratio is 1 in the first step, so -dL/dlog p is the advantage, times a number of the loss."""
    assert found["moved"]
    pulls = [row[-len(mask) :] for row, mask in zip(found["pull"], masks, strict=True)]
    for pull, row, mask in zip(pulls, advantages, masks, strict=True):
        wanted = [value * bool(of_agent) for value, of_agent in zip(row, mask, strict=True)]
        largest = max(map(abs, wanted))
        factor = max(map(abs, pull)) / largest if largest else 0.0
        assert pull == pytest.approx([value * factor for value in wanted], abs=1e-7)
        assert factor > 0 or largest == 0


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
    assert_steps_along(group, group["advantages"], group["action_mask"])
    assert found["known_share"] == [1.0] * 4
    moved = [row for row in found["placeholder"][1:] if row in group["advantages"]]
    assert moved == [], "a placeholder is a number to OpenRLHF: that is why none is given"


async def test_skyrl_puts_each_reward_on_the_last_token_of_its_turn(process: Process) -> None:
    """Its own generator, unmodified: the returns of GAE are the rewards to go of each turn."""
    found = await run_harness("skyrl_tensors", process, "own", venv="verl", effects=THREE)
    (rewards,), (mask,) = found["rewards"], found["loss_mask"]
    assert rewards == pytest.approx(by_turn(mask, [0.0, 0.1, 0.4]))
    ends = [at for at, value in enumerate(by_turn(mask, [1.0, 2.0, 3.0])) if value]
    assert [found["returns"][0][at] for at in ends] == pytest.approx([0.5, 0.5, 0.4])


async def test_skyrl_generator_masks_turns_and_gives_no_placeholder(process: Process) -> None:
    """Ours: a turn that is not known is masked, a rollout that is not known is generated again, and
    moves no baseline."""
    more = {"MILESTONED_FOLD": "known", "MILESTONED_RESAMPLE": "1"}
    seen: list[Effects] = [THREE, PARTLY, GONE, NOTHING]
    found = await run_harness(
        "skyrl_tensors", process, "ours", venv="verl", effects=seen, more=more
    )
    whole, partly, nothing = found["rewards"]
    whole_mask, partly_mask, nothing_mask = found["loss_mask"]
    for row in (whole, partly):
        assert row == pytest.approx(by_turn(whole_mask, [0.0, 0.1, 0.4]))
    assert nothing == by_turn(nothing_mask, [0.0, 0.0, 0.0])
    assert sum(partly_mask) < sum(whole_mask) == sum(nothing_mask)
    unknown = [full and not part for full, part in zip(whole_mask, partly_mask, strict=True)]
    assert unknown == first_turn(whole_mask), "its first turn is not known"
    paid = [sum(row) for row in found["rewards"]]
    assert paid == pytest.approx([0.5, 0.5, 0.0])
    mean = sum(paid) / len(paid)
    for row, reward in zip(found["advantages"], paid, strict=True):
        assert max(row, key=abs) == pytest.approx(reward - mean)
    assert_steps_along(found, found["advantages"], found["loss_mask"])


async def test_verl_puts_each_reward_on_the_last_token_of_its_turn(process: Process) -> None:
    """Its own loop, its worker's fields, its estimators; a turn whose call there is not pays 0, the
    last turn is an answer, a turn that is not known is masked, and a rollout ends its group."""
    seen: list[Effects] = [THREE, PARTLY, GONE, NOTHING]
    more = {"MILESTONED_FOLD": "known"}
    found = await run_harness("verl_turns", process, "4", venv="verl", effects=seen, more=more)
    assert [("browser gone" in why) for why in found["raised"]] == [True]
    whole, partly, nothing = found["rm_scores"]
    whole_mask, partly_mask, nothing_mask = found["response_mask"]
    for row in (whole, partly):
        assert row == pytest.approx(by_turn(whole_mask, [0.0, 0.1, 0.0, 0.4, 0.0]))
    assert nothing == by_turn(nothing_mask, [0.0] * 5)
    unknown = [full and not part for full, part in zip(whole_mask, partly_mask, strict=True)]
    assert unknown == first_turn(whole_mask)
    assert found["loss_mask"] == found["response_mask"]
    paid = [0.5, 0.5, 0.0]
    assert [info["score"] for info in found["info"]] == pytest.approx(paid)
    mean = sum(paid) / len(paid)
    for row, reward, mask in zip(found["grpo"], paid, found["response_mask"], strict=True):
        assert row == pytest.approx([(reward - mean) * of_agent for of_agent in mask])
    assert_steps_along(found, found["grpo"], found["response_mask"])
    ends = [at for at, value in enumerate(by_turn(whole_mask, [1.0] * 5)) if value]
    assert [found["returns"][0][at] for at in ends] == pytest.approx([0.5, 0.5, 0.4, 0.4, 0.0])


async def test_trl_gives_each_turn_its_advantage(process: Process) -> None:
    """Its own tools, masks and loss: a turn's tokens have the rewards to go of the group; a turn
    and a rollout that are not known leave the loss and move no baseline."""
    seen: list[Effects] = [THREE, PARTLY, GONE, NOTHING]
    more = {"MILESTONED_FOLD": "known"}
    found = await run_harness("trl_turns", process, "4", venv="trl", effects=seen, more=more)
    whole, partly, gone, nothing = [
        [of_agent * shown for of_agent, shown in zip(mask, shown_mask, strict=True)]
        for mask, shown_mask in zip(found["tool_mask"], found["completion_mask"], strict=True)
    ]
    assert sum(gone) == 0, "not known: no token of it is trained on"
    unknown = [full and not part for full, part in zip(whole, partly, strict=True)]
    assert unknown == first_turn(whole)
    mean = (0.1 + 0.4 + 0.1 + 0.4) / 14  # of 5 + 4 + 5 known turns
    paid = [0.0, 0.1, 0.0, 0.4, 0.0]
    to_go = [sum(paid[at:]) - mean * (5 - at) for at in range(5)]
    empty = [-mean * (5 - at) for at in range(5)]
    rows = found["advantages"]
    assert by_turn_ends(whole, rows[0]) == pytest.approx(to_go)
    assert by_turn_ends(partly, rows[1]) == pytest.approx(to_go[1:])
    assert set(rows[2]) == {0.0}
    assert by_turn_ends(nothing, rows[3]) == pytest.approx(empty)
    assert found["num_items_in_batch"] == sum(map(sum, (whole, partly, nothing)))
    known = [0.5, 0.5, 0.0]
    by_rollout = [reward - sum(known) / 3 for reward in known]
    assert found["by_rollout"] == pytest.approx([*by_rollout[:2], 0.0, by_rollout[2]]), (
        "TRL's own: None moves no baseline"
    )
    assert found["moved"]
