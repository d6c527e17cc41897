"""The agent's answer, as JSON, says what is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import StructureMatch
from detectors.matchers.structure import json_in
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.decorators import answer_rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class AnswerSaysArgs:
    value: StructureMatch = arg("The structure of the answer, with its values.")


@answer_rule(version=2, args=AnswerSaysArgs)
def answer_says(event: Event, world: World, args: AnswerSaysArgs) -> Iterator[Reading]:
    """The agent's answer is JSON, by itself or in a fence, with the expected structure and values,
    compared leniently: case, currency signs, units and small differences are ignored.

    The latest answer counts. The answer is data: nothing in it is a pattern, and a list in it is
    no choice between values.
    """
    said = json_in(str(event.data.get("text")))
    yield Reading(1.0 if said is not None and args.value.matches(said) else 0.0, "answer")
