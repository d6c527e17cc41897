"""A log that is read ahead of its questions, in whatever parts: the same rows, the same digests, and
the same as if what stands there were looked at anew each time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import pytest

from api.stages.base import Question
from api.stages.model.features import FeatureReader, extract
from api.stages.model.stage import AT_ONCE, ModelStage
from detectors.model.types import Event
from tests.training.conftest import Made
from tests.training.random_desks import draw_desk
from tests.training.random_logs import draw_episode

Drawn = tuple[str, list[Event]]
SEEDS = range(10)


def draw_page(seed: int) -> Drawn:
    """An episode of pages."""
    instruction, events, _ = draw_episode(seed)
    return instruction, events


@pytest.mark.parametrize("draw", [draw_desk, draw_page])
def test_any_split_of_a_log_gives_the_same_rows(draw: Callable[[int], Drawn]) -> None:
    """Cut at random, by seed."""
    for seed in SEEDS:
        instruction, events = draw(seed)
        reader = FeatureReader(instruction)
        cuts = random.Random(seed).choices(range(len(events)), k=5)
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(events)], strict=True):
            reader.feed(events[start:end])
        assert repr(reader.rows) == repr(extract(instruction, events))


def test_what_is_kept_of_a_desktop_is_what_a_new_look_gives() -> None:
    """After each event: no kind of event changes a feature that is not computed anew."""
    for seed in range(0, 60, 2):
        instruction, events = draw_desk(seed)
        reader = FeatureReader(instruction)
        for event in events:
            reader.feed([event])
            desk = reader._desk
            kept = desk.standing()
            desk._computed_at = [-1] * len(desk._computed_at)
            assert kept == desk.standing(), f"seed {seed}, {event.kind}"


def questions(instruction: str, events: list[Event]) -> Iterator[Question]:
    """About every step at its seal, about the last one as the end, and about the goal."""
    task = {"id": "t", "instruction": instruction}
    seals = [at + 1 for at, event in enumerate(events) if event.kind == "step.sealed"]
    for step, cut in enumerate(seals):
        for about, terminal in (("step", False), ("step", True), ("goal", True)):
            yield Question("ep", step, about, terminal, task, (), events[:cut], ())  # type: ignore[arg-type]
    yield Question("ep", len(seals), "goal", True, task, (), events, ())


@pytest.mark.parametrize("draw", [draw_desk, draw_page])
def test_a_question_about_a_log_that_was_read_beyond_it_has_the_same_digest(
    made: Made, draw: Callable[[int], Drawn]
) -> None:
    """In whatever order it is asked, also after the close; nothing is read again."""
    for seed in range(4):
        instruction, events = draw(seed)
        asked = list(questions(instruction, events))
        fresh = [ModelStage(made.model, 0.2).digest(one) for one in asked]
        ahead = ModelStage(made.model, 0.2)
        while ahead.read("ep", asked[0].task, events):
            pass
        (log,) = (ahead.readers.get(key) for key in [("ep", instruction)])
        random.Random(seed).shuffle(order := list(range(len(asked))))
        assert {at: ahead.digest(asked[at]) for at in order} == dict(enumerate(fresh))
        assert ahead.readers.get(("ep", instruction)) is log


def test_a_log_is_read_in_small_parts(made: Made) -> None:
    """At most so many events at once and never beyond the end of one step, each of them once."""
    instruction, events = draw_desk(3, 40)
    stage = ModelStage(made.model, 0.2)
    task = {"instruction": instruction}
    unread = [len(events)]
    while unread[-1]:
        unread.append(stage.read("ep", task, events))
    parts = [before - after for before, after in itertools.pairwise(unread)]
    assert min(parts) > 0
    assert max(parts) <= AT_ONCE
    assert len(parts) >= 80, "a step begins, and ends, in a part of its own"
    seal = max(at for at, event in enumerate(events) if event.kind == "step.sealed")
    assert stage.read("ep", task, events[: seal + 1]) == 0, "it was read beyond that"
    assert stage.read("ep", task, events) == 0


def test_a_log_that_is_too_large_to_be_kept_is_not_read_for_ever(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever lets it be read sees that nothing moves, and the question is answered all the same."""
    instruction, events = draw_desk(3, 5)
    stage = ModelStage(made.model, 0.2)
    monkeypatch.setattr(stage.readers, "max_bytes", 1_000)
    task = {"id": "t", "instruction": instruction}
    assert stage.read("ep", task, events) == stage.read("ep", task, events) > 0
    asked = Question("ep", 0, "goal", True, task, (), events, ())
    assert stage.digest(asked) == ModelStage(made.model, 0.2).digest(asked)
