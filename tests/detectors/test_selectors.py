"""A click or a field is found by a CSS selector that the task names and the page looks for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from detectors.model.errors import SpecError
from detectors.sdk.arguments import parse_args
from detectors.sdk.registry import Rule, rules
from tests.support.logs import Said, clicked, episode, filled, ruleset, run, worth

BUY, SIZE = ".cart > button", "#size > option:nth-child(2)"
CLICKED: dict[str, Any] = {"element_clicked": {"selector": BUY}}
NAMED: dict[str, Any] = {"element_clicked": {"selector": BUY, "name": "Buy"}}
FILLED: dict[str, Any] = {"field_filled": {"selector": SIZE, "value": "M"}}


def click(*selectors: str, **more: Any) -> Said:
    kind, data = clicked("Buy", **more)
    return kind, {**data, "selectors": list(selectors)}


PAID: list[tuple[dict[str, Any], Said, float | None]] = [
    (CLICKED, click(BUY), 1),
    (CLICKED, click(SIZE, BUY), 1),
    (CLICKED, click(SIZE), 0),
    (CLICKED, click(), 0),
    (CLICKED, click(BUY, trusted=False), 0),
    (CLICKED, clicked("Buy"), None),
    (CLICKED, clicked("Buy", trusted=False), 0),
    (NAMED, click(BUY), 1),
    (NAMED, clicked("Sell"), 0),
    (NAMED, clicked("Buy"), None),
    (FILLED, filled("", "M", selectors=[SIZE]), 1),
    (FILLED, filled("", "L", selectors=[SIZE]), 0),
    (FILLED, filled("", "M", selectors=[BUY]), 0),
    (FILLED, filled("", "M"), None),
    (FILLED, filled("", "M", selectors=[SIZE], trusted=False), 0),
]


@pytest.mark.parametrize(("when", "said", "level"), PAID)
def test_what_is_paid(when: dict[str, Any], said: Said, level: float | None) -> None:
    """A daemon that does not tell which selectors are met, or a browser to which one of them is
    none, leaves it unknown."""
    made = ruleset({"id": "m", "component": "ui", "when": when}, weights={"ui": 1})
    assert worth(run(made, *episode([said]))) == [level]


def test_the_daemon_is_asked_for_the_selectors_once_each() -> None:
    conditions = [CLICKED, NAMED, FILLED, {"element_clicked": {"name": "Go"}}]
    made = ruleset({"id": "m", "when": {"any_of": conditions}})
    assert made.plan("E")["selectors"] == [BUY, SIZE]
    assert ruleset({"id": "m", "when": conditions[-1]}).plan("E")["selectors"] == []


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("element_clicked", {}, "path, selector: without one"),
    ("element_clicked", {"selector": " "}, "a CSS selector"),
    ("field_filled", {"value": "M"}, "around or selector"),
    ("field_filled", {"value": "M", "selector": "[a='b]"}, "' not closed"),
    ("observed", {"kind": "element.clicked", "where": {"selectors.0": BUY}}, "element_clicked or field_filled"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "args", "message"), REFUSED)
def test_what_is_refused(rule: str, args: dict[str, Any], message: str) -> None:
    found = rules()[rule]
    assert isinstance(found, Rule)
    with pytest.raises((SpecError, ValueError), match=re.escape(message)):
        parse_args(found.args, args, (rule,), None)
