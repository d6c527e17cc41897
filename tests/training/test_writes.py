"""What a page sent, against the goal: the features of forms and of requests that change something."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from api.stages.model import schema
from api.stages.model.features import extract
from api.stages.model.writes import MAX_BODY, MAX_VALUES, read_body
from tests.support.logs import Said, clicked, episode, filled, finished, log, sealed

GOAL = 'Change the phone number of "Ada Field" to 555-1234 and save it.'
AMOUNTS = "Order 3 honey and 2 pears, and nothing else."
TOLD = "application/json"
FORM = "application/x-www-form-urlencoded"


def row(goal: str, *steps: list[Said]) -> dict[str, float]:
    """The last row of such an episode, by the features' names."""
    rows = extract(goal, log(*episode(*steps)))
    return dict(zip(schema.NAMES, rows[-1], strict=True))


def sent(document: Any, status: int = 200, method: str = "POST", **more: Any) -> list[Said]:
    """A request with this body, and its answer."""
    body = {"text": orjson.dumps(document).decode(), "mime": TOLD}
    about = {"request": "r1", "method": method, "url": "http://shop.test/state", "type": "Fetch"}
    kind, data = finished(method, "/state", status, **{"type": "Fetch", "body": body, **more})
    return [("request.sent", about), (kind, data)]


def submitted(*fields: tuple[str, str | None], trusted: bool = True) -> Said:
    """A form with these fields."""
    form = {"id": "f", "action": "http://shop.test/contacts", "method": "get"}
    told = {"tab": "T", "frame": "T", "form": form, "fields": [list(one) for one in fields]}
    return "form.submitted", {**told, "trusted": trusted}


NOTHING = {"writes": 0, "deeds_unsent": -1, "sent_slots": -1, "sent_in_value": -1, "sent_off": 0}
WHOLE = {"sent_slots": 1, "sent_in_value": 1, "sent_in_record": 1}
SENT: dict[str, tuple[str, list[Said], dict[str, float]]] = {
    "nothing": (GOAL, [clicked("Save")], NOTHING),
    "a page is read": (GOAL, sent({"q": "Ada Field"}, method="GET"), NOTHING),
    "a ping": (GOAL, sent({"q": "Ada Field"}, type="Ping")[1:], NOTHING),
    "one value has both": (GOAL, sent({"Ada Field": "555-1234, Oslo"}), WHOLE),
    "another person has the number": (
        GOAL,
        sent({"Ada Field": "555-9, Oslo", "Bo Lind": "555-1234, Rome"}),
        {"sent_slots": 1, "sent_in_value": 0.5},
    ),
    "one object has both": (
        GOAL,
        sent([{"name": "Ada Field", "phone": "555-1234"}, {"name": "Bo Lind", "phone": "555-9"}]),
        {"sent_slots": 1, "sent_in_value": 0.5, "sent_in_record": 1},
    ),
    "another object has the number": (
        GOAL,
        sent([{"name": "Ada Field", "phone": "555-9"}, {"name": "Bo Lind", "phone": "555-1234"}]),
        {"sent_slots": 1, "sent_in_record": 0.5},
    ),
    "a variable of an operation": (
        GOAL,
        sent({"query": "mutation", "variables": {"who": "Ada Field", "to": "555-1234"}}),
        {"sent_slots": 1, "sent_in_record": 1},
    ),
    "another number was entered and sent": (
        GOAL,
        [filled("Phone", "555-77"), *sent({"name": "Ada Field", "phone": "555-77"})],
        {"sent_slots": 0.5, "sent_off": 1},
    ),
    "the amounts": (AMOUNTS, sent({"honey": 3, "pears": 2}), {"sent_slots": 1, "sent_off": 0}),
    "the amounts are crossed": (AMOUNTS, sent({"honey": 2, "pears": 3}), {"sent_crossed": 2}),
    "an amount that is not asked for": (AMOUNTS, sent({"honey": 4, "pears": 2}), {"sent_off": 1}),
    "no amount of others": (AMOUNTS, sent({"honey": 3, "pears": 2, "rye": 0}), {"sent_off": 0}),
    "a refusal": (GOAL, sent({"Ada Field": "555-1234"}, 409), {"write_status": 4, **WHOLE}),
    "a body that nobody read": (
        GOAL,
        sent({}, body=None),
        {"writes_now": 1, "write_status": 2, "sent_slots": -1},
    ),
    "a body that is cut": (
        GOAL,
        sent({}, body={"text": '{"a": "Ada Fi', "cut": True}),
        {"writes_now": 1, "sent_slots": -1},
    ),
    "a form": (
        GOAL,
        [submitted(("who", "Ada Field"), ("phone", "555-1234"), ("pin", None))],
        {"writes_now": 1, "sent_slots": 1, "sent_in_record": 1},
    ),
    "a form and its request, of which nobody read the body": (
        GOAL,
        [submitted(("who", "Ada Field"), ("phone", "555-1234")), *sent({}, body=None)],
        {"writes_now": 2, "sent_slots": 1},
    ),
    "a form by script is nobody's": (GOAL, [submitted(("a", "b"), trusted=False)], NOTHING),
}


@pytest.mark.parametrize("name", SENT)
def test_what_was_sent_is_compared_with_the_goal(name: str) -> None:
    goal, step, wanted = SENT[name]
    found = row(goal, step)
    assert {feature: found[feature] for feature in wanted} == pytest.approx(wanted)


SINCE: dict[str, tuple[list[list[Said]], tuple[float, float]]] = {
    "sent by the last click": ([[clicked("Save"), *sent({})]], (0, 0)),
    "clicked after it": ([[clicked("Save"), *sent({})], [clicked("More")]], (1, 1)),
    "filled and clicked after it": (
        [sent({}), [filled("Phone", "555")], [clicked("More")]],
        (2, 2),
    ),
    "sent again": ([sent({}), [clicked("More")], [clicked("Save"), *sent({})]], (0, 0)),
    "only looked since": ([sent({}), []], (0, 1)),
}


@pytest.mark.parametrize("name", SINCE)
def test_what_was_done_since_something_was_sent_is_counted(name: str) -> None:
    steps, (deeds, since) = SINCE[name]
    found = row(GOAL, *steps)
    assert found["deeds_unsent"] == deeds
    assert found["steps_unsent"] == pytest.approx(LOGS[since])


LOGS = {0: 0.0, 1: 0.6931471805599453, 2: 1.0986122886681098}

BODIES: dict[str, tuple[dict[str, Any], list[str] | None]] = {
    "JSON": ({"text": '{"a": {"b": [true, 2.0, "C d"]}}'}, ["b true", "b 2", "b c d"]),
    "a form": ({"text": "who=Ada+Field&n=", "mime": FORM}, ["who ada field", "n "]),
    "a text": ({"text": "who=Ada", "mime": "text/plain"}, None),
    "broken JSON": ({"text": '{"a": '}, None),
    "bytes": ({"text": "e30=", "base64": True}, None),
    "too long": ({"text": f'["{"a" * MAX_BODY}"]'}, None),
    "none": ({}, None),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_read_as_names_and_values(name: str) -> None:
    body, wanted = BODIES[name]
    found = read_body(body)
    assert (found and [f"{one.name} {one.value}" for one in found]) == wanted


def test_a_body_of_many_values_and_of_deep_ones_is_read_in_part() -> None:
    many = orjson.dumps(list(range(MAX_VALUES * 3))).decode()
    assert len(read_body({"text": many}) or ()) == MAX_VALUES
    assert read_body({"text": "[" * 100 + "1" + "]" * 100}) == []


@pytest.mark.parametrize(("said", "off"), [("555-77", 1), ("555-99", 0), ("", 0)])
def test_what_the_harness_says_that_it_chooses_is_entered(said: str, off: int) -> None:
    """A library chooses an option by script; what the page fills in by script was entered by nobody."""
    chosen = [filled("Phone", "555-77", trusted=False), *sent({"phone": "555-77"})]
    action = {"verb": "choose", "text": said}
    steps = [("step.began", {"step": 0, "action": action}), *chosen, sealed(0)]
    rows = extract(GOAL, log(*steps, ("episode.closed", {"reason": "done"})))
    assert dict(zip(schema.NAMES, rows[-1], strict=True))["sent_off"] == off


NUMBERS = {"phone": 1234567, "amount": 12345.67, "whole": 1000000, "level": 2.0, "share": 0.125}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_written_as_a_person_writes_it(name: str) -> None:
    number = NUMBERS[name]
    said = f"{number:g}" if number == 2.0 else str(number)
    goal = f"Set the {name} to {said} and save it."
    found = row(goal, sent({name: number}))
    assert (found["sent_slots"], found["sent_off"]) == (1, 0)
    assert row(goal, sent({name: number + 1}))["sent_off"] == 1


def test_a_field_that_was_emptied_makes_no_empty_value_wrong() -> None:
    emptied = [filled("Phone", "x"), filled("Phone", ""), filled("Note", "—")]
    found = row(GOAL, [*emptied, *sent({"note": "", "city": "", "phone": "555-1234"})])
    assert found["sent_off"] == 0


def answer(request: str, document: Any, status: int = 200) -> Said:
    """The answer to a request that was sent before."""
    return sent(document, status, request=request)[1]


def asked(request: str) -> Said:
    about = {"request": request, "method": "POST", "url": "http://shop.test/state"}
    return "request.sent", {**about, "type": "Fetch"}


RIGHT, OTHER = {"Ada Field": "555-1234"}, {"Bo Lind": "555-9"}
ORDERS: dict[str, tuple[list[list[Said]], dict[str, float]]] = {
    "the answer comes in a later step": (
        [[asked("a")], [answer("a", RIGHT)]],
        {"writes": LOGS[1], "writes_now": 0, "write_status": 2, "sent_slots": 1},
    ),
    "a form's request is answered later, and nobody read its body": (
        [[submitted(("who", "Ada Field")), asked("a")], [("request.finished", {
            "request": "a", "method": "POST", "type": "Fetch", "status": 201, "url": "http://x/"})]],
        {"write_status": 2, "sent_slots": 0.5},
    ),
    "an earlier one is answered after the last": (
        [[asked("a"), asked("b"), answer("b", RIGHT), answer("a", OTHER, 500)]],
        {"writes_now": 2, "write_status": 2, "sent_slots": 1},
    ),
    "the last is not answered yet": (
        [[asked("a"), answer("a", RIGHT), asked("b")]],
        {"writes_now": 2, "write_status": 0, "sent_slots": -1},
    ),
    "nobody heard that it was sent": ([[answer("a", RIGHT)]], {"writes_now": 1, "sent_slots": 1}),
    "less of the goal than before": (
        [[*sent(RIGHT), asked("b"), answer("b", {"Ada Field": "555-9"})]],
        {"sent_lost": 1 / 6, "sent_slots": 0.5},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_what_was_sent_last_is_what_is_compared(name: str) -> None:
    steps, wanted = ORDERS[name]
    found = row(GOAL, *steps)
    assert {feature: found[feature] for feature in wanted} == pytest.approx(wanted, abs=0.05)


ODD: list[Said] = [
    ("request.sent", {"request": [], "method": [], "type": {}}),
    ("request.finished", {"request": "a", "method": "POST", "type": [], "status": "abc"}),
    ("request.finished", {"request": "a", "method": "POST", "status": "abc", "body": []}),
    (
        "request.redirected",
        {"request": None, "method": "POST", "status": None, "body": {"text": 7}},
    ),
    ("form.submitted", {"fields": {"a": 1}, "trusted": True}),
    ("form.submitted", {"fields": [[1, 2], ["a"], "b", ["c", ["d"]]], "trusted": True}),
    ("visual.tree_recorded", {"sha256": None, "tree": [[[]]]}),
    ("episode.opened", {"asked": [[["a"]]]}),
]


@pytest.mark.parametrize("number", range(len(ODD)))
def test_odd_events_of_an_uploaded_log_before_a_step_end_nothing(number: int) -> None:
    assert len(extract(GOAL, log(*episode([], [], before=[ODD[number]])))) == 2


@pytest.mark.parametrize("number", [at for at, said in enumerate(ODD) if "finished" not in said[0]])
def test_odd_events_of_an_uploaded_log_within_a_step_end_nothing(number: int) -> None:
    """Not those of an answer with a status that is no number: `Step` refuses it, as before."""
    assert len(extract(GOAL, log(*episode([clicked("Save"), ODD[number]])))) == 1


AGAIN: dict[str, tuple[list[Said], float]] = {
    "once each": ([clicked("A"), clicked("B")], 0),
    "at once": ([clicked("A"), clicked("A")], 0),
    "after another": ([clicked("A"), clicked("B"), clicked("A")], 1),
    "after an ending": ([clicked("A"), clicked("Save"), clicked("A")], 1),
    "an ending": ([clicked("Save"), clicked("A"), clicked("Save")], 0),
    "in another row": (
        [clicked("A", around="A Ada"), clicked("B"), clicked("A", around="A Bo")],
        0,
    ),
}


@pytest.mark.parametrize("name", AGAIN)
def test_what_is_clicked_again_after_something_else_is_counted(name: str) -> None:
    said, wanted = AGAIN[name]
    assert row(GOAL, said)["reclicked"] == wanted
