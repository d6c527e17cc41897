"""Conditions: a rule with its arguments, or a composite over further conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from detectors.model.errors import SpecError
from detectors.model.json_types import JsonType, Schema, object_schema
from detectors.model.optional_values import drop_keys
from detectors.model.types import Condition, Json
from detectors.model.validation import NotedError, Path, TaskReader
from detectors.sdk.arguments import declared_arguments, read_args
from detectors.sdk.registry import Composite, Rule, rules
from detectors.sdk.tier_rules import NAMES as JUDGED
from detectors.task.semantics import check_parts

TOP = ("goal", *JUDGED)
"""Rules that are the whole of a milestone's `when`, or nothing."""
MAX_DEPTH = 16


@dataclass(frozen=True)
class ConditionType(JsonType[Condition]):
    """A condition: an object with one key, the rule's name. ``is_top``: it is the whole of a
    milestone's `when`."""

    is_top: bool
    ref: str | None = None
    expected: str = "an object with one key, the rule's name"

    def read(self, reader: TaskReader, value: Json, path: Path) -> Condition:
        return self._read(reader, value, path, depth=0)

    def write(self, value: Condition) -> dict[str, Json]:
        return condition_to_json(value)

    def definition(self) -> Schema:
        body = {name: _rule_schema(rules()[name]) for name in self._rules()}
        return {**object_schema(body), "minProperties": 1, "maxProperties": 1}

    def _rules(self) -> list[str]:
        return [name for name in rules() if self.is_top or name not in TOP]

    def _read(self, reader: TaskReader, value: Json, path: Path, depth: int) -> Condition:
        if not isinstance(value, Mapping) or len(value) != 1:
            raise SpecError(path, value, self.expected)
        name, body = next(iter(value.items()))
        if name not in rules() or (name in TOP and not self.is_top):
            close = get_close_matches(str(name), self._rules(), n=1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            expected = f"a rule{meant}; there are {', '.join(self._rules())}"
            raise SpecError((*path, str(name)), name, expected)
        if depth > MAX_DEPTH:
            raise SpecError(path, name, f"conditions nested at most {MAX_DEPTH} deep")
        body = {"of": body} if isinstance(body, list) else {} if body is None else body
        return _read_rule(reader, name, body, (*path, name), depth)


CONDITION = ConditionType(is_top=False, ref="condition")
TOP_CONDITION = ConditionType(is_top=True, ref="top")


def condition_to_json(condition: Condition) -> dict[str, Json]:
    """A condition in its canonical form, as a task has it."""
    body: dict[str, Json] = dict(condition.args)
    if condition.rule == "goal" and len(condition.of) == 1:
        body["when"] = condition_to_json(condition.of[0])
    elif condition.of:
        body["of"] = [condition_to_json(part) for part in condition.of]
    return {condition.rule: body}


def _read_rule(reader: TaskReader, name: str, body: Json, path: Path, depth: int) -> Condition:
    """The rule ``name`` with its arguments and parts. Each part's problems are noted."""
    rule, args = rules()[name], body
    parts: list[Condition] = []
    listed: list[tuple[Path, Json]] = []
    if isinstance(rule, Composite) and isinstance(body, Mapping):
        keys = ("when", "of") if name == "goal" else ("of",)
        args = drop_keys(body, keys)
        listed = _listed_parts(reader, name, body, path)
        for where, part in listed:
            with reader.noting():
                parts.append(CONDITION._read(reader, part, where, depth + 1))
    read_args(reader, rule.args, args, path)
    if len(parts) < len(listed):
        raise NotedError
    if parts:
        check_parts(reader, name, args, parts, path)
    return Condition(name, dict(args), tuple(parts))


def _listed_parts(
    reader: TaskReader, name: str, body: Mapping[str, Json], path: Path
) -> list[tuple[Path, Json]]:
    """The conditions within a composite and where they stand: `of`, or of a goal its `when`."""
    if name == "goal" and not ("of" in body and "when" not in body):
        if "of" in body:
            reader.note((*path, "of"), body["of"], "when or of, not both")
        elif "when" not in body and not body.get("requires"):
            reader.note(path, body, "requires: [milestone ids], or when: a condition, or both")
        return [((*path, "when"), body["when"])] if "when" in body else []
    parts = body.get("of", [])
    if not isinstance(parts, list) or not parts:
        reader.note((*path, "of"), parts, "a list of at least one condition")
        return []
    return [((*path, "of", n), part) for n, part in enumerate(parts)]


def _rule_schema(rule: Rule | Composite) -> Schema:
    schema = declared_arguments(rule.args).definition()
    doc = {"description": " ".join(rule.doc.split("\n\n")[0].split())}
    if isinstance(rule, Rule):
        return {**schema, **doc}
    properties, required = schema["properties"], schema.get("required", [])
    parts = {"type": "array", "minItems": 1, "items": CONDITION.schema()}
    if rule.name == "goal":
        of_goal = {"when": CONDITION.schema(), "of": parts}
        return {**object_schema({**properties, **of_goal}), **doc}
    in_full = object_schema({"of": parts, **properties}, ["of", *required])
    return {"anyOf": [parts, in_full], **doc}
