"""What the daemon is told to keep and to report, and how a rule's facts are refused when they are none."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.arguments import parse_args
from detectors.errors import SpecError
from detectors.kinds import KINDS, SOURCES, wanted
from detectors.registry import Rule, rules
from tests.support.logs import ORIGIN, ruleset

POST = {"url": "/api/*", "method": "POST"}


def one(rule: str, **args: Any) -> dict[str, Any]:
    return {"id": "m", "when": {rule: args}, "component": "nav"}


def test_the_plan_asks_for_bodies_only_where_a_rule_needs_them() -> None:
    """Addresses of requests, nothing of what would be right in them."""
    plan = ruleset(one("request_accepted", **POST)).plan("E")
    assert plan["request_bodies"] == plan["response_bodies"] == []
    plan = ruleset(one("request_accepted", **POST, body={"a": "1"}, answer={"id": "SEVEN"})).plan("E")
    assert plan["request_bodies"] == plan["response_bodies"] == [{"origin": ORIGIN, "path": "/api/*"}]
    assert "SEVEN" not in str(plan)


def test_what_has_to_be_asked_for_is_reported_only_where_a_rule_hears_it() -> None:
    """The rest is always in the log: it is cheap, and evidence for whoever scores it under other rules."""
    nothing = wanted(ruleset(one("url_reached", url="/a")).plan("E"))
    assert {"element.clicked", "page.navigated"} <= nothing
    assert not {"element.hovered", "message.received", "text.appeared"} & nothing
    heard = wanted(ruleset(one("observed", kind="element.hovered")).plan("E"))
    assert heard - nothing == {"element.hovered"}
    assert wanted({"hears": None, "also": ["text.appeared"]}) - nothing == {"text.appeared"}


@pytest.mark.parametrize(
    ("args", "wrong", "said"),
    [
        ({"kind": "page.clicked"}, (), "none of the kinds"),
        ({"kind": "step.began"}, (), "none of the kinds"),
        ({"kind": 7}, ("kind",), "wanted a text"),
        ({"kind": "text.pasted", "where": {}}, ("where",), "wanted an object of dotted paths"),
        ({"kind": "text.pasted", "where": {"texts": "a"}}, (), "text.pasted has no texts"),
        ({"kind": "text.pasted", "where": {"text.": "a"}}, ("where", "text."), "a dotted path"),
        ({"kind": "text.pasted", "where": {"text": {"min": "a"}}}, ("where", "text"), "of numbers"),
        ({"kind": "text.pasted", "where": {"text": {"matches": "a"}}}, ("where", "text"), "wanted a text, or one of"),
        ({"kind": "text.pasted", "distinct": "element.nam.e", "app": "a"}, (), "not told of an application"),
        ({"kind": "window.opened", "url": "/a"}, (), "not told of a frame"),
    ],
)
def test_facts_that_no_event_can_carry_are_refused(args: dict[str, Any], wrong: tuple[str, ...], said: str) -> None:
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
