"""What is proposed from recordings: what successes share, what failures lack, what is left open."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from api.cli.main import main
from api.proposal.candidates import candidates_of
from api.proposal.mining import propose
from api.proposal.ordering import find_anchor
from api.proposal.support import Proposal, RecordedRun
from api.proposal.writing import RecordingCounts, TaskHead, write_proposal
from api.suggestions.event_values import find_origin, read_body
from detectors.model.codec import encode_event
from detectors.model.types import Event
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.support.logs import (
    ORIGIN,
    Said,
    answered,
    clicked,
    created,
    episode,
    filled,
    finished,
    log,
    went,
)


def recording(name: str, *steps: Sequence[Said]) -> RecordedRun:
    return RecordedRun(name, log(*episode(*steps)))


def order(number: int, *, amount: str = "2", item: str = "lamp") -> list[list[Said]]:
    """A run that orders something: its own number stands in addresses, its amount in a field."""
    body = {"text": f"item={item}&amount={amount}", "mime": "application/x-www-form-urlencoded"}
    return [
        [went(f"/products/{number}")],
        [filled("Amount", amount), clicked("Order")],
        [finished("POST", f"/orders/{number}", 200, body=body), went("/thanks")],
    ]


def proposed(good: Sequence[list[list[Said]]], bad: Sequence[list[list[Said]]] = ()) -> Proposal:
    return propose(
        [recording(f"good-{n}", *steps) for n, steps in enumerate(good)],
        [recording(f"bad-{n}", *steps) for n, steps in enumerate(bad)],
        ORIGIN,
    )


def conditions(proposal: Proposal) -> list[Any]:
    return [support.candidate.when for support in proposal.milestones]


def test_what_differs_between_successes_is_left_open() -> None:
    """Numbers in addresses become `*`, another value of a field any value, a field of a body that
    differs is left out."""
    found = proposed([order(1), order(22, amount="3")])
    assert conditions(found) == [
        {"url_reached": {"url": "/products/*"}},
        {"field_filled": {"field": "Amount", "value": {"regex": "(?s).+"}}},
        {"element_clicked": {"role": "button", "name": "Order"}},
        {"request_accepted": {"method": "POST", "url": "/orders/*", "body": {"item": "lamp"}}},
        {"url_reached": {"url": "/thanks"}},
    ]


def test_what_successes_agree_on_is_kept() -> None:
    found = proposed([order(1), order(1)])
    assert {"field_filled": {"field": "Amount", "value": "2"}} in conditions(found)
    body = {"item": "lamp", "amount": "2"}
    request = {"method": "POST", "url": "/orders/*", "body": body}
    assert {"request_accepted": request} in conditions(found)


def test_the_goal_is_what_failures_lack() -> None:
    """The wrong item was ordered: the body tells it, and the page of thanks does not."""
    found = proposed([order(1), order(2)], [order(3, item="chair")])
    assert [support.candidate.when for support in found.goal] == [
        {
            "request_accepted": {
                "method": "POST",
                "url": "/orders/*",
                "body": {"item": "lamp", "amount": "2"},
            }
        }
    ]
    assert (found.notes, found.guards) == ([], []), "another value is no other deed"


def test_a_file_counts_after_what_only_the_site_can_give() -> None:
    """A file may have come from anywhere: it pays after the last request that the site accepted
    before it, in every success."""
    run = [*order(1), [created("invoice.csv")], [finished("POST", "/late", 204)]]
    found = proposed([run, run])
    (invoice,) = [one for one in found.milestones if one.rule == "file_matches"]
    anchor = find_anchor(invoice, found)
    assert anchor is not None
    assert anchor.candidate.family == "request POST /orders/*"
    assert all(find_anchor(one, found) is None for one in found.milestones if one is not invoice)


def test_answers_windows_and_tool_calls_are_proposed() -> None:
    """Their components have no default weight; the goal is the answer that failures did not
    give."""
    window: Said = ("window.opened", {"app": "gedit", "window": "1", "title": "Notes"})
    call: Said = ("agent.tool_called", {"call": "1", "tool": "search", "arguments": {}})
    found = proposed(
        [[[window], [call], [answered("42")]]] * 2, [[[window], [call], [answered("41")]]]
    )
    assert conditions(found) == [
        {"window_opened": {"title": "Notes"}},
        {"tool_called": {"tool": "search"}},
        {"answer_matches": {"text": "42"}},
    ]
    assert [one.rule for one in found.goal] == ["answer_matches"]
    text = write_proposal(TaskHead("a", "Say it.", ORIGIN), found, RecordingCounts(2, 1), ())
    task = task_from_json(yaml.safe_load(text))
    assert {task.weights[one.component] > 0 for one in task.milestones} == {True}


def routed(*, loads: bool = False) -> list[list[Said]]:
    """A run in an application of one page, whose script makes its addresses; or a document is
    loaded there after all."""
    shown = went("/orders/7", same_document=not loads)
    return [[went("/")], [clicked("Orders")], [shown]]


def test_an_address_of_script_is_written_as_one_and_rests_on_what_a_hand_did() -> None:
    """Where one success alone has it by script, both count; where all loaded it, a document is
    asked for."""
    click = {"element_clicked": {"role": "button", "name": "Orders"}}
    for runs in ([routed(), routed()], [routed(), routed(loads=True)]):
        found = proposed(runs)
        (shown,) = [one for one in found.milestones if one.is_by_script]
        assert shown.candidate.when == {"url_reached": {"url": "/orders/7", "loaded": False}}
        anchor = find_anchor(shown, found)
        assert anchor is not None
        assert anchor.candidate.when == click
        head = TaskHead("t", "Open the order.", ORIGIN)
        text = write_proposal(head, found, RecordingCounts(2, 0), [])
        assert "# loaded: false, as page script put the address there" in text
        assert compile_task(task_from_json(yaml.safe_load(text))).task.milestones[-2].after
    asked = {"url_reached": {"url": "/orders/7"}}
    assert asked in conditions(proposed([routed(loads=True), routed(loads=True)]))


ORDERS: list[tuple[list[str], dict[str, str]]] = [
    (["Lamp"], {}),
    (["Lamp", "Pay"], {"Pay": "Cart"}),
    (["Cart"], {"Cart": "Lamp"}),
    (["Pay", "Cart", "Lamp"], {"Pay": "Cart", "Cart": "Lamp"}),
    (["Lamp", "Cart", "Pay"], {}),
]


@pytest.mark.parametrize(("failed", "orders"), ORDERS)
def test_what_a_failure_did_too_early_pays_in_the_order_of_the_successes(
    failed: list[str], orders: dict[str, str]
) -> None:
    """Also what it did not do at all before; a failure in the same order says nothing."""
    right = [[went("/")], [clicked("Lamp")], [clicked("Cart")], [clicked("Pay")]]
    paid = [*right, [went("/paid")]]
    found = proposed([paid, paid], [[[went("/")], *([clicked(name)] for name in failed)]])
    assert {
        one.candidate.family.split()[-1]: anchor.candidate.family.split()[-1]
        for one in found.milestones
        if (anchor := find_anchor(one, found)) is not None
    } == orders


def test_a_field_and_what_the_goal_rests_on_have_no_order() -> None:
    """What failures filled in or pressed too early: another way may do so, and be right."""
    opened = [[went("/")], [clicked("Filter")], [filled("Name", "Ada")], [clicked("Open")]]
    shown = [*opened, [went("/7", same_document=True)]]
    found = proposed([shown, shown], [[[went("/")], [clicked("Open")], [filled("Name", "Ada")]]])
    assert [one.candidate.family for one in found.goal] == ["all together"]
    found = replace(found, goal=[one for one in found.milestones if one.is_by_script])
    orders = {one.candidate.family: find_anchor(one, found) for one in found.milestones}
    assert (orders["field Name"], orders["click button Open"]) == (None, None)


def test_what_only_failures_wrote_is_a_guard() -> None:
    bad = [*order(3), [finished("DELETE", "/orders/3", 204)]]
    found = proposed([order(1), order(2)], [bad])
    assert [support.candidate.when for support in found.guards] == [
        {"request_accepted": {"method": "DELETE", "url": "/orders/*"}}
    ]


RESET, RED, BLUE = [clicked("Reset")], [clicked("Red")], [clicked("Blue")]
COPY, COPY_2, NOTE = [created("order-1.bak")], [created("order-2.bak")], [created("note.txt")]
DELETED = [clicked("Delete"), finished("DELETE", "/orders/3", 204)]
GUARDS: list[tuple[str, int, list[list[Said]], list[object]]] = [
    ("a click of two failures", 2, [RESET, RESET], [{"role": "button", "name": "Reset"}]),
    ("a click of one failure", 2, [RESET, RED], []),
    ("a click of two of five failures", 2, [RESET, RESET, RED, BLUE, NOTE], []),
    ("a click that one success lacks", 1, [RESET, RESET], []),
    ("a file of two failures", 2, [NOTE, NOTE], [{"name": "note.txt"}]),
    ("a file of another number each", 2, [COPY, COPY_2], [{"name": {"glob": "order-*.bak"}}]),
    ("a click that its request tells of", 2, [DELETED, DELETED], [{"method": "DELETE", "url": "/orders/*"}]),
    ("a click that a success made too", 2, [[clicked("Order")], [clicked("Order")]], []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("successes", "deeds", "guards"), [row[1:] for row in GUARDS], ids=[row[0] for row in GUARDS]
)
def test_what_several_failures_alone_did_is_a_guard(
    successes: int, deeds: list[list[Said]], guards: list[object]
) -> None:
    good = [order(number) for number in range(1, successes + 1)]
    found = proposed(good, [[[went("/")], deed] for deed in deeds])
    args = [next(iter(support.candidate.when.values())) for support in found.guards]
    assert args == guards


def test_what_is_wrong_for_one_run_may_be_right_for_another() -> None:
    """Where runs have values of their own, a click is no guard."""
    runs = [
        RecordedRun(f"run-{n}", log(*episode([clicked(name)])), {"name": wanted})
        for n, (name, wanted) in enumerate(
            [("Red", "Red"), ("Lime", "Lime"), ("Blue", "Red"), ("Blue", "Lime")]
        )
    ]
    assert propose(runs[:2], runs[2:], ORIGIN).guards == []
    alike = [replace(run, values={}) for run in runs]
    alike[1] = replace(alike[0], name="again")
    assert len(propose(alike[:2], alike[2:], ORIGIN).guards) == 1


@pytest.mark.parametrize(
    ("instruction", "fields"),
    [
        ("Order it for Ada Lovelace.", ["Name"]),
        ("Order it for ada lovelace, to Bergen.", ["Name", "City"]),
        ("Order it.", []),
        ("Order it for Ada Lovelaces, to Bergendorf.", []),
    ],
)
def test_what_the_instruction_names_is_wanted_also_if_failures_did_it(
    instruction: str, fields: list[str]
) -> None:
    """Else the goal would be reached with anything in the field."""
    form = [[filled("Name", "Ada Lovelace")], [filled("City", "Bergen")]]
    sent = [clicked("Order"), finished("POST", "/orders", 201)]
    runs = [
        recording(f"run-{n}", *form, deeds)
        for n, deeds in enumerate((sent, sent, [clicked("Cancel")]))
    ]
    found = propose(runs[:2], runs[2:], ORIGIN, instruction)
    assert found.is_decided
    wanted = [
        one.candidate.when["field_filled"] for one in found.goal if one.rule == "field_filled"
    ]
    assert [args["field"] for args in wanted if isinstance(args, dict)] == fields


NOTES: list[tuple[list[list[list[Said]]], list[list[list[Said]]], str]] = [
    ([order(1)], [[[went("/")]]], "one success alone"),
    ([order(1), order(2)], [], "no failure to compare with"),
    ([order(1), order(2)], [order(3)], "nothing separates the failures"),
    ([[[went("/a")]], [[went("/a")]]], [[[went("/b")]]], "rests on what pages show"),
]


def test_a_failure_that_was_not_observed_whole_is_named() -> None:
    """What was not observed is not known to be missing."""
    gap: list[Said] = [
        ("gap.began", {"source": "cdp", "reason": "gone"}),
        ("gap.ended", {"source": "cdp"}),
    ]
    proposal = proposed([order(1), order(2)], [[[went("/products/3")], gap]])
    assert not proposal.is_decided, "the failure may have met the goal in that step"
    assert proposal.notes == ["1 of 2 steps of bad-0 are not known: what it lacks may be there"]


@pytest.mark.parametrize(("good", "bad", "expected"), NOTES)
def test_what_cannot_be_known_is_said(
    good: list[list[list[Said]]], bad: list[list[list[Said]]], expected: str
) -> None:
    assert any(expected in note for note in proposed(good, bad).notes)


NAMELESS = {"role": "textbox", "tag": "input", "path": "#cart>li:2>input:1"}
CANDIDATES: list[tuple[Said, list[Any]]] = [
    (clicked("Buy"), [{"element_clicked": {"role": "button", "name": "Buy"}}]),
    (clicked("Buy", trusted=False), []),
    (went("http://elsewhere.test/a"), []),
    (
        went("/a/12?q=x"),
        [
            {"url_reached": {"url": "/a/12?q=x"}},
            {"url_reached": {"url": "/a/12"}},
            {"url_reached": {"url": "/a/*"}},
        ],
    ),
    (filled("Terms", checked=True), [{"field_filled": {"field": "Terms", "checked": True}}]),
    (filled("Password", "••••"), []),
    (
        filled("", "2", element=NAMELESS, around="Lamp 12.50"),
        [
            {"field_filled": {"around": "Lamp 12.50", "value": "2"}},
            {"field_filled": {"path": "#cart>li:2>input:1", "value": "2"}},
            {"field_filled": {"around": "Lamp 12.50", "value": {"regex": "(?s).+"}}},
            {"field_filled": {"path": "#cart>li:2>input:1", "value": {"regex": "(?s).+"}}},
        ],
    ),
    (
        filled("", checked=True, element=NAMELESS),
        [{"field_filled": {"path": "#cart>li:2>input:1", "checked": True}}],
    ),
    (filled("", "2", element={"role": "textbox"}), []),
    (filled("Name", "x" * 300), []),
    (finished("GET", "/orders", 200), []),
    (finished("POST", "/orders", 500), []),
    (
        finished("POST", "/orders", 201),
        [{"request_accepted": {"method": "POST", "url": "/orders"}}],
    ),
    (
        went("/a/9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a/1"),
        [
            {"url_reached": {"url": "/a/9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a/1"}},
            {"url_reached": {"url": "/a/*/*"}},
        ],
    ),
    (
        created("invoice-7.csv"),
        [
            {"file_matches": {"name": "invoice-7.csv"}},
            {"file_matches": {"name": {"glob": "invoice-*.csv"}}},
        ],
    ),
    (answered("42"), [{"answer_matches": {"text": "42"}}]),
]


@pytest.mark.parametrize(("said", "expected"), CANDIDATES)
def test_what_an_event_could_be(said: Said, expected: list[Any]) -> None:
    events = log(*episode([said]))
    assert [candidate.when for candidate in candidates_of(events, ORIGIN)] == expected


def cart(row: int, amount: str) -> list[list[Said]]:
    """A run that fills the field beside the lamp, which has no name and stands in some row."""
    element = {**NAMELESS, "path": f"#cart>li:{row}>input:1"}
    field = filled("", amount, element=element, around="Lamp 12.50")
    return [[went("/cart")], [field, clicked("Order")], [finished("POST", "/orders", 201)]]


def test_a_field_without_a_name_is_named_by_what_all_successes_share() -> None:
    """By what stands around it where its row is another one in each."""
    found = conditions(proposed([cart(1, "2"), cart(3, "2")]))
    assert {"field_filled": {"around": "Lamp 12.50", "value": "2"}} in found
    assert not any("path" in one.get("field_filled", {}) for one in found)


def test_what_stood_before_the_first_step_is_no_deed() -> None:
    events = log(*episode([], before=[went("/cart")]))
    assert list(candidates_of(events, ORIGIN)) == []


DRAWN_ID, MOMENT = "9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a", "2026-03-06T12:00:00Z"


@pytest.mark.parametrize(
    ("filled_in", "clicks"), [("Name", []), ("City", ["Name"])], ids=["that one", "another one"]
)
def test_a_click_into_a_field_that_is_filled_in_is_no_deed_of_its_own(
    filled_in: str, clicks: list[str]
) -> None:
    """Who goes there by the keyboard does the same."""
    found = proposed([[[clicked("Name", role="textbox"), filled(filled_in, "Ada", trusted=True)]]])
    clicked_on = [one["element_clicked"] for one in conditions(found) if "element_clicked" in one]
    assert clicked_on == [{"role": "textbox", "name": name} for name in clicks]


def redirected(to: str) -> Said:
    hop = {"request": "r1", "method": "POST", "url": f"{ORIGIN}/orders", "status": 303}
    return "request.redirected", hop | {"location": to}


@pytest.mark.parametrize(
    ("location", "opened", "asked"),
    [
        ("/orders/7", "/orders/7", "/orders/*"),
        ("orders/7", "/orders/7", "/orders/*"),
        (f"{ORIGIN}/orders/7?new=1", "/orders/7?new=1", "/orders/*"),
        ("/orders/7", "/orders/7/receipt", "/orders/*/receipt"),
        ("/orders/7", "/sales/7", "/sales/7"),
        ("/products/12", "/products/12", "/products/12"),
        ("/thanks", "/thanks", "/thanks"),
    ],
    ids=[
        "what was made",
        "by a relative address",
        "by a whole address",
        "below it",
        "another page",
        "a page that was open before",
        "a page without a number",
    ],
)
def test_the_number_of_what_one_success_made_is_left_open(
    location: str, opened: str, asked: str
) -> None:
    """The site redirects what was sent to the page of what it made of it, which has another number
    in the next run."""
    steps = [[went("/products/12")], [clicked("Order"), redirected(location), went(opened)]]
    pages = [
        one["url_reached"]["url"] for one in conditions(proposed([steps])) if "url_reached" in one
    ]
    assert pages[-1] == asked
    assert pages[0] == "/products/12"


def test_what_looks_drawn_in_one_success_is_named() -> None:
    """Unless it was typed; of two successes what differs is not asked."""

    def run(number: int) -> list[list[Said]]:
        body = json.dumps(
            {"item": "lamp", "ref": f"{number}{DRAWN_ID[1:]}", "at": MOMENT, "code": "A7X2-99QK"}
        )
        save = finished("POST", "/orders", 201, body={"text": body, "mime": "application/json"})
        return [[filled("Code", "A7X2-99QK"), clicked("Order"), save]]

    [note] = [note for note in proposed([run(9)]).notes if "drawn anew" in note]
    assert note.endswith(f": {DRAWN_ID}, {MOMENT}")
    two = proposed([run(9), run(1)])
    assert not any("drawn anew" in note for note in two.notes)
    assert not any("ref" in str(one) for one in conditions(two))


def test_the_origin_is_that_of_most_pages() -> None:
    pages = [went("http://b.test/"), went("/a"), went("/b"), went("about:blank")]
    assert find_origin(log(*episode(pages))) == ORIGIN
    assert find_origin(log(*episode([clicked("Buy")]))) is None


PARTS = """--x\r
Content-Disposition: form-data; name="a"\r
\r
1\r
--x\r
Content-Disposition: form-data; name="form_key"\r
\r
x9\r
--x--\r
"""
BODIES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"text": "a=1&b=x+y"}, {"a": "1", "b": "x y"}),
    ({"text": '{"a": 1, "b": "x", "c": [1], "d": null, "e.f": "x"}'}, {"a": 1, "b": "x", "c.0": 1}),
    ({"text": '{"at": [1, 2, 3, 4, 5], "a": [[1]], "b": 1}'}, {"b": 1}),
    (
        {"text": '{"sent": 1795948585222, "made": "2026-11-29T10:40:07.312Z", "a": 1}'},
        {"a": 1},
    ),
    (
        {"text": '{"due": 1795948560000, "at": "2026-12-04T10:00:00.000Z", "n": 1795948585}'},
        {"due": 1795948560000, "at": "2026-12-04T10:00:00.000Z", "n": 1795948585},
    ),
    ({"text": "pin=••••"}, {}),
    ({"text": "form_key=x9&__VIEWSTATE=abc&_wpnonce=1&a=1"}, {"a": "1"}),
    ({"text": '{"idempotencyKey": "x9", "requestId": 7, "a": 1}'}, {"a": 1}),
    (
        {"text": '{"a": {"b": "x", "rows": [{"c": 1}, {"c": 2}]}, "tags": ["x"]}'},
        {"a.b": "x", "a.rows.0.c": 1, "a.rows.1.c": 2, "tags.0": "x"},
    ),
    (
        {
            "text": '{"a": {"_csrf": "x", "b": {"9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a": {"c": "x"}}}, "d": 1}'
        },
        {"d": 1},
    ),
    ({"text": json.dumps({"a": 1, "rows": [{"c": number} for number in range(30)]})}, {"a": 1}),
    ({"text": PARTS, "mime": "multipart/form-data; boundary=x"}, {"a": "1"}),
    ({"text": "no form"}, {}),
    ({"text": "[1]"}, {}),
    ({}, {}),
]


@pytest.mark.parametrize(("body", "expected"), BODIES)
def test_what_a_body_says(body: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read_body(body) == expected


UUIDS = ("9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a", "1f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a")
ULIDS = ("01J9ZK3V7Q8W2X4Y6R5T1N0M9P", "01JAB6T2M4K8Q0X7Z5V3R9W1Y2")
CODES = ("V1StGXR8_Z5jdHi6B-myT", "XByRzDf1LGHZDev_fnQrj")
JSON = "application/json"
DRAWN_REQUESTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a UUID in the address": ("/carts/{uuid}/items", {"item": "{item}"}, JSON),
    "a ULID in the address": ("/carts/{ulid}/items", {"item": "{item}"}, JSON),
    "a random code in the address": ("/carts/cart-{code}", {"item": "{item}"}, JSON),
    "beside percent-encoded letters": ("/caf%C3%A9/{ulid}/", {"item": "{item}"}, JSON),
    "within an object": ("/orders", {"order": {"id": "{ulid}", "item": "{item}"}}, JSON),
    "within a row": ("/orders", {"rows": [{"id": "{code}", "item": "{item}"}]}, JSON),
    "within what is called a text": ("/orders", {"id": "{uuid}", "item": "{item}"}, "text/plain"),
}


@pytest.mark.parametrize("name", DRAWN_REQUESTS)
def test_another_run_with_other_drawn_values_reaches_the_goal_and_other_content_does_not(
    name: str,
) -> None:
    url, body, mime = DRAWN_REQUESTS[name]

    def run(number: int, item: str) -> list[list[Said]]:
        place = number % 2
        values = {"uuid": UUIDS[place], "ulid": ULIDS[place], "code": CODES[place], "item": item}
        text, where = json.dumps(body), url
        for key, value in values.items():
            text, where = text.replace(f"{{{key}}}", value), where.replace(f"{{{key}}}", value)
        sent = {"text": text, "mime": mime}
        return [[clicked("Order"), finished("POST", where, 201, body=sent)]]

    found = proposed([run(0, "tea"), run(1, "tea")], [run(0, "ink"), [[clicked("Order")]]])
    assert (found.is_decided, found.notes) == (True, [])
    assert [(one.in_good, one.in_bad) for one in found.goal] == [(2, 0)]


def test_requests_to_one_address_that_carry_different_fields_are_told_by_the_last() -> None:
    def run(number: int, item: str) -> list[list[Said]]:
        first = {"next": 7, "items": [{"n": "a"}]}
        second = {"next": 7 + number, "items": [{"n": "a"}, {"n": item}]}
        sent = [{"text": json.dumps(one), "mime": JSON} for one in (first, second)]
        return [[finished("PUT", "/state", 200, body=one)] for one in sent]

    found = proposed([run(0, "tea"), run(3, "tea")], [run(0, "ink")])
    bodies = [one.candidate.when["request_accepted"] for one in found.goal]
    assert bodies == [
        {"method": "PUT", "url": "/state", "body": {"items.0.n": "a", "items.1.n": "tea"}}
    ]


def write(path: Path, *steps: Sequence[Said]) -> str:
    events: list[Event] = log(*episode(*steps))
    path.write_bytes(
        b"".join(
            encode_event(one.seq, one.source, one.kind, one.at, one.data) + b"\n" for one in events
        )
    )
    return str(path)


def test_the_command_writes_a_task_that_passes_its_own_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = [write(tmp_path / f"good-{n}.jsonl", *order(n)) for n in (1, 2, 3)]
    bad = write(tmp_path / "bad.jsonl", *order(4, item="chair"))
    out = tmp_path / "order.yaml"
    arguments = [word for path in good for word in ("--from", path)]
    arguments += ["--against", bad, "--instruction", "Order 2 of the lamp.", "--out", str(out)]
    assert main(["task", "propose", *arguments]) == 0
    assert main(["task", "check", str(out)]) == 0
    assert "warning" not in capsys.readouterr().err
    assert main(["task", "test", str(out)]) == 0, out.read_text()
    spec = yaml.safe_load(out.read_text())
    assert spec["origin"] == ORIGIN
    assert sum(spec["weights"].values()) == pytest.approx(1.0)
    assert spec["weights"]["goal"] >= 0.6
    assert "# in the instruction: lamp, 2" in out.read_text()
    assert main(["task", "propose", *arguments]) == 2, "it overwrites nothing"


def test_recordings_of_one_name_are_told_apart_by_their_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As those of `milestoned watch` are, which writes `watch.mrec` into a folder."""
    for folder in ("right", "wrong"):
        (tmp_path / folder).mkdir()
    good = write(tmp_path / "right" / "watch.jsonl", *order(1))
    bad = write(tmp_path / "wrong" / "watch.jsonl", *order(1, item="desk"))
    assert main(["task", "propose", "--from", good, "--against", bad]) == 0
    text = capsys.readouterr().out
    assert "of right/watch.jsonl" in text
    assert "of watch.jsonl" not in text


def test_nothing_shared_and_nothing_readable_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write(tmp_path / "one.jsonl", [went("/a")])
    other = write(tmp_path / "other.jsonl", [went("/b")])
    assert main(["task", "propose", "--from", one, "--from", other]) == 1
    assert "share nothing" in capsys.readouterr().err
    assert main(["task", "propose", "--from", one, "--id", "a b"]) == 2
    assert "--id: got 'a b'" in capsys.readouterr().err
    (tmp_path / "broken.jsonl").write_bytes(orjson.dumps({"no": "event"}))
    for name in ("broken.jsonl", "missing.jsonl"):
        assert main(["task", "propose", "--from", str(tmp_path / name)]) == 2
        assert name in capsys.readouterr().err
