"""What a stage is asked and what it answers; the cascade knows nothing else of any stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from detectors.model.types import Event, Json, Reward, Verdict


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric, by the task's author. ``required``: without it there is no success."""

    id: str
    text: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """One step of one episode, or (``about`` "goal") all of it.

    ``task`` is the task's document; ``events`` is the episode's log from its start through this
    step's seal, masked as it is stored; ``rewards`` are the sealed rewards of the rules, one a
    step, this step's last. A stage uses nothing else: the same question has the same digest, and is
    paid for once.
    """

    episode: str
    step: int
    about: Literal["step", "goal"]
    terminal: bool
    task: Mapping[str, Json]
    criteria: tuple[Criterion, ...]
    events: Sequence[Event]
    rewards: Sequence[Reward]
    graded: Literal["all", "share"] = "all"
    """``all``: the score is 1 where all that is required is met, else 0; ``share``: it is the share
    of criteria that are met."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A stage's verdict, and how it came to it.

    ``verdict.score`` is in [0, 1], or None where the stage abstains (``verdict.why`` says why).
    ``record`` is JSON for the audit: model, prompt digest, evidence, votes, flags, tokens.
    ``again``: this is no answer yet, asking later may help (the endpoint is down).
    ``verdict.cost`` is in the operator's currency.
    """

    verdict: Verdict
    record: Mapping[str, Json] = field(default_factory=dict)
    again: bool = False


class Stage(Protocol):
    """A reward model or a judge."""

    name: Literal["model", "judge"]

    def digest(self, question: Question) -> str:
        """Hash all that the answer depends on: equal digests are asked once, for ever."""

    async def ask(self, question: Question) -> Opinion:
        """Return one opinion. Raises nothing for a peer's failure: that is ``again``."""
