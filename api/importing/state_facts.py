"""What is different in a solved state, as facts that a rule can look for: by the rows' own ids, not by their places.

An application may add a row at another end, write another time of day, or count otherwise than the benchmark's own
solution: what says only *when* or *how often* something was done (time stamps, counters, ids that were just given) is
left out, unless nothing else is left. What holds at the start is no fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from detectors.codec import canonical
from detectors.matchers import StateMatch

Fact = dict[str, Any]
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_IDS = ("id", "iid", "email", "code", "key", "name")
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Found(NamedTuple):
    """One fact; ``about`` is the thing that it is about, ``idle``: it says only when, or how often."""

    about: str
    fact: Fact
    idle: bool


def changes(seed: Any, solved: Any, days: frozenset[str]) -> dict[str, list[Fact]]:
    """Facts that hold in ``solved`` and not in ``seed``, by the thing that they are about, in the state's order.

    ``days``: dates that only say when something was done (`stamped_days`).
    """
    found = [one for one in _Walk(days).differing("$", "", seed, solved) if _tells(one.fact, seed, solved)]
    told = [one for one in found if not one.idle] or found or list(_whole(seed, solved))
    groups: dict[str, list[Fact]] = {}
    for one in told:
        groups.setdefault(_NAME.sub("-", one.about).strip("-.") or "state", []).append(one.fact)
    return groups


def _whole(seed: Any, solved: Any) -> Iterator[Found]:
    """Where no smaller fact tells the two apart: the parts of the state that differ, as they are."""
    for key, value in solved.items():
        if not _same(seed.get(key), value):
            yield Found(key, {"path": f"${_step(key)}", "value": value}, False)


def stamped_days(patches: Iterable[Any]) -> frozenset[str]:
    """The days of all points of time in patches: what an application says when it says "now"."""
    return frozenset(found[1] for patch in patches for found in _STAMP.finditer(orjson.dumps(patch).decode()))


def _tells(fact: Fact, seed: Any, solved: Any) -> bool:
    """Whether the fact holds when solved and not before, both as the rule reads it."""
    matcher = StateMatch.parse([fact], ("facts",))
    before, after = (matcher.facts[0].holds(document) for document in (seed, solved))
    return after and not before


@dataclass(frozen=True, slots=True)
class _Walk:
    days: frozenset[str]

    def differing(self, path: str, about: str, old: Any, new: Any) -> Iterator[Found]:
        """What differs below ``path``."""
        if isinstance(old, dict) and isinstance(new, dict):
            yield from self._objects(path, about, old, new)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._lists(path, about, old, new)
        elif not _same(old, new):
            yield Found(about, {"path": path, "value": new}, self._idle(path.rpartition(".")[2], new))

    def _objects(self, path: str, about: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Found]:
        for key in sorted({*old, *new}):
            below, thing = path + _step(key), _part(about, key)
            if key not in new:
                yield Found(thing, {"path": path, "without": [key]}, self._idle(key, None))
            elif key not in old:
                yield Found(thing, {"path": below, "value": new[key]}, self._idle(key, new[key]))
            else:
                yield from self.differing(below, thing, old[key], new[key])

    def _lists(self, path: str, about: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[Found]:
        name = _identity(old, new)
        if _plain(old) and _plain(new):
            yield from _texts(path, about, old, new)
        elif name is None:
            if not _same(old, new):
                yield Found(about, {"path": path, "value": list(new)}, False)
        else:
            yield from self._rows(path, about, name, old, new)

    def _rows(self, path: str, about: str, name: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[Found]:
        before, after = ({_json(row[name]): row for row in rows} for rows in (old, new))
        gone = [row[name] for key, row in before.items() if key not in after]
        kept = [row[name] for key, row in before.items() if key in after]
        if gone and not after:
            yield Found(about, {"path": path, "value": []}, False)
        elif gone:
            yield Found(about, {"path": f"{path}[*]{_step(name)}", "all": kept, "none": gone}, False)
        for key, row in after.items():
            if key in before:
                place = f"{path}[?@{_step(name)}=={key}]"
                yield from self.differing(place, _part(about, str(row[name])), before[key], row)
            else:
                yield Found(_part(about, "new"), {"path": f"{path}[?{self._content(row, name)}]"}, False)
        if not gone and len(after) == len(before) and list(after) != list(before):
            for index, row in enumerate(new):
                yield Found(about, {"path": f"{path}[{index}]{_step(name)}", "value": row[name]}, True)

    def _content(self, row: Mapping[str, Any], name: str) -> str:
        """A filter for a row by what is in it; the id that it was given is not its content."""
        tests = [
            f"{place}=={_json(value)}"
            for key, part in row.items()
            if key != name or name not in ("id", "iid")
            for place, value in _leaves(f"@{_step(key)}", part)
            if not self._idle(key, value)
        ]
        return " && ".join(tests) or f"@{_step(name)}=={_json(row[name])}"

    def _idle(self, key: str, value: Any) -> bool:
        """Whether a value says only when, or how often."""
        counted = key[:1] == "_" or key.endswith("Count")
        return counted or (isinstance(value, str) and (value in self.days or _STAMP.fullmatch(value) is not None))


def _texts(path: str, about: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[Found]:
    """Plain values: which came and which went; their order counts only where nothing else is different."""
    had, has = list(map(_json, old)), list(map(_json, new))
    if had == has:
        return
    same = sorted(had) == sorted(has)
    if same or not new or len({*has}) < len(has):
        yield Found(about, {"path": path, "value": list(new)}, same)
    else:
        gone = [value for value in old if _json(value) not in has]
        yield Found(about, {"path": f"{path}[*]", "all": list(new), "none": gone}, False)


def _identity(old: Sequence[Any], new: Sequence[Any]) -> str | None:
    """The key that tells one row from another, in both lists."""
    rows = [*old, *new]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return None
    for name in _IDS:
        if all(isinstance(row.get(name), str | int) for row in rows):
            named = [[_json(row[name]) for row in part] for part in (old, new)]
            if all(len({*part}) == len(part) for part in named):
                return name
    return None


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(path + _step(key), part)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _leaves(f"{path}[{place}]", part)
    else:
        yield path, value


def _plain(values: Sequence[Any]) -> bool:
    return not any(isinstance(value, list | dict) for value in values)


def _part(about: str, name: str) -> str:
    """Two names are enough to tell what a milestone is about."""
    return about if "." in about else f"{about}.{name.replace('.', '-')}" if about else name.replace(".", "-")


def _step(key: str) -> str:
    return f".{key}" if _SIMPLE.fullmatch(key) else f"[{_json(key)}]"


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _same(one: Any, other: Any) -> bool:
    return canonical(one) == canonical(other)
