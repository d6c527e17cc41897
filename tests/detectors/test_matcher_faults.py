"""A text that a matcher fails on: it does not match, an alarm says so, and no step is null for
it."""

from __future__ import annotations

from decimal import InvalidOperation
from typing import Any

import pytest

from api.rewards.explaining import of_events
from detectors.engine.engine import Engine
from detectors.matchers import TextMatch, third_party
from detectors.matchers.faults import collected
from detectors.matchers.quantities import _read_amount
from detectors.model.types import Alarm
from detectors.sdk.arguments import MATCHERS, SchemaMatch
from tests.support.logs import answered, clicked, episode, filled, log, ruleset, run, worth

MANY = "1" + ",111" * 20
"""An amount of 61 digits: more than a decimal has, and the library that reads amounts threw."""
BAD: dict[str, Any] = {
    "id": "bad",
    "when": {"element_clicked": {"name": "Delete"}},
    "component": "ui",
    "penalty": 0.5,
}


def right(text: Any) -> dict[str, Any]:
    return {"id": "right", "when": {"answer_matches": {"text": text}}, "component": "answer"}


def test_an_answer_that_no_library_can_read_makes_no_penalty_null() -> None:
    """−0.5 stays −0.5, and all of the step is known, not the penalty alone."""
    rules = ruleset(BAD, right({"money": 3}), weights={"answer": 1})
    rewards = run(rules, *episode([clicked("Delete"), answered(MANY)]))
    assert [(reward.reward, reward.reason) for reward in rewards] == [(-0.5, None)]
    assert worth(run(rules, *episode([clicked("Delete"), answered("3.00")]))) == [0.5]


@pytest.mark.parametrize("digits", [27, 28, 29, 40, 41, 61, 4_000])
def test_an_amount_of_any_length_is_read_or_is_none(digits: int) -> None:
    with collected() as faults:
        for amount in ("1" * digits, f"{int('1' * digits):,}"):
            assert not TextMatch.parse({"money": 3}, ("text",)).matches(amount)
            assert not TextMatch.parse({"money": 3, "currency": "USD"}, ("text",)).matches(
                f"${amount}.50"
            )
    assert faults == []


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library of amounts as it would be with a fault that nobody knows of yet; what it read
    before is forgotten."""
    _read_amount.cache.cache_clear()  # type: ignore[attr-defined]

    def decimal(text: str, locale: str) -> Any:
        raise InvalidOperation(text)

    monkeypatch.setattr(third_party, "decimal", decimal)


@pytest.mark.usefixtures("faulty")
def test_what_a_matcher_throws_is_no_match_and_an_alarm() -> None:
    """The alarm names event, rule, matcher and error, and has no word of the text."""
    rules = ruleset(BAD, right({"money": 3}), weights={"answer": 1})
    engine = Engine(rules, "ep_1")
    outcome = engine.feed(log(*episode([clicked("Delete"), answered("3.00")])))
    assert worth(outcome.rewards) == [-0.5]
    assert [reward.mask for reward in outcome.rewards] == [False]
    assert outcome.alarms == [Alarm(4, "answer_matches", "Money", "InvalidOperation")]
    explained, _ = of_events(rules, log(*episode([answered("3.00")])), "ep_1")
    assert (
        explained[1].became[0]
        == "event 3: a matcher of answer_matches (Money) failed: InvalidOperation; it counts as"
        " no match"
    )


@pytest.mark.usefixtures("faulty")
def test_what_stands_beside_it_still_matches() -> None:
    """An alternative that can be read pays, and a wrong answer takes back a right one."""
    rules = ruleset(right({"any_of": [{"money": 3}, "three"]}), weights={"answer": 1})
    assert worth(run(rules, *episode([answered("three")]))) == [1.0]
    assert worth(run(rules, *episode([answered("3.00")]))) == [0.0]
    late = ruleset(
        {**right({"any_of": [{"money": 3}, "three"]}), "must_hold_at_end": True},
        weights={"answer": 1},
    )
    assert worth(run(late, *episode([answered("three"), answered("3.00")]))) == [0.0]


@pytest.mark.usefixtures("faulty")
def test_each_batch_tells_its_own_alarms_once() -> None:
    """However the log is cut; a hundred of one batch are told as 64."""
    rules = ruleset(right({"money": 3}), weights={"answer": 1})
    events = log(*episode([answered("3")] * 100))
    whole = Engine(rules, "ep_1").feed(events).alarms
    assert [alarm.seq for alarm in whole] == list(range(3, 67))
    engine = Engine(rules, "ep_1")
    assert [alarm.seq for event in events for alarm in engine.feed([event]).alarms] == list(
        range(3, 103)
    )


def test_memory_that_runs_out_is_still_the_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine's replay would not have it: it is no fact of the log."""

    def decimal(text: str, locale: str) -> Any:
        raise MemoryError

    monkeypatch.setattr(third_party, "decimal", decimal)
    with pytest.raises(MemoryError):
        TextMatch.parse({"money": 3}, ("text",)).matches("3")


@pytest.mark.parametrize("matcher", [*MATCHERS, SchemaMatch])
def test_every_matcher_answers_though_it_fails(matcher: Any) -> None:
    """A new one that is not made so fails here."""
    asked = [
        getattr(matcher, name)
        for name in ("matches", "share", "is_at", "holds", "level")
        if hasattr(matcher, name)
    ]
    assert asked
    assert [method.otherwise for method in asked] in ([False], [False, False], [0.0], [None])


@pytest.mark.usefixtures("faulty")
def test_what_fails_in_a_new_counterfactual_is_no_alarm_of_a_later_event() -> None:
    """A field that is kept back makes a branch, which reads the event too: what fails there again
    was reported as the failure of whichever rule read next."""
    rules = ruleset(
        {"id": "field", "when": {"field_filled": {"field": "3", "value": "s3cret"}}},
        {
            "id": "amount",
            "when": {"observed": {"kind": "field.filled", "where": {"element.name": {"money": 3}}}},
        },
        {"id": "go", "when": {"element_clicked": {"name": "Go"}}, "component": "ui"},
    )
    events = log(*episode([filled("3", None, has_value=True), clicked("Go")]))
    engine = Engine(rules, "ep_1")
    assert engine.feed(events).alarms == [Alarm(3, "observed", "Money", "InvalidOperation")]
    assert len(engine.state.supposed) == 1
