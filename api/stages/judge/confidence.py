"""How sure a judge's verdict is that nobody has calibrated yet: of its votes, their criteria and
their proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api.stages.judge.answers import Met


@dataclass(frozen=True, slots=True)
class Answered:
    """One vote on one criterion. ``cited``: the keys of the facts that it names as proof."""

    met: Met
    cited: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Support:
    """What stands behind a verdict, each in [0, 1].

    ``agreement``: the chance that one more vote would say the same, of n votes of which k do (k +
    1) / (n + 2), the mean over the criteria. ``clear``: the share of criteria that no vote calls
    unclear. ``grounded``: the share of criteria for which all votes name a common line; a `no` is
    grounded as well where the record was shown whole, since that something is absent no line shows.
    """

    agreement: float
    clear: float
    grounded: float

    @property
    def confidence(self) -> float:
        """The product: each alone can take it below the bar."""
        return round(self.agreement * self.clear * self.grounded, 12)


def support_of(votes: Sequence[Mapping[str, Answered]], *, whole: bool) -> Support:
    """Measure what stands behind ``votes``, each an answer to every criterion. ``whole``: nothing
    was cut from the record."""
    if not votes or not votes[0]:
        return Support(0.0, 0.0, 0.0)
    by_criterion = [[vote[name] for vote in votes] for name in votes[0]]
    count = len(by_criterion)
    return Support(
        agreement=sum(map(_agreement, by_criterion)) / count,
        clear=sum(map(_is_clear, by_criterion)) / count,
        grounded=sum(_is_grounded(answers, whole) for answers in by_criterion) / count,
    )


def _agreement(answers: Sequence[Answered]) -> float:
    """The chance that one more vote would be the most frequent one."""
    most = max(Counter(answer.met for answer in answers).values())
    return (most + 1) / (len(answers) + 2)


def _is_clear(answers: Sequence[Answered]) -> bool:
    return all(answer.met != "unclear" for answer in answers)


def _is_grounded(answers: Sequence[Answered], whole: bool) -> bool:
    """Whether all answers cite a common fact; a common no needs none where all evidence was
    shown."""
    if frozenset.intersection(*(answer.cited for answer in answers)):
        return True
    return whole and all(answer.met == "no" for answer in answers)
