"""A gap leaves a step unknown only while something of it may still change: what is earned for good is
not, whatever went unseen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.logs import Said, clicked, episode, finished, resumed, ruleset, run, went, worth


def wrote(path: str) -> Said:
    """The server took a write."""
    return finished("POST", path, 200, type="Fetch")


PART = {"source": "cdp", "part": "request"}
GAP: list[Said] = [("gap.began", {**PART, "reason": "not seen"}), ("gap.ended", PART)]
OPEN: list[Said] = GAP[:1]
A = {"id": "a", "when": {"request_accepted": {"url": "/a", "method": "POST"}}, "component": "nav"}
B = {"id": "b", "when": {"request_accepted": {"url": "/b", "method": "POST"}}, "component": "nav"}
PAGE = {"id": "page", "when": {"url_reached": {"url": "/p"}}}
FINE = {
    "id": "fine",
    "penalty": 0.2,
    "when": {"other_request_made": {"url": "/*", "allowed": ["/a", "/b"]}},
}
BOTH = {"id": "both", "when": {"all_of": [A["when"], B["when"]]}, "component": "nav"}
GOAL = {"id": "goal", "when": {"goal": {"requires": ["a", "page"]}}}
UNDONE = {**A, "revoke_on": {"url_reached": {"url": "/p"}}}
TASKS: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "all that hears requests is earned": ([A, PAGE], True),
    "a goal requires it": ([A, PAGE, GOAL], True),
    "another is open": ([A, B, PAGE], False),
    "a penalty may be due": ([A, FINE], False),
    "a part of one is open": ([A, BOTH], False),
    "it may be earned again": ([{**A, "repeat": 2}], False),
    "it may be taken back": ([UNDONE, PAGE], False),
    "it is decided at the end": ([{**A, "must_hold_at_end": True}], False),
}


@pytest.mark.parametrize(("milestones", "known"), TASKS.values(), ids=TASKS)
def test_a_gap_after_what_it_could_have_hidden(
    milestones: list[dict[str, Any]], known: bool
) -> None:
    said = episode([wrote("/a")], [clicked("Go"), *GAP], [clicked("Go")])
    rewards = run(ruleset(*milestones), *said)
    assert (rewards[1].reward is not None) is known
    assert [r.reward for r in resumed(ruleset(*milestones), *said)] == worth(rewards)


def test_a_gap_that_lasts_matters_until_the_last_that_it_hides_is_earned() -> None:
    said = episode([*OPEN, wrote("/a")], [clicked("Go")], [wrote("/b")], [clicked("Go")])
    assert worth(run(ruleset(A, B), *said)) == [None, None, None, 0.0]


def test_in_the_step_in_which_it_is_earned_a_gap_before_it_counts() -> None:
    said = episode([*GAP, wrote("/a")], [clicked("Go"), *GAP])
    assert worth(run(ruleset(A), *said)) == [None, 0.0]


NAMES = st.sampled_from(["/a", "/b", "/c"])
EVENTS = st.one_of(NAMES.map(wrote), st.sampled_from([went("/p"), clicked("Go")]))
STEPS = st.lists(st.lists(EVENTS, max_size=3), min_size=1, max_size=4)
SHAPING: dict[str, Any] = {"shaping": {"potential": ["nav"], "gamma": 0.9}}
MILESTONES: list[dict[str, Any]] = [
    A,
    B,
    PAGE,
    FINE,
    BOTH,
    {**A, "id": "twice", "repeat": 2},
    {**UNDONE, "id": "undone"},
]


@settings(max_examples=examples(100), deadline=None)
@given(
    steps=STEPS,
    hidden=st.lists(NAMES.map(wrote), min_size=1, max_size=3),
    at=st.integers(0, 3),
    chosen=st.sets(st.integers(0, len(MILESTONES) - 1), min_size=1),
    shaped=st.booleans(),
)
def test_what_is_known_across_a_gap_is_what_it_would_have_been(
    steps: list[list[Said]], hidden: list[Said], at: int, chosen: set[int], shaped: bool
) -> None:
    """Whatever requests the gap hid: where its step is known, that one and all after it are worth
    what they are with these in the log."""
    at %= len(steps)
    milestones = [MILESTONES[n] for n in sorted(chosen)]
    # What a component pays by potential is something to earn: a penalty alone has none.
    is_shaped = shaped and milestones != [FINE]
    rules = ruleset(*milestones, **(SHAPING if is_shaped else {}))
    blind = run(rules, *episode(*steps[:at], [*steps[at], *GAP], *steps[at + 1 :]))
    if blind[at].reason is not None:  # unknown, or no more than a penalty that was seen
        return
    seen = worth(run(rules, *episode(*steps[:at], [*steps[at], *hidden], *steps[at + 1 :])))
    assert worth(blind) == seen
