"""What is proposed of pages whose parts have no names: switches are told by how they stand, clicks by
where the element is, cards of a board by their address, and at the last by what the page showed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from api.proposal.candidates import candidates_of
from api.proposal.element_states import list_set_states
from api.proposal.mining import propose
from api.proposal.support import Proposal, RecordedRun
from api.proposal.unusable import MAX_REASONS, list_unusable
from detectors.engine.engine import Engine
from detectors.model.json_value import JsonObject
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.support.logs import ORIGIN, Said, clicked, episode, filled, finished, log, went

DARK = {"role": "switch", "name": "Dark mode", "tag": "span"}
NEWS = {"role": "switch", "name": "", "path": "div:2>span:2", "tag": "span"}
SAVE = {"role": "button", "name": "", "path": "button:1", "tag": "button"}


def stands(element: JsonObject, **state: Any) -> Said:
    """An element of the page stands so now."""
    data: dict[str, Any] = {"tab": "T", "frame": "T", "key": str(element), "element": element}
    return ("element.state_changed", {**data, "visible": True, **state})


def shows(text: str) -> Said:
    return ("text.appeared", {"tab": "T", "frame": "T", "text": text})


def click(element: JsonObject, around: str = "", trusted: bool = True) -> Said:
    data: dict[str, Any] = {"tab": "T", "frame": "T", "element": element, "around": around}
    return ("element.clicked", {**data, "trusted": trusted})


def switch(element: JsonObject, value: bool, around: str = "") -> list[Said]:
    return [click(element, around), stands(element, checked=value)]


SAVED = [[click(SAVE), shows("Preferences saved")]]
DARK_ON, DARK_OFF = switch(DARK, True), switch(DARK, False)
NEWS_OFF = switch(NEWS, False, "Weekly newsletter")
START = [
    went("/"),
    stands(DARK, checked=False, initial=True),
    stands(NEWS, checked=True, initial=True),
]


def recording(name: str, *steps: Sequence[Said]) -> RecordedRun:
    return RecordedRun(name, log(*episode(*steps, before=START)))


def propose_of(good: Sequence[Sequence[Said]], *bad: Sequence[Sequence[Said]]) -> Proposal:
    failures = [recording(f"bad-{n}", *steps) for n, steps in enumerate(bad)]
    return propose([recording("good", *good)], failures, ORIGIN)


def reaches(proposal: Proposal, *steps: Sequence[Said]) -> bool:
    """Whether a run reaches the proposal's goal."""
    milestones: list[Any] = [
        {"id": f"m{n}", "when": one.candidate.when} for n, one in enumerate(proposal.goal)
    ]
    goal = {"id": "done", "when": {"goal": {"requires": [one["id"] for one in milestones]}}}
    spec = {"id": "t", "version": "1", "instruction": "Do it.", "origin": ORIGIN}
    task = compile_task(task_from_json({**spec, "milestones": [*milestones, goal]}))
    events = recording("run", *steps).events
    return Engine(task, events[0].episode).feed(events).rewards[-1].success is True


SETTINGS = {
    "as recorded": ([DARK_ON, NEWS_OFF, *SAVED], True),
    "in another order": ([NEWS_OFF, DARK_ON, *SAVED], True),
    "one switch back again before it was saved": ([DARK_ON, DARK_OFF, NEWS_OFF, *SAVED], False),
    "one switch back and forth": ([DARK_ON, DARK_OFF, DARK_ON, NEWS_OFF, *SAVED], True),
    "nothing saved": ([DARK_ON, NEWS_OFF], False),
    "saved too early": ([DARK_ON, *SAVED, NEWS_OFF], False),
    "only the other switch": ([NEWS_OFF, *SAVED], False),
    "saved by a script": ([DARK_ON, NEWS_OFF, [click(SAVE, trusted=False)]], False),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_switches_stand_as_the_success_left_them_when_it_was_saved(name: str) -> None:
    steps, is_right = SETTINGS[name]
    proposal = propose_of([DARK_ON, NEWS_OFF, *SAVED], [DARK_ON, *SAVED])
    assert reaches(proposal, *steps) is is_right


def test_switches_are_told_without_a_failure_too() -> None:
    proposal = propose_of([DARK_ON, NEWS_OFF, *SAVED])
    switches = [
        {"element_state": {"role": "switch", "name": "Dark mode", "checked": True}},
        {"element_state": {"role": "switch", "path": "div:2>span:2", "checked": False}},
    ]
    whole = {"all_of": {"holding": True, "of": switches}}
    save = {"element_clicked": {"role": "button", "path": "button:1"}}
    assert [one.candidate.when for one in proposal.goal] == [
        *switches,
        {"sequence": {"holding": True, "of": [whole, save]}},
    ]
    assert [one.candidate.family for one in proposal.goal] == [
        "checked Dark mode",
        "unchecked Weekly newsletter",
        "all together",
    ]
    assert not reaches(proposal, DARK_ON, NEWS_OFF, DARK_OFF, *SAVED)


RADIO = {"role": "radio", "name": "Blue", "tag": "div"}
NATIVE = {"role": "checkbox", "name": "Wrap", "tag": "input"}
STATES: dict[str, tuple[list[Said], list[Said], list[tuple[str, bool]]]] = {
    "set": ([stands(DARK, checked=False)], DARK_ON, [("checked", True)]),
    "pressed": ([stands(SAVE, pressed=False)], [stands(SAVE, pressed=True)], [("pressed", True)]),
    "set and set back": ([stands(DARK, checked=False)], [*DARK_ON, *DARK_OFF], []),
    "so from the start": ([stands(DARK, checked=True)], [stands(DARK, checked=True)], []),
    "how it came into the page": ([], [stands(DARK, checked=True, initial=True)], []),
    "another of its group": ([stands(RADIO, checked=True)], [stands(RADIO, checked=False)], []),
    "a form's box": ([stands(NATIVE, checked=False)], [stands(NATIVE, checked=True)], []),
    "what opened": ([stands(DARK, expanded=False)], [stands(DARK, expanded=True)], []),
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_counts_where_it_was_set(name: str) -> None:
    before, step, expected = STATES[name]
    found = list_set_states(log(*episode(step, before=before)))
    assert [(one.state, one.value) for one in found] == expected


def test_an_element_without_a_name_is_told_where_runs_have_one_task() -> None:
    events = log(*episode([click(SAVE), click(NEWS, "Weekly newsletter")], before=START))
    assert [one.when["element_clicked"] for one in candidates_of(events, ORIGIN)] == [
        {"role": "button", "path": "button:1"},
        {"role": "switch", "path": "div:2>span:2", "around": "Weekly newsletter"},
        {"role": "switch", "path": "div:2>span:2"},
    ]
    assert not [*candidates_of(events, ORIGIN, by_path=False)]


def move(card: int, column: str, title: str) -> list[Said]:
    """A card of a board goes to another column, by a button that each card has."""
    body: dict[str, Any] = {"text": f'{{"column": "{column}"}}', "mime": "application/json"}
    sent = finished("POST", f"/api/cards/{card}", 200, body=body)
    return [clicked("→", around=f"{title} ←→"), sent]


DOCS = [move(12, "Doing", "Write docs"), move(12, "Done", "Write docs")]
LOGIN = [move(11, "Doing", "Fix login"), move(11, "Done", "Fix login")]


def test_an_exact_address_is_asked_where_nothing_else_tells_failures_apart() -> None:
    proposal = propose_of(DOCS, LOGIN)
    assert [one.candidate.when for one in proposal.milestones] == [
        {"element_clicked": {"role": "button", "name": "→", "around": "Write docs ←→"}},
        {
            "request_accepted": {
                "method": "POST",
                "url": "/api/cards/12",
                "body": {"column": "Done"},
            }
        },
    ]
    assert any("only an exact address" in note for note in proposal.notes)
    assert reaches(proposal, *DOCS)
    assert not reaches(proposal, *LOGIN)
    assert not reaches(proposal, *DOCS[:1])


def test_an_exact_address_is_left_open_where_something_else_tells_failures_apart() -> None:
    """The number of what was ordered is another in each run."""
    other = [move(14, "To do", "Fix login")]
    proposal = propose_of(DOCS, other)
    assert [one.candidate.when for one in proposal.goal] == [
        {"request_accepted": {"method": "POST", "url": "/api/cards/*", "body": {"column": "Done"}}}
    ]
    assert not any("only an exact address" in note for note in proposal.notes)


def test_a_text_is_asked_where_nothing_that_was_done_tells_failures_apart() -> None:
    right, wrong = shows("Correct\nNext question"), shows("Not quite")
    proposal = propose_of([[clicked("Check"), right]], [[clicked("Check"), wrong]])
    assert [one.candidate.when for one in proposal.goal] == [
        {"text_visible": {"text": {"contains": "Next question"}}}
    ]
    assert reaches(proposal, [clicked("Check"), right])
    assert not reaches(proposal, [clicked("Check"), wrong])


UNUSABLE: dict[str, tuple[Said, str]] = {
    "a script's click": (
        click(DARK, trusted=False),
        "a click by a script of the page or of an automation library, not by a hand",
    ),
    "a script's field": (
        filled("Room", "Garden", trusted=False),
        "a field filled in by a script of the page or of an automation library, not by a hand",
    ),
    "a long value": (
        filled("Text", "a" * 99, cut=True),
        "a field whose value is too long to be recorded whole",
    ),
    "another site's page": (
        went("https://pay.test/"),
        f"a page of https://pay.test, while the task's site is {ORIGIN}",
    ),
    "another site's request": (
        finished("POST", "/", 200, url="https://pay.test/api"),
        f"a request of https://pay.test, while the task's site is {ORIGIN}",
    ),
    "a refused request": (finished("POST", "/", 403), "a request that its server refused with 403"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_no_condition_is_made_of_is_named(name: str) -> None:
    said, reason = UNUSABLE[name]
    assert list_unusable(log(*episode([said, said])), ORIGIN) == [f"event 3: {reason} (and 1 more)"]


USABLE = [
    click(DARK),
    filled("Room", "Garden"),
    went("/a"),
    finished("POST", "/", 200),
    shows("Hi"),
]


def test_what_a_condition_is_made_of_is_not_named() -> None:
    assert list_unusable(log(*episode(USABLE)), ORIGIN) == []
    assert list_unusable(log(*USABLE), ORIGIN) == [
        "no step began in it, and what is before the first step counts for nothing"
    ]
    many = [went(f"https://{n}.test/") for n in range(9)]
    assert len(list_unusable(log(*episode(many)), ORIGIN)) == MAX_REASONS


def test_successes_that_share_nothing_are_told_what_each_did() -> None:
    first = RecordedRun("one", log(*episode([clicked("A"), click(DARK, trusted=False)])))
    second = RecordedRun("two", log(*episode([clicked("B")])))
    with pytest.raises(ValueError, match="share nothing") as caught:
        propose([first, second], [], ORIGIN)
    assert str(caught.value).splitlines()[1:] == [
        "one: it alone has click button A",
        "one: event 4: a click by a script of the page or of an automation library, not by a hand",
        "two: it alone has click button B",
    ]
