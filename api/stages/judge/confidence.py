"""How sure a judge's verdict is that nobody has calibrated yet: of its votes, their criteria and
their proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api.stages.judge.answers import Met


@dataclass(frozen=True, slots=True)
class Answered:
    """What one vote says of one criterion. ``cited``: the keys of the facts that it names as
    proof."""

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
    """What stands behind ``votes``, each an answer to every criterion. ``whole``: nothing was cut
    from the record."""
    if not votes or not votes[0]:
        return Support(0.0, 0.0, 0.0)
    by_criterion = [[vote[name] for vote in votes] for name in votes[0]]
    most = [max(Counter(one.met for one in said).values()) for said in by_criterion]
    clear = [all(one.met != "unclear" for one in said) for said in by_criterion]
    grounded = [_grounded(said, whole) for said in by_criterion]
    count = len(by_criterion)
    return Support(
        agreement=sum((same + 1) / (len(votes) + 2) for same in most) / count,
        clear=sum(clear) / count,
        grounded=sum(grounded) / count,
    )


def _grounded(said: Sequence[Answered], whole: bool) -> bool:
    if frozenset.intersection(*(one.cited for one in said)):
        return True
    return whole and all(one.met == "no" for one in said)
