"""What an event holds only the beginning of: a condition that hangs on the rest is neither true nor
false."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from copy import copy
from typing import NamedTuple

from detectors.matchers import TextMatch
from detectors.matchers.facts import Wanted, is_as_wanted, value_at
from detectors.matchers.structures import JsonPath
from detectors.model.kinds.limits import LIMITS, READ_ENDS, FieldLimit, utf16_units
from detectors.model.kinds.shapes import Path
from detectors.model.types import Event, Json
from detectors.sdk.condition_reads import Read

CUT_OFF = "only the beginning of what is asked for was reported"
"""Why nobody knows what is asked of such an event."""


class Beginning(NamedTuple):
    """What stands at ``path`` may go on. ``deep``: so may whatever stands in it, and what is not
    there may be there. ``joined``: its ``text`` is made of a list's parts, of which some may have
    been left out."""

    path: Path
    deep: bool = False
    joined: bool = False


def find_beginnings(event: Event, places: Collection[Read]) -> tuple[Beginning, ...]:
    """Return what of the ``places`` in an event may go on beyond what is there."""
    limits = [limit for limit in LIMITS.get(event.kind, ()) if _is_read(limit.path, places)]
    return tuple(found for limit in limits for found in _beginnings(event.data, limit))


def _is_read(path: Path, places: Collection[Read]) -> bool:
    """Whether one of the places leads to the path, into it, or to what it is a part of."""
    return any(
        (place.deep or len(place.path) >= len(path)) and _leads(place.path, path)
        for place in places
    )


def _leads(one: Path, other: Path) -> bool:
    """Whether one of two paths is the beginning of the other; ``*`` is any step."""
    return all(a == b or "*" in (a, b) for a, b in zip(one, other, strict=False))


def _beginnings(data: Mapping[str, object], limit: FieldLimit) -> Iterator[Beginning]:
    for path in _expand(data, limit.path):
        value = value_at(data, path)
        if limit.longest is not None:
            if _length(value, limit.longest) >= limit.longest:
                yield Beginning(path)
            continue
        holder = value_at(data, path[:-1])
        if not isinstance(holder, Mapping):
            continue
        if holder.get("lost") is True or (limit.deep and holder.get("cut") is True):
            yield begin_deep(path, value, limit.parts)
        elif value is not None and holder.get("cut") is True:
            yield Beginning(path)


def begin_deep(path: Path, value: object, parts: Collection[str]) -> Beginning:
    """Make the beginning of the ``value`` at a path, in which all may go on; beside one of the
    ``parts`` its ``text`` is joined."""
    joined = isinstance(value, Mapping) and any(part in value for part in parts)
    return Beginning(path, deep=True, joined=joined)


def _expand(data: object, path: Path) -> Iterator[Path]:
    """Where in ``data`` the path leads; ``*``: to each item."""
    if "*" not in path:
        yield path
        return
    at = path.index("*")
    holder = value_at(data, path[:at])
    names: Collection[str] = ()
    if isinstance(holder, list | tuple):
        names = [str(number) for number in range(len(holder))]
    elif isinstance(holder, Mapping):
        names = list(holder)
    for name in names:
        yield from _expand(data, (*path[:at], name, *path[at + 1 :]))


def _length(value: object, longest: int) -> int:
    if isinstance(value, list | tuple):
        return len(value)
    if not isinstance(value, str) or 2 * len(value) < longest - 1:
        return 0
    return utf16_units(value) + 1  # half a letter at the end is lost


def hangs_on(steps: Path, data: object, beginnings: Collection[Beginning]) -> Beginning | None:
    """Return the beginning beyond which a path of keys and indices may lead; None where there is
    none, and what stands at the path is all."""
    for beginning in beginnings:
        length = len(beginning.path)
        if not _leads(steps, beginning.path):
            continue
        if len(steps) <= length or beginning.deep:
            return beginning
        items = value_at(data, beginning.path)
        is_there = isinstance(items, list | tuple) and steps[length].isdecimal()
        if isinstance(items, list | tuple) and not (
            is_there and int(steps[length][:7]) < len(items)
        ):
            return beginning
    return None


def judge_beginning(
    steps: Path, wanted: Wanted, value: object, beginning: Beginning
) -> bool | None:
    """Whether what is ``wanted`` stands at a path, of which ``value`` is the beginning; None where
    that hangs on the rest."""
    is_within = len(steps) > len(beginning.path)
    if value is None and (beginning.deep or is_within):
        return None
    if isinstance(value, str):
        is_joined = beginning.joined and steps[len(beginning.path) :] == ("text",)
        is_clipped = len(value) in READ_ENDS or is_joined
        is_whole = beginning.deep and is_within and not is_clipped
        return is_as_wanted(wanted, value) if is_whole else _judge_text_of(wanted, value)
    if isinstance(value, list | tuple | dict) and isinstance(wanted, TextMatch):
        return _judge_structure(wanted, value)
    return is_as_wanted(wanted, value)


def _judge_text_of(wanted: Wanted, text: str) -> bool | None:
    """Whether a text is as wanted, of which this is the beginning; None where that hangs on the
    rest."""
    return wanted.matches_beginning(text) if isinstance(wanted, TextMatch) else False


def _judge_structure(wanted: TextMatch, value: Json) -> bool | None:
    """The same of a list or an object: only what a path finds in its beginning is certain."""
    if wanted.typed is None:
        return False
    is_by_path = isinstance(wanted.typed, JsonPath) and not wanted.typed.every
    return True if is_by_path and is_as_wanted(wanted, value) else None


def judge_text(wanted: TextMatch, text: str, *, is_cut: bool) -> bool | None:
    """Whether a text is as wanted; None where that hangs on the rest of one that ``is_cut``."""
    return wanted.matches_beginning(text) if is_cut else wanted.matches(text)


def without(data: Mapping[str, object], paths: Collection[Path]) -> dict[str, object] | None:
    """Return the data without what stands at the ``paths``; None where one of them leads to an item
    of a list."""
    changed = dict(data)
    for path in paths:
        part: Json = changed
        for step in path[:-1]:
            key = int(step) if isinstance(part, list) else step
            part[key] = copy(part[key])
            part = part[key]
        if not isinstance(part, dict):
            return None
        part.pop(path[-1], None)
    return changed
