"""What a step is worth: components, progress, order, baseline, penalties, revocation, gaps and
sealing."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from detectors.engine.engine import Engine
from detectors.model.errors import GapError, StateError
from detectors.model.rewards import blend
from detectors.model.types import Verdict
from tests.support.logs import (
    answered,
    began,
    clicked,
    created,
    episode,
    filled,
    log,
    ruleset,
    run,
    sealed,
    went,
    worth,
)

A = {"id": "a", "when": {"url_reached": {"url": "/a"}}}
B = {"id": "b", "when": {"url_reached": {"url": "/b"}}}
FORM = {"id": "form", "when": {"form_filled": {"fields": {"Name": "Ada", "Mail": "a@b"}}}}
GO = {"id": "go", "when": {"element_clicked": {"name": "Go"}}}
FILE = {"id": "file", "when": {"file_created": {"name": "a.csv"}}}
ALIVE = ("gap.ended", {"source": "cdp"})
DEAD = ("gap.began", {"source": "cdp", "reason": "browser gone"})


def test_default_weights_are_the_fields() -> None:
    """nav 0.1, ui 0.2, form 0.2, file 0.3, goal 0.2; together 1."""
    goal = {"id": "done", "when": {"goal": {"requires": ["a", "go", "form", "file"]}}}
    steps = [
        [went("/a")],
        [clicked("Go")],
        [filled("Name", "Ada"), filled("Mail", "a@b")],
        [created("a.csv")],
    ]
    rules = ruleset(A, GO, FORM, FILE, goal)
    rewards = run(rules, *episode(*steps))
    assert worth(rewards) == [0.1, 0.2, 0.2, 0.5]
    assert rules.attainable == 1.0
    assert [r.success for r in rewards] == [None, None, None, True]
    assert set(rewards[0].components) == {"nav", "ui", "form", "file", "goal"}


def test_milestones_share_their_component_by_weight() -> None:
    """Within a component the positive weights are normalised to 1."""
    rewards = run(ruleset({**A, "weight": 3}, B), *episode([went("/a")], [went("/b")]))
    assert worth(rewards) == [0.075, 0.025]


def test_a_form_pays_by_progress_and_only_what_is_new() -> None:
    """Half now, half later; emptying and filling again is not paid twice."""
    half, empty, rest = filled("Name", "Ada"), filled("Name", ""), filled("Mail", "a@b")
    rewards = run(
        ruleset(FORM), *episode([half], [empty, half], [rest], [empty, half, empty, half])
    )
    assert worth(rewards) == [0.1, 0.0, 0.1, 0.0]
    assert rewards[2].milestones[0].value == 0.5


def test_credit_by_level_pays_what_stands_at_each_step() -> None:
    """The formula as often written: r_c(t) is the component's level at t."""
    steps = [[filled("Name", "Ada")], [], [filled("Mail", "a@b")], [filled("Name", "")]]
    rewards = run(ruleset(FORM, credit={"form": "level"}), *episode(*steps))
    assert worth(rewards) == [0.1, 0.1, 0.2, 0.1]


def test_the_worked_example_of_the_documentation() -> None:
    """The table of docs/rewards.md: a form of four fields in two steps, then the goal."""
    names = ("Name", "Mail", "Street", "Town")
    details = {"id": "details", "when": {"form_filled": {"fields": dict.fromkeys(names, "x")}}}
    order = {"id": "order", "component": "goal", "when": {"url_reached": {"url": "/done"}}}
    steps = [
        [filled("Name", "x"), filled("Mail", "x")],
        [filled("Street", "x"), filled("Town", "x")],
        [went("/done")],
    ]
    weights = {"form": 0.3, "goal": 0.7}
    columns = [
        worth(run(ruleset(details, order, weights=weights, credit=credit), *episode(*steps)))
        for credit in ("progress", {"form": "level"})
    ]
    page = (Path(__file__).parents[2] / "docs/rewards.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([0-9]|sum) \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    rows = rows[: [row[0] for row in rows].index("sum") + 1]  # of the first table
    documented = [[float(cell.rpartition("= ")[2]) for cell in row[1:]] for row in rows]
    with_sums = [[*column, math.fsum(column)] for column in columns]
    assert [[row[c] for row in documented] for c in (0, 1)] == [
        pytest.approx(column) for column in with_sums
    ]


def test_every_unit_of_reward_has_evidence() -> None:
    """Milestone, rule and version, digest and the numbers of the events."""
    rules = ruleset(FORM)
    said = episode([filled("Name", "Ada")], [filled("Mail", "a@b")])
    first, second = run(rules, *said)
    assert first.milestones[0].evidence == (3,)
    assert second.milestones[0].evidence == (3, 5)
    assert (second.milestones[0].rule, second.milestones[0].version) == ("form_filled", 8)
    assert second.digest == rules.digest == second.verdicts[0].by


def test_after_and_before_make_an_order() -> None:
    """What comes too early is not remembered; what comes too late is not paid."""
    late = ruleset({**A, "after": ["go"]}, GO)
    assert worth(
        run(late, *episode([went("/a")], [clicked("Go")], [went("/x")], [went("/a")]))
    ) == [0.0, 0.2, 0.0, 0.1]
    early = ruleset({**A, "before": ["go"]}, GO)
    assert worth(run(early, *episode([clicked("Go")], [went("/a")]))) == [0.2, 0.0]


def test_repeat_pays_distinct_keys_up_to_its_number() -> None:
    """Three different buttons once each, not one button three times."""
    rules = ruleset({**GO, "when": {"element_clicked": {"role": "button"}}, "repeat": 2})
    rewards = run(rules, *episode([clicked("A")], [clicked("A")], [clicked("B")], [clicked("C")]))
    assert worth(rewards) == [0.1, 0.0, 0.1, 0.0]


def test_penalties_are_negative_and_clamped() -> None:
    """Each time up to `repeat`, and never below the task's floor."""
    bad = {
        "id": "bad",
        "when": {"element_clicked": {"name": "Delete"}},
        "penalty": 0.4,
        "repeat": 9,
    }
    rewards = run(ruleset(bad, penalty_floor=-1.0), *episode(*[[clicked("Delete")]] * 4))
    assert worth(rewards) == [-0.4, -0.4, -0.2, 0.0]


def test_must_hold_at_end_is_decided_by_the_end() -> None:
    """Solve, then wander: what was earned stays, unless the task says that it must hold."""
    stays, holds = ruleset(A), ruleset({**A, "must_hold_at_end": True})
    wander = episode([went("/a")], [went("/x")])
    assert worth(run(stays, *wander)) == [0.1, 0.0]
    assert worth(run(holds, *wander)) == [0.0, 0.0]
    assert worth(run(holds, *episode([went("/a")], [went("/a?x=1")]))) == [0.0, 0.1]


def test_revoking_takes_back_what_was_paid_and_doing_again_pays_again() -> None:
    """Done, undone, done: the sum never exceeds the weight; a goal that required it falls with
    it."""
    undo = {"element_clicked": {"name": "Undo"}}
    goal = {"id": "done", "when": {"goal": {"requires": ["go"]}}}
    rules = ruleset({**GO, "revoke_on": undo}, goal)
    assert worth(run(rules, *episode([clicked("Go")], [clicked("Undo")]))) == [0.4, -0.4]
    rewards = run(rules, *episode([clicked("Go")], [clicked("Undo")], [clicked("Go")]))
    assert worth(rewards) == [0.4, -0.4, 0.4]
    assert rewards[-1].success is True
    assert run(rules, *episode([clicked("Go")], [clicked("Undo")]))[-1].success is False


def test_goal_waits_for_what_it_requires_and_for_its_condition() -> None:
    """In any order; the goal pays in the step in which the last of it came."""
    goal = {
        "id": "done",
        "when": {"goal": {"requires": ["a"], "when": {"element_clicked": {"name": "Finish"}}}},
    }
    rules = ruleset(A, goal)
    assert worth(run(rules, *episode([clicked("Finish")], [went("/a")]))) == [0.0, 0.3]
    assert worth(run(rules, *episode([went("/a")], [clicked("Finish")]))) == [0.1, 0.2]
    assert run(rules, *episode([went("/a")]))[-1].success is False


def test_an_answer_is_worth_only_what_a_task_gives_it() -> None:
    """The component answer has no weight by default; the latest answer counts."""
    said = {"id": "said", "when": {"answer_matches": {"text": "42"}}, "must_hold_at_end": True}
    rules = ruleset(said, weights={"answer": 0.5})
    assert worth(run(rules, *episode([answered("42")]))) == [0.5]
    assert worth(run(rules, *episode([answered("42"), answered("41")]))) == [0.0]


def test_a_late_download_pays_where_it_came_and_names_the_step_that_caused_it() -> None:
    """The click is in step 0; the file settles in step 2."""
    download = (
        "download.began",
        {"tab": "T", "frame": "T", "url": "u", "name": "a.csv", "download": "g"},
    )
    rewards = run(
        ruleset(FILE),
        *episode([clicked("CSV"), download], [went("/x")], [created("a.csv", via="download")]),
    )
    assert worth(rewards) == [0.0, 0.0, 0.3]
    assert (rewards[2].milestones[0].step, rewards[2].milestones[0].cause_step) == (2, 0)
    assert rewards[2].milestones[0].evidence == (4, 8)


def test_what_comes_after_the_seal_pays_in_the_next_step() -> None:
    """Sealed is sealed; between two steps, the next one has it; after the last, a closing step."""
    rules = ruleset(A, B)
    between = episode([sealed(0), went("/a")], [went("/b")])
    assert worth(run(rules, *between)) == [0.0, 0.1]
    closing = run(rules, *episode([went("/a"), sealed(0), went("/b")]))
    assert [(r.step, r.reward, r.done) for r in closing] == [(0, 0.05, False), (1, 0.05, True)]


def test_a_gap_in_a_source_that_the_task_needs_makes_the_step_null() -> None:
    """Null with a reason and a mask, never 0.0; the steps around it keep their worth."""
    rewards = run(ruleset(A, B), *episode([went("/a")], [DEAD, ALIVE], [went("/b")]))
    assert worth(rewards) == [0.05, None, 0.05]
    assert (rewards[1].status, rewards[1].mask, rewards[1].decided_by) == ("unobserved", True, None)
    assert rewards[1].reason == "cdp saw nothing from event 5: browser gone"
    assert rewards[1].components == {"nav": None}


def test_a_gap_in_a_source_that_no_rule_hears_changes_nothing() -> None:
    """The task has no rule about files."""
    gap = ("gap.began", {"source": "files", "reason": "folder gone"})
    assert worth(run(ruleset(A), *episode([gap, went("/a")]))) == [0.1]


PLACED = {"id": "placed", "when": {"request_accepted": {"url": "/a"}}, "component": "nav"}
SAVED = {
    "id": "saved",
    "when": {"window_opened": {"title": "Saved", "app": "gedit"}},
    "component": "nav",
}
COPIED = {"id": "copied", "when": {"clipboard_holds": {"text": "7"}}, "component": "nav"}
PASTED = {
    "id": "p",
    "when": {"observed": {"kind": "clipboard.changed", "where": {"text": "7"}}},
    "component": "nav",
}
OWNED = {
    "id": "o",
    "when": {"observed": {"kind": "clipboard.changed", "where": {"app": "A"}}},
    "component": "nav",
}
PROBED = {"id": "probed", "when": {"window_opened": {"title": "Saved"}}, "component": "nav"}


@pytest.mark.parametrize(
    ("milestone", "source", "of", "blind"),
    [
        (PLACED, "cdp", "request", True),
        (PLACED, "cdp", "element", False),
        (PLACED, "cdp", "request.finished", True),
        (A, "cdp", "request", False),
        (A, "cdp", "page.title_changed", False),
        (SAVED, "ax", "gedit", True),
        (SAVED, "ax", "xterm", False),
        (SAVED, "ax", "window.opened", True),
        (SAVED, "ax", "widget.activated", False),
        (PROBED, "ax", "xterm", True),  # any application would do, so none may be unseen
        (SAVED, "cdp", "request", False),
        (COPIED, "clipboard", "text", True),
        (PASTED, "clipboard", "text", True),
        (OWNED, "clipboard", "text", False),
    ],
)
def test_a_partial_gap_blinds_what_leans_on_that_part(
    milestone: dict[str, Any], source: str, of: str, blind: bool
) -> None:
    """The step in which it stood is null for rules that need the part, and 0.0 for all others."""
    gap = {"source": source, "part": of}
    said = episode(
        [("gap.began", {**gap, "reason": "not seen"}), ("gap.ended", gap)], [clicked("Go")]
    )
    assert worth(run(ruleset(milestone), *said)) == [None if blind else 0.0, 0.0]


def test_a_partial_gap_ends_with_its_source() -> None:
    """A source that was lost begins anew and tells its partial gaps anew; otherwise they last."""
    gap = ("gap.began", {"source": "ax", "part": "gedit", "reason": "its tree is empty"})
    lost, back = ("gap.began", {"source": "ax", "reason": "lost"}), ("gap.ended", {"source": "ax"})
    assert worth(run(ruleset(SAVED), *episode([gap], [clicked("Go")]))) == [None, None]
    assert worth(run(ruleset(SAVED), *episode([gap], [lost, back], [clicked("Go")]))) == [
        None,
        None,
        0.0,
    ]
    assert worth(run(ruleset(SAVED), *episode([gap], [lost, gap, back], [clicked("Go")]))) == [
        None,
        None,
        None,
    ]


def test_more_partial_gaps_than_are_kept_apart_end_when_all_have_ended() -> None:
    """Applications are the agent's to start; a hundred blind ones blind no longer than they are
    there."""
    began_ = [
        ("gap.began", {"source": "ax", "part": f"app{n}", "reason": "its tree is empty"})
        for n in range(100)
    ]
    ended_ = [("gap.ended", {"source": "ax", "part": f"app{n}"}) for n in range(100)]
    steps = [[*began_, *ended_[:50]], ended_[50:99], ended_[99:], []]
    assert worth(run(ruleset(PROBED), *episode(*steps))) == [None, None, None, 0.0]


def test_a_gap_that_is_over_before_the_step_begins_changes_nothing() -> None:
    """The daemon was restarted between two steps."""
    rewards = run(ruleset(A, B), *episode([went("/a"), sealed(0), DEAD, ALIVE], [went("/b")]))
    assert worth(rewards) == [0.05, 0.05]


def test_a_part_that_missed_something_between_two_steps_blinds_the_next() -> None:
    """What came there would have paid in the next step; a popup's first requests are not told
    again."""
    gap = {"source": "cdp", "part": "request"}
    between = [
        sealed(0),
        ("gap.began", {**gap, "reason": "a popup came before its observer"}),
        ("gap.ended", gap),
    ]
    assert worth(run(ruleset(PLACED), *episode(between, [clicked("Go")], []))) == [0.0, None, 0.0]
    assert worth(run(ruleset(A), *episode(between, [went("/a")], []))) == [0.0, 0.1, 0.0]
    assert worth(run(ruleset(PLACED), *episode([clicked("Go")], before=between[1:]))) == [0.0]


def test_what_came_true_while_a_part_was_unseen_masks_the_step() -> None:
    """As with a gap of the whole source: an application's tree shows again, and in it is what
    somebody did."""
    gap = {"source": "ax", "part": "gedit"}
    window = {"app": "gedit", "window": "1", "role": "frame", "title": "Saved", "baseline": True}
    back = [("window.opened", window), ("gap.ended", gap)]
    said = episode(
        [sealed(0), ("gap.began", {**gap, "reason": "its tree is empty"}), *back], [clicked("Go")]
    )
    first, second = run(ruleset(SAVED), *said)
    assert (first.reward, second.reward) == (0.0, None)
    assert "milestone saved came true during a gap" in (second.reason or "")


def test_a_browser_shut_down_after_the_last_seal_hid_nothing() -> None:
    """The harness ends its last step, closes the browser, then the episode; only what must hold is
    not known."""
    said = episode([went("/a"), sealed(0), DEAD])
    assert worth(run(ruleset(A), *said)) == [0.1, 0.0]
    assert worth(run(ruleset({**B, "must_hold_at_end": True}), *said)) == [0.0, None]
    assert worth(run(ruleset(A), *episode([DEAD, sealed(0)]))) == [None, None]


def test_what_must_not_happen_is_not_known_across_a_gap_between_two_steps() -> None:
    """The browser was gone for a while: nobody knows whether the order was deleted meanwhile. The
    rest is known."""
    unharmed = {
        "id": "unharmed",
        "when": {
            "all_of": {
                "holding": True,
                "of": [{"none_of": [{"element_clicked": {"name": "Delete"}}]}, GO["when"]],
            }
        },
    }
    seen = episode([went("/x"), sealed(0)], [clicked("Go")])
    missed = episode([went("/x"), sealed(0), DEAD, ALIVE], [clicked("Go")])
    assert worth(run(ruleset(unharmed), *seen)) == [0.0, 0.2]
    assert worth(run(ruleset(unharmed), *missed)) == [0.0, None]
    assert worth(run(ruleset(GO), *missed)) == [0.0, 0.2]


def test_a_gap_that_lasts_masks_every_step_that_it_touches() -> None:
    """From the step in which it began to the one in which it ended."""
    rewards = run(ruleset(A), *episode([DEAD], [], [ALIVE], [went("/a")]))
    assert worth(rewards) == [None, None, None, 0.1]


def test_a_goal_missed_across_a_gap_is_not_known() -> None:
    """`Must not happen` and `did not happen` do not pass across a gap."""
    goal = {"id": "done", "when": {"goal": {"requires": ["a"]}}}
    missed = run(ruleset(A, goal), *episode([DEAD, ALIVE], [went("/x")]))
    assert worth(missed) == [None, None]
    assert missed[-1].success is None
    assert run(ruleset(A, goal), *episode([DEAD, ALIVE], [went("/a")]))[-1].success is True


def test_what_came_true_during_a_gap_masks_the_step_instead_of_paying_or_failing() -> None:
    """Seen as a baseline on re-attachment: somebody did it, nobody saw when."""
    back = [DEAD, went("/a", baseline=True), ALIVE]
    rewards = run(
        ruleset(A, B), *episode([went("/x"), sealed(0), *back], [went("/b")], [went("/a")])
    )
    assert worth(rewards) == [0.0, None, 0.0]


def test_a_baseline_may_pay_later_only_if_the_task_says_so() -> None:
    """A later false → true transition pays once."""
    there = went("/a", baseline=True)
    said = episode([went("/x")], [went("/a")], [went("/x"), went("/a")], before=[there])
    assert worth(run(ruleset(A), *said)) == [0.0, 0.0, 0.0]
    assert worth(run(ruleset({**A, "baseline": "transition"}), *said)) == [0.0, 0.1, 0.0]


def test_dropped_observations_mask_the_step() -> None:
    """Loss is recorded, never silent."""
    drop = ("events.dropped", {"source": "cdp", "count": 3, "reason": "journal full"})
    (reward,) = run(ruleset(A), *episode([drop, went("/a")]))
    assert (reward.reward, reward.reason) == (
        None,
        "cdp at event 3: 3 observations dropped: journal full",
    )


def test_dropped_events_of_the_journal_mask_the_step_whatever_it_leans_on() -> None:
    """Among them may be a gap that began."""
    drop = ("events.dropped", {"source": "journal", "count": 1, "reason": "journal full"})
    assert worth(run(ruleset(A), *episode([drop, went("/a")], [went("/x")]))) == [None, 0.0]


def test_an_event_that_is_not_the_next_is_refused() -> None:
    """A gap and a repeat name the number that is wanted, and change nothing."""
    engine = Engine(ruleset(A), "ep_1")
    first, second, third = log(began(0), went("/a"), sealed(0))
    engine.feed([first])
    with pytest.raises(GapError, match="event 3 came, but event 2"):
        engine.feed([third])
    with pytest.raises(GapError):
        engine.feed([first])
    assert worth(engine.feed([second, third]).rewards) == [0.1]


def test_a_state_of_another_ruleset_is_refused() -> None:
    """So a changed task can't continue an episode that began under the old one."""
    with pytest.raises(StateError, match="made under ruleset"):
        Engine.load(ruleset(B), Engine(ruleset(A), "ep_1").dump())


def test_blending_is_over_the_tiers_that_answered() -> None:
    """Weights are renormalised over answers, never over silence; no answer is None."""
    rule, silent = Verdict("rule", 0.5, 1.0, "", ""), Verdict("model", None, 0.0, "", "")
    judge = Verdict("judge", 1.0, 0.9, "", "")
    weights = {"rule": 0.5, "model": 0.3, "judge": 0.2}
    assert blend([rule, silent], weights) == 0.5
    assert blend([rule, judge], weights) == pytest.approx((0.5 * 0.5 + 0.2 * 1.0) / 0.7)
    assert blend([silent], weights) is None
