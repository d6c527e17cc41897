"""Conditions that an event meets as lines for a terminal, each ready to be pasted into a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from api.suggestions.trial import MetCondition

ENDS = "can become untrue again"
MAX_NAMED = 4


def condition_lines(conditions: Sequence[MetCondition]) -> Iterator[tuple[str, bool]]:
    """Yield for each rule a sentence of what it asks, then its conditions as milestones with what
    an author has to know as a comment. True: the line is a milestone."""
    for rule, group in groupby(conditions, key=attrgetter("rule")):
        for number, condition in enumerate(group):
            if not number:
                yield f"# {rule}: {condition.asks.partition(' (')[0]}.", False
            marks = "; ".join(marks_of(condition))
            yield condition.milestone + (f"  # {marks}" if marks else ""), True


def marks_of(condition: MetCondition) -> list[str]:
    """Say that a condition can become untrue again, and which other events meet it too."""
    marks = [ENDS] if condition.can_end else []
    if condition.others:
        named = ", ".join(map(str, condition.others[:MAX_NAMED]))
        more = ", …" if len(condition.others) > MAX_NAMED else ""
        is_one = len(condition.others) == 1
        marks.append(f"met by event{'' if is_one else 's'} {named}{more} too")
    return marks
