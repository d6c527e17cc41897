"""The preset ``tools``: asymmetric pay for tool calls, written out as milestones before anything
else reads the task.

tools:
  expected: [{tool: search, arguments: {q: {contains: lamp}}}]
  schemas: {search: {type: object, required: [q]}, buy: {type: object}}
  pay: {which: {right: 1.5, wrong: -0.5}}

When to call, which tool, how (syntax, execution, arguments), and the end: small penalties, a large
final success.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from detectors.matchers import FactsMatch
from detectors.model.errors import SpecError
from detectors.model.validation import Path, TaskReader, is_mapping, is_number, is_text
from detectors.sdk.arguments import SchemaMatch

RANGES: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "when": {"right": (0.5, 1.5), "no_call": (0.3, 1.0), "wrong": (-0.2, -0.2)},
    "which": {"right": (0.5, 2.0), "wrong": (-0.7, -0.3)},
    "syntax": {"right": (0.3, 1.0), "other": (0.3, 1.0), "wrong": (-1.0, -1.0)},
    "execution": {"right": (0.5, 1.0), "wrong": (-2.0, -1.0)},
    "arguments": {"right": (0.5, 2.0), "wrong": (-1.5, -0.5)},
    "final": {"right": (8.0, 15.0), "wrong": (-1.0, -0.3)},
}
"""What the literature pays, lowest and highest; beyond it only with ``free: true``."""

DEFAULT: Mapping[str, Mapping[str, float]] = {
    "when": {"right": 1.0, "no_call": 1.0, "wrong": -0.2},
    "which": {"right": 1.5, "wrong": -0.5},
    "syntax": {"right": 1.0, "other": 0.5, "wrong": -1.0},
    "execution": {"right": 1.0, "wrong": -1.0},
    "arguments": {"right": 1.0, "wrong": -0.5},
    "final": {"right": 10.0, "wrong": -0.5},
}
FLOOR = -5.0
"""The penalty floor of a task with the preset, unless it gives its own."""
TIMES = 10
"""How often one mistake is punished."""
PREFIX = "tools/"
"""Begins the ids of the milestones that the preset writes."""
MAX_ID_LENGTH = 64
_MIN_NAME_LENGTH = MAX_ID_LENGTH - len("execution.")
"""How much of a tool's name is left in the longest of its ids."""
_ANY_ANSWER = {"answer_matches": {"text": {"glob": "*"}}}

Milestones = Iterator[dict[str, Any]]


def expand(read: TaskReader, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The task's JSON with ``tools`` written out; problems go to ``read``."""
    rest = {key: value for key, value in spec.items() if key != "tools"}
    own = spec["tools"]
    if not is_mapping(own):
        read.note(("tools",), own, "an object with expected, and schemas, pay, free if wanted")
        return rest
    read.unknown(own, frozenset(("expected", "schemas", "pay", "free")), ("tools",))
    expected, schemas, pay = _expected(read, own), _schemas(read, own), _pay(read, own)
    if read.problems:
        return rest
    mine, weights = rest.get("milestones", []), rest.get("weights", {})
    is_ours_alone = "outcome" not in rest and is_mapping(weights) and "tool" not in weights
    if not isinstance(mine, list) or not is_ours_alone:
        read.note(
            ("tools",), "…", "no weights.tool and no outcome beside it: the preset gives both"
        )
        return rest
    _check_components(read, mine)
    preset = list(_milestones(expected, schemas, pay))
    return {
        **rest,
        "milestones": [*mine, *preset],
        "weights": {**weights, "tool": sum(m.get("weight", 0.0) for m in preset)},
        "outcome": {"success": pay["final"]["right"], "failure": pay["final"]["wrong"]},
        "penalty_floor": rest.get("penalty_floor", FLOOR),
    }


def _check_components(read: TaskReader, milestones: list[Any]) -> None:
    """Refuse milestones of the task's own in the component that the preset weighs."""
    expected = "another component: `tools` weighs this one by itself"
    for n, m in enumerate(milestones):
        if is_mapping(m) and m.get("component") == "tool" and "penalty" not in m:
            read.note(("milestones", n, "component"), "tool", expected)


def _expected(read: TaskReader, own: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    path: Path = ("tools", "expected")
    found = own.get("expected")
    if not isinstance(found, list) or len(found) > 64:
        read.note(
            path, found, "a list of at most 64 calls {tool, arguments?}; empty: no call is needed"
        )
        return []
    for n, call in enumerate(found):
        if (
            not is_mapping(call)
            or not is_text(call.get("tool"))
            or set(call) - {"tool", "arguments"}
        ):
            read.note((*path, n), call, "{tool, arguments?}")
        elif "arguments" in call:
            read.attempt(FactsMatch.parse, call["arguments"], (*path, n, "arguments"))
    return found


def _schemas(read: TaskReader, own: Mapping[str, Any]) -> Mapping[str, Any]:
    found = own.get("schemas", {})
    if not is_mapping(found):
        read.note(("tools", "schemas"), found, "an object of tools and their JSON Schemas")
        return {}
    for name, schema in found.items():
        read.attempt(SchemaMatch.parse, schema, ("tools", "schemas", name))
    return found  # type: ignore[no-any-return]


def _pay(read: TaskReader, own: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    path: Path = ("tools", "pay")
    given = read.get(own, "pay", ("tools",), is_mapping, f"an object with {', '.join(RANGES)}", {})
    free = read.get(own, "free", ("tools",), lambda v: isinstance(v, bool), "true or false", False)
    read.unknown(given, frozenset(RANGES), path)
    pay = {facet: dict(values) for facet, values in DEFAULT.items()}
    for facet, paid in pay.items():
        values = read.get(
            given, facet, path, is_mapping, f"an object with {', '.join(RANGES[facet])}", {}
        )
        read.unknown(values, frozenset(RANGES[facet]), (*path, facet))
        for side in set(values) & set(RANGES[facet]):
            try:
                paid[side] = _value(values[side], RANGES[facet][side], free, (*path, facet, side))
            except SpecError as error:
                read.problems.append(error)
    return pay


def _value(value: Any, limits: tuple[float, float], free: bool, path: Path) -> float:
    low, high = limits
    positive = high > 0
    if not is_number(value) or (value <= 0 if positive else value >= 0):
        raise SpecError(path, value, f"a number {'above' if positive else 'below'} 0")
    if not free and not low <= value <= high:
        raise SpecError(
            path, value, f"a number from {low:g} to {high:g}, or `free: true` beside it"
        )
    return float(value)


def _milestones(
    expected: list[Mapping[str, Any]],
    schemas: Mapping[str, Any],
    pay: Mapping[str, Mapping[str, float]],
) -> Milestones:
    wanted = Counter(call["tool"] for call in expected)
    names = _names({*wanted, *schemas})
    yield from _conditions(bool(expected), pay["when"])
    for tool, times in sorted(wanted.items()):
        name, which = names[tool], {"tool_called": {"tool": tool}}
        yield _right(f"which.{name}", which, pay["which"]["right"], times)
        yield _right(
            f"execution.{name}", {"tool_returned": {"tool": tool}}, pay["execution"]["right"], times
        )
        yield _wrong(
            f"failed.{name}",
            {"tool_returned": {"tool": tool, "ok": False}},
            pay["execution"]["wrong"],
        )
    if wanted:
        others = {"tool_called": {"other_than": {"one_of": sorted(wanted)}}}
        yield _wrong("other", others, pay["which"]["wrong"])
    yield from _syntax(wanted, schemas, names, pay["syntax"])
    for n, call in enumerate(expected):
        if "arguments" in call:
            asked = {"tool": call["tool"], "arguments": call["arguments"]}
            yield _right(f"arguments.{n}", {"tool_called": asked}, pay["arguments"]["right"])
            if wanted[call["tool"]] == 1:
                # Of several calls with unlike arguments none is wrong by itself.
                yield _wrong(
                    f"odd-arguments.{n}",
                    {"tool_called": {**asked, "wrong": True}},
                    pay["arguments"]["wrong"],
                )


def _conditions(needed: bool, pay: Mapping[str, float]) -> Milestones:
    called: dict[str, Any] = {"tool_called": {}}
    silent = {"all_of": {"holding": True, "of": [{"none_of": [called]}, _ANY_ANSWER]}}
    yield _right("when", called if needed else silent, pay["right" if needed else "no_call"])
    yield {
        **_wrong("not-when", silent if needed else called, pay["wrong"]),
        "repeat": 1 if needed else TIMES,
    }


def _syntax(
    wanted: Counter[str],
    schemas: Mapping[str, Any],
    names: Mapping[str, str],
    pay: Mapping[str, float],
) -> Milestones:
    others = []
    for tool, schema in sorted(schemas.items()):
        called = {"tool_called": {"tool": tool, "schema": schema}}
        if tool in wanted:
            yield _right(f"syntax.{names[tool]}", called, pay["right"], wanted[tool])
        else:
            others.append(called)
        malformed = {"tool_called": {"tool": tool, "schema": schema, "wrong": True}}
        yield _wrong(f"malformed.{names[tool]}", malformed, pay["wrong"])
    if others:
        yield _right("syntax-of-others", {"any_of": others}, pay["other"])


def _right(name: str, when: Any, worth: float, times: int = 1) -> dict[str, Any]:
    more = {"repeat": times} if times > 1 else {}
    return {
        "id": f"{PREFIX}{name[:MAX_ID_LENGTH]}",
        "component": "tool",
        "weight": worth * times,
        "when": when,
        **more,
    }


def _wrong(name: str, when: Any, worth: float) -> dict[str, Any]:
    return {
        "id": f"{PREFIX}{name[:MAX_ID_LENGTH]}",
        "component": "tool",
        "penalty": -worth,
        "repeat": TIMES,
        "when": when,
    }


def _names(tools: set[str]) -> dict[str, str]:
    """Each tool's name as part of a milestone's id: other letters become underscores; of several
    that are then alike, as far as an id goes, those after the first get a number."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    plain = {
        tool: "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in tool)
        for tool in tools
    }
    for tool in sorted(tools, key=lambda tool: (plain[tool] != tool, tool)):
        name, number = plain[tool], 1
        while name[:_MIN_NAME_LENGTH] in taken:
            number += 1
            tail = f"-{number}"
            name = plain[tool][: _MIN_NAME_LENGTH - len(tail)] + tail
        taken.add(name[:_MIN_NAME_LENGTH])
        found[tool] = name
    return found
