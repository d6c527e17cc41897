"""What stored episodes say of milestones: counts with what is not known, and a file's text that
keeps what its author wrote."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from api.proposal.reach import (
    ReachCount,
    Reached,
    ReachedMilestones,
    count_reached,
    read_reached,
)
from api.proposal.refining import MIN_EACH, MIN_EPISODES, describe_finding, refine
from api.proposal.task_text import NotEditableError, TaskText
from api.rescoring.work import unknown_from_json, unknown_to_json
from api.rewards.scored_episode import ScoredPlayback, score_each
from api.tasks.task_files import load_task_yaml
from detectors.model.codec import GENESIS, decode_segment, encode_segment
from detectors.task.language import Task
from detectors.task.ruleset import compile_task
from tests.support.logs import Said, clicked, episode, filled, log, went

TASK = """\
# What the shop's people asked for.
id: shop/order
version: "1"
instruction: Order it.
origin: http://shop.test
weights: {nav: 0.2, ui: 0.2, goal: 0.6}
milestones:
  - id: cart   # the first page
    when: {url_reached: {url: /cart}}
    weight: 2
  - id: help
    when: {url_reached: {url: /help}}
  - {id: buy, when: {element_clicked: {role: button, name: Buy}}}
  - id: reset
    penalty: 0.1
    when: {element_clicked: {role: button, name: Reset}}
  - id: done
    when: {goal: {requires: [cart, buy]}}
"""
IDS = ("cart", "help", "buy", "reset", "done")
GAP: Said = ("gap.began", {"source": "cdp", "reason": "lost"})
BACK: Said = ("gap.ended", {"source": "cdp"})


def task() -> Task:
    return load_task_yaml(TASK)


def worth(
    *steps: Sequence[Said], before: Sequence[Said] = (), close: bool = True
) -> ScoredPlayback:
    text = encode_segment(log(*episode(*steps, before=before, close=close)), GENESIS)
    (scored,) = score_each([decode_segment(text)], [(compile_task(task()), ())])
    return scored


def reached(scored: ScoredPlayback) -> dict[str, Reached]:
    unknown = unknown_from_json(unknown_to_json(scored.find_unknown()))
    return dict(read_reached(scored.result(), None, IDS, unknown).reached)


def test_what_was_reached_and_what_was_not() -> None:
    told = reached(worth([went("/cart")], [clicked("Buy")]))
    assert told == {"cart": "yes", "help": "no", "buy": "yes", "reset": "no", "done": "yes"}


def test_after_a_null_step_what_was_not_reached_is_unknown() -> None:
    told = reached(worth([went("/cart")], [GAP, BACK]))
    assert told["cart"] == "yes"
    assert {told[id] for id in ("help", "buy", "reset", "done")} == {"unknown"}


def test_a_null_step_leaves_known_what_its_gap_has_nothing_to_do_with() -> None:
    """A gap of one kind of the browser's events hides clicks, and no page."""
    part = {"source": "cdp", "part": "element.clicked"}
    hidden: Said = ("gap.began", {**part, "reason": "lost"})
    result = worth([hidden, went("/cart"), ("gap.ended", part)], [])
    assert result.result()["rewards"][0]["reward"] is None
    assert reached(result) == {
        "cart": "yes",
        "help": "no",
        "buy": "unknown",
        "reset": "unknown",
        "done": "unknown",
    }


def test_what_came_true_in_a_null_step_is_unknown() -> None:
    """A gap stood beside it: what it pays is not known, and it is not counted."""
    result = worth([went("/cart"), GAP, BACK], [])
    assert result.result()["rewards"][0]["reward"] is None
    assert reached(result)["cart"] == "unknown"


def test_of_a_step_of_which_a_penalty_alone_is_known_the_penalty_counts() -> None:
    result = worth([clicked("Reset"), went("/cart"), GAP, BACK], [])
    assert result.result()["rewards"][0]["reward"] == -0.1
    told = reached(result)
    assert told["reset"] == "yes"
    assert (told["cart"], told["help"]) == ("unknown", "unknown")


def test_what_was_so_at_the_start_is_neither_reached_nor_missed() -> None:
    told = reached(worth([filled("Name", "Ann")], before=[went("/cart", baseline=True)]))
    assert (told["cart"], told["help"]) == ("at_start", "no")


def test_an_open_episode_lacks_nothing_yet() -> None:
    assert reached(worth([went("/cart")], [], close=False))["help"] == "unknown"


def made(success: bool | None, count: int, **told: Reached) -> list[ReachedMilestones]:
    """As many episodes alike; what is not named was not reached."""
    return [ReachedMilestones(success, {**dict.fromkeys(IDS, "no"), **told})] * count


def test_unknown_verdicts_and_milestones_are_in_no_count_of_success() -> None:
    episodes = [
        *made(True, 3, cart="yes"),
        *made(True, 2, cart="unknown"),
        *made(False, 4),
        *made(None, 5, cart="yes"),
        *made(False, 1, cart="at_start"),
    ]
    assert count_reached(episodes, "cart") == ReachCount(
        yes=8, no=4, unknown=2, at_start=1, in_good=3, good=3, in_bad=0, bad=4
    )


def test_the_lift_has_the_interval_of_a_ratio_of_shares() -> None:
    """Katz's: log of the ratio, with the variance 1/a - 1/n + 1/b - 1/m."""
    count = ReachCount(0, 0, 0, 0, in_good=9, good=18, in_bad=4, bad=18)
    low, high = count.lift_interval()
    assert math.sqrt(low * high) == pytest.approx(2.0), "10 of 20 over 5 of 20"
    assert math.log(high / 2) == pytest.approx(1.96 * math.sqrt(0.1 - 0.05 + 0.2 - 0.05), rel=1e-4)


def problems(episodes: Sequence[ReachedMilestones], own: bool = False) -> dict[str, Any]:
    found = refine(task(), episodes, own_verdict=own).findings
    return {one.id: one.problems for one in found}


def test_never_always_and_as_often_are_problems_and_what_tells_success_is_none() -> None:
    good = made(True, 40, cart="yes", buy="yes", done="yes")
    told = problems([*good, *made(False, 40, cart="yes")])
    assert (
        told["help"]
        == (
            "never reached: it pays nothing, or no policy was able to reach it yet",
            "failures reach it as often as successes: it says nothing of success",
        )[:1]
    )
    assert told["cart"] == (
        "always reached: it tells no episode from another",
        "failures reach it as often as successes: it says nothing of success",
    )
    assert told["buy"] == ()


def test_failures_that_reach_more_and_penalties_of_successes_are_problems() -> None:
    told = problems([*made(True, 20, reset="yes"), *made(False, 20, help="yes")])
    assert told["help"] == ("failures reach it more often than successes",)
    assert told["reset"] == ("the penalty hits 20 of 20 (84% to 100%) successes",)


def test_too_few_episodes_tell_nothing_and_say_so() -> None:
    few = [*made(True, 4, cart="yes"), *made(False, 4, cart="yes")]
    assert len(few) < MIN_EPISODES
    found = refine(task(), few, own_verdict=False)
    assert all(not one.problems for one in found.findings)
    assert found.weights == {}
    (cart, *_) = found.findings
    assert cart.unknown == (
        "whether it is ever reached: 8 of at least 10 known episodes",
        "whether it tells success: it is known in 4 successes and 4 failures, at least"
        f" {MIN_EACH} of each are needed",
    )
    assert found.notes == (
        "the weights within nav stay: not all of its milestones are known often enough",
    )


def test_of_the_tasks_own_verdict_the_goals_parts_tell_nothing() -> None:
    episodes = [*made(True, 30, cart="yes", buy="yes", done="yes"), *made(False, 30, cart="yes")]
    found = {one.id: one for one in refine(task(), episodes, own_verdict=True).findings}
    for id in ("cart", "buy", "done"):
        assert "whether it tells success: the verdict rests on it" in found[id].unknown
    assert "the verdict rests" not in " ".join(found["help"].unknown)


def test_weights_are_suggested_where_a_component_has_several_that_are_known() -> None:
    episodes = [*made(True, 8, cart="yes", buy="yes"), *made(False, 8, cart="yes")]
    found = refine(task(), episodes, own_verdict=False)
    assert found.weights == {"cart": 1.0, "help": 0.0001}, "buy has its component for itself"
    (cart, *_) = found.findings
    assert list(describe_finding(cart))[:2] == [
        "reached in 16 of 16 (81% to 100%) episodes",
        "in 8 of 8 (68% to 100%) successes and 8 of 8 (68% to 100%) failures: support 1, lift 1"
        " (0.747 to 1.34)",
    ]


def test_a_changed_file_keeps_the_words_of_its_author() -> None:
    text = TaskText(TASK)
    assert text.set_version() == "2"
    text.set_weight("cart", 0.25)
    text.set_weight("help", 1.5)
    text.set_weight("buy", 3.0)
    text.comment("buy", ["never reached"])
    changed = text.apply(["Refined."])
    assert changed == "# Refined.\n" + TASK.replace('version: "1"', 'version: "2"').replace(
        "weight: 2", "weight: 0.25"
    ).replace("- id: help\n", "- id: help\n    weight: 1.5\n").replace(
        "  - {id: buy,", "  # never reached\n  - {id: buy, weight: 3.0,"
    )
    after = load_task_yaml(changed)
    assert [one.weight for one in after.milestones] == [0.25, 1.5, 3.0, 1.0, 1.0]
    assert after.version == "2"


@pytest.mark.parametrize("version", ['"1.2"', "'a: b'", '"é#"', "v1"])
def test_any_version_gets_a_next_one(version: str) -> None:
    text = TaskText(TASK.replace('version: "1"', f"version: {version}"))
    following = text.set_version()
    after = load_task_yaml(text.apply([]))
    assert after.version == following != load_task_yaml(TASK).version


def test_a_file_on_one_line_and_one_with_an_alias() -> None:
    one_line = (
        '{"id": "t", "version": "1", "instruction": "é",'
        ' "origin": "http://shop.test", "milestones":'
        ' [{"id": "a", "when": {"url_reached": {"url": "/"}}},'
        ' {"id": "b", "when": {"url_reached": {"url": "/b"}}}]}'
    )
    text = TaskText(one_line)
    text.comment("b", ["about b"])
    text.set_weight("b", 2.0)
    assert [one.weight for one in load_task_yaml(text.apply([])).milestones] == [1.0, 2.0]
    aliased = TASK.replace("weight: 2", "weight: &w 2").replace(
        "- id: help\n", "- id: help\n    weight: *w\n"
    )
    with pytest.raises(NotEditableError, match="help: its weight is an alias"):
        TaskText(aliased).set_weight("help", 1.0)
