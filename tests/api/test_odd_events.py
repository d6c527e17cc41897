"""Events whose fields have other types than their kind's, as a sandbox that is no longer its
operator's may send: they end no export of a thousand episodes, and no proposal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson
import pytest

from api.proposal.candidates import candidates_of
from api.rewards.observed_state import ObservedState
from api.suggestions.offers import offers_for
from detectors.model.types import Event
from tests.detectors.test_rules import NO, YES
from tests.support.logs import ORIGIN, Said, began, log

ODD: list[Any] = [None, 5, -1.5, True, [], {}, "x", ["x"], [["x"]], {"a": {}}, [{"a": 5}]]


def spoilt(said: Said) -> Iterator[dict[str, Any]]:
    """The data of an event with each field odd, and each field of its objects."""
    data = said[1]
    for name, value in data.items():
        for odd in ODD:
            yield {**data, name: odd}
            if isinstance(value, dict):
                yield from ({**data, name: {**value, inner: odd}} for inner in value)


def kinds() -> dict[str, list[Said]]:
    """The events of the rules' own tables by their kinds, one of each set of fields."""
    found: dict[str, dict[tuple[str, ...], Said]] = {}
    tables: list[list[Any]] = [*YES.values(), *NO.values()]
    for cases in tables:
        for case in cases:
            for said in case[1]:
                found.setdefault(said[0], {}).setdefault(tuple(sorted(said[1])), said)
    return {kind: list(of.values()) for kind, of in found.items()}


def read_all(log_of_step: list[Event]) -> Iterable[object]:
    """What an observation, suggested conditions and a proposal make of it."""
    state = ObservedState()
    for event in log_of_step:
        state.apply(event)
    yield state.summary()
    yield [list(offers_for(event, ORIGIN)) for event in log_of_step]
    yield [candidate.when for candidate in candidates_of(log_of_step, ORIGIN)]


@pytest.mark.parametrize(("kind", "examples"), kinds().items(), ids=kinds())
def test_an_event_of_odd_fields_is_read_to_the_end(kind: str, examples: list[Said]) -> None:
    for said in examples:
        for data in spoilt(said):
            assert all(map(orjson.dumps, read_all(log(began(0), (kind, data))))), data
