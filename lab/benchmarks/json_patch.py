"""JSON Patch (RFC 6902) over JSON Pointer (RFC 6901): as much of it as describes a change."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any


class PatchError(ValueError):
    """An operation can't be done; the message says which, and where it points."""


def patched(document: object, patch: Sequence[Mapping[str, Any]]) -> Any:
    """A copy of ``document`` with the operations done in order. Raises `PatchError`."""
    holder = {"": copy.deepcopy(document)}
    for operation in patch:
        try:
            _apply(holder, operation)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            about = {key: operation.get(key) for key in ("op", "from", "path")}
            raise PatchError(f"{about}: {type(error).__name__} {error}") from None
    return holder[""]


def _apply(holder: Any, operation: Mapping[str, Any]) -> None:
    kind, path = operation["op"], _steps(operation["path"])
    match kind:
        case "add":
            _add(holder, path, copy.deepcopy(operation["value"]))
        case "replace":
            _remove(holder, path)
            _add(holder, path, copy.deepcopy(operation["value"]))
        case "remove":
            _remove(holder, path)
        case "copy":
            _add(holder, path, copy.deepcopy(_resolve(holder, _steps(operation["from"]))))
        case "move":
            source = _steps(operation["from"])
            value = copy.deepcopy(_resolve(holder, source))
            _remove(holder, source)
            _add(holder, path, value)
        case "test" if _resolve(holder, path) == operation["value"]:
            pass
        case _:
            raise ValueError("wanted add, remove, replace, move, copy, or a test that holds")


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")]


def _resolve(holder: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        holder = holder[int(step)] if isinstance(holder, list) else holder[step]
    return holder


def _add(holder: Any, steps: Sequence[str], value: Any) -> None:
    parent, last = _resolve(holder, steps[:-1]), steps[-1]
    if isinstance(parent, list):
        place = len(parent) if last == "-" else int(last)
        if place > len(parent):
            raise IndexError(f"{place} of {len(parent)}")
        parent.insert(place, value)
    else:
        parent[last] = value


def _remove(holder: Any, steps: Sequence[str]) -> None:
    parent, last = _resolve(holder, steps[:-1]), steps[-1]
    del parent[int(last) if isinstance(parent, list) else last]
