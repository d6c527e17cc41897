"""Facts of a JSON document that an application sends as its state, each at a JSON Path (RFC
9535)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import orjson

from detectors.matchers import third_party
from detectors.matchers.faults import answers
from detectors.matchers.text import TEXT
from detectors.matchers.typed_base import json_text, read_each
from detectors.matchers.values import whole_body
from detectors.model.caches import BODIES_BYTES, PARSED, cache_by_size
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema, object_schema

MAX_FACTS = 256
_LISTS = ("all", "none", "without")
_KEYS = frozenset(("path", "value", *_LISTS))


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

    def _is_without(self, value: object) -> bool:
        return isinstance(value, dict) and self.without.isdisjoint(value)


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
        values: Schema = {"type": "array", "items": {}}
        fact = object_schema(
            {
                "path": TEXT,
                "value": {},
                "all": values,
                "none": values,
                "without": {**values, "items": TEXT},
            },
            ("path",),
        )
        return {"type": "array", "minItems": 1, "maxItems": MAX_FACTS, "items": fact}

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


@cache_by_size(BODIES_BYTES, lambda _, text: PARSED * len(text), keeps_last=True)
def _document(text: str) -> object:
    # A task has many facts of one document; it is read once.
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _compared(value: object) -> bytes:
    return json_text(value).encode()


def _check_list(name: str, values: object, path: tuple[str | int, ...]) -> None:
    is_keys = name == "without"
    if not isinstance(values, list) or (is_keys and not all(isinstance(k, str) for k in values)):
        raise SpecError(path, values, "a list of keys" if is_keys else "a list of values")


def _fact(spec: object, path: tuple[str | int, ...]) -> StateFact:
    if not isinstance(spec, Mapping) or set(spec) - _KEYS or not isinstance(spec.get("path"), str):
        raise SpecError(
            path,
            spec,
            "an object with path, and value, or some of all, none and without, or nothing else",
        )
    if "value" in spec and set(spec) & set(_LISTS):
        raise SpecError(path, spec, "value, or all, none and without; not both")
    try:
        third_party.json_path(spec["path"])
    except ValueError as error:
        raise SpecError((*path, "path"), spec["path"], str(error)) from None
    lists = {name: spec.get(name, []) for name in _LISTS}
    for name, values in lists.items():
        _check_list(name, values, (*path, name))
    value = _compared(spec["value"]) if "value" in spec else None
    present, absent = (frozenset(map(_compared, lists[name])) for name in ("all", "none"))
    return StateFact(spec["path"], value, present, absent, frozenset(lists["without"]))
