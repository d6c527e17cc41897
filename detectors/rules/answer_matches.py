"""The agent's final answer says what was asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.decorators import answer_rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class AnswerMatchesArgs:
    text: TextMatch = arg(
        "The whole answer: a text, {one_of: [...]}, {number: 42, tolerance: 0.5}, {contains: ...}."
    )


@answer_rule(version=2, args=AnswerMatchesArgs)
def answer_matches(event: Event, world: World, args: AnswerMatchesArgs) -> Iterator[Reading]:
    """The agent's answer equals the text. The answer is data: nothing in it is a pattern.

    The latest answer counts: a right answer that a wrong one replaced is no longer true. An answer
    proves only that the agent gave it: gate it with `after` if something must have changed too.
    """
    yield Reading(1.0 if args.text.matches(str(event.data.get("text"))) else 0.0, "answer")
