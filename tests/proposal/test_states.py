"""What is proposed of the state that an application sends as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.proposal.mining import propose
from api.proposal.states import state_candidates
from api.proposal.support import Proposal, RecordedRun
from detectors.model.json_value import JsonObject
from detectors.model.types import Event
from tests.support.logs import ORIGIN, Said, clicked, episode, finished, log, went

ROWS = [{"id": 1, "to": "Ada", "read": False}, {"id": 2, "to": "Bob", "read": False}]


def sends(state: Any, status: int = 200, path: str = "/api/state") -> Said:
    """The application saves its state."""
    return finished("PUT", path, status, body={"text": json.dumps(state)})


def run(first: Any, *states: Any) -> list[Event]:
    """A run whose page sends its state as it loads, and then after each step."""
    steps = [[clicked("Save"), sends(state)] for state in states]
    return log(*episode(*steps, before=[went("/"), sends(first)]))


def facts_of(*logs: list[Event]) -> list[Any]:
    """The facts of each condition that is about one."""
    conditions: list[Any] = [one.when for one in state_candidates(logs, [ORIGIN] * len(logs))]
    found = [when["state_accepted"]["facts"] for when in conditions]
    return [facts[0] for facts in found if len(facts) == 1]


def row(number: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "to": "Eve", "read": False, **more}


CHANGES: dict[str, tuple[Any, list[Any], list[JsonObject]]] = {
    "a value": ({"a": {"b": 1}}, [{"a": {"b": 2}}] * 2, [{"path": '$["a"]["b"]', "value": 2}]),
    "another value in each": ({"a": 1}, [{"a": 2}, {"a": 3}], []),
    "what one alone changed": ({"a": 1, "b": 1}, [{"a": 2, "b": 2}, {"a": 2, "b": 1}], [{"path": '$["a"]', "value": 2}]),
    "a counter of its own": ({"_next": 1}, [{"_next": 2}] * 2, []),
    "a row, by its id": (
        {"mails": ROWS},
        [{"mails": [ROWS[0], {**ROWS[1], "read": True}]}, {"mails": [{**ROWS[1], "read": True}, ROWS[0]]}],
        [{"path": '$["mails"][?@.id==2]["read"]', "value": True}],
    ),
    "a row that went": (
        {"mails": ROWS}, [{"mails": ROWS[:1]}] * 2, [{"path": '$["mails"][*].id', "all": [], "none": [2]}],
    ),
    "the last row that went": ({"mails": ROWS[:1]}, [{"mails": []}] * 2, [{"path": '$["mails"]', "value": []}]),
    "a new row, without its id": (
        {"mails": ROWS},
        [{"mails": [*ROWS, row(3, at="9:00")]}, {"mails": [row(7, at="9:30"), *ROWS]}],
        [{"path": '$["mails"][?@.to=="Eve" && @.read==false]'}],
    ),
    "a new row under a key of its own in each": (
        {"orders": {"a": {"to": "Ada"}}},
        [{"orders": {"a": {"to": "Ada"}, key: {"to": "Eve", "at": key}}} for key in ("x7", "y9")],
        [{"path": '$["orders"][?@.to=="Eve"]'}],
    ),
    "a new row like an old one under a key of its own": (
        {"orders": {"a": {"to": "Ada"}}}, [{"orders": {"a": {"to": "Ada"}, key: {"to": "Ada"}}} for key in ("x7", "y9")], [],
    ),
    "a new row without an id, of its own time": (
        {"notes": [{"text": "old", "at": 1}]},
        [{"notes": [{"text": "old", "at": 1}, {"text": "new", "at": at}]} for at in (2, 3)],
        [{"path": '$["notes"][?@.text=="new"]'}],
    ),
    "new values that are no rows": ({"notes": [1]}, [{"notes": [1, at]} for at in (2, 3)], []),
    "a new row like an old one": ({"mails": ROWS}, [{"mails": [*ROWS, {**ROWS[0], "id": 3}]}] * 2, []),
    "a tag": ({"tags": ["a"]}, [{"tags": ["a", "b"]}, {"tags": ["b", "a", "c"]}], [{"path": '$["tags"][*]', "all": ["b"], "none": []}]),
    "a tag that went": ({"tags": ["a", "b"]}, [{"tags": ["a"]}] * 2, [{"path": '$["tags"][*]', "all": [], "none": ["b"]}]),
    "the last tag that went": ({"tags": ["a"]}, [{"tags": []}] * 2, [{"path": '$["tags"]', "value": []}]),
    "rows that went, of one all": ({"mails": ROWS}, [{"mails": []}, {"mails": ROWS[:1]}], []),
    "two new rows alike": (
        {"mails": ROWS},
        [{"mails": [*ROWS, row(3), row(4)]}, {"mails": [*ROWS, row(8), row(9)]}],
        [{"path": '$["mails"][?@.to=="Eve" && @.read==false]'}],
    ),
    "a toggle from 0 to false": ({"on": 0}, [{"on": False}] * 2, [{"path": '$["on"]', "value": False}]),
    "a list's 1 that became true": ({"on": [1]}, [{"on": [True]}] * 2, [{"path": '$["on"][*]', "all": [True], "none": [1]}]),
    "false in one and 0 in another": ({"on": 1}, [{"on": False}, {"on": 0}], []),
    "a number written otherwise": ({"n": 1}, [{"n": 1.0}] * 2, []),
    "nothing": ({"a": 1}, [{"a": 1}] * 2, []),
}  # fmt: skip


@pytest.mark.parametrize(("first", "lasts", "expected"), CHANGES.values(), ids=CHANGES)
def test_what_all_successes_changed_is_a_fact(
    first: Any, lasts: list[Any], expected: list[JsonObject]
) -> None:
    assert facts_of(*[run(first, last) for last in lasts]) == expected


@pytest.mark.parametrize(
    "said",
    [
        sends({"a": 2}, status=500),
        finished("GET", "/api/state", 200, body={"text": '{"a": 2}'}),
        finished("PUT", "/api/state", 200, body={"text": "[2]"}),
        finished("PUT", "/api/state", 200, body={"text": "{"}),
        sends({"a": 2}, path="/other"),
    ],
)
def test_what_was_not_taken_as_the_state_changes_nothing(said: Said) -> None:
    one = log(*episode([said], before=[sends({"a": 1})]))
    assert facts_of(one, one) == []


def posts(document: Any, path: str = "/api/state") -> Said:
    """A request that the site accepts."""
    body = {"text": json.dumps(document), "mime": "application/json"}
    return finished("POST", path, 200, body=body)


def acts(before: list[Said], *after: Said) -> list[Event]:
    """A run whose page sends something as it loads, and something after each step."""
    return log(*episode(*([clicked("Save"), one] for one in after), before=[went("/"), *before]))


QUERY = {"query": "{ cart { id } }", "variables": {}}
MUTATION = {"query": "mutation { add }", "variables": {"sku": "lamp"}}
CALL = {"jsonrpc": "2.0", "method": "add", "params": {"sku": "lamp"}}
ONE, TWO = {"sku": "lamp", "many": 1}, {"sku": "desk", "many": 2}
CUT = finished("POST", "/api/state", 200, body={"text": '{"sku": "de', "cut": True})
WHOLES: dict[str, tuple[list[Event], bool]] = {
    "sent before the first step, and after": (acts([posts(ONE)], posts(TWO)), True),
    "twice after the first step": (acts([], posts(ONE), posts(TWO)), False),
    "before the first step alone": (acts([posts(ONE), posts(TWO)]), False),
    "the last before the first step is where it began": (acts([posts(ONE), posts(TWO)], posts(TWO)), False),
    "at an address of its own each": (acts([posts(ONE, "/a")], posts(TWO, "/b")), False),
    "the last one is cut": (acts([posts(ONE)], posts(TWO), CUT), False),
    "the last one is lost": (acts([posts(ONE)], posts(TWO), finished("POST", "/api/state", 200, body={"lost": True})), False),
    "the first one is cut": (acts([CUT], posts(TWO)), False),
    "the last one is no object": (acts([posts(ONE)], posts(TWO), posts([2])), False),
    "GraphQL, a mutation and then a query": (acts([], posts(MUTATION), posts(QUERY)), False),
    "GraphQL, a query before it too": (acts([posts(QUERY)], posts(MUTATION), posts(QUERY | {"operationName": "b"})), False),
    "JSON-RPC": (acts([posts(CALL)], posts(CALL | {"method": "pay"})), False),
    "a state with a text that is searched for": (acts([posts({"query": "a", "rows": []})], posts({"query": "b", "rows": []})), True),
}  # fmt: skip


@pytest.mark.parametrize(("run", "is_state"), WHOLES.values(), ids=WHOLES)
def test_a_state_is_what_an_address_took_before_the_first_step_and_since(
    run: list[Event], is_state: bool
) -> None:
    assert bool(facts_of(run, run)) is is_state


@pytest.mark.parametrize(
    ("before", "sent", "wanted"),
    [
        ([], [ONE, TWO], TWO),
        ([], [ONE | {"many": 3}, ONE], ONE),
        ([], [{"operationName": "add", **MUTATION}, {"operationName": "list", **QUERY}], {"operationName": "list"}),
        ([QUERY], [{"operationName": "add", **MUTATION}, QUERY], {"operationName": "add"}),
    ],
    ids=["two POSTs", "two that differ in a field", "GraphQL", "GraphQL that the page asks as it loads"],
)  # fmt: skip
def test_what_is_no_state_is_told_by_what_its_requests_carry(
    before: list[Any], sent: list[Any], wanted: dict[str, Any]
) -> None:
    """A body's values stay a condition where the address is none of a state: of several, those of
    the last."""
    logs = [acts([*map(posts, before)], *map(posts, sent)) for _ in range(2)]
    named = [RecordedRun(f"run-{n}", events) for n, events in enumerate(logs)]
    conditions: list[Any] = [one.candidate.when for one in propose(named, [], ORIGIN).milestones]
    bodies = [
        when["request_accepted"].get("body") for when in conditions if "request_accepted" in when
    ]
    assert any(body and wanted.items() <= body.items() for body in bodies), bodies


def proposed(bad: list[list[Event]]) -> Proposal:
    """A proposal where successes read the second mail and write one, in any order."""
    read = [ROWS[0], {**ROWS[1], "read": True}]
    good = [
        run({"mails": ROWS}, {"mails": read}, {"mails": [*read, row(3)]}),
        run({"mails": ROWS}, {"mails": [*ROWS, row(9)]}, {"mails": [*read, row(9)]}),
    ]
    named = [RecordedRun(f"run-{n}", events) for n, events in enumerate((*good, *bad))]
    return propose(named[:2], named[2:], ORIGIN)


def test_failures_that_each_lack_another_part_are_told_by_all_of_it() -> None:
    read = [ROWS[0], {**ROWS[1], "read": True}]
    half = run({"mails": ROWS}, {"mails": read})
    other = run({"mails": ROWS}, {"mails": [*ROWS, row(3)]})
    found = proposed([half, other])
    assert found.is_decided
    assert [one.candidate.family for one in found.goal] == ["state /api/state together"]
    parts = [one for one in found.milestones if one.rule == "state_accepted"]
    assert sorted(one.in_bad for one in parts) == [0, 1, 1]


def test_what_the_state_carries_is_no_value_of_a_request() -> None:
    """A counter at its top would be the same in all runs of one length."""
    logs = [run({"n": 1, "a": 1}, {"n": 2, "a": 5})] * 2
    named = [RecordedRun(f"run-{n}", events) for n, events in enumerate(logs)]
    conditions: list[Any] = [one.candidate.when for one in propose(named, [], ORIGIN).milestones]
    assert [when for when in conditions if "body" in when.get("request_accepted", {})] == []
