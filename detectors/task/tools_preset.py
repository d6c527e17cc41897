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

from detectors.model.optional_values import drop_keys
from detectors.model.types import Json
from detectors.model.validation import TaskReader
from detectors.task.language import TOOLS, ToolsPreset
from detectors.task.value_types import DEFAULT_PAY, PAY_RANGES

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

Milestones = Iterator[dict[str, Json]]


def expand(reader: TaskReader, spec: Mapping[str, Json]) -> dict[str, Json]:
    """The task's JSON with ``tools`` written out; problems go to ``reader``."""
    rest = drop_keys(spec, ("tools",))
    with reader.noting():
        preset = TOOLS.read(reader, spec["tools"], ("tools",))
        pay = _pay(reader, preset)
    if reader.problems:
        return rest
    own, weights = rest.get("milestones", []), rest.get("weights", {})
    is_ours_alone = "outcome" not in rest and isinstance(weights, Mapping) and "tool" not in weights
    if not isinstance(own, list) or not is_ours_alone:
        expected = "no weights.tool and no outcome beside it: the preset gives both"
        reader.note(("tools",), "…", expected)
        return rest
    _check_components(reader, own)
    made = list(_milestones(preset, pay))
    return {
        **rest,
        "milestones": [*own, *made],
        "weights": {**weights, "tool": sum(m.get("weight", 0.0) for m in made)},
        "outcome": {"success": pay["final"]["right"], "failure": pay["final"]["wrong"]},
        "penalty_floor": rest.get("penalty_floor", FLOOR),
    }


def _check_components(reader: TaskReader, milestones: list[Json]) -> None:
    """Refuse milestones of the task's own in the component that the preset weighs."""
    expected = "another component: `tools` weighs this one by itself"
    for n, m in enumerate(milestones):
        if isinstance(m, Mapping) and m.get("component") == "tool" and "penalty" not in m:
            reader.note(("milestones", n, "component"), "tool", expected)


def _pay(reader: TaskReader, preset: ToolsPreset) -> dict[str, dict[str, float]]:
    """What each side of each facet pays, with the defaults; what lies beyond the literature is
    noted, unless the preset is free."""
    for facet, sides in preset.pay.items():
        for side, value in sides.items():
            low, high = PAY_RANGES[facet][side]
            if not preset.free and not low <= value <= high:
                expected = f"a number from {low:g} to {high:g}, or `free: true` beside it"
                reader.note(("tools", "pay", facet, side), value, expected)
    return {facet: {**values, **preset.pay.get(facet, {})} for facet, values in DEFAULT_PAY.items()}


def _milestones(preset: ToolsPreset, pay: Mapping[str, Mapping[str, float]]) -> Milestones:
    schemas = preset.schemas
    wanted = Counter(call.tool for call in preset.expected)
    names = _names({*wanted, *schemas})
    yield from _conditions(bool(wanted), pay["when"])
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
    for n, call in enumerate(preset.expected):
        if call.arguments is not None:
            asked = {"tool": call.tool, "arguments": call.arguments}
            yield _right(f"arguments.{n}", {"tool_called": asked}, pay["arguments"]["right"])
            if wanted[call.tool] == 1:
                # Of several calls with unlike arguments none is wrong by itself.
                yield _wrong(
                    f"odd-arguments.{n}",
                    {"tool_called": {**asked, "wrong": True}},
                    pay["arguments"]["wrong"],
                )


def _conditions(needed: bool, pay: Mapping[str, float]) -> Milestones:
    called: dict[str, Json] = {"tool_called": {}}
    silent = {"all_of": {"holding": True, "of": [{"none_of": [called]}, _ANY_ANSWER]}}
    yield _right("when", called if needed else silent, pay["right" if needed else "no_call"])
    yield {
        **_wrong("not-when", silent if needed else called, pay["wrong"]),
        "repeat": 1 if needed else TIMES,
    }


def _syntax(
    wanted: Counter[str],
    schemas: Mapping[str, Json],
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


def _right(name: str, when: Json, worth: float, times: int = 1) -> dict[str, Json]:
    more = {"repeat": times} if times > 1 else {}
    return {
        "id": f"{PREFIX}{name[:MAX_ID_LENGTH]}",
        "component": "tool",
        "weight": worth * times,
        "when": when,
        **more,
    }


def _wrong(name: str, when: Json, worth: float) -> dict[str, Json]:
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
