"""What stands now stands until it is otherwise: an element's state, a text, of a page that is
there."""

from __future__ import annotations

import re
from typing import Any

import pytest

from detectors.model.errors import SpecError
from detectors.sdk.arguments import parse_args
from detectors.sdk.registry import Rule, rules
from tests.detectors.tables_states import CHECKED, SAVED, element, shown
from tests.support.logs import Said, episode, resumed, ruleset, run, went, worth

AT_END = {"id": "m", "component": "nav", "must_hold_at_end": True}
BOX, TEXT = {"element_state": CHECKED}, {"text_visible": SAVED}
ON, OFF = element(checked=True), element(checked=False)
GONE = ("tab.closed", {"tab": "T"})
OTHER_FRAME = ("frame.detached", {"tab": "T", "frame": "F"})

ENDS: list[tuple[dict[str, Any], list[list[Said]], float]] = [
    (BOX, [[ON]], 1),
    (BOX, [[ON], [OFF]], 0),
    (BOX, [[ON], [OFF], [ON]], 1),
    (BOX, [[ON], [element(checked=True, visible=False)]], 0),
    (BOX, [[ON], [element(visible=False, gone=True)]], 0),
    (BOX, [[ON], [element("2", checked=False)]], 1),
    (BOX, [[ON, element("2", checked=True)], [OFF]], 1),
    (BOX, [[ON], [went("/a")]], 0),
    (BOX, [[ON], [went("/#a", same_document=True)]], 1),
    (BOX, [[ON], [GONE]], 0),
    (BOX, [[ON], [OTHER_FRAME]], 1),
    (BOX, [[ON], [went("/a"), element(checked=True, initial=True)]], 0),
    (TEXT, [[shown("Saved")]], 1),
    (TEXT, [[shown("Saved")], [shown("")]], 0),
    (TEXT, [[shown("Saved")], [shown("Saving")]], 0),
    (TEXT, [[shown("Saved")], [shown("", "2")]], 1),
    (TEXT, [[shown("Saved")], [went("/a")]], 0),
    (TEXT, [[shown("Saved")], [went("/a"), shown("Saved", initial=True)]], 1),
]


@pytest.mark.parametrize("play", [run, resumed])
@pytest.mark.parametrize(("when", "steps", "level"), ENDS)
def test_how_it_stands_at_the_end(
    play: Any, when: dict[str, Any], steps: list[list[Said]], level: float
) -> None:
    *_, last = play(ruleset({**AT_END, "when": when}, weights={"nav": 1}), *episode(*steps))
    assert (last.reward, last.mask) == (level, False)


def test_the_goal_of_a_state_that_went_again_is_not_reached() -> None:
    goal = {"id": "m", "must_hold_at_end": True, "when": {"goal": {"when": BOX}}}
    rules_ = ruleset(goal, weights={"goal": 1})
    assert [run(rules_, *episode(*steps))[-1].success for steps in ([[ON]], [[ON], [OFF]])] == [
        True,
        False,
    ]


def test_a_long_text_of_which_only_the_beginning_is_known_is_null() -> None:
    when = {"text_visible": {"text": {"contains": "Saved"}, "now": True}}
    rules_ = ruleset({"id": "m", "component": "nav", "when": when}, weights={"nav": 1})
    assert worth(run(rules_, *episode([shown("a" * 2000, cut=True)], close=False), ("step.sealed", {"step": 0, "reason": "quiet"}))) == [None]  # fmt: skip


PLANS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"selector": "#a > b", "checked": True}, [{"selector": "#a > b"}]),
    ({"role": "checkbox", "name": "Secret"}, [{"roles": ["checkbox"]}]),
    ({"role": {"one_of": ["tab", "link"]}}, [{"roles": ["link", "tab"]}]),
    ({"id": "a", "role": "tab"}, [{"id": "a"}]),
    ({"name": "Secret"}, [{}]),
    ({"role": {"contains": "box"}}, [{}]),
]


@pytest.mark.parametrize(("args", "asked"), PLANS)
def test_the_daemon_is_told_which_elements_and_not_how_they_are_to_stand(
    args: dict[str, Any], asked: list[dict[str, Any]]
) -> None:
    plan = ruleset({"id": "m", "component": "nav", "when": {"element_state": args}}).plan("E")
    assert [{**one, "roles": sorted(one["roles"])} if "roles" in one else one for one in plan["elements"]] == asked  # fmt: skip
    assert "Secret" not in str(plan)
    assert "element.state_changed" in plan["hears"]


REFUSED = [
    ({}, "at least one of name, role"),
    ({"checked": True}, "at least one of name, role"),
    ({"selector": ""}, "a CSS selector"),
    ({"selector": "p { color: red }"}, "a CSS selector"),
    ({"selector": "p:not(.a"}, "( not closed"),
    ({"selector": "p]"}, "] without its opening"),
    ({"selector": "[a='b]"}, "' not closed"),
    ({"name": "a", "visible": "yes"}, "true or false"),
]


@pytest.mark.parametrize(("args", "message"), REFUSED)
def test_what_is_no_state_of_an_element_is_refused(args: dict[str, Any], message: str) -> None:
    found = rules()["element_state"]
    assert isinstance(found, Rule)
    with pytest.raises(SpecError, match=re.escape(message)):
        parse_args(found.args, args, ("element_state",), None)
