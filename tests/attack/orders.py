"""One made-up site, an episode that solves its task, and tasks that are weak in one way each."""

from __future__ import annotations

from typing import Any

from detectors.model.types import Event
from detectors.task.ruleset import Ruleset
from tests.support.logs import (
    ORIGIN,
    Said,
    answered,
    clicked,
    created,
    episode,
    filled,
    finished,
    loaded,
    log,
    ruleset,
    titled,
    went,
)

INSTRUCTION = "Order the lamp as Ada Lovelace, save the invoice and say what it costs."
FORM: dict[str, Any] = {
    "text": "name=Ada+Lovelace&amount=2",
    "mime": "application/x-www-form-urlencoded",
}


def field(name: str, value: str) -> Said:
    """A text field that a user filled in."""
    kind, data = filled(name, value)
    return kind, {**data, "element": {**data["element"], "type": "text"}}


def probe(value: str, when: str) -> Said:
    baseline = {"baseline": True} if when == "start" else {}
    return ("probe.answered", {"probe": "stock", "when": when, "value": value, "ms": 1, **baseline})


def shown(text: str) -> Said:
    return ("text.appeared", {"tab": "T", "frame": "T", "text": text})


SUBMITTED: Said = (
    "form.submitted",
    {
        "tab": "T",
        "frame": "T",
        "form": {"action": f"{ORIGIN}/orders", "method": "post"},
        "fields": [["name", "Ada Lovelace"], ["amount", "2"]],
        "trusted": True,
    },
)
TERMS: Said = (
    "element.state_changed",
    {
        "tab": "T",
        "frame": "T",
        "key": "1",
        "element": {"role": "checkbox", "name": "Terms", "tag": "input", "id": "terms"},
        "visible": True,
        "in_view": True,
        "checked": True,
    },
)
PLACED = finished("POST", "/orders", 200, body=FORM)
STEPS: list[list[Said]] = [
    [went("/"), loaded("/"), titled("Shop")],
    [went("/order"), field("Name", "Ada Lovelace"), field("Amount", "2"), clicked("Send")],
    [SUBMITTED, PLACED, went("/orders/7"), titled("Order 7"), shown("Your order is complete")],
    [created("invoice.csv", via="write")],
    [probe("1", "step"), answered("€39.00"), TERMS],
]
SEEN_BEFORE = [probe("2", "start")]
SOLVED = log(
    *episode(*STEPS, before=SEEN_BEFORE)[:-1],
    probe("1", "close"),
    ("episode.closed", {"reason": "done"}),
)
"""An episode that does all of it."""
LOOKED_AROUND = log(
    *episode([went("/"), loaded("/"), titled("Shop")], [went("/help"), clicked("Contact")])
)
"""An episode of another task on the same site."""

ANSWERED = {"answer_matches": {"text": {"money": 39, "currency": "EUR"}}}
ORDERED = {
    "request_accepted": {"method": "POST", "url": "/orders", "body": {"name": "Ada Lovelace"}}
}
POSTED: dict[str, Any] = {
    "kind": "request.finished",
    "where": {"method": "POST", "url": f"{ORIGIN}/orders"},
}


def goal(when: Any, **more: Any) -> list[dict[str, Any]]:
    """A task's only milestone."""
    return [{"id": "done", "when": {"goal": {"when": when}}, **more}]


def task(milestones: list[dict[str, Any]], **top: Any) -> Ruleset:
    probes = [{"id": "stock", "get": "/stock"}]
    return ruleset(*milestones, instruction=INSTRUCTION, probes=probes, **top)


SOUND = task(
    [
        {"id": "form", "when": {"url_reached": {"url": "/order"}}},
        {"id": "name", "when": {"field_filled": {"field": "Name", "value": "Ada Lovelace"}}},
        {"id": "sent", "after": ["name"], "component": "form", "when": ORDERED},
        {"id": "invoice", "after": ["sent"], "when": {"file_created": {"path": "invoice.csv"}}},
        {
            "id": "said",
            "after": ["sent", "invoice"],
            "when": {"goal": {"when": ANSWERED}},
        },
    ],
    weights={"nav": 0.1, "form": 0.2, "file": 0.2, "goal": 0.5},
)
"""A task that no adversary is paid by beyond what it does."""

NAV_PAYS: dict[str, Any] = {"weights": {"nav": 0.8, "goal": 0.2}}
WEAK: dict[str, tuple[str, Ruleset]] = {
    "a failure is worth something": ("nothing", task(goal(ORDERED), outcome={"failure": 0.5})),
    "an answer is the goal": (
        "claim", task(goal(ANSWERED)),
    ),
    "the way pays more than the goal": (
        "half",
        task(
            [
                {"id": "start", "when": {"url_reached": {"url": "/"}}},
                {"id": "form", "when": {"url_reached": {"url": "/order"}}},
                *goal(ORDERED),
            ],
            **NAV_PAYS,
        ),
    ),
    "a text that appears, whenever": (
        "left-behind",
        task(goal({"observed": {"kind": "text.appeared", "where": {"text": {"contains": "complete"}}}})),
    ),
    "a text that any page may show": (
        "injected", task(goal({"text_visible": {"text": {"contains": "complete"}}})),
    ),
    "any page, anywhere": (
        "local-visits",
        task(goal({"observed": {"kind": "page.navigated", "where": {"main": True}, "anywhere": True}})),
    ),
    "a request, to anybody": (
        "reward-endpoint",
        task(goal({"observed": {"kind": "request.finished", "where": {"method": "POST"}}})),
    ),
    "a page stands for the server's word": (
        "evidence-dropped", task(goal({"any_of": [ORDERED, {"title_matches": {"title": "Order 7"}}]})),
    ),
    "what is required last, answered first": (
        "reordered",
        task(
            [
                {"id": "sent", "component": "form", "when": ORDERED},
                {"id": "invoice", "when": {"file_created": {"path": "invoice.csv"}}},
                {"id": "done", "after": ["sent"], "when": {"goal": {"requires": ["invoice"], "when": ANSWERED}}},
            ]
        ),
    ),
    "a script may fill it in": (
        "untrusted",
        task(goal({"field_filled": {"field": "Name", "value": "Ada Lovelace", "trusted": False}})),
    ),
    "a button on any site": (
        "elsewhere", task(goal({"element_clicked": {"name": "Send", "anywhere": True}})),
    ),
    "a button on a page of any scheme": (
        "local-copy", task(goal({"element_clicked": {"name": "Send", "anywhere": True}})),
    ),
    "an address that script may put there": (
        "pushed", task(goal({"url_reached": {"url": "/orders/7", "loaded": False}})),
    ),
    "a field that nobody can see": (
        "hidden",
        task(goal({"field_filled": {"field": "Name", "value": "Ada Lovelace", "hidden": True}})),
    ),
    "a box that nobody can see": (
        "hidden",
        task(goal({"element_state": {"id": "terms", "checked": True, "hidden": True}})),
    ),
    "whoever answers": (
        "service-worker",
        task(goal({"observed": {**POSTED, "where": {**POSTED["where"], "status": 200}}})),
    ),
    "whatever is answered": ("refused", task(goal({"observed": POSTED}))),
    "an order of anything": (
        "constants", task(goal({"request_accepted": {"method": "POST", "url": "/orders"}})),
    ),
    "any page of the site": ("other", task(goal({"url_reached": {"url": "/*"}}))),
}  # fmt: skip
"""What is weak about a task → the class of adversaries that it pays, and the task."""


def others() -> list[list[Event]]:
    return [LOOKED_AROUND]
