"""Named facts of an event: dotted paths into its data, each with what must stand there."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import ClassVar

from detectors.matchers.faults import answers
from detectors.matchers.text import TEXT_FORM, TextMatch
from detectors.matchers.typed_base import NUMBER, KeyedForm, Option, number_of
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema, fields_schema
from detectors.model.three_valued import all_verdict

MAX_PATH_LENGTH = 8


@dataclass(frozen=True, slots=True)
class NumberRange:
    """A number of any kind in ``[least, most]``, both inclusive; no text is one."""

    least: float
    most: float

    def matches(self, value: object) -> bool:
        """Whether ``value`` is a number in the range; true and false are none."""
        found = number_of(value)
        return found is not None and self.least <= found <= self.most


_LIMITS = KeyedForm(
    "{min?, max?} of numbers, min not above max",
    {"min": Option(NUMBER, -math.inf), "max": Option(NUMBER, math.inf)},
    minimum=1,
)
Wanted = bool | None | NumberRange | TextMatch
Judge = Callable[[tuple[str, ...], Wanted, object], bool | None]
"""Whether what stands at a path is what is wanted there; None where nobody knows."""


def value_schema() -> Schema:
    """The JSON Schema of what may stand at a path."""
    return {"anyOf": [{"type": ["boolean", "null"]}, _LIMITS.schema(), TEXT_FORM]}


@dataclass(frozen=True, slots=True)
class FactsMatch:
    """All of the named facts. A path that leads nowhere holds null."""

    facts: tuple[tuple[tuple[str, ...], Wanted], ...]

    WANTED: ClassVar[str] = (
        "an object of dotted paths, such as widget.name, and for each a text, a number, {min, max},"
        " true, false or null"
    )

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of dotted paths and what must stand there."""
        return fields_schema(value_schema())

    @classmethod
    def parse(
        cls, spec: object, path: tuple[str | int, ...], origin: str | None = None
    ) -> FactsMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        if not isinstance(spec, dict) or not spec:
            raise SpecError(path, spec, cls.WANTED)
        return cls(
            tuple(
                (_path(name, (*path, name)), _parse_expected(spec[name], (*path, name)))
                for name in sorted(spec)
            )
        )

    @answers(False)
    def matches(self, data: object) -> bool:
        """Whether every fact holds in ``data``."""
        return all(is_as_wanted(wanted, value_at(data, steps)) for steps, wanted in self.facts)

    @answers(False)
    def judged(self, data: object, judge: Judge) -> bool | None:
        """As `matches`, each fact as ``judge`` has it; None where that hangs on one of which nobody
        knows."""
        return all_verdict(
            judge(steps, wanted, value_at(data, steps)) for steps, wanted in self.facts
        )

    def names(self, first: str) -> bool:
        """Whether one of the paths begins with ``first``."""
        return any(steps[0] == first for steps, _ in self.facts)


def value_at(data: object, steps: tuple[str, ...]) -> object:
    """What stands at a path of keys and list indices; None where it leads nowhere."""
    for step in steps:
        if isinstance(data, list | tuple):
            is_index = step.isdecimal() and len(step) < 7 and int(step) < len(data)
            data = data[int(step)] if is_index else None
        elif isinstance(data, dict):
            data = data.get(step)
        else:
            return None
    return data


def leads(data: object, steps: tuple[str, ...]) -> bool:
    """Whether something stands at a path, be it null."""
    if not steps:
        return True
    parent = value_at(data, steps[:-1])
    if isinstance(parent, dict):
        return steps[-1] in parent
    return value_at(parent, steps[-1:]) is not None


def split_path(text: str) -> tuple[str, ...]:
    """Split a dotted path such as ``a.0.b`` into keys and indices."""
    return tuple(text.split("."))


def _path(name: object, path: tuple[str | int, ...]) -> tuple[str, ...]:
    steps = split_path(str(name))
    if not all(steps) or len(steps) > MAX_PATH_LENGTH:
        raise SpecError(
            path, name, f"a dotted path of at most {MAX_PATH_LENGTH} names, such as widget.name"
        )
    return steps


def _parse_expected(spec: object, path: tuple[str | int, ...]) -> Wanted:
    if spec is None or isinstance(spec, bool):
        return spec
    if isinstance(spec, int | float):
        return NumberRange(spec, spec)
    if isinstance(spec, dict) and spec.keys() <= _LIMITS.keys.keys():
        limits = _LIMITS.read(spec, path)
        if not limits["min"] <= limits["max"]:
            raise SpecError(path, spec, _LIMITS.expected)
        return NumberRange(limits["min"], limits["max"])
    return TextMatch.parse(spec, path)


def check_type(wanted: Wanted, types: Collection[type]) -> str | None:
    """Say what is expected where no plain value of the ``types`` is ever as wanted; None where one
    can be. An empty collection says nothing."""
    if not types or wanted is None:
        return None
    if isinstance(wanted, bool):
        possible = bool in types
    elif isinstance(wanted, NumberRange):
        possible = int in types or float in types
    else:
        possible = str in types or wanted.mode in ("number", "typed")
    if possible:
        return None
    forms = {str: "a text", int: "a number or {min, max}", float: "a number or {min, max}"}
    named = {forms.get(each, "true or false") for each in types}
    return " or ".join([*sorted(named), "null"])


def is_as_wanted(wanted: Wanted, value: object) -> bool:
    """Whether a value is what is wanted at its path."""
    if wanted is None or isinstance(wanted, bool):
        return value is wanted
    if isinstance(wanted, NumberRange):
        return wanted.matches(value)
    return wanted.matches_json(value)
