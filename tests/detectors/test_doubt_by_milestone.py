"""What an unknown step leaves unknown of later ones: the milestones that what was not observed could
have touched, and all that rest on one of them. Others are decided as if it had been another task's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine
from detectors.model.types import Reward
from detectors.task.ruleset import Ruleset
from tests.support.examples import examples
from tests.support.logs import (
    Said,
    clicked,
    created,
    episode,
    log,
    resumed,
    ruleset,
    run,
    sealed,
    went,
    worth,
)

FILES: list[Said] = [
    ("gap.began", {"source": "files", "reason": "not seen"}),
    ("gap.ended", {"source": "files"}),
]
JOURNAL: list[Said] = [("events.dropped", {"source": "journal", "count": 2, "reason": "disk full"})]
FILE = {"id": "file", "when": {"file_created": {"name": "a.csv"}}, "component": "file"}
QUIET = {
    "id": "quiet",
    "component": "nav",
    "when": {
        "all_of": {
            "of": [{"url_reached": {"url": "/p"}}, {"none_of": [{"url_reached": {"url": "/x"}}]}]
        }
    },
}
LATE = {
    "id": "late",
    "component": "nav",
    "when": {"url_reached": {"url": "/p"}},
    "before": ["file"],
}
STAYS = {
    "id": "stays",
    "component": "nav",
    "when": {"url_reached": {"url": "/p"}},
    "must_hold_at_end": True,
}
PAGE = {"id": "page", "component": "nav", "when": {"url_reached": {"url": "/p"}}}
GOAL = {"id": "goal", "when": {"goal": {"requires": ["page"]}}}
WHOLE = {"id": "goal", "when": {"goal": {"requires": ["page", "file"]}}}
WEIGHTS: dict[str, Any] = {"weights": {"nav": 0.4, "file": 0.2, "goal": 0.4}}


def rules_of(*milestones: dict[str, Any]) -> Ruleset:
    return ruleset(*milestones, **WEIGHTS)


KNOWN: dict[str, tuple[list[dict[str, Any]], list[Said], list[float | None]]] = {
    "what rests on no page of another kind": ([FILE, QUIET], FILES, [0.0, None, 0.4]),
    "what rests on no such file": ([FILE, LATE], FILES, [0.0, None, None]),
    "what holds at the end": ([FILE, STAYS], FILES, [0.0, None, 0.4]),
    "among lost events of the journal is anything": (
        [FILE, QUIET],
        JOURNAL,
        [0.0, None, None],
    ),
    "at the end too": ([FILE, STAYS], JOURNAL, [0.0, None, None]),
}


@pytest.mark.parametrize(("milestones", "lost", "values"), KNOWN.values(), ids=KNOWN)
def test_a_later_step_is_known_of_what_was_observed(
    milestones: list[dict[str, Any]], lost: list[Said], values: list[float | None]
) -> None:
    said = episode([clicked("Go")], [clicked("Go"), *lost], [went("/p")])
    rules = rules_of(*milestones)
    assert worth(run(rules, *said)) == values
    assert [one.reward for one in resumed(rules, *said)] == values


GOALS: dict[str, tuple[list[dict[str, Any]], list[Said], bool | None]] = {
    "it requires pages alone": ([FILE, PAGE, GOAL], FILES, False),
    "it requires the file too": ([FILE, PAGE, WHOLE], FILES, None),
    "among lost events of the journal is anything": ([FILE, PAGE, GOAL], JOURNAL, None),
}


@pytest.mark.parametrize(("milestones", "lost", "success"), GOALS.values(), ids=GOALS)
def test_a_goal_of_what_was_observed_is_known_to_have_failed(
    milestones: list[dict[str, Any]], lost: list[Said], success: bool | None
) -> None:
    said = episode([clicked("Go"), *lost], [clicked("Go")])
    last = run(rules_of(*milestones), *said)[-1]
    assert last.success is success
    assert (last.reward is None) is (success is None)


KEPT = {**PAGE, "revoke_on": {"file_created": {"name": "a.csv"}}}
TAKEN_BACK: dict[str, tuple[dict[str, Any], list[list[Said]], bool | None]] = {
    "nothing takes it back": (PAGE, [[went("/p")], FILES], True),
    "a gap in a later step": (KEPT, [[went("/p")], FILES], None),
    "a gap in its step": (KEPT, [[went("/p"), *FILES]], None),
    "a gap between two steps": (KEPT, [[went("/p"), sealed(0), *FILES], []], None),
    "a gap in the step before": (KEPT, [FILES, [went("/p")]], True),
    "earned anew": (KEPT, [[went("/p")], FILES, [created("a.csv")], [went("/y"), went("/p")]], True),
    "lost events of the journal": (KEPT, [[went("/p")], JOURNAL], None),
}  # fmt: skip


@pytest.mark.parametrize(("milestone", "steps", "success"), TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_a_goal_that_may_have_been_taken_back_unseen_is_not_known_to_be_reached(
    milestone: dict[str, Any], steps: list[list[Said]], success: bool | None
) -> None:
    """Its outcome was paid, in a last step in which nothing is hidden."""
    steps = [*steps, []]
    outcome = {"success": 1.0, "failure": 0.0}
    rules = ruleset(FILE, milestone, GOAL, outcome=outcome, **WEIGHTS)
    for last in (run(rules, *episode(*steps))[-1], resumed(rules, *episode(*steps))[-1]):
        assert last.success is success
        assert (last.reward is None) is (success is None)


def test_a_gap_between_two_steps_touches_what_its_source_tells() -> None:
    """What must not happen may have happened in it."""
    between = [("step.sealed", {"step": 0, "reason": "quiet"}), *FILES]
    said = episode([clicked("Go"), *between], [went("/p")])
    assert worth(run(rules_of(FILE, QUIET), *said))[1] == 0.4
    assert worth(run(rules_of(FILE, LATE), *said))[1] is None


PAGES = st.sampled_from(["/p", "/x", "/y"]).map(went)
OF_FILES = st.sampled_from([created("a.csv"), created("b.csv"), FILES[0], FILES[1]])
STEPS = st.lists(st.lists(st.one_of(PAGES, OF_FILES), max_size=4), min_size=1, max_size=5)
OF_PAGES = [QUIET, PAGE, {**STAYS, "before": ["page"]}, GOAL]


def by_step(rewards: list[Reward]) -> dict[int, list[tuple[str, float]] | None]:
    """What milestones of pages were paid in each step that is known."""
    names = {str(one["id"]) for one in OF_PAGES}
    return {
        one.step: None
        if one.reward is None
        else sorted((m.id, round(m.value, 9)) for m in one.milestones if m.id in names)
        for one in rewards
    }


@settings(max_examples=examples(300), deadline=None)
@given(STEPS)
def test_a_milestone_is_known_as_in_a_task_without_those_that_were_not_observed(
    steps: list[list[Said]],
) -> None:
    """Beside one of files, those of pages are paid what they are paid alone, in each step that a gap of
    files does not make unknown by itself; and no step is unknown but such."""
    said = episode(*steps)
    alone = by_step(run(rules_of(*OF_PAGES), *said))
    beside = by_step(run(rules_of(FILE, *OF_PAGES), *said))
    blind = blind_steps(said)
    assert alone.keys() == beside.keys()
    for step, paid in beside.items():
        if paid is None:
            assert step in blind
        else:
            assert paid == alone[step]


def blind_steps(said: list[Said]) -> set[int]:
    """The steps in which a gap of files was open, until the file was there; the closing step after such
    a one."""
    engine = Engine(rules_of(FILE), "ep_1")
    return {one.step for one in engine.feed(log(*said)).rewards if one.reward is None}


HIDDEN = st.lists(st.sampled_from([created("a.csv"), created("b.csv")]), max_size=2)
PARTS = st.one_of(PAGES, st.sampled_from([created("a.csv"), created("b.csv")]), HIDDEN)
"""An event that is observed, or a gap of files with what came in it."""
NEGATIVE = [FILE, LATE, QUIET, STAYS, WHOLE, PAGE]


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.lists(PARTS, max_size=4), min_size=1, max_size=5))
def test_what_is_paid_after_a_gap_is_paid_where_all_was_observed(
    steps: list[list[Said | list[Said]]],
) -> None:
    """Of what must not have happened, and of what holds at the end; and a failure that is known is one."""
    rules = rules_of(*NEGATIVE)
    seen = run(rules, *episode(*[[*_flat(step, observed=False)] for step in steps]))
    whole = run(rules, *episode(*[[*_flat(step, observed=True)] for step in steps]))
    for part, full in zip(seen, whole, strict=True):
        if part.reward is not None:
            names = {m.id for m in part.milestones} & {"late", "quiet", "stays"}
            assert names <= {m.id for m in full.milestones}
    assert seen[-1].success is not False or whole[-1].success is False


def _flat(step: list[Said | list[Said]], *, observed: bool) -> list[Said]:
    """A step's events; ``observed``: with what came in its gaps, and without these."""
    said: list[Said] = []
    for part in step:
        if isinstance(part, tuple):
            said.append(part)
        else:
            said += part if observed else FILES
    return said
