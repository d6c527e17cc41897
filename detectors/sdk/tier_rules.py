"""Milestones whose condition needs meaning: they name the tier that decides them, and what it is
asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from detectors.sdk.arguments import arg
from detectors.sdk.registry import Rule
from detectors.sdk.rubric import Line

NAMES = ("judge", "model")
"""The rules that only say who is asked: no event is a hit."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The arguments of such a rule."""

    rubric: tuple[Line, ...] = arg(
        "What must be so, criterion by criterion: a list of texts, or of {id, text, required}."
    )
    ask: Literal["end", "after"] = arg(
        "after: at the step that reached the last milestone of `after`.", "end"
    )


def is_judged(found: object) -> bool:
    """Whether a rule is one of these."""
    return isinstance(found, Rule) and found.args is Judged
