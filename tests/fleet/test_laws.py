"""What the check of a fleet's rewards takes for a broken law, and what not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fleet.containers.laws import broken

Paid = dict[str, float]
WORTH: list[Paid] = [{}, {"form": 0.2}, {"order": 0.2}, {"file": 0.4}]
IN_FULL = [0.0, 0.2, 0.2, 0.4]


def step(number: int, reward: float | None, paid: Paid, status: str = "") -> dict[str, Any]:
    status = status or ("unobserved" if reward is None else "sealed")
    return {"step": number, "status": status, "reward": reward, "reason": "", "milestones": paid}


def found(*rows: tuple[float | None, Paid], read: list[Any] | None = None) -> list[str]:
    """What is found of an episode whose steps ended so; ``read``: what its trainer read."""
    final = [step(number, *row) for number, row in enumerate(rows)]
    note = {"episode": "ep_1", "read": read or []}
    return broken(WORTH, [note], {"ep_1": {"status": "closed", "final": final}})


PAID = list(zip(IN_FULL, WORTH, strict=True))
NULL: tuple[None, Paid] = (None, {})
HELD = [
    pytest.param(PAID, id="paid in full"),
    pytest.param(PAID[:2], id="ended early"),
    pytest.param([PAID[0], NULL, *PAID[2:]], id="a step is null, and what it did was never told"),
    pytest.param([PAID[0], (None, {"form": 0.2}), *PAID[2:]], id="or was told in it"),
    pytest.param(
        [PAID[0], NULL, (0.4, {"form": 0.2, "order": 0.2}), PAID[3]], id="or in the next step"
    ),
    pytest.param(
        [PAID[0], (None, {"form": 0.05}), (0.35, {"form": 0.15, "order": 0.2}), PAID[3]],
        id="or one half in it, one in the next",
    ),
    pytest.param([PAID[0], NULL, NULL, (0.8, {"form": 0.2, "order": 0.2, "file": 0.4})], id="late"),
]
BROKEN = [
    pytest.param([PAID[0], (0.0, {}), *PAID[2:]], id="0 where the step earned"),
    pytest.param(
        [PAID[0], (0.0, {}), (0.4, {"form": 0.2, "order": 0.2}), PAID[3]],
        id="0, and in the next step what it earned",
    ),
    pytest.param(
        [PAID[0], PAID[1], (0.4, {"form": 0.2, "order": 0.2}), PAID[3]], id="the same twice"
    ),
    pytest.param(
        [PAID[0], (None, {"form": 0.2}), (0.4, {"form": 0.2, "order": 0.2}), PAID[3]],
        id="twice, once in a step without a reward",
    ),
    pytest.param(
        [PAID[0], NULL, (0.4, {"form": 0.2, "order": 0.2}), (0.6, {"form": 0.2, "file": 0.4})],
        id="late, and again",
    ),
    pytest.param([PAID[0], PAID[1], (0.2, {}), PAID[3]], id="a reward without a milestone"),
    pytest.param([(0.2, {"form": 0.2})], id="before it was done"),
]


@pytest.mark.parametrize("rows", HELD)
def test_held(rows: list[tuple[float | None, Paid]]) -> None:
    assert found(*rows) == []


@pytest.mark.parametrize("rows", BROKEN)
def test_broken(rows: list[tuple[float | None, Paid]]) -> None:
    assert len(found(*rows)) == 1


def test_what_was_final_stays() -> None:
    assert found(*PAID, read=[[1, "sealed", 0.2], [2, "settling", None]]) == []
    [one] = found(*PAID, read=[[1, "sealed", 0.1]])
    assert "was sealed with 0.1, and is now ('sealed', 0.2)" in one
    [one] = found(*PAID[:2], read=[[2, "sealed", 0.2]])
    assert "is not in the log" in one


def test_an_episode_that_is_lost_or_does_not_end() -> None:
    note = {"episode": "ep_1", "read": []}
    assert broken(WORTH, [note], {}) == ["ep_1 is lost"]
    open_still = {"status": "running", "final": [step(0, None, {}, "settling")]}
    told = broken(WORTH, [note], {"ep_1": open_still})
    assert [one.split()[1] for one in told] == ["does", "step"]
