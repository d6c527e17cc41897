"""Facts of a JSON document that an application sends as its state, each at a JSON Path (RFC
9535)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import orjson

from detectors.matchers import third_party
from detectors.matchers.faults import answers
from detectors.matchers.masked import can_equal, hides_choice, is_masked
from detectors.matchers.masked_text import MASK
from detectors.matchers.text import TEXT
from detectors.matchers.typed_base import (
    JSON_PATH,
    KeyedForm,
    Option,
    json_text,
    list_type,
    read_each,
)
from detectors.matchers.values import whole_body
from detectors.model.caches import BODIES_BYTES, PARSED, cache_by_size
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema, checked_type, names
from detectors.model.safe_json import read_json

MAX_FACTS = 256
_LISTS = ("all", "none", "without")


@dataclass(frozen=True, slots=True)
class StateFact:
    """What stands at ``path``: ``value`` there and nothing else; or ``all`` of these values among
    it, ``none`` of those, and objects ``without`` those keys; or anything. Values are compared as
    canonical JSON: 1 is 1.0, not "1"."""

    path: str
    value: bytes | None
    all: frozenset[bytes]
    none: frozenset[bytes]
    without: frozenset[str]

    def holds(self, document: object) -> bool:
        """Whether the document says so. Where nothing stands, nothing holds."""
        values = third_party.json_values(self.path, document)
        if not values:
            return False
        if self.without and not all(map(self._is_without, values)):
            return False
        if self.value is None and not self.all and not self.none:
            return True
        found = {_compared(value) for value in values}
        if self.value is not None:
            return found == {self.value}
        return self.all <= found and self.none.isdisjoint(found)

    def judge(self, document: object) -> bool | None:
        """As `holds`; None where that hangs on what the daemon masked in the document."""
        if hides_choice(self.path, document):
            return None
        values = third_party.json_values(self.path, document)
        if not any(map(is_masked, values)):
            return self.holds(document)
        if self.without and not all(map(self._is_without, values)):
            return False
        if self.value is not None:
            expected = orjson.loads(self.value)
            return None if all(can_equal(expected, value) for value in values) else False
        return self._judge_lists(values)

    def _judge_lists(self, values: Sequence[object]) -> bool | None:
        """Whether `all` of these stand among the values, and `none` of those."""
        found = {_compared(value) for value in values}
        if not self.none.isdisjoint(found):
            return False
        hidden = [value for value in values if is_masked(value)]
        missing = [orjson.loads(value) for value in self.all - found]
        if not all(any(can_equal(value, one) for one in hidden) for value in missing):
            return False
        excluded = map(orjson.loads, self.none)
        is_open = any(can_equal(value, one) for value in excluded for one in hidden)
        return None if missing or is_open else True

    def _is_without(self, value: object) -> bool:
        return isinstance(value, dict) and self.without.isdisjoint(value)


class StateVerdict(NamedTuple):
    """The part of the facts that hold in a body: ``least``, and ``most`` of it if what was masked
    at the paths ``masked`` is as expected."""

    least: float
    most: float
    masked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StateMatch:
    """Facts of one document."""

    facts: tuple[StateFact, ...]

    WANTED: ClassVar[str] = (
        f"a list of at most {MAX_FACTS} facts {{path: a JSON Path, value? or all?, none?, without?:"
        " lists}"
    )

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of a list of facts."""
        return {"type": "array", "minItems": 1, "maxItems": MAX_FACTS, "items": _FACT.schema()}

    @classmethod
    def parse(
        cls, spec: object, path: tuple[str | int, ...], origin: str | None = None
    ) -> StateMatch:
        """Make it of its JSON form. Raises `SpecError`."""
        if not isinstance(spec, list) or not 1 <= len(spec) <= MAX_FACTS:
            raise SpecError(path, spec, cls.WANTED)
        return cls(read_each(_fact, spec, path))

    @answers(0.0)
    def share(self, body: object) -> float:
        """The part of the facts that hold in ``body``, as in ``request.finished``; a cut one
        fulfils none."""
        whole = whole_body(body)
        if whole is None:
            return 0.0
        document = _document(whole[0])
        return sum(fact.holds(document) for fact in self.facts) / len(self.facts)

    @answers(StateVerdict(0.0, 0.0))
    def judge_share(self, body: object) -> StateVerdict:
        """As `share`, with what the daemon masked in ``body``."""
        whole = whole_body(body)
        if whole is None:
            return StateVerdict(0.0, 0.0)
        if MASK not in whole[0]:
            share = self.share(body)
            return StateVerdict(share, share)
        document = _document(whole[0])
        verdicts = [fact.judge(document) for fact in self.facts]
        masked = [fact.path for fact, so in zip(self.facts, verdicts, strict=True) if so is None]
        held = sum(so is True for so in verdicts)
        total = len(verdicts)
        return StateVerdict(held / total, (held + len(masked)) / total, tuple(masked))


@cache_by_size(BODIES_BYTES, lambda _, text: PARSED * len(text), keeps_last=True)
def _document(text: str) -> object:
    # A task has many facts of one document; it is read once.
    try:
        return read_json(text)
    except orjson.JSONDecodeError:
        return None


def _compared(value: object) -> bytes:
    return json_text(value).encode()


_LISTED = Option(list_type("a list of values", {}), ())
_FACT = KeyedForm(
    "an object with path, and value, or some of all, none and without, or nothing else",
    {
        "path": Option(JSON_PATH, required=True),
        "value": Option(checked_type(lambda _: True, "any value", {}, lambda value: value)),
        "all": _LISTED,
        "none": _LISTED,
        "without": Option(names("a list of keys", TEXT), ()),
    },
)


def _fact(spec: Any, path: tuple[str | int, ...]) -> StateFact:
    fact = _FACT.read(spec, path)
    has_value = "value" in spec
    if has_value and not spec.keys().isdisjoint(_LISTS):
        raise SpecError(path, spec, "value, or all, none and without; not both")
    return StateFact(
        fact["path"],
        _compared(fact["value"]) if has_value else None,
        frozenset(map(_compared, fact["all"])),
        frozenset(map(_compared, fact["none"])),
        frozenset(fact["without"]),
    )
