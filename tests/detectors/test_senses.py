"""What the daemon is told to keep and to report, and how a rule's facts are refused when they are
none."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.model.errors import SpecError
from detectors.model.kinds import KINDS, SOURCES, reported_kinds
from detectors.model.types import Event
from detectors.sdk.arguments import parse_args
from detectors.sdk.registry import Rule, rules
from detectors.sdk.world import (
    REPLACES,
    STATEFUL,
    World,
    documents_left,
    fields_left,
    form_of,
    invalidated_keys,
)
from tests.detectors.tables_probes import PROBES, probed
from tests.detectors.tables_senses import copied, process, state, typed, window
from tests.support.logs import ORIGIN, Said, episode, ruleset, run, worth

POST = {"url": "/api/*", "method": "POST"}


def one(rule: str, **args: Any) -> dict[str, Any]:
    return {"id": "m", "when": {rule: args}, "component": "nav"}


def test_the_plan_asks_for_bodies_only_where_a_rule_needs_them() -> None:
    """Addresses of requests, nothing of what would be right in them."""
    plan = ruleset(one("request_accepted", **POST)).plan("E")
    assert plan["request_bodies"] == plan["response_bodies"] == []
    plan = ruleset(one("request_accepted", **POST, body={"a": "1"}, answer={"id": "SEVEN"})).plan(
        "E"
    )
    asked = {"url": {"origin": ORIGIN, "path": "/api/*"}, "methods": ["post"], "refused": False}
    assert plan["request_bodies"] == plan["response_bodies"] == [asked]
    assert "SEVEN" not in str(plan)


@pytest.mark.parametrize(
    ("rule", "args", "methods", "refused"),
    [
        ("request_accepted", {}, ["get"], False),
        ("request_accepted", {"method": "POST", "status": [201, 422]}, ["post"], True),
        (
            "request_accepted",
            {"method": "POST", "status": "4xx", "redirect_to": "/done"},
            ["post"],
            False,
        ),
        ("request_accepted", {"method": {"one_of": ["PUT", "PATCH"]}}, ["patch", "put"], False),
        ("request_accepted", {"method": {"contains": "P"}}, None, False),
        ("request_answered", {}, None, False),
        ("request_answered", {"which": "document"}, ["get"], False),
        ("request_answered", {"which": "opened"}, ["get"], False),
        ("request_answered", {"method": "POST", "status": "5xx"}, ["post"], True),
        ("state_accepted", {}, ["put"], False),
    ],
)
def test_the_plan_says_whose_bodies_a_rule_can_mean(
    rule: str, args: dict[str, Any], methods: list[str] | None, refused: bool
) -> None:
    """A body that nobody reads and that is not known makes no step unobserved."""
    where: dict[str, Any] = {
        "request_accepted": {"url": "/a", "body": {"a": "1"}},
        "request_answered": {
            "url": {"any": [{"address": f"{ORIGIN}/a"}]},
            "body": [{"name": "a", "is": {"string": ["1"]}}],
        },
        "state_accepted": {"url": "/a", "facts": [{"path": "$.a", "value": 1}]},
    }
    [entry] = ruleset(one(rule, **where[rule], **args)).plan("E")["request_bodies"]
    assert (entry.get("methods"), entry["refused"]) == (methods, refused)


def test_what_has_to_be_asked_for_is_reported_only_where_a_rule_hears_it() -> None:
    """The rest is always in the log: it is cheap, and evidence for whoever scores it under other
    rules."""
    nothing = reported_kinds(ruleset(one("url_reached", url="/a")).plan("E"))
    assert {"element.clicked", "page.navigated"} <= nothing
    assert not {"element.hovered", "message.received", "text.appeared"} & nothing
    heard = reported_kinds(ruleset(one("observed", kind="element.hovered")).plan("E"))
    assert heard - nothing == {"element.hovered"}
    assert reported_kinds({"hears": None, "also": ["text.appeared"]}) - nothing == {"text.appeared"}


@pytest.mark.parametrize(
    ("args", "wrong", "said"),
    [
        ({"kind": "page.clicked"}, (), "none of the kinds"),
        ({"kind": "step.began"}, (), "none of the kinds"),
        ({"kind": "visual.dom_recorded"}, (), "none of the kinds"),
        ({"kind": 7}, ("kind",), "wanted a text"),
        ({"kind": "text.pasted", "where": {}}, ("where",), "wanted an object of dotted paths"),
        ({"kind": "text.pasted", "where": {"texts": "a"}}, (), "text.pasted has no texts"),
        ({"kind": "text.pasted", "where": {"text.": "a"}}, ("where", "text."), "a dotted path"),
        (
            {"kind": "text.pasted", "where": {"text": {"min": "a"}}},
            ("where", "text", "min"),
            "a number",
        ),
        (
            {"kind": "text.pasted", "where": {"text": {"matches": "a"}}},
            ("where", "text"),
            "wanted a text, or one of",
        ),
        (
            {"kind": "text.pasted", "distinct": "element.name", "app": "a"},
            (),
            "not told of an application",
        ),
        ({"kind": "window.opened", "url": "/a"}, (), "not told of a frame"),
        (
            {"kind": "text.pasted", "distinct": "element.nam.e"},
            (),
            "element has no nam; it has attr_name",
        ),
        ({"kind": "download.finished", "where": {"size.a": "3"}}, (), "size is a plain value"),
        (
            {"kind": "request.finished", "where": {"body.files.filename": "a"}},
            (),
            "as in body.files.0",
        ),
        ({"kind": "request.sent", "where": {"body.text": "a"}}, (), "request.sent has no body"),
        (
            {"kind": "request.finished", "where": {"headers": {"contains": "x"}}},
            (),
            "say which is read",
        ),
        (
            {"kind": "attribute.changed", "where": {"value": "true"}},
            (),
            "which attribute it is about",
        ),
        ({"kind": "file.read", "where": {"facts.text": "a"}}, (), "which file is to be read"),
    ],
)
def test_facts_that_no_event_can_carry_are_refused(
    args: dict[str, Any], wrong: tuple[str, ...], said: str
) -> None:
    found = rules()["observed"]
    assert isinstance(found, Rule)
    with pytest.raises(SpecError) as caught:
        parse_args(found.args, args, (), "http://shop.test")
    assert caught.value.path == wrong
    assert said in str(caught.value)


def test_every_kind_belongs_to_a_source_and_is_a_noun_and_a_participle() -> None:
    """docs/events.md is made of this table."""
    assert SOURCES[:2] == ("journal", "steps")
    for name, kind in KINDS.items():
        noun, _, participle = name.partition(".")
        assert noun, name
        assert participle, name
        assert kind.says.endswith("."), name
        fields = [field.removesuffix("?") for field in kind.fields]
        assert len(set(fields)) == len(fields), name


def test_no_rule_hears_what_was_seen() -> None:
    """It is for people: nothing is paid for how a page looks, and a lost picture blinds nobody."""
    heard = {kind for found in rules().values() if isinstance(found, Rule) for kind in found.hears}
    assert not {kind for kind in heard if KINDS[kind].source == "visual"}


def test_every_kind_that_replaces_a_fact_is_heard_for_it() -> None:
    """Else what a rule read of a state would stand for ever."""
    replaces = {
        kind
        for kind, about in KINDS.items()
        if invalidated_keys(Event("E", 1, about.source, kind, 0, {}), World())
    }
    assert replaces == STATEFUL


@pytest.mark.parametrize("kind", sorted(STATEFUL))
def test_a_kind_replaces_keys_of_the_forms_that_are_said_of_it(kind: str) -> None:
    """Where no key of these forms is held, nobody looks for what the event replaces."""
    world = World(frames={"f": {"tab": "t", "url": "", "fields": {"name": {}}}})
    event = Event("E", 1, KINDS[kind].source, kind, 0, {"frame": "f", "tab": "t"})
    keys = [
        key
        for find in (invalidated_keys, fields_left, documents_left)
        for key in find(event, world)
    ]
    assert {form_of(key) for key in keys} == REPLACES[kind]


CHECKED = one("widget_state", name="Show lines", state="checked")
SAVED = one("window_opened", title="Save As")
FALLS: dict[str, tuple[dict[str, Any], Said, Said]] = {
    "a probe answers otherwise": (one("probe_answers", probe="cart", value=3), probed(3), probed(2)),
    "a program became another": (one("process_started", name="sh"), process("sh"), process("python3")),
    "a program ended": (one("process_started", name="sh"), process("sh"), process("sh", kind="ended")),
    "something else was copied": (one("clipboard_holds", text="7"), copied("7"), copied("8")),
    "another text was typed": (one("widget_text", text="Hello"), typed("Hello"), typed("Hello!")),
    "a window closed": (SAVED, window(), window("closed")),
    "a window bears another title": (SAVED, window(), window("title_changed", title="Open")),
    "a box was cleared": (CHECKED, state(True), state(False)),
}  # fmt: skip


@pytest.mark.parametrize("name", FALLS)
def test_a_fact_of_state_falls_when_it_is_replaced(name: str) -> None:
    """It must hold at the end, and does not."""
    milestone, true, untrue = FALLS[name]
    rules = ruleset({**milestone, "must_hold_at_end": True}, probes=PROBES)
    assert worth(run(rules, *episode([true], [])))[-1] == 0.1
    assert worth(run(rules, *episode([true], [untrue]))) == [0.0, 0.0]


def test_what_stood_in_a_window_when_it_opened_did_not_happen() -> None:
    """Unless the task says that it counts."""
    first = state(True, initial=True)
    assert worth(run(ruleset(one("observed", kind="widget.state_changed")), *episode([first]))) == [
        0.0
    ]
    said = one("observed", kind="widget.state_changed", where={"initial": True})
    assert worth(run(ruleset(said), *episode([first]))) == [0.1]


SAVE = {"request_accepted": {"method": "POST", "url": "/save"}}
OTHER = {"other_request_made": {"url": "/*"}}
PAID: dict[str, Any] = {"id": "saved", "when": SAVE}
GUARDS: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "a milestone": ([PAID], False),
    "a penalty": ([PAID, {"id": "wrote", "when": OTHER, "penalty": 0.5}], True),
    "a penalty for what was accepted": ([{"id": "wrote", "when": SAVE, "penalty": 0.5}], True),
    "something that must not happen": (
        [{"id": "clean", "when": {"all_of": [{"page_loaded": {"url": "/a"}}, {"none_of": [OTHER]}]}}],
        True,
    ),
    "something that another must come before": (
        [PAID, {"id": "first", "when": {"page_loaded": {"url": "/a"}}, "before": ["saved"]}],
        True,
    ),
    "what revokes": ([{"id": "a", "when": {"page_loaded": {"url": "/a"}}, "revoke_on": SAVE}], True),
    "a penalty for something else": (
        [PAID, {"id": "b", "when": {"url_reached": {"url": "/b"}}, "penalty": 0.5}],
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("milestones", "guards"), GUARDS.values(), ids=GUARDS)
def test_a_plan_says_by_what_something_that_must_not_happen_is_known(
    milestones: list[dict[str, Any]], guards: bool
) -> None:
    guarded = ruleset(*milestones).plan("E")["guarded"]
    assert any(kind.startswith("request.") for kind in guarded) is guards
