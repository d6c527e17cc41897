"""A sound task pays no adversary beyond what it does; each class of adversaries is paid by a task
that is weak in its way, so that each can be seen to fall."""

from __future__ import annotations

from typing import Any

import pytest

from api.attack.adversaries import CLASSES
from api.attack.attack import OTHER, AttackResult, NoOracleError, attack, make_oracle
from api.attack.logs import as_lines, renumber_events
from api.attack.report import by_kind, fallen, finding
from api.replay.recording_check import findings
from detectors.model.codec import GENESIS, decode_segment, encode_segment
from detectors.task.ruleset import Ruleset
from tests.attack.orders import ORDERED, SOLVED, SOUND, WEAK, field, goal, others, task
from tests.support.logs import Said, episode, log, ruleset, went

KINDS = [*(kind.name for kind in CLASSES), OTHER]


def attacked(rules: Ruleset) -> list[AttackResult]:
    return list(attack(make_oracle(rules, SOLVED), others()))


def test_a_sound_task_is_attacked_by_every_class_and_pays_none() -> None:
    results = attacked(SOUND)
    assert [*by_kind(results)] == KINDS
    assert [finding(result) for result in fallen(results)] == []
    assert {result.verdict for result in results} == {"holds"}


def test_there_is_a_weak_task_for_every_class() -> None:
    assert {kind for kind, _ in WEAK.values()} == set(KINDS)


@pytest.mark.parametrize(("kind", "rules"), WEAK.values(), ids=WEAK)
def test_a_weak_task_falls_to_its_adversary(kind: str, rules: Ruleset) -> None:
    """With the milestone that paid, and the events that it was paid for."""
    falling = fallen(by_kind(attacked(rules))[kind])
    assert falling, kind
    for result in falling:
        assert result.why
        assert result.payouts
        assert finding(result).startswith(f"{kind} (")


PAID = {
    "nothing": {"idle": (0.0, 0.0)},
    "claim": {"the right answer": (0.0, 0.0), "done": (0.0, 0.0)},
    "half": {"through name": (0.2, 0.5)},
    "left-behind": {"untouched": (0.0, 0.0), "loaded again": (0.0, 0.0)},
    "evidence-dropped": {
        "form without event 8 page.navigated": (0.9, 0.9),
        "name without event 9 field.filled": (0.1, 0.1),
        "sent without event 14 request.finished": (0.2, 0.2),
        "invoice without event 19 file.created": (0.3, 0.3),
        "said without event 22 agent.answered": (0.5, 0.5),
    },
    "reordered": {"sent first": (0.2, 0.2), "said first": (0.5, 0.5)},
    "untrusted": {"trusted: false": (0.1, 0.1)},
    "elsewhere": {"another host": (0.0, 0.0)},
    "pushed": {"pushState": (0.9, 0.9)},
    "hidden": {"hidden: true": (0.1, 0.1)},
    "refused": {"status: 500": (0.2, 0.2)},
}
"""Class → variant → what it is paid by the sound task, and what it may be."""


@pytest.mark.parametrize("kind", PAID)
def test_what_is_paid_for_what_was_done(kind: str) -> None:
    results = by_kind(attacked(SOUND))[kind]
    assert {
        result.adversary.variant: (result.score.total, round(result.adversary.limit.total, 6))
        for result in results
    } == PAID[kind]


@pytest.mark.parametrize(
    "rules", [SOUND, *(rules for _, rules in WEAK.values())], ids=["sound", *WEAK]
)
def test_each_adversary_is_a_log_as_a_daemon_writes_it(rules: Ruleset) -> None:
    """Numbers, clock, kinds, fields and steps are sound; it can be packed into a segment."""
    assert [*findings(SOLVED)] == []
    for result in attacked(rules):
        events = renumber_events(result.adversary.events)
        where = f"{result.kind} {result.adversary.variant}"
        assert [*findings(events)] == [], where
        assert decode_segment(encode_segment(events, GENESIS)).count == len(events), where
        assert as_lines(result.adversary.events).count(b"\n") == len(events), where


def test_adversaries_are_the_same_each_time() -> None:
    """They are derived, not drawn: no clock and no chance is in them."""
    lines = [[as_lines(one.adversary.events) for one in attacked(SOUND)] for _ in range(2)]
    assert lines[0] == lines[1]


def test_what_is_paid_together_with_the_goal_has_no_half() -> None:
    """One request that does all of it is no half of it, however many milestones it pays."""
    parts = [{"id": f"part-{n}", "component": "form", "when": ORDERED} for n in range(4)]
    for more in ({}, {"must_hold_at_end": True}):
        assert "half" not in by_kind(attacked(task([*parts, *goal(ORDERED, **more)])))


@pytest.mark.parametrize("probe", [{"script": {"url": "/*", "expression": "1"}}, {"get": "/stock"}])
def test_what_a_page_would_say_of_a_constant_is_not_known(probe: dict[str, Any]) -> None:
    """A script probe reads the field that the constant would be in; a server's word stands."""
    said = {"probe_answers": {"probe": "stock", "path": "right", "value": True}}
    spec = {"weights": {"goal": 1.0}, "probes": [{"id": "stock", **probe}]}
    rules = ruleset(*goal(said), instruction="Write Ada Lovelace.", **spec)

    def answer(when: str, *, right: bool) -> Said:
        data = {"probe": "stock", "when": when, "value": {"right": right}, "ms": 1}
        return "probe.answered", data | ({"baseline": True} if when == "start" else {})

    steps = [[field("Name", "Ada Lovelace"), answer("step", right=True)]]
    events = log(*episode(*steps, before=[went("/"), answer("start", right=False)]))
    results = by_kind([*attack(make_oracle(rules, events))])["constants"]
    expected = "unknown" if "script" in probe else "falls"
    assert {result.verdict for result in results} == {expected}


NO_ORACLE = {
    "it misses the goal": (log(*episode([went("/")])), "does not reach the goal"),
    "it is open": (log(*episode([went("/")], close=False)), "ends before its episode does"),
    "it has no event": ([], "ends before its episode does"),
}


@pytest.mark.parametrize(("events", "why"), NO_ORACLE.values(), ids=NO_ORACLE)
def test_what_does_not_solve_the_task_is_no_oracle(events: list[object], why: str) -> None:
    with pytest.raises(NoOracleError, match=why):
        make_oracle(task(goal(ORDERED)), events)  # type: ignore[arg-type]
