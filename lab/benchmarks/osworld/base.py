"""What one function of an OSWorld evaluator becomes here: a condition, what it needs, and its
kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    when: Mapping[str, Any]
    probe: Mapping[str, Any] | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluatorCall:
    """One function with its getters, as the evaluator has them. ``gold``: facts of expected files
    by their name, as `agentd read` prints them; ``probe``: the id that a probe of this call gets.
    """

    function: str
    result: Mapping[str, Any]
    expected: Mapping[str, Any]
    options: Mapping[str, Any]
    probe: str
    gold: Callable[[str], Mapping[str, Any] | None]

    @property
    def rules(self) -> Mapping[str, Any]:
        """The rule that the task carries. Raises `ExternalError` where it is something else."""
        if self.expected.get("type") != "rule":
            raise ExternalError(f"expected of type {self.expected.get('type')}")
        found = self.expected.get("rules", {})
        if not isinstance(found, Mapping):
            raise ExternalError(f"rules that are {type(found).__name__} and no object")
        return found

    def require_getter(self, *types: str) -> None:
        """Make sure that the result comes from one of these getters. Raises `ExternalError`."""
        if self.result.get("type") not in types:
            raise ExternalError(f"result of type {self.result.get('type')}")

    def file(self) -> str:
        """The result file's path below the home. Raises `ExternalError`."""
        self.require_getter("vm_file")
        return below(self.result.get("path"))

    def reference(self) -> Mapping[str, Any] | None:
        """The facts of the expected file; None where nobody gave them. Raises `ExternalError`."""
        if self.expected.get("type") not in ("cloud_file", "vm_file"):
            raise ExternalError(f"expected of type {self.expected.get('type')}")
        names = self.expected.get("dest") or Path(str(self.expected.get("path"))).name
        return self.gold(str(single(names)))


def required(rules: Mapping[str, Any], name: str) -> Any:
    """A rule's value. Raises `ExternalError` where it is not there: nothing would be asked for."""
    value = rules.get(name)
    if value is None:
        raise ExternalError(f"it asks for nothing: no {name}")
    return value


def single(value: Any) -> Any:
    """``value``, or the only item of a list of one. Raises `ExternalError`."""
    if not isinstance(value, list):
        return value
    if len(value) != 1:
        raise ExternalError(f"{len(value)} files at once")
    return value[0]


def below(path: Any) -> str:
    """A path of OSWorld's machine as one below the watched home. Raises `ExternalError`."""
    path = str(single(path))
    if not path.startswith(HOME) or ".." in path.split("/") or "*" in path or "?" in path:
        raise ExternalError(f"{path} lies outside {HOME}")
    return str(path).removeprefix(HOME)


def all_of(parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """All at the same time; a single one is itself. Raises `ExternalError` for nothing."""
    if not parts:
        raise ExternalError("it asks for nothing")
    return parts[0] if len(parts) == 1 else {"all_of": {"holding": True, "of": list(parts)}}


def none_of(parts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """None of them, as parts of `all_of`."""
    return [{"none_of": list(parts)}] if parts else []


def refused(
    parts: Sequence[Mapping[str, Any]], path: str, format: str | None = None
) -> list[Mapping[str, Any]]:
    """None of these facts of a file, which must be there and be read whole: what was not read may
    say them."""
    more = {} if format is None else {"format": format}
    return [*none_of(parts), read("file_is", path, whole=True, **more)] if parts else []


def read(rule: str, path: str, **more: Any) -> dict[str, Any]:
    """A rule about what stands in a file below the home."""
    return {rule: {"path": path, "root": "home", **more}}


def text(said: Any) -> str:
    """A text that must be all that is said; one of nothing but blanks is told by its emptiness."""
    return str(said).strip()


def begins(pattern: Any, *, ignore_case: bool = False) -> dict[str, Any]:
    """A pattern that the text begins with, as Python's ``match`` has it."""
    return {"regex": f"(?:{pattern})(?s:.*)", **({"ignore_case": True} if ignore_case else {})}


def somewhere(pattern: Any) -> dict[str, Any]:
    """A pattern that the text holds, as Python's ``search`` has it."""
    return {"regex": f"(?s:.*)(?:{pattern})(?s:.*)"}
