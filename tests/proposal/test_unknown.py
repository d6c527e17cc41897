"""What a step that is not known leaves unknown: what could have been reached in it, and no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from api.proposal.reach import Reached, find_reached
from api.verdicts.recorded import Playback
from detectors.model.rewards import milestone_to_json, reward_to_json
from detectors.model.types import Reading
from detectors.sdk.registry import Rule
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from tests.support.logs import ORIGIN, Said, clicked, created, episode, filled, log, went

MILESTONES: Sequence[dict[str, object]] = (
    {"id": "cart", "when": {"url_reached": {"url": "/cart"}}},
    {"id": "buy", "after": ["cart"], "when": {"element_clicked": {"name": "Buy"}}},
    {"id": "file", "when": {"file_matches": {"name": "a.pdf"}}},
    {
        "id": "both",
        "when": {
            "all_of": [{"url_reached": {"url": "/sale"}}, {"file_matches": {"name": "b.pdf"}}]
        },
    },
    {"id": "help", "when": {"url_reached": {"url": "/help"}}},
    {"id": "alone", "before": ["help"], "when": {"file_matches": {"name": "c.pdf"}}},
    {"id": "reset", "penalty": 0.1, "when": {"element_clicked": {"name": "Reset"}}},
    {
        "id": "saved",
        "revoke_on": {"element_clicked": {"name": "Undo"}},
        "when": {"element_clicked": {"name": "Save"}},
    },
    {
        "id": "filed",
        "revoke_on": {"file_matches": {"name": "d.pdf"}},
        "when": {"element_clicked": {"name": "File"}},
    },
    {"id": "after", "after": ["filed"], "when": {"url_reached": {"url": "/sale"}}},
    {"id": "kept", "must_hold_at_end": True, "when": {"url_reached": {"url": "/keep"}}},
    {
        "id": "clean",
        "when": {
            "all_of": [
                {"file_matches": {"name": "e.pdf"}},
                {"none_of": [{"element_clicked": {"name": "Reset"}}]},
            ]
        },
    },
    {
        "id": "away",
        "when": {
            "all_of": [
                {"file_matches": {"name": "e.pdf"}},
                {"none_of": [{"url_reached": {"url": "/help"}}]},
            ]
        },
    },
    {"id": "late", "after": ["clean"], "when": {"file_matches": {"name": "f.pdf"}}},
    {"id": "free", "before": ["clean"], "when": {"file_matches": {"name": "f.pdf"}}},
    {"id": "calm", "before": ["both"], "when": {"file_matches": {"name": "f.pdf"}}},
    {"id": "held", "must_hold_at_end": True, "when": {"file_matches": {"name": "g.pdf"}}},
    {"id": "done", "when": {"goal": {"requires": ["buy", "file"]}}},
)
IDS = [str(one["id"]) for one in MILESTONES]
DEEDS: Sequence[Said] = (
    *(went(path) for path in ("/cart", "/sale", "/help", "/keep", "/")),
    *(clicked(name) for name in ("Buy", "Reset", "Save", "Undo", "File")),
    *(created(name) for name in tuple(f"{letter}.pdf" for letter in "abcdefg")),
)
SOURCES = ("cdp", "files")
SOURCE_OF = {"page.navigated": "cdp", "element.clicked": "cdp", "file.created": "files"}


def rules(*milestones: Mapping[str, object]) -> Ruleset:
    spec = {"id": "t", "version": "1", "instruction": "Do it.", "origin": ORIGIN}
    return compile_task(task_from_json({**spec, "milestones": list(milestones or MILESTONES)}))


RULES = rules()


def reached(ruleset: Ruleset, *steps: Sequence[Said]) -> Mapping[str, Reached]:
    playback = Playback(ruleset, "ep_1")
    outcome = playback.take(log(*episode(*steps, before=[went("/")])))
    at_start = [milestone_to_json(one) for one in outcome.milestones if one.baseline]
    rewards = [reward_to_json(one) for one in playback.rewards]
    ids = [one.id for one in ruleset.task.milestones]
    return find_reached(rewards, at_start, ids, playback.find_unknown(), is_closed=True)


def gap(source: str, part: str | None = None) -> tuple[Said, Said]:
    of = {"source": source} if part is None else {"source": source, "part": part}
    return ("gap.began", {**of, "reason": "lost"}), ("gap.ended", of)


def unknown(told: Mapping[str, Reached]) -> set[str]:
    return {id for id, how in told.items() if how == "unknown"}


def test_a_gap_of_the_files_leaves_the_pages_known() -> None:
    told = reached(rules(), [went("/cart")], [clicked("Buy"), *gap("files")], [])
    assert (told["cart"], told["buy"], told["help"]) == ("yes", "yes", "no")
    of_files = {"file", "both", "alone", "filed", "after", "clean", "away", "late", "free", "calm"}
    assert unknown(told) == {*of_files, "held", "kept", "done"}


def test_a_gap_of_the_browser_leaves_the_files_known() -> None:
    told = reached(rules(), [created("a.pdf"), *gap("cdp")], [])
    assert told["file"] == "yes", "it came in the null step, and no page has to do with it"
    assert unknown(told) == set(IDS) - {"file", "alone", "clean", "late", "free"}


def test_what_a_source_can_only_prevent_is_known_where_nothing_came_of_it() -> None:
    """Had the browser told all, no file more would be there; what it may have ended unseen, or
    what came after its gap, is not known."""
    of = rules(*(one for one in MILESTONES if one["id"] in ("help", "alone", "clean", "reset")))
    for deeds in ([], [created("a.pdf")]):
        told = reached(of, [*gap("cdp")], deeds, [])
        assert (told["alone"], told["clean"], told["help"]) == ("no", "no", "unknown")
    came = [created("c.pdf"), created("e.pdf")]
    for steps in ([[*gap("cdp")], came], [[*gap("cdp"), *came]], [[*came, *gap("cdp")]]):
        told = reached(of, *steps)
        assert (told["alone"], told["clean"]) == ("unknown", "unknown"), steps
    told = reached(of, came, [*gap("cdp")])
    assert (told["alone"], told["clean"]) == ("yes", "yes"), "before anything went unobserved"


def test_what_may_have_ended_unseen_is_unknown() -> None:
    of = rules(*(one for one in MILESTONES if one["id"] == "away"))
    assert reached(of, [went("/help")], [*gap("cdp")], [])["away"] == "unknown"


def test_what_must_hold_at_the_end_is_unknown_in_the_last_step_alone() -> None:
    """A step that a rule could not know says nothing of it: the last one does."""
    pin = {"id": "pin", "when": {"field_filled": {"field": "PIN", "value": "4711"}}}
    kept = next(one for one in MILESTONES if one["id"] == "kept")
    steps = [[filled("PIN", None, has_value=True)], [went("/keep")], []]
    assert reached(rules(pin, kept), *steps) == {"pin": "unknown", "kept": "yes"}
    assert reached(rules(pin, kept), steps[0], [])["kept"] == "no"
    assert reached(rules(pin, kept), *steps, [*gap("cdp")])["kept"] == "unknown"


def test_a_step_of_which_a_secret_is_not_known_says_nothing_of_what_the_end_decides() -> None:
    """The secret may have been the wanted value, and is another's now: it does not hold."""
    wanted = {"field_filled": {"field": "PIN", "value": "4711"}}
    of = rules(
        {"id": "pin", "when": wanted}, {"id": "left", "when": wanted, "must_hold_at_end": True}
    )
    steps = [[filled("PIN", None, has_value=True)], [filled("PIN", "1")], []]
    assert reached(of, *steps) == {"pin": "unknown", "left": "no"}
    assert reached(of, steps[0], [])["left"] == "unknown"


def test_a_rule_that_fails_leaves_its_own_milestone_unknown(monkeypatch: Any) -> None:
    of = rules(*MILESTONES[:1], {"id": "reset", "when": {"element_clicked": {"name": "Reset"}}})
    (leaf,) = (node for node in of.nodes if node.rule.name == "element_clicked")

    def fail(*_: object) -> Iterator[Reading]:
        raise ZeroDivisionError

    assert isinstance(leaf.rule, Rule)
    monkeypatch.setattr(leaf, "rule", replace(leaf.rule, read=fail))
    told = reached(of, [went("/cart"), clicked("Reset")], [])
    assert told == {"cart": "yes", "reset": "unknown"}


def test_a_gap_of_one_kind_leaves_what_needs_another_known() -> None:
    both = MILESTONES[0], {"id": "reset", "when": {"element_clicked": {"name": "Reset"}}}
    told = reached(rules(*both), [*gap("cdp", "element.clicked")], [])
    assert told == {"cart": "no", "reset": "unknown"}


@pytest.mark.parametrize("source", ["journal", "cdp"])
def test_of_lost_events_of_the_journal_nothing_is_known(source: str) -> None:
    lost: Said = ("events.dropped", {"source": source, "reason": "the disk was full"})
    told = reached(rules(), [lost], [])
    assert told["file"] == ("unknown" if source == "journal" else "no")
    assert told["cart"] == "unknown"


def test_what_no_rule_can_know_leaves_what_rests_on_it_unknown() -> None:
    pin = {"id": "pin", "when": {"field_filled": {"field": "PIN", "value": "4711"}}}
    next_ = {"id": "next", "after": ["pin"], "when": {"element_clicked": {"name": "Next"}}}
    masked = filled("PIN", None, has_value=True)
    told = reached(rules(pin, next_, MILESTONES[0]), [masked], [])
    assert told == {"pin": "unknown", "next": "unknown", "cart": "no"}


def test_a_tier_that_nobody_asked_leaves_its_own_milestone_unknown() -> None:
    polite = {"id": "polite", "when": {"judge": {"rubric": ["The mail is polite."]}}}
    told = reached(rules(polite, *MILESTONES[:1]), [went("/cart")], [])
    assert told == {"polite": "unknown", "cart": "yes"}


def test_what_a_null_step_may_have_taken_back_is_unknown() -> None:
    saved = rules(next(one for one in MILESTONES if one["id"] == "saved"))
    assert reached(saved, [clicked("Save")], [*gap("cdp")], []) == {"saved": "unknown"}
    assert reached(saved, [*gap("cdp")], [clicked("Save")], []) == {"saved": "yes"}


def test_what_a_gap_of_another_source_left_alone_is_known_also_if_it_can_be_taken_back() -> None:
    """But for what the null step itself reached: it was not paid, and so a later step does not say
    that it was taken back."""
    saved = rules(
        MILESTONES[0], next(one for one in MILESTONES if one["id"] == "saved"), MILESTONES[2]
    )
    assert reached(saved, [clicked("Save")], [*gap("files")], [])["saved"] == "yes"
    assert (
        reached(saved, [clicked("Save")], [*gap("files")], [clicked("Undo")], [])["saved"] == "no"
    )
    assert reached(saved, [clicked("Save")], [clicked("Undo"), *gap("files")], [])["saved"] == "no"
    assert reached(saved, [*gap("files")], [])["saved"] == "no"
    assert reached(saved, [clicked("Save"), *gap("files")], [])["saved"] == "unknown"


@given(
    steps=st.lists(st.lists(st.sampled_from(DEEDS), max_size=4), min_size=1, max_size=5),
    source=st.sampled_from(SOURCES),
    hidden=st.tuples(st.integers(0, 20), st.integers(0, 20)),
)
@example(steps=[[went("/cart")], [clicked("Buy"), created("a.pdf")]], source="cdp", hidden=(0, 1))
@example(steps=[[clicked("Save")], [clicked("Undo")], []], source="files", hidden=(0, 1))
@example(steps=[[clicked("Save")], [clicked("Undo")], []], source="cdp", hidden=(1, 1))
@settings(max_examples=400, deadline=None, derandomize=True)
def test_what_is_told_with_a_gap_is_so(
    steps: list[list[Said]], source: str, hidden: tuple[int, int]
) -> None:
    """Whatever a gap hides: what is called reached was, and what is called not reached was not."""
    truth = reached(RULES, *steps)
    first, last = sorted(hidden)
    told = reached(RULES, *hide(steps, source, first, last))
    wrong = {id: (told[id], truth[id]) for id in IDS if told[id] not in ("unknown", truth[id])}
    assert not wrong


def hide(steps: Sequence[Sequence[Said]], source: str, first: int, last: int) -> list[list[Said]]:
    """Return the steps with a gap of a source from its deed ``first`` to its deed ``last``, that
    begins and ends within steps."""
    began, ended = gap(source)
    number, is_open = 0, False
    out: list[list[Said]] = []
    for step in steps:
        out.append([])
        for deed in step:
            if SOURCE_OF[deed[0]] == source:
                if number == first:
                    out[-1].append(began)
                    is_open = True
                if not is_open:
                    out[-1].append(deed)
                if number == last and is_open:
                    out[-1].append(ended)
                    is_open = False
                number += 1
            else:
                out[-1].append(deed)
    return out
