"""How numbers are written for people, everywhere that a person reads them."""

from __future__ import annotations

import pytest

from api.cli.replay import describe
from api.pages.render import format_change, number
from api.rewards.event_text import line
from api.rewards.explaining import of_events
from api.rewards.rendering import number_in_words, total_in_words, value_in_words
from detectors.engine.engine import Engine
from detectors.model.types import Event
from tests.support.logs import clicked, episode, log, ruleset

THIRDS = ruleset(
    *({"id": name, "when": {"element_clicked": {"name": name}}} for name in "abc"),
    weights={"ui": 0.4, "nav": 0.2},
)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.400000000001, "0.4"),
        (0.399999999999, "0.4"),
        (-0.133333333333, "-0.133333"),
        (1.0, "1"),
        (0.0, "0"),
        (-0.0, "0"),
        (-1e-13, "-1e-13"),
        (1e-7, "1e-07"),
        (7, "7"),
        (123456789, "123456789"),
        (1764028513.25, "1764028513.25"),
        (float("inf"), "inf"),
    ],
)
def test_a_number_has_no_digits_that_say_nothing(value: float, said: str) -> None:
    assert number_in_words(value) == said


def test_a_sum_of_thirds_is_written_as_it_is_meant() -> None:
    """Three milestones of 0.4 ÷ 3: in the total, a step, a milestone, a page and a line of the
    log."""
    events = log(*episode([clicked("a")], [clicked("b")], [clicked("c")]))
    engine = Engine(THIRDS, "ep_1")
    first, *_ = engine.feed(events).rewards
    total = engine.total
    assert total is not None
    assert str(total) == "0.399999999999", "else there is nothing to round"
    assert (total_in_words(total), total_in_words(None, total)) == ("0.4", "not known (seen: 0.4)")
    assert (number(total), format_change(total), value_in_words(total)) == ("0.4", "+0.4", "0.4")
    assert describe(first).splitlines()[0] == "step   0  +0.133"
    explained, _ = of_events(THIRDS, events, "ep_1")
    assert explained[0].became[0] == "paid +0.133333 in step 0 (events 3)"
    told = Event(
        "ep_1", 9, "probe", "probe.answered", 0, {"probe": "sum", "when": "step", "value": total}
    )
    assert line(told).endswith("value: 0.4")
