"""`credit_to: spread`: each positive reward is shared by the steps that led to it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detectors.engine.attribution import credit

SPREADS: dict[str, tuple[list[float | None], list[float | None]]] = {
    "one milestone after an idle step": ([0.0, 0.3], [0.15, 0.15]),
    "a penalty stays, and takes a share": ([0.0, 0.3, -0.1, 0.7], [0.15, 0.15, 0.25, 0.35]),
    "paid in every step": ([0.1, 0.2, 0.7], [0.1, 0.2, 0.7]),
    "idle steps after the last milestone": ([0.4, 0.0, 0.0], [0.4, 0.0, 0.0]),
    "an unknown step takes no share": ([0.0, None, 0.4], [0.2, None, 0.2]),
    "nothing is known": ([None, None], [None, None]),
    "nothing was earned": ([0.0, 0.0], [0.0, 0.0]),
    "no step": ([], []),
}
REWARDS = st.lists(st.none() | st.sampled_from([0.0, 0.05, 0.1, 1 / 3, 1.0, -0.2]), max_size=12)


def credited(rewards: Sequence[float | None], *, closed: bool = True) -> list[float | None]:
    """The credits in the order of the steps."""
    listed = [{"step": step, "reward": reward} for step, reward in enumerate(rewards)]
    return list(credit(listed, (), "spread", closed=closed).values())


@pytest.mark.parametrize("case", SPREADS)
def test_a_reward_is_shared(case: str) -> None:
    rewards, expected = SPREADS[case]
    assert credited(rewards) == expected


@given(REWARDS)
def test_the_sum_stays_and_unknown_stays_unknown(rewards: list[float | None]) -> None:
    found = credited(rewards)
    assert [value is None for value in found] == [reward is None for reward in rewards]
    assert math.fsum(value or 0.0 for value in found) == pytest.approx(
        math.fsum(reward or 0.0 for reward in rewards)
    )


def test_an_open_episode_has_no_credit_yet() -> None:
    assert credited([0.0, 0.3], closed=False) == [None, None]
