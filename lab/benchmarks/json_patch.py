"""JSON Patch (RFC 6902) over JSON Pointer (RFC 6901): as much of it as describes a change."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from detectors.model.json_value import JsonObject, JsonValue, require_object, require_text


class PatchError(ValueError):
    """An operation can't be done; the message says which, and where it points."""


def apply_patch(document: JsonValue, patch: Sequence[JsonObject]) -> JsonValue:
    """A copy of ``document`` with the operations done in order. Raises `PatchError`."""
    holder = {"": copy.deepcopy(document)}
    for operation in patch:
        try:
            _apply(holder, operation)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            about = {key: operation.get(key) for key in ("op", "from", "path")}
            raise PatchError(f"{about}: {type(error).__name__} {error}") from None
    return holder[""]


def _apply(holder: dict[str, JsonValue], operation: JsonObject) -> None:
    """Change ``holder``, whose member holds the document, by one operation of RFC 6902. Raises
    LookupError or ValueError for what can't be applied."""
    kind, path = operation["op"], _steps(operation, "path")
    match kind:
        case "add":
            _add(holder, path, operation["value"])
        case "replace":
            _remove(holder, path)
            _add(holder, path, operation["value"])
        case "remove":
            _remove(holder, path)
        case "copy":
            _add(holder, path, _resolve(holder, _steps(operation, "from")))
        case "move":
            source = _steps(operation, "from")
            value = _resolve(holder, source)
            _remove(holder, source)
            _add(holder, path, value)
        case "test" if _resolve(holder, path) == operation["value"]:
            pass
        case _:
            raise ValueError("wanted add, remove, replace, move, copy, or a test that holds")


def _steps(operation: JsonObject, name: str) -> list[str]:
    pointer = require_text(operation[name], name)
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")]


def _resolve(holder: dict[str, JsonValue], steps: Sequence[str]) -> JsonValue:
    """Return what a JSON Pointer's ``steps`` lead to. Raises LookupError or ValueError where there
    is nothing."""
    value: JsonValue = holder
    for step in steps:
        value = value[int(step)] if isinstance(value, list) else require_object(value, step)[step]
    return value


def _parent(
    holder: dict[str, JsonValue], steps: Sequence[str]
) -> dict[str, JsonValue] | list[JsonValue]:
    """What holds the value that ``steps`` lead to."""
    parent = _resolve(holder, steps[:-1])
    if not isinstance(parent, dict | list):
        raise TypeError(f"expected an object or a list, got {parent!r:.80}")
    return parent


def _add(holder: dict[str, JsonValue], steps: Sequence[str], value: JsonValue) -> None:
    """Set a member, or insert a copy of ``value`` before an item; "-" is the end of a list. Raises
    IndexError beyond it."""
    parent, last = _parent(holder, steps), steps[-1]
    value = copy.deepcopy(value)
    if isinstance(parent, dict):
        parent[last] = value
        return
    place = len(parent) if last == "-" else int(last)
    if place > len(parent):
        raise IndexError(f"{place} of {len(parent)}")
    parent.insert(place, value)


def _remove(holder: dict[str, JsonValue], steps: Sequence[str]) -> None:
    parent, last = _parent(holder, steps), steps[-1]
    if isinstance(parent, dict):
        del parent[last]
    else:
        del parent[int(last)]
