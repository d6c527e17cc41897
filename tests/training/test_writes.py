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
