"""What one function of an OSWorld evaluator becomes here: a condition, what it needs, and its
kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from detectors.model.json_value import JsonObject, JsonValue

HOME = "/home/user/"
"""The agent's home in OSWorld's machine; ours is the watched folder with the label ``home``."""
KINDS = ("event", "file", "probe", "external")
"""What decides: what the sources see anyway, the readers of files, a probe of the task, or nothing
here."""
BUDGET_MS = 5000


class ExternalError(Exception):
    """Nothing here can judge it; carries why."""


@dataclass(frozen=True, slots=True)
class EvaluatorPart:
    """One function's condition. ``probe``: what must be asked for it, without its id."""

    kind: str
    when: JsonObject
    probe: JsonObject | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluatorCall:
    """One function with its getters, as the evaluator has them. ``gold``: facts of expected files
    by their name, as `agentd read` prints them; ``probe``: the id that a probe of this call gets.
    """

    function: str
    result: JsonObject
    expected: JsonObject
    options: JsonObject
    probe: str
    gold: Callable[[str], JsonObject | None]

    @property
    def rules(self) -> JsonObject:
        """The rule that the task carries. Raises `ExternalError` where it is something else."""
        if self.expected.get("type") != "rule":
            raise ExternalError(f"expected of type {self.expected.get('type')}")
        rules = self.expected.get("rules", {})
        if not isinstance(rules, Mapping):
            raise ExternalError(f"rules that are {type(rules).__name__} and no object")
        return rules

    def require_getter(self, *types: str) -> None:
        """Make sure that the result comes from one of these getters. Raises `ExternalError`."""
        if self.result.get("type") not in types:
            raise ExternalError(f"result of type {self.result.get('type')}")

    def file(self) -> str:
        """The result file's path below the home. Raises `ExternalError`."""
        self.require_getter("vm_file")
        return below(self.result.get("path"))

    def reference(self) -> JsonObject | None:
        """The facts of the expected file; None where nobody gave them. Raises `ExternalError`."""
        if self.expected.get("type") not in ("cloud_file", "vm_file"):
            raise ExternalError(f"expected of type {self.expected.get('type')}")
        names = self.expected.get("dest") or Path(str(self.expected.get("path"))).name
        return self.gold(str(single(names)))


def required_value(rules: JsonObject, name: str) -> JsonValue:
    """A rule's value. Raises `ExternalError` where it is not there: nothing would be asked for."""
    value = rules.get(name)
    if value is None:
        raise ExternalError(f"it asks for nothing: no {name}")
    return value


def single(value: JsonValue) -> JsonValue:
    """``value``, or the only item of a list of one. Raises `ExternalError`."""
    if not isinstance(value, list):
        return value
    if len(value) != 1:
        raise ExternalError(f"{len(value)} files at once")
    only: JsonValue = value[0]
    return only


def below(path: JsonValue) -> str:
    """A path of OSWorld's machine as one below the watched home. Raises `ExternalError`."""
    place = str(single(path))
    is_pattern = "*" in place or "?" in place
    if not place.startswith(HOME) or is_pattern or ".." in place.split("/"):
        raise ExternalError(f"{place} lies outside {HOME}")
    return place.removeprefix(HOME)


def all_of(parts: Sequence[JsonObject]) -> JsonObject:
    """All at the same time; a single one is itself. Raises `ExternalError` for nothing."""
    if not parts:
        raise ExternalError("it asks for nothing")
    return parts[0] if len(parts) == 1 else {"all_of": {"holding": True, "of": list(parts)}}


def none_of(parts: Sequence[JsonObject]) -> list[JsonObject]:
    """None of them, as parts of `all_of`."""
    return [{"none_of": list(parts)}] if parts else []


def refuse_facts(
    parts: Sequence[JsonObject], path: str, format: str | None = None
) -> list[JsonObject]:
    """None of these facts of a file, which must be there and be read whole: what was not read may
    say them."""
    if not parts:
        return []
    more = {} if format is None else {"format": format}
    return [*none_of(parts), file_rule("file_is", path, whole=True, **more)]


def file_rule(rule: str, path: str, **more: JsonValue) -> JsonObject:
    """A rule about what stands in a file below the home."""
    return {rule: {"path": path, "root": "home", **more}}


def text(said: JsonValue) -> str:
    """A text that must be all that is said; one of nothing but blanks is told by its emptiness."""
    return str(said).strip()


def begins(pattern: JsonValue, *, ignore_case: bool = False) -> JsonObject:
    """A pattern that the text begins with, as Python's ``match`` has it."""
    begun: JsonObject = {"regex": f"(?:{pattern})(?s:.*)"}
    return {**begun, "ignore_case": True} if ignore_case else begun


def somewhere(pattern: JsonValue) -> JsonObject:
    """A pattern that the text holds, as Python's ``search`` has it."""
    return {"regex": f"(?s:.*)(?:{pattern})(?s:.*)"}
