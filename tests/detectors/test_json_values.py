"""Where a JSON value that is no text meets a matcher: events, tool calls, probes, files, bodies,
states, tables.

Each form has a value of its own of each JSON type that it takes, and takes none of the others.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from detectors.matchers import (
    BodyMatch,
    ContentMatch,
    FactsMatch,
    StateMatch,
    TextMatch,
    ValueMatch,
)
from detectors.matchers.text import MODES
from detectors.matchers.typed import TYPES
from detectors.model.errors import SpecError
from tests.support.logs import Said, created, episode, finished, ruleset, run, worth

# form: (spec, JSON values that it takes, JSON values that it does not)
TABLE: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "equals": ("42", ["42"], [42, 42.0, ["42"], {"a": "42"}]),
    "contains": ({"contains": "4"}, ["42"], [42, 4, 4.0, ["4"], {"4": "4"}]),
    "starts_with": ({"starts_with": "4"}, ["42"], [42, 4.0, ["4"]]),
    "ends_with": ({"ends_with": "2"}, ["42"], [42, 2.0, ["2"]]),
    "glob": ({"glob": "4*"}, ["42"], [42, 4.0, ["4"]]),
    "one_of": ({"one_of": ["42", "7"]}, ["42", "7"], [42, 7.0, ["7"]]),
    "number": (
        {"number": 42, "tolerance": 5},
        [42, 42.0, 46.9, "42", "47"],
        [47.1, 1e300, [42], {"a": 42}],
    ),
    "integer": ({"integer": 42}, [42, 42.0, "42"], [42.5, 43, 1e300, [42], {"a": 42}]),
    "percentage": ({"percentage": 12.5}, [12.5, "12.5 %"], [0.125, 12, [12.5]]),
    "money": ({"money": 42}, [42, 42.0, "42.00"], [42.01, -42, [42], {"a": 42}]),
    "duration": ({"duration": 90}, ["90 s"], [90, 90.0, [90]]),
    "distance": ({"distance": 90}, ["90 m"], [90, 90.0, [90]]),
    "date": (
        {"date": "2024-05-06"},
        ["May 6, 2024"],
        [2024, 6, 1714953600, ["2024-05-06"], {"a": "2024-05-06"}],
    ),
    "time": ({"time": "14:30"}, ["14:30"], [1430, 14.5, ["14:30"]]),
    "coordinates": (
        {"coordinates": [48.5, 2]},
        [[48.5, 2], [48.5, 2.0], "48.5, 2"],
        [48.5, [2, 48.5], [48.5], [48.5, 2, 0], ["48.5", "2"], [95, 2]],
    ),
    "address": ({"address": "15213 Forbes"}, ["15213 Forbes"], [15213, ["15213", "Forbes"], []]),
    "boolean": ({"boolean": True}, [True, 1, 1.0, "yes"], [False, 0, 2, [True], {"a": True}]),
    "url": ({"url": "https://shop.test/7"}, ["https://shop.test/7"], [7, ["https://shop.test/7"]]),
    "path": ({"path": "out/*"}, ["out/7"], [7, ["out/7"], {"out": 7}]),
    "regex": ({"regex": "[2-4]+"}, [42, 42.0, "42"], [8, 4.5, [42], {"a": 42}]),
    "regex in a list": (
        {"regex": ".*bad.*"},
        [["a", "bad"], {"a": {"b": "bad"}}, "bad"],
        [["good"], {}],
    ),
    "fuzzy": (
        {"fuzzy": "Lumaflex Band", "threshold": 0.9},
        ["Lumaflex Bands"],
        [42, ["x"], {"a": "x"}],
    ),
    "any_of": ({"any_of": [{"integer": 42}, "x"]}, [42, 42.0, "42", "x"], [43, [42], {"a": 42}]),
    "all_of": (
        {"all_of": [{"number": 40, "tolerance": 5}, {"integer": 42}]},
        [42, 42.0, "42"],
        [41, [42]],
    ),
    "list": (
        {"list": [{"integer": 42}, "7"]},
        [[42, 7], [7.0, 42], ["7", "42"], "42,7"],
        [42, [42], [[42], 7], {"a": 42}],
    ),
    "table": (
        {"table": [["a", {"money": 42}]]},
        [[["a", 42]], [["a", 42.0]], "a,42"],
        [42, ["a", 42], [["a", 43]], {"a": 42}],
    ),
    "json": (
        {"json": "$.a", "value": 42},
        [{"a": 42}, {"a": 42.0}, '{"a":42}'],
        [42, {"a": "42"}, {"a": True}, [{"a": 42}]],
    ),
}


def test_every_form_and_every_mode_has_its_row() -> None:
    assert set(TABLE) - {"regex in a list"} == set(TYPES) | set(MODES)


@pytest.mark.parametrize("form", TABLE)
@pytest.mark.parametrize("where", ["fact", "value", "nested"])
def test_a_json_value_is_read_by_what_it_is(form: str, where: str) -> None:
    """As a fact of an event or a tool call, as what a probe or a file says, and deep in either."""
    spec, yes, no = TABLE[form]

    def takes(value: Any) -> bool:
        if where == "value":
            return ValueMatch.parse(spec, ("value",)).matches(value)
        path = "a" if where == "fact" else "a.0.b"
        return FactsMatch.parse({path: spec}, ("where",)).matches(
            {"a": value if where == "fact" else [{"b": value}]}
        )

    assert [value for value in yes if not takes(value)] == []
    assert [value for value in (*no, None) if takes(value)] == [], "null is nothing, to every form"
    if form != "boolean":
        assert not takes(True)
        assert not takes(False)


@pytest.mark.parametrize("spec", [{"integer": 40, "tolerance": 2}, {"number": 40, "tolerance": 2}])
def test_a_whole_number_has_a_tolerance_as_the_docs_say(spec: dict[str, Any]) -> None:
    wanted = TextMatch.parse(spec, ("text",))
    assert [n for n in range(30, 50) if wanted.matches_json(n)] == [38, 39, 40, 41, 42]
    assert [n for n in range(30, 50) if wanted.matches(str(n))] == [38, 39, 40, 41, 42]
    with pytest.raises(SpecError, match="a number from 0"):
        TextMatch.parse({**spec, "tolerance": -1}, ("text",))


def test_an_amount_in_another_locale_is_a_number_in_json() -> None:
    """1234.5 is no German writing, and 1.234 would be another amount."""
    wanted = FactsMatch.parse({"price": {"money": 1234.5, "locale": "de"}}, ("where",))
    assert wanted.matches({"price": 1234.5})
    assert wanted.matches({"price": "1.234,50"})
    assert not wanted.matches({"price": "1234.5"})
    assert not FactsMatch.parse({"price": {"money": 12.5, "currency": "EUR"}}, ("where",)).matches(
        {"price": 12.5}
    )


def called(tool: str, arguments: dict[str, Any]) -> Said:
    return "agent.tool_called", {"call": "c1", "tool": tool, "arguments": arguments}


M: dict[str, Any] = {"id": "m", "component": "tool"}
CALL: Said = called("buy", {"qty": 42, "price": 12.5, "when": {"day": 6}})
PAID: list[tuple[dict[str, Any], list[Said]]] = [
    (
        {"tool_called": {"tool": "buy", "arguments": {"qty": {"number": 42, "tolerance": 5}}}},
        [CALL],
    ),
    ({"tool_called": {"tool": "buy", "arguments": {"price": {"money": 12.5}}}}, [CALL]),
    (
        {"tool_called": {"tool": "buy", "arguments": {"when.day": {"any_of": [{"integer": 6}]}}}},
        [CALL],
    ),
    (
        {"observed": {"kind": "request.finished", "where": {"status": {"number": 200}}}},
        [finished("GET", "/a", 200)],
    ),
    (
        {"observed": {"kind": "file.created", "where": {"size": {"integer": 100, "tolerance": 5}}}},
        [created("a", size=104)],
    ),
]


@pytest.mark.parametrize(("when", "said"), PAID)
def test_a_typed_form_pays_where_the_number_itself_does(
    when: dict[str, Any], said: list[Said]
) -> None:
    assert worth(run(ruleset({**M, "when": when}, weights={"tool": 1}), *episode(said))) == [1.0]


def test_a_right_call_is_not_fined() -> None:
    fine = {"tool_called": {"tool": "buy", "arguments": {"qty": {"integer": 42}}, "wrong": True}}
    rules = ruleset({**M, "when": fine, "penalty": 0.5}, weights={"tool": 1})
    assert worth(run(rules, *episode([CALL]))) == [0.0]
    assert worth(run(rules, *episode([called("buy", {"qty": 41})]))) == [-0.5]


BODIES: list[tuple[Any, Any, bool]] = [
    ({"qty": "42"}, {"qty": 42}, True),
    ({"qty": {"number": 1e-7}}, {"qty": 1e-7}, True),
    ({"price": {"money": 12.5, "locale": "de"}}, {"price": 12.5}, True),
    ({"on": {"boolean": True}}, {"on": True}, True),
    ({"on": {"boolean": True}}, {"on": 0}, False),
    ({"tags": {"list": ["a", {"integer": 2}]}}, {"tags": [2, "a"]}, True),
    ({"tags": "a"}, {"tags": ["b", "a"]}, True),
    ({"tags": "a"}, {"tags": {"a": "a"}}, False),
    ({"qty": {"integer": 42}}, {"qty": None}, False),
]


@pytest.mark.parametrize(("spec", "sent", "is_so"), BODIES)
def test_a_body_s_numbers_are_numbers(spec: Any, sent: Any, is_so: bool) -> None:
    body = {"text": orjson.dumps(sent).decode(), "mime": "application/json"}
    assert BodyMatch.parse(spec, ("body",)).matches(body) is is_so


def test_a_state_says_one_also_as_1_0() -> None:
    """JSON has one type of number; a text is none."""
    for written in ("1", "1.0"):
        wanted = StateMatch.parse([{"path": "$.n", "value": orjson.loads(written)}], ("facts",))
        assert [
            wanted.share({"text": f'{{"n": {said}}}'}) for said in ("1", "1.0", '"1"', "true")
        ] == [1, 1, 0, 0]


def test_a_lenient_text_is_not_empty_for_a_nought() -> None:
    wanted = ContentMatch.parse([{"name": "n", "is": {"string": ["0"]}}], ("body",))
    assert wanted.holds({"n": 0})
    assert not wanted.holds({"n": ""})
    assert not wanted.holds({"n": None})
