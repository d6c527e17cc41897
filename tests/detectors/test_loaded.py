"""An address counts where the document was loaded from it; one that only page script put there pays
nothing by default, and spares no penalty."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from detectors.engine.engine import Engine
from detectors.model.types import Milestone
from detectors.sdk.registry import Rule, foreign, rules
from detectors.task.ruleset import Ruleset
from detectors.task.task_json import TaskError
from tests.support.logs import (
    ORIGIN,
    Said,
    clicked,
    episode,
    filled,
    loaded,
    log,
    ruleset,
    run,
    titled,
    went,
)

ACROSS = {"url_reached": {"url": "/cart"}}
CLICK = {"element_clicked": {"name": "Go"}}
BUTTON = {"name": "Go", "url": "/cart"}


def pushed(url: str, tab: str = "T") -> Said:
    """Script of the page puts another address of its site into the address bar."""
    return went(url, tab, same_document=True)


def shows(text: str) -> Said:
    return ("text.appeared", {"tab": "T", "frame": "T", "text": text})


def stands() -> Said:
    element = {"role": "checkbox", "name": "Go", "tag": "input"}
    facts = {"key": "1", "element": element, "visible": True, "in_view": True, "checked": True}
    return ("element.state_changed", {"tab": "T", "frame": "T", **facts})


def pointed() -> Said:
    kind, data = clicked("Go")
    return kind, {**data, "point": [5, 5]}


RULES: dict[str, tuple[dict[str, Any], list[Said]]] = {
    "url_reached": ({"url": "/cart"}, []),
    "address_says": ({"text": {"contains": "/cart"}}, []),
    "page_loaded": ({"url": "/cart"}, [loaded("/cart")]),
    "title_matches": ({"title": "Cart", "url": "/cart"}, [titled("Cart", url=f"{ORIGIN}/cart")]),
    "text_visible": ({"text": "Done", "url": "/cart"}, [shows("Done")]),
    "element_clicked": (BUTTON, [clicked("Go")]),
    "element_state": ({**BUTTON, "checked": True, "initial": True}, [stands()]),
    "pointed_at": ({"box": [0, 0, 9, 9], "url": "/cart"}, [pointed()]),
    "field_filled": ({"field": "Go", "value": "a", "url": "/cart"}, [filled("Go", "a")]),
    "form_filled": ({"fields": {"Go": "a"}, "url": "/cart"}, [filled("Go", "a")]),
    "observed": ({"kind": "text.appeared", "url": "/cart"}, [shows("Done")]),
    "graded": (
        {"kind": "text.appeared", "value": "text", "grade": {"f1": "Done"}, "url": "/cart"},
        [shows("Done")],
    ),
}
"""Every rule that may name the address of a page, and what it takes beside the address."""
WAYS: dict[str, tuple[list[Said], bool]] = {
    "loaded": ([went("/cart")], True),
    "loaded, and its fragment changed": ([went("/cart"), pushed("/cart#top")], True),
    "loaded, and its query made shorter": ([went("/cart?from=mail"), pushed("/cart")], True),
    "by script": ([went("/"), pushed("/cart")], False),
    "by script, through others": ([went("/"), pushed("/a"), pushed("/b"), pushed("/cart")], False),
    "out of the browser's cache, where script had put it": ([went("/cart", document="/")], False),
}


def value(when: dict[str, Any], *said: Said, **more: Any) -> float | None:
    return run(ruleset({"id": "m", "when": when, **more}), *episode(list(said)))[0].reward


def of(rule: str, **more: Any) -> dict[str, Any]:
    return {rule: {**RULES[rule][0], **more}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", RULES)
def test_by_default_a_document_must_have_been_loaded_from_the_address(rule: str, way: str) -> None:
    said, counts = WAYS[way]
    paid = value(of(rule), *said, *RULES[rule][1])
    assert paid is not None
    assert bool(paid) is counts


def test_every_rule_about_an_address_of_a_page_is_in_the_table() -> None:
    """And every rule with an address that is no request's, no file's: `url` of a frame."""
    declared = {
        name: {f.name for f in fields(rules()[name].args)}
        for name in rules()
        if isinstance(rules()[name], Rule) and foreign(name) is None
    }
    assert {name for name, names in declared.items() if "loaded" in names} == RULES.keys()
    assert {name for name, names in declared.items() if "url" in names} - RULES.keys() == {
        "download_finished",
        "other_request_made",
        "request_accepted",
        "request_answered",
        "state_accepted",
    }


@pytest.mark.parametrize("rule", RULES)
def test_an_application_of_one_page_says_loaded_false(rule: str) -> None:
    said = [went("/"), pushed("/cart"), *RULES[rule][1]]
    assert value(of(rule, loaded=False), *said)
    assert value(of(rule, loaded=True), *said) == 0.0


def test_how_an_address_counts_is_said_beside_an_address_alone() -> None:
    """Without one it would say nothing, and its author would not know."""
    for rule, (args, _) in RULES.items():
        rest = {name: value for name, value in args.items() if name != "url"}
        if rest and rule != "address_says":
            with pytest.raises(TaskError, match="loaded: got False, wanted it only beside `url`"):
                ruleset({"id": "m", "when": {rule: {**rest, "loaded": False}}})


NONE_OF = {"none_of": [ACROSS]}
GUARDS: dict[str, list[dict[str, Any]]] = {
    "a penalty": [{"id": "m", "when": ACROSS, "penalty": 0.5}],
    "a penalty's gate": [{"id": "m", "when": CLICK, "only_if": ACROSS, "penalty": 0.5}],
    "a penalty's part": [{"id": "m", "when": {"all_of": [CLICK, ACROSS]}, "penalty": 0.5}],
    "what a penalty waits for": [
        {"id": "first", "when": ACROSS},
        {"id": "m", "when": CLICK, "after": ["first"], "penalty": 0.5},
    ],
    "what a penalty waits for, two away": [
        {"id": "first", "when": ACROSS},
        {"id": "second", "when": CLICK, "after": ["first"]},
        {"id": "m", "when": CLICK, "after": ["second"], "penalty": 0.5},
    ],
    "what a penalty's goal requires": [
        {"id": "first", "when": ACROSS},
        {"id": "m", "when": {"goal": {"requires": ["first"]}}, "penalty": 0.5},
    ],
    "what revokes": [{"id": "m", "when": CLICK, "revoke_on": ACROSS}],
    "what must not be": [
        {"id": "m", "when": {"all_of": [CLICK, NONE_OF]}, "must_hold_at_end": True}
    ],
    "what must not be so often": [
        {
            "id": "m",
            "when": {"all_of": [CLICK, {"none_of": [{"count": {"at_least": 1, "of": [ACROSS]}}]}]},
            "must_hold_at_end": True,
        }
    ],
    "what must not come before": [
        {"id": "first", "when": ACROSS},
        {"id": "m", "when": CLICK, "before": ["first"]},
    ],
}
"""Tasks in which the address guards: reached, it lowers the reward."""


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_sees_an_address_however_it_came_there(guard: str) -> None:
    """The same rewards whether a document is loaded at the forbidden address or script puts it
    there; and others than without it."""
    rules = ruleset(*GUARDS[guard])
    ways = {
        "loaded": went("/cart"),
        "by script": pushed("/cart"),
        "not at all": went("/else"),
    }
    paid = {name: [m.worth for m in _milestones(rules, _told(way))] for name, way in ways.items()}
    assert paid["by script"] == paid["loaded"] != paid["not at all"]


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_may_ask_for_a_document_too(guard: str) -> None:
    strict = json.loads(json.dumps(GUARDS[guard]).replace('"/cart"', '"/cart", "loaded": true'))
    said = {path: _milestones(ruleset(*strict), _told(pushed(path))) for path in ("/cart", "/else")}
    assert [m.worth for m in said["/cart"]] == [m.worth for m in said["/else"]]


PAYING: dict[str, list[dict[str, Any]]] = {
    "what denies a penalty": [{"id": "m", "when": {"all_of": [CLICK, NONE_OF]}, "penalty": 0.5}],
    "what a penalty must come before": [
        {"id": "m", "when": CLICK, "before": ["first"], "penalty": 0.5},
        {"id": "first", "when": ACROSS},
    ],
    "what pays a waiting milestone": [
        {"id": "first", "when": ACROSS},
        {"id": "m", "when": CLICK, "after": ["first"]},
    ],
}
CARE = {"id": "care", "component": "care", "when": CLICK}
BESIDE: dict[str, list[dict[str, Any]]] = {
    "comes before": [{"id": "m", "when": ACROSS}, {**CARE, "before": ["m"]}],
    "comes before what comes before": [
        {"id": "m", "when": ACROSS},
        {**CARE, "id": "one", "before": ["m"]},
        {**CARE, "after": ["one"]},
    ],
}
"""Objectives that what pays must not have been reached for: they are no part of the reward."""


@pytest.mark.parametrize("task", BESIDE)
def test_an_objective_guards_nothing(task: str) -> None:
    rules = ruleset(*BESIDE[task], weights={"nav": 1}, objectives={"care": 1})
    ways = {"loaded": went("/cart"), "by script": pushed("/cart")}
    paid = {name: [m.worth for m in _milestones(rules, _told(way))] for name, way in ways.items()}
    assert (sum(paid["loaded"]), sum(paid["by script"])) == (1.0, 0.0)


def test_what_an_objective_must_not_have_still_guards_what_waits_for_that() -> None:
    rules = ruleset(
        {"id": "first", "when": ACROSS},
        {**CARE, "before": ["first"]},
        {"id": "m", "when": {"url_reached": {"url": "/"}}, "after": ["care"]},
        objectives={"care": 1},
    )
    met = {
        name: {m.id for m in _milestones(rules, _told(way))}
        for name, way in {"by script": pushed("/cart"), "not at all": went("/else")}.items()
    }
    assert met == {"by script": {"first"}, "not at all": {"care", "m"}}


@pytest.mark.parametrize("task", PAYING)
def test_nobody_escapes_a_penalty_or_is_paid_by_an_address_that_script_made(task: str) -> None:
    said = {
        name: _milestones(ruleset(*PAYING[task]), _told(way))
        for name, way in {"by script": pushed("/cart"), "not at all": pushed("/else")}.items()
    }
    assert [m.worth for m in said["by script"]] == [m.worth for m in said["not at all"]]


def test_what_was_reached_holds_while_its_document_stands() -> None:
    """To the end: other fragments are of the same page, another document is not."""
    m = {"must_hold_at_end": True}
    assert value(ACROSS, went("/cart"), pushed("/cart#a"), pushed("/cart#b"), **m)
    assert value(ACROSS, went("/cart"), pushed("/cart#a"), pushed("/pay"), **m) == 0.0
    assert value(ACROSS, went("/cart"), pushed("/pay"), pushed("/cart"), **m)
    assert value(ACROSS, went("/cart"), went("/"), pushed("/cart"), **m) == 0.0
    assert value(ACROSS, went("/cart", "1"), went("/", "2"), pushed("/cart", "2"), **m)


ERRORS = ("url_reached", "address_says", "page_loaded")


@pytest.mark.parametrize("rule", ERRORS)
def test_an_error_page_at_the_address_is_not_reached(rule: str) -> None:
    more = RULES[rule][1]
    for said in ([went("/cart", status=404)], [went("/cart", status=404), pushed("/cart#a")]):
        assert value(of(rule), *said, *more) == 0.0
        assert value(of(rule, errors=True), *said, *more)


@pytest.mark.parametrize("rule", ["address_says", "page_loaded"])
def test_an_error_page_is_reached_for_a_guard(rule: str) -> None:
    """As it was before these rules knew of errors: a guard may ask for less."""
    said = [went("/cart", status=403), *RULES[rule][1]]
    assert value(of(rule), *said, penalty=0.5) == -0.5
    assert value(of(rule, errors=False), *said, penalty=0.5) == 0.0


@pytest.mark.parametrize("rule", RULES)
def test_an_error_page_that_is_used_is_the_site_s_page(rule: str) -> None:
    """A form that is refused (422) comes again with its faults: what is done there counts."""
    if rule not in ERRORS:
        assert value(of(rule), went("/cart", status=422), *RULES[rule][1])


@pytest.mark.parametrize("rule", RULES)
def test_where_nobody_knows_from_where_a_document_came_the_step_is_null(rule: str) -> None:
    """Of a tab that the log first shows within its document, and of one whose first address the
    daemon has forgotten."""
    more = RULES[rule][1]
    assert value(of(rule), pushed("/cart"), *more) is None
    assert value(of(rule), went("/cart", document=""), *more) is None
    assert value(of(rule), pushed("/cart"), *more, penalty=0.5) == -0.5, "a guard need not know"


def test_a_main_frame_of_another_name_than_its_tab_has_a_document() -> None:
    """As of a page that was prerendered."""
    facts = {"tab": "T", "frame": "F", "main": True}
    moved = ("page.navigated", {**facts, "url": f"{ORIGIN}/cart", "same_document": False})
    away = ("page.navigated", {**facts, "url": f"{ORIGIN}/", "same_document": False})
    within = ("page.navigated", {**facts, "url": f"{ORIGIN}/cart", "same_document": True})
    title = RULES["title_matches"]
    assert value(of("title_matches"), moved, *title[1])
    assert value(of("title_matches"), away, within, *title[1]) == 0.0


def _told(way: Said) -> list[Said]:
    """The address comes, then the click, then the address again."""
    return episode([went("/")], [way], [clicked("Go")], [went("/"), way])


def _milestones(rules: Ruleset, said: list[Said]) -> list[Milestone]:
    return list(Engine(rules, "ep_1").feed(log(*said)).milestones)
