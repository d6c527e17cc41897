"""A task that refuses another start: no step of such an episode is known, and each says why; however
the log is cut."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.engine.engine import Engine
from detectors.model.types import Reward
from tests.support.logs import Said, created, episode, log, resumed, ruleset, run, went

CART = {"id": "cart", "when": {"url_reached": {"url": "/cart"}}}
DONE = {"id": "done", "when": {"goal": {"requires": ["cart"]}}}
OLD = created("invoice.pdf", "file.present", baseline=True)
OTHER = created("orders.csv", "file.present", baseline=True)
BLIND: Said = ("gap.began", {"source": "files", "reason": "no folder"})
BACK: Said = ("gap.ended", {"source": "files"})
PDF, CSV = "downloads/invoice.pdf", "downloads/orders.csv"


def gone(name: str) -> Said:
    return created(name, "file.deleted")


CASES: dict[str, tuple[dict[str, list[str]], list[Said], str | None]] = {
    "as expected": (
        {"files": [CSV], "absent_files": [PDF], "tabs": ["/shop"]},
        [OTHER, went("/shop?n=1")],
        None,
    ),
    "the last one's file": (
        {"absent_files": [PDF]},
        [OLD],
        f"this episode began with the file {PDF}, which the task expects not to be there",
    ),
    "a file that is not there": (
        {"files": [CSV]},
        [OLD],
        f"this episode began without the file {CSV}, which the task expects",
    ),
    "another page": (
        {"tabs": ["/shop"]},
        [went("/shop"), went("/login")],
        "this episode began without a tab at http://shop.test/shop, which the task expects",
    ),
    "a file that went before the first step": ({"absent_files": [PDF]}, [OLD, gone("invoice.pdf")], None),
    "a file that went and came": ({"files": [CSV]}, [OTHER, gone("orders.csv"), OTHER], None),
    "an empty folder": (
        {"files": [CSV]},
        [BLIND, BACK],
        f"this episode began without the file {CSV}, which the task expects",
    ),
    "an empty folder, as expected": ({"absent_files": [PDF]}, [BLIND, BACK], None),
    "nothing was observed": ({"files": [CSV], "absent_files": [PDF]}, [], None),
    "the folder was not observed to the last": ({"absent_files": [PDF]}, [OLD, BLIND], None),
    "the folder was observed again": (
        {"absent_files": [PDF]},
        [BLIND, BACK, OLD],
        f"this episode began with the file {PDF}, which the task expects not to be there",
    ),
}  # fmt: skip


def refusing(start: dict[str, Any], on_mismatch: str = "refuse") -> Any:
    return ruleset(CART, DONE, start={**start, "on_mismatch": on_mismatch})


def story(before: list[Said]) -> list[Said]:
    return episode([went("/cart"), OLD], [gone("invoice.pdf")], before=before)


@pytest.mark.parametrize("case", CASES)
def test_a_start_is_refused_with_its_reason_or_paid(case: str) -> None:
    start, before, reason = CASES[case]
    rewards = run(refusing(start), *story(before))
    assert len(rewards) == 2
    for reward in rewards:
        assert (reward.reward is None, reward.mask) == (reason is not None, reason is not None)
        if reason is not None:
            assert reward.status == "unobserved"
            assert reason in str(reward.reason)
            assert set(reward.components.values()) == {None}
    assert resumed(refusing(start), *story(before)) == rewards


@pytest.mark.parametrize("case", CASES)
def test_without_the_choice_a_start_changes_no_reward(case: str) -> None:
    start, before, _ = CASES[case]
    plain = values(run(ruleset(CART, DONE), *story(before)))
    assert values(run(refusing(start, "report"), *story(before))) == plain
    assert plain[0] is not None


def values(rewards: list[Reward]) -> list[float | None]:
    return [reward.reward for reward in rewards]


def test_a_refused_episode_is_no_success_and_no_event_ends_the_refusal() -> None:
    end: Said = ("gap.ended", {"source": "start"})
    engine = Engine(refusing({"absent_files": [PDF]}), "ep_1")
    rewards = engine.feed(log(*episode([end, went("/cart")], [end], before=[OLD, end]))).rewards
    assert values(rewards) == [None, None]
    assert engine.success is None


def test_an_episode_that_ends_before_its_first_step_is_refused_too() -> None:
    (reward,) = run(refusing({"absent_files": [PDF]}), *episode(before=[OLD]))
    assert reward.reward is None
