"""What is proposed of pages that made their controls themselves: cells that are written in, lists and
stars to choose from, one address for many operations, pages that save each field by itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from api.proposal.candidates import candidates_of
from api.proposal.element_states import list_repeated
from api.proposal.mining import propose
from api.proposal.support import Proposal, RecordedRun
from detectors.engine.engine import Engine
from detectors.model.json_value import JsonObject
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.support.logs import ORIGIN, Said, clicked, episode, finished, log, went

Steps = Sequence[Sequence[Said]]


def recording(name: str, steps: Steps, before: Sequence[Said] = ()) -> RecordedRun:
    return RecordedRun(name, log(*episode(*steps, before=[went("/"), *before])))


def propose_of(good: Steps, bad: Steps, told: str, before: Sequence[Said] = ()) -> Proposal:
    runs = [recording("good", good, before)], [recording("bad", bad, before)]
    return propose(*runs, ORIGIN, told)


def reaches(proposal: Proposal, steps: Steps) -> bool:
    """Whether a run reaches the proposal's goal."""
    milestones: list[Any] = [
        {"id": f"m{n}", "when": one.candidate.when} for n, one in enumerate(proposal.goal)
    ]
    goal = {"id": "done", "when": {"goal": {"requires": [one["id"] for one in milestones]}}}
    spec = {"id": "t", "version": "1", "instruction": "Do it.", "origin": ORIGIN}
    task = compile_task(task_from_json({**spec, "milestones": [*milestones, goal]}))
    events = recording("run", steps).events
    return Engine(task, events[0].episode).feed(events).rewards[-1].success is True


def sends(method: str, path: str, **body: Any) -> Said:
    sent = {"text": json.dumps(body), "mime": "application/json"}
    return finished(method, path, 200, body=sent)


def cell(row: str, number: int, key: str, was: str, value: str) -> list[Said]:
    """A cell of a table is written in, and the page saves it by itself."""
    place = {"tab": "T", "frame": "T", "trusted": True}
    element = {"role": "textbox", "tag": "td"}
    before, after = ({**element, "name": text, "text": text} for text in (was, value))
    return [
        ("element.clicked", {**place, "element": before, "around": f"{row} {was}"}),
        (
            "field.filled",
            {**place, "element": after, "field": f"/{number}{key}", "value": value}
            | {"around": f"{row} {value}"},
        ),
        sends("PUT", f"/api/items/{number}", **{key: value}),
    ]


MUGS = cell("Mugs", 11, "quantity", "24", "40")
TOWELS = cell("Towels", 12, "price", "6.90", "7.50")
CANDLES = cell("Candles", 13, "price", "3.10", "7.50")
STOCK: dict[str, tuple[Steps, bool]] = {
    "as recorded": ([MUGS, TOWELS], True),
    "in another order": ([TOWELS, MUGS], True),
    "a wrong value first": ([cell("Mugs", 11, "quantity", "24", "4"), MUGS, TOWELS], True),
    "of cells that held something else": (
        [cell("Mugs", 11, "quantity", "99", "40"), TOWELS],
        True,
    ),
    "half of it": ([TOWELS], False),
    "another row": ([MUGS, CANDLES], False),
    "another value": ([cell("Mugs", 11, "quantity", "24", "41"), TOWELS], False),
}


@pytest.mark.parametrize("name", STOCK)
def test_cells_are_told_by_their_row_and_not_by_what_they_hold(name: str) -> None:
    steps, is_right = STOCK[name]
    proposal = propose_of([MUGS, TOWELS], [MUGS, CANDLES], "40 mugs, towels at 7.50.")
    assert reaches(proposal, steps) is is_right
    whens = [one.candidate.when for one in proposal.milestones]
    assert {"field_filled": {"around": "Mugs 40", "value": "40"}} in whens
    assert not [when for when in whens if "element_clicked" in when]


def test_requests_to_one_address_with_other_fields_are_all_told() -> None:
    """Of those with the same field it is the last one."""
    again = cell("Mugs", 11, "quantity", "4", "40")[2:]
    first = cell("Mugs", 11, "quantity", "24", "4")[2:]
    proposal = propose_of([first, again, TOWELS[2:]], [first], "")
    assert [one.candidate.when["request_accepted"] for one in proposal.milestones] == [
        {"method": "PUT", "url": "/api/items/*", "body": {"quantity": "40"}},
        {"method": "PUT", "url": "/api/items/*", "body": {"price": "7.50"}},
    ]


def operation(name: str, kind: str = "mutation", **variables: Any) -> Said:
    query = f"{kind} {name} {{ done }}"
    return sends("POST", "/graphql", operationName=name, variables=variables, query=query)


INBOX = operation("Inbox", "query")


def archive(mail: str) -> list[Said]:
    return [clicked("Archive"), operation("Archive", id=mail), INBOX]


def label(mail: str, *labels: str) -> list[Said]:
    return [clicked("Label"), operation("SetLabels", id=mail, labels=[*labels]), INBOX]


RIGHT = [archive("a"), label("b", "Travel")]
MAIL: dict[str, tuple[Steps, bool]] = {
    "as recorded": (RIGHT, True),
    "in another order": (RIGHT[::-1], True),
    "another one archived": ([archive("c"), label("b", "Travel")], False),
    "another one labelled": ([archive("a"), label("c", "Travel")], False),
    "another label": ([archive("a"), label("b", "Money")], False),
    "no label": ([archive("a"), label("b")], False),
    "half of it": (RIGHT[:1], False),
    "the other half": (RIGHT[1:], False),
}


@pytest.mark.parametrize("name", MAIL)
def test_operations_of_one_address_are_told_apart(name: str) -> None:
    steps, is_right = MAIL[name]
    told = "Archive the invoice, label the trip Travel."
    proposal = propose_of(RIGHT, [archive("c"), label("b", "Travel")], told)
    assert reaches(proposal, steps) is is_right


def test_an_operation_of_another_kind_says_nothing_of_an_identifier() -> None:
    events = recording("run", [archive("a")]).events
    parts = [one for one in candidates_of(events, ORIGIN) if one.part_of]
    assert all("operationName" in str(one.when) for one in parts)


def test_an_operation_that_only_asks_is_none() -> None:
    events = recording("run", [[INBOX, operation("Archive", id="a")]]).events
    families = {one.family for one in candidates_of(events, ORIGIN)}
    assert families == {
        "request POST /graphql Archive",
        "request POST /graphql Archive operationName",
        "request POST /graphql Archive variables.id",
        "request POST /graphql Archive query",
    }


def choose(role: str, name: str, around: str = "") -> list[Said]:
    element = {"role": role, "name": name, "tag": "div"}
    data = {"tab": "T", "frame": "T", "element": element, "around": around, "trusted": True}
    return [("element.clicked", data)]


HOUR, DAY = choose("option", "1 hour before"), choose("option", "1 day before")
DONE = [clicked("Done")]
OPEN, OTHER = [clicked("Dentist")], [clicked("Lunch")]
DATE = choose("gridcell", "18")
CALENDAR: dict[str, tuple[Steps, bool]] = {
    "as recorded": ([OPEN, HOUR, DATE, DONE], True),
    "in another order": ([OPEN, DATE, HOUR, DONE], True),
    "another choice first": ([OPEN, DAY, HOUR, DATE, DONE], True),
    "another reminder": ([OPEN, DAY, DATE, DONE], False),
    "another date": ([OPEN, HOUR, choose("gridcell", "17"), DONE], False),
    "not ended": ([OPEN, HOUR, DATE], False),
}


@pytest.mark.parametrize("name", CALENDAR)
def test_what_was_chosen_by_the_instruction_belongs_to_the_goal(name: str) -> None:
    """The failure chose it too: it was wrong in another thing."""
    steps, is_right = CALENDAR[name]
    told = "Remind me of the dentist 1 hour before, until the 18th."
    proposal = propose_of([OPEN, HOUR, DATE, DONE], [OTHER, HOUR, DATE, DONE], told)
    assert reaches(proposal, steps) is is_right


def test_a_choice_at_the_end_may_come_first() -> None:
    """It sends nothing, as a button at the end does."""
    proposal = propose_of([OPEN, HOUR], [OTHER, HOUR], "Set what is usual.")
    assert proposal.closing_click is None
    assert reaches(proposal, [HOUR, OPEN])


def star(photo: str, count: int) -> list[Said]:
    return choose("radio", f"{count} stars", f"{photo} ★★★★★")


def stands(key: str, name: str, **state: Any) -> Said:
    element: JsonObject = {"role": "radio", "name": name, "tag": "div"}
    data: dict[str, Any] = {"tab": "T", "frame": "T", "key": key, "element": element}
    return ("element.state_changed", {**data, "visible": True, **state})


STARS = [stands("1", "4 stars", checked=False), stands("2", "4 stars", checked=False)]


def test_a_choice_that_many_rows_have_is_told_by_its_row() -> None:
    good, bad = [star("Harbour", 4), [clicked("Barn")]], [star("Harbour", 4), [clicked("Mill")]]
    set_now = stands("1", "4 stars", checked=True)
    told = "Give the harbour 4 stars, open the barn."
    proposal = propose_of([[*good[0], set_now], good[1]], bad, told, STARS)
    assert [one.candidate.when for one in proposal.milestones] == [
        {"element_clicked": {"role": "radio", "name": "4 stars", "around": "Harbour ★★★★★"}},
        {"element_clicked": {"role": "button", "name": "Barn"}},
    ]
    assert reaches(proposal, good)
    assert not reaches(proposal, [star("Harbour", 3), good[1]])
    assert not reaches(proposal, [star("Market", 4), good[1]])


REPEATED: dict[str, tuple[list[Said], bool]] = {
    "two at once": (STARS, True),
    "one that changed": ([STARS[0], stands("1", "4 stars", checked=True)], False),
    "drawn anew": (
        [STARS[0], stands("1", "4 stars", visible=False, gone=True), STARS[1]],
        False,
    ),
    "of the next page": ([STARS[0], went("/next"), STARS[1]], False),
}


@pytest.mark.parametrize("name", REPEATED)
def test_elements_of_one_name_are_repeated_where_both_stand(name: str) -> None:
    said, is_repeated = REPEATED[name]
    assert list_repeated(log(*said)) == ({("radio", "4 stars")} if is_repeated else frozenset())


def test_what_an_element_without_a_name_stands_in_tells_where_it_was_moved() -> None:
    def moved(day: str) -> list[Said]:
        element = {"role": "generic", "name": "", "text": "Dentist", "tag": "div"}
        data = {"tab": "T", "frame": "T", "element": element, "around": f"{day} Dentist"}
        return [("element.clicked", {**data, "trusted": True})]

    proposal = propose_of([moved("Thursday")], [moved("Friday")], "")
    assert [one.candidate.when for one in proposal.goal] == [
        {"element_clicked": {"text": "Dentist", "around": "Thursday Dentist"}}
    ]


def test_failures_that_are_wrong_in_different_things_are_told_by_these_together() -> None:
    """Nothing that all successes did is missing in each of them."""
    one, other = [OPEN, DAY, DONE], [OTHER, HOUR, DONE]
    failures = [recording("one", one), recording("other", other)]
    proposal = propose([recording("good", [OPEN, HOUR, DONE])], failures, ORIGIN, "")
    assert proposal.is_decided
    assert reaches(proposal, [OPEN, HOUR, DONE])
    assert reaches(proposal, [HOUR, OPEN, DONE])
    assert not [steps for steps in (one, other, [OPEN, HOUR]) if reaches(proposal, steps)]


def test_one_failure_that_nothing_tells_leaves_the_others_told() -> None:
    alike, other = [OPEN, HOUR, DONE], [OTHER, HOUR, DONE]
    failures = [recording("alike", alike), recording("other", other)]
    proposal = propose([recording("good", alike)], failures, ORIGIN, "")
    assert not proposal.is_decided
    assert not reaches(proposal, other)
    assert any("in some of them" in note for note in proposal.notes)


def test_an_operation_of_failures_alone_is_guarded() -> None:
    undone = [*RIGHT, [operation("Unarchive", id="a")]]
    proposal = propose_of(RIGHT, undone, "")
    assert [one.candidate.when["request_accepted"] for one in proposal.guards] == [
        {"method": "POST", "url": "/graphql", "body": {"operationName": "Unarchive"}}
    ]
    assert all(one.in_good for one in proposal.milestones)


def test_what_a_server_accepted_is_asked_for_before_the_choice_that_sent_it() -> None:
    travel = [
        *choose("menuitemcheckbox", "Travel"),
        operation("SetLabels", id="b", labels=["Travel"]),
    ]
    proposal = propose_of([archive("a"), travel], [archive("c"), travel], "Label the trip Travel.")
    assert [one.rule for one in proposal.goal] == ["request_accepted", "request_accepted"]


def test_an_exact_address_takes_the_place_of_its_own_operation() -> None:
    def move(board: int) -> list[Said]:
        path = f"/boards/{board}/graphql"
        return [sends("POST", path, operationName=name) for name in ("Lock", "Move")]

    proposal = propose_of([move(12)], [move(13)], "")
    assert [one.candidate.when["request_accepted"] for one in proposal.milestones] == [
        {"method": "POST", "url": "/boards/12/graphql", "body": {"operationName": name}}
        for name in ("Lock", "Move")
    ]


def types(*values: str, field: str = "/note") -> list[Said]:
    """A part of a page that is written in tells each value while it is typed."""
    element = {"role": "textbox", "name": "Note", "tag": "div"}
    data = {"tab": "T", "frame": "T", "element": element, "field": field, "trusted": True}
    return [("field.filled", {**data, "value": value}) for value in values]


def taken(value: str) -> list[Said]:
    """The page takes what was typed out of its field, as at Enter."""
    [(kind, data)] = types("")
    return [*types(value), (kind, {**data, "trusted": False})]


SEND = [clicked("Send")]
TYPED: dict[str, tuple[list[Steps], JsonObject]] = {
    "in parts": ([[types("More ", "More pl", "More plants"), SEND]], {"value": "More plants"}),
    "otherwise later": (
        [[types("Less"), SEND, types("More"), SEND]],
        {"value": "More"},
    ),
    "with one beginning": (
        [[types("Mo", "More"), SEND], [types("Mo", "Money"), SEND]],
        {"value": {"regex": "(?s).+"}},
    ),
    "in two fields": ([[types("a", field="/x"), types("b"), SEND]], {"value": "b"}),
    "and taken by the page": ([[taken("Milk"), SEND]], {"value": "Milk"}),
}


@pytest.mark.parametrize("name", TYPED)
def test_a_field_is_asked_for_what_it_had_last(name: str) -> None:
    good, held = TYPED[name]
    runs = [recording(f"good-{n}", steps) for n, steps in enumerate(good)]
    proposal = propose(runs, [], ORIGIN)
    assert {"field_filled": {"field": "Note", **held}} in [
        one.candidate.when for one in proposal.milestones
    ]


def test_a_value_that_stood_while_something_was_done_is_told_too() -> None:
    events = recording("run", [types("Le", "Less"), SEND, types("Mo", "More"), SEND]).events
    found = [one.when.get("field_filled") for one in candidates_of(events, ORIGIN)]
    values = [
        value
        for value in ("Le", "Less", "Mo", "More")
        if {"field": "Note", "value": value} in found
    ]
    assert values == ["Less", "More"]


def anonymous(value: bool) -> Said:
    element = {"role": "switch", "name": "Send without my name", "tag": "span"}
    data: dict[str, Any] = {"tab": "T", "frame": "T", "element": element, "key": "1"}
    return ("element.state_changed", {**data, "visible": True, "checked": value})


HIDDEN = [*choose("switch", "Send without my name"), anonymous(value=True)]
SHOWN = [*choose("switch", "Send without my name"), anonymous(value=False)]
SWITCHED: dict[str, tuple[Steps, bool]] = {
    "as recorded": ([OPEN, HIDDEN, SEND], True),
    "in another order": ([HIDDEN, OPEN, SEND], True),
    "never": ([OPEN, SEND], False),
    "back again": ([OPEN, HIDDEN, SHOWN, SEND], False),
    "back and forth": ([OPEN, HIDDEN, SHOWN, HIDDEN, SEND], True),
    "too late": ([OPEN, SEND, HIDDEN], False),
}


@pytest.mark.parametrize("name", SWITCHED)
def test_a_switch_that_every_success_set_belongs_to_the_goal(name: str) -> None:
    """The instruction need not name it as the page does."""
    steps, is_right = SWITCHED[name]
    start = [anonymous(value=False)]
    proposal = propose_of([OPEN, HIDDEN, SEND], [OTHER, HIDDEN, SEND], "Be unnamed.", start)
    assert reaches(proposal, [start, *steps]) is is_right


def test_a_switch_is_no_part_of_a_goal_whose_effect_may_carry_it() -> None:
    sent = [[*SEND, sends("POST", "/answers", tools=tools)] for tools in ("good", "bad")]
    start = [anonymous(value=False)]
    proposal = propose_of([HIDDEN, sent[0]], [HIDDEN, sent[1]], "", start)
    assert [one.rule for one in proposal.goal] == ["request_accepted"]
