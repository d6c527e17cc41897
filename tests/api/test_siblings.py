"""`credit_to: siblings`: a step's credit beside the episodes that came to the same point."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from milestoned_client import AsyncRewardClient, SiblingCredit

from api.cli.main import main
from api.core.intervals import mean_interval, student
from api.rewards.siblings import (
    MIN_SIBLINGS,
    NO_REWARD,
    NOT_CLOSED,
    SiblingEpisode,
    SiblingReturns,
)
from api.rewards.siblings import (
    CreditEstimate as Estimate,
)
from tests.api.service import ADMIN, Service
from tests.support.logs import Said, clicked, episode, went

DOCS = Path(__file__).parents[2] / "docs/rewards.md"
Step = tuple[float | None, dict[str, float]]
"""A step's reward, and the milestones that it reached with their values."""
CART: Step = (0.3, {"cart": 1.0})
ORDER: Step = (0.7, {"order": 1.0})
IDLE: Step = (0.0, {})
PENALTY: Step = (-0.1, {"dialog": -1.0})
UNKNOWN: Step = (None, {"cart": 1.0})
OTHERS: list[list[Step]] = [
    [CART, ORDER],
    [IDLE, CART, IDLE, ORDER],
    [CART, IDLE],
    [IDLE, CART],
    [IDLE],
]


def told(
    id: str,
    steps: Sequence[Step],
    *,
    group: tuple[str, str | None] = ("digest", None),
    closed: bool = True,
    baseline: Sequence[str] = (),
) -> SiblingEpisode:
    """An episode of these steps."""
    rewards: list[Any] = [
        {
            "step": n,
            "reward": reward,
            "milestones": [{"id": name, "value": value} for name, value in reached.items()],
        }
        for n, (reward, reached) in enumerate(steps)
    ]
    return SiblingEpisode(id, group, closed, rewards, baseline)


def estimated(
    own: SiblingEpisode, others: Sequence[SiblingEpisode] | None = None
) -> list[Estimate]:
    """The credits of an episode beside the others, in the order of its steps."""
    returns = SiblingReturns()
    if others is None:
        others = [told(f"ep_{n}", steps) for n, steps in enumerate(OTHERS)]
    for other in others:
        returns.add(other)
    returns.add(own)  # it is not its own sibling
    return list(returns.credit(own).values())


def number(text: str) -> float | None:
    """A cell of the table in the docs."""
    return None if text == "–" else float(text.replace("−", "-"))


def test_the_example_of_the_docs_is_what_is_computed() -> None:
    section = DOCS.read_text().split("### Credit beside other episodes")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d .*) \|$", section, re.MULTILINE)
    estimates = estimated(told("ep_own", [IDLE, CART, ORDER]))
    assert len(rows) == len(estimates) == 3
    for row, estimate in zip(rows, estimates, strict=True):
        _, _, value, n, after, next_n, credit, interval = row.split(" | ")
        basis = estimate.basis
        assert estimate.credit == number(credit)
        assert [basis["value"], basis["n"]] == [number(value), number(n)]
        assert [basis["next_value"], basis["next_n"]] == [number(after), number(next_n)]
        assert basis["low"] is not None
        assert basis["high"] is not None
        assert [round(basis["low"], 2), round(basis["high"], 2)] == [
            number(bound) for bound in interval.split(" to ")
        ]
        assert basis["reason"] is None
    assert math.fsum(one.credit or 0.0 for one in estimates) == pytest.approx(1 - 0.52)


FEW = f"other episodes had reached the same, at least {MIN_SIBLINGS} are needed"
REFUSALS: dict[str, tuple[SiblingEpisode, list[str | None]]] = {
    "nobody else came there": (
        told("own", [(0.1, {"coupon": 1.0}), CART]),
        [f"0 {FEW}", f"0 {FEW}"],
    ),
    "too few came there": (told("own", [CART, ORDER, IDLE]), [None, f"2 {FEW}", f"2 {FEW}"]),
    "half of it is another prefix": (
        told("own", [(0.15, {"cart": 0.5}), (0.15, {"cart": 0.5})]),
        [f"0 {FEW}", f"0 {FEW}"],
    ),
    "met at the start": (told("own", [IDLE], baseline=["login"]), [f"0 {FEW}"]),
    "another policy": (told("own", [IDLE], group=("digest", "v2")), [f"0 {FEW}"]),
    "another ruleset": (told("own", [IDLE], group=("other", None)), [f"0 {FEW}"]),
    "open": (told("own", [IDLE, CART], closed=False), [NOT_CLOSED] * 2),
    "unknown from a step on": (
        told("own", [IDLE, UNKNOWN, ORDER]),
        [None, NO_REWARD, "step 1 is not known, nor what was reached by it"],
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_credit_that_is_not_known_is_null_with_its_reason(case: str) -> None:
    own, reasons = REFUSALS[case]
    estimates = estimated(own)
    assert [one.basis["reason"] for one in estimates] == reasons
    for one, reason in zip(estimates, reasons, strict=True):
        assert (one.credit is None) == (reason is not None)
        assert (one.basis["low"] is None) == (one.basis["high"] is None) == (reason is not None)


def test_what_is_open_or_not_wholly_known_is_nobody_s_sibling() -> None:
    others = [told(f"ep_{n}", steps) for n, steps in enumerate(OTHERS)]
    more = [told("open", [IDLE], closed=False), told("unknown", [IDLE, UNKNOWN])]
    own = told("own", [IDLE])
    assert estimated(own, [*others, *more]) == estimated(own, others)


def test_what_was_taken_back_does_not_count_and_a_penalty_is_no_prefix() -> None:
    own = told("own", [CART, (-0.3, {"cart": -1.0}), PENALTY])
    first, second, third = estimated(own)
    assert (first.credit, second.credit) == (0.13, round(-0.3 + 0.52 - 0.35, 12))
    assert (third.basis["n"], third.credit) == (5, round(-0.1 - 0.52, 12))


MANY: list[list[Step]] = [[CART, ORDER]] * 6 + [[CART, IDLE, ORDER]] * 3
"""Episodes that all earn 1."""
WRONG: dict[str, tuple[SiblingEpisode, list[bool | None]]] = {
    "nothing is": (told("own", [CART, ORDER]), [False, False]),
    "a penalty": (told("own", [IDLE, PENALTY, CART, ORDER]), [False, True, False, False]),
    "only the first of two": (told("own", [PENALTY, PENALTY, CART]), [True, False, False]),
    "what is taken back can be earned again": (
        told("own", [CART, (-0.3, {"cart": -1.0}), CART, ORDER]), [False] * 4,
    ),
    "an end where others went on": (told("own", [CART, IDLE, IDLE]), [False, False, True]),
    "a step is not known": (told("own", [IDLE, UNKNOWN, PENALTY]), [False, None, None]),
    "nobody came there": (
        told("own", [(0.1, {"coupon": 1.0}), PENALTY, ORDER]), [None, None, None],
    ),
    "what is not known comes later": (told("own", [PENALTY, UNKNOWN]), [True, False]),
    "open": (told("own", [PENALTY, IDLE], closed=False), [None, None]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_the_first_wrong_step_is_found_beside_siblings(case: str) -> None:
    """The first whose credit is surely below 0; of what is not known nothing is said."""
    own, expected = WRONG[case]
    others = [told(f"ep_{n}", steps) for n, steps in enumerate(MANY)]
    assert [one.basis["first_wrong"] for one in estimated(own, others)] == expected


def test_a_step_that_may_have_been_no_worse_is_not_wrong() -> None:
    """Its interval holds 0."""
    ended = estimated(told("own", [CART, IDLE]))[-1]
    assert ended.credit is not None
    assert ended.credit < 0
    assert ended.basis["first_wrong"] is False


def test_the_interval_is_student_s() -> None:
    """Tables of the distribution: 3.182, 2.262 and 2.045 at 3, 9 and 29 degrees of freedom."""
    for freedom, expected in ((3, 3.182), (9, 2.262), (29, 2.045)):
        assert student(freedom) == pytest.approx(expected, rel=0.005)
    mean, half = mean_interval([0.0, 0.0, 1.0, 1.0])
    assert (mean, half) == (0.5, pytest.approx(3.182 * math.sqrt(1 / 3 / 4), rel=0.005))


TASK: dict[str, Any] = {
    "id": "shop/siblings",
    "version": "1",
    "instruction": "Order.",
    "origin": "http://shop.test",
    "weights": {"nav": 0.3, "goal": 0.7},
    "milestones": [
        {"id": "cart", "when": {"url_reached": {"url": "/cart"}}, "component": "nav"},
        {"id": "order", "when": {"url_reached": {"url": "/order"}}, "component": "goal"},
    ],
}
OF_STEP: dict[str, list[Said]] = {"i": [clicked("A")], "c": [went("/cart")], "o": [went("/order")]}


async def test_the_view_is_the_same_by_route_client_and_export(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as pq

    ids = []
    for steps in ("co", "icio", "ci", "ic", "i", "ico"):
        id, token = await service.open(TASK)
        await service.tell(id, token, *episode(*(OF_STEP[step] for step in steps)))
        ids.append(id)
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        found = await client.episode(ids[-1]).trajectory(credit_to="siblings")
        many = await client.rewards([(ids[-1], n) for n in range(3)], credit_to="siblings")
        assert (await client.episode(ids[-1]).trajectory())[0].siblings is None
    expected = estimated(told("own", [IDLE, CART, ORDER]))
    assert [one.credit for one in found] == [one.credit for one in expected] == [0.0, 0.13, 0.35]
    assert [one.siblings for one in found] == [SiblingCredit(**one.basis) for one in expected]
    assert [getattr(one, "siblings", None) for one in many] == [one.siblings for one in found]
    settings = service.app.state.parts.settings
    asked = ["export", "--stored", "--data", str(settings.data), "--credit-to", "siblings"]
    asked += ["--database", settings.database] if settings.database else []
    assert await asyncio.to_thread(main, [*asked, "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    rewards = pq.read_table(tmp_path / "rewards.parquet").to_pylist()
    exported = [
        (one["credit"], one["credit_low"], one["siblings"], one["next_siblings"])
        for one in rewards
        if one["episode"] == ids[-1]
    ]
    assert exported == [
        (one.credit, one.basis["low"], one.basis["n"], one.basis["next_n"]) for one in expected
    ]


def test_one_recording_has_no_siblings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["replay", str(tmp_path / "one.mrec"), "--task", "t.yaml", "--credit-to", "siblings"]
    assert main(asked) == 2
    assert '--credit-to: expected as_paid, cause or spread, got "siblings"' in (
        capsys.readouterr().err
    )
