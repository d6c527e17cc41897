"""The preset for tool calls: the two worked trajectories, and what each mistake costs."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.model.errors import SpecError
from detectors.task.ruleset import Ruleset
from detectors.task.task_json import TaskError, task_from_json, task_to_json
from detectors.task.value_types import DEFAULT_PAY, PAY_RANGES
from tests.detectors.tables_language import called, returned
from tests.support.logs import Said, answered, episode, finished, ruleset, run, worth

SCHEMAS = {
    "search": {"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}},
    "calculator": {"type": "object", "required": ["sum"]},
}
GOAL = {
    "id": "done",
    "when": {"goal": {"when": {"request_accepted": {"method": "POST", "url": "/orders"}}}},
}
ORDER = finished("POST", "/orders", 201)


def tools(*, expected: Any = ({"tool": "search"},), **more: Any) -> Ruleset:
    preset = {"expected": list(expected), "schemas": SCHEMAS, **more}
    return ruleset(GOAL, weights={"goal": 0}, tools=preset)


def paid(rules: Ruleset, *steps: list[Said]) -> float:
    return round(sum(value or 0.0 for value in worth(run(rules, *episode(*steps)))), 9)


def test_the_first_worked_trajectory() -> None:
    """A call was right, the tool was not, its syntax was, nothing came of it, the task failed."""
    calls = [called("calculator", sum="1+1")], [returned()], [answered("2")]
    rewards = run(tools(), *episode(*calls))
    assert worth(rewards) == [1.0 - 0.5 + 0.5, 0.0, -0.5]
    assert paid(tools(), *calls) == 0.5


def test_the_second_worked_trajectory() -> None:
    """Call, tool, syntax and execution were right, and the task was done."""
    calls = [called("search", q="lamp")], [returned()], [ORDER, answered("done")]
    assert worth(run(tools(), *episode(*calls))) == [1.0 + 1.5 + 1.0, 1.0, 10.0]
    assert paid(tools(), *calls) == 14.5


FIND = {"tool": "search", "arguments": {"q": {"contains": "lamp"}}}
CASES: dict[str, tuple[list[Any], list[Said], float]] = {
    "nothing at all": ([FIND], [], -0.5),
    "answered without the call": ([FIND], [answered("2")], -0.2 - 0.5),
    "malformed": ([FIND], [called("search")], 1.0 + 1.5 - 1.0 - 0.5 - 0.5),
    "odd arguments": ([FIND], [called("search", q="table")], 1.0 + 1.5 + 1.0 - 0.5 - 0.5),
    "right arguments, failed": ([FIND], [called("search", q="a lamp"), returned(False)], 1.0 + 1.5 + 1.0 + 1.0 - 1.0 - 0.5),
    "the same call again": ([FIND], [called("search", q="lamp"), called("search", "c2", q="lamp")], 4.5 - 0.5),
    "two wanted, two made": ([FIND, {"tool": "search"}], [called("search", q="lamp"), called("search", "c2", q="x")], 1.0 + 3.0 + 2.0 + 1.0 - 0.5),
    "no call was needed": ([], [answered("2")], 1.0 - 0.5),
    "a call where none was needed": ([], [called("search", q="x"), answered("2")], -0.2 + 0.5 - 0.5),
    "wrong calls are punished as far as the floor": ([FIND], [called("rm", f"c{n}") for n in range(99)], 1.0 - 5.0 - 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_each_mistake_costs(name: str) -> None:
    """Beside what was right."""
    expected, said, total = CASES[name]
    assert paid(tools(expected=expected), said) == pytest.approx(total)


def test_values_lie_in_the_ranges_of_the_literature_unless_the_task_says_free() -> None:
    """The defaults do, too."""
    for facet, sides in DEFAULT_PAY.items():
        for side, value in sides.items():
            low, high = PAY_RANGES[facet][side]
            assert low <= value <= high, (facet, side)
    assert (
        paid(tools(pay={"which": {"right": 2.0}}), [called("search", q="x")])
        == 1.0 + 2.0 + 1.0 - 0.5
    )
    with pytest.raises(TaskError, match=r"a number from 0\.5 to 2"):
        tools(pay={"which": {"right": 3.0}})
    assert (
        paid(tools(pay={"which": {"right": 3.0}}, free=True), [called("search", q="x")])
        == 1.0 + 3.0 + 1.0 - 0.5
    )


@pytest.mark.parametrize("pays", [0.3, 1.0])
def test_a_task_that_needs_no_call_pays_less_for_making_none(pays: float) -> None:
    """From 0.3 to 1, where a call that is needed is worth 0.5 to 1.5."""
    own = tools(expected=(), pay={"when": {"no_call": pays, "right": 1.5}})
    assert paid(own, [answered("2")]) == pytest.approx(pays - 0.5)
    assert (
        paid(tools(pay={"when": {"no_call": pays, "right": 1.5}}), [called("search", q="x")])
        == 1.5 + 1.5 + 1 - 0.5
    )


@pytest.mark.parametrize("pays", [0.29, 1.01])
def test_beyond_it_only_where_the_task_says_free(pays: float) -> None:
    """As for all of the preset's values."""
    with pytest.raises(
        TaskError, match=r"pay\.when\.no_call: got .*, wanted a number from 0\.3 to 1"
    ):
        tools(expected=(), pay={"when": {"no_call": pays}})
    assert paid(
        tools(expected=(), pay={"when": {"no_call": pays}}, free=True), [answered("2")]
    ) == pytest.approx(pays - 0.5)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no list": ({"tools": {"expected": "search"}}, "a list of at most 64 calls"),
    "a call without tool": ({"tools": {"expected": [{"arguments": {}}]}}, r"expected\[0\]\.tool: got None, wanted this key"),
    "no schema": ({"tools": {"expected": [], "schemas": {"x": 3}}}, "a JSON Schema"),
    "a sign": ({"tools": {"expected": [], "pay": {"when": {"wrong": 1}}}}, "a number below 0"),
    "no such facet": ({"tools": {"expected": [], "pay": {"judge": {}}}}, "no such key"),
    "an outcome beside it": ({"tools": {"expected": []}, "outcome": {}}, "no outcome beside it"),
    "no goal": ({"tools": {"expected": []}, "milestones": [{"id": "a", "when": {"tool_called": {}}, "component": "ui"}]}, "a goal"),
    "weighed beside it": ({"tools": {"expected": []}, "milestones": [GOAL, {"id": "a", "component": "tool", "when": {"tool_called": {}}}]}, "another component"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused(name: str) -> None:
    """With its path."""
    more, wanted = BAD[name]
    with pytest.raises(TaskError, match=wanted) as refused:
        ruleset(**{"milestones": [GOAL], **more})
    assert all(isinstance(problem, SpecError) for problem in refused.value.problems)


def test_tools_of_like_names_are_told_apart() -> None:
    """Ids have fewer letters than names, and are shorter: each tool has its own, and pays for
    itself."""
    long = "a" * 70
    expected = [{"tool": name} for name in ("a b", "a_b", "a:b", long + "x", long + "y")]
    own = tools(expected=expected, schemas={"a/b": {"type": "object"}})
    ids = [m.id for m in own.task.milestones]
    assert "tools/which.a_b" in ids, "a name that needs no change has none"
    assert {"tools/which.a_b-2", "tools/malformed.a_b-3", "tools/which.a_b-4"} <= set(ids)
    assert max(len(part) for one in ids for part in one.split("/")) <= 64
    assert (
        paid(own, [called(call["tool"], f"c{n}") for n, call in enumerate(expected)])
        == 1.0 + 5 * 1.5 - 0.5
    )


def test_the_canonical_form_has_the_milestones_written_out() -> None:
    """So that nothing is paid that a reader of the task does not see."""
    task = tools(expected=[FIND]).task
    spec = task_to_json(task)
    assert "tools" not in spec
    assert {"tools/when", "tools/which.search", "tools/other"} <= {
        m["id"] for m in spec["milestones"]
    }
    assert task_from_json(spec) == task
