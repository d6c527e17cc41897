"""One JSON value, whatever its kind: what a probe's answer must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from detectors.matchers.facts import FactsMatch, Wanted, value_schema
from detectors.matchers.faults import answers
from detectors.model.json_types import Schema


@dataclass(frozen=True, slots=True)
class ValueMatch:
    """A text, a number, a range, true, false or null, as the facts of an event are matched."""

    facts: FactsMatch

    WANTED: ClassVar[str] = "a text or its matcher, a number, {min, max}, true, false or null"

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of the value."""
        return value_schema()

    @classmethod
    def parse(
        cls, spec: object, path: tuple[str | int, ...], origin: str | None = None
    ) -> ValueMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        return cls(FactsMatch.parse({"value": spec}, path[:-1]))

    @answers(False)
    def matches(self, value: object) -> bool:
        """Whether ``value`` is the one that is wanted; a number is no text, and 1 is not true."""
        return self.facts.matches({"value": value})

    def judged(self, value: object, judge: Callable[[Wanted, object], bool | None]) -> bool | None:
        """As `matches`, as ``judge`` has it; None where nobody knows."""
        return self.facts.judged({"value": value}, lambda _, wanted, found: judge(wanted, found))
