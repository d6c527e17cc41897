"""Several people's words on the same pairs made one: Bradley-Terry in which each annotator has a
reliability.

P(k says a ≻ b) = η_k·σ(s_a − s_b) + (1 − η_k)·σ(s_b − s_a), Crowd-BT of Chen, Bennett,
Collins-Thompson and Horvitz (WSDM 2013), by expectation-maximisation. η is 1 for one who always
says what is so, 0.5 for one who guesses, below it for one who says the reverse; those are heard the
other way round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from api.stages.model.calibration import sigmoid
from lab.training.preferences import Pair

TURNS = 60
PRIOR = (8.0, 2.0)
"""Pseudo-counts of right and wrong words with which each annotator begins: most people are
right."""
RIDGE = 0.1


class AnnotatorWord(NamedTuple):
    """``who`` said that ``better`` is better than ``worse``."""

    who: str
    better: str
    worse: str


class Agreed(NamedTuple):
    """``reliability`` of each annotator; ``score`` of each item, in log-odds."""

    reliability: Mapping[str, float]
    score: Mapping[str, float]

    def chance(self, better: str, worse: str) -> float:
        """The probability that ``better`` is better than ``worse``."""
        return float(sigmoid(np.asarray([self.score[better] - self.score[worse]]))[0])


def agree(words: Sequence[AnnotatorWord]) -> Agreed:
    """Scores and reliabilities together; at least one word."""
    people, items = (
        sorted({one.who for one in words}),
        sorted({item for one in words for item in one[1:]}),
    )
    who = np.asarray([people.index(one.who) for one in words])
    place = {item: at for at, item in enumerate(items)}
    better = np.asarray([place[one.better] for one in words])
    worse = np.asarray([place[one.worse] for one in words])
    scores, eta = np.zeros(len(items)), np.full(len(people), PRIOR[0] / sum(PRIOR))
    for _ in range(TURNS):
        so = sigmoid(scores[better] - scores[worse])
        right = eta[who] * so / (eta[who] * so + (1 - eta[who]) * (1 - so))
        hits, total = np.bincount(who, right, len(people)), np.bincount(who, minlength=len(people))
        eta = (hits + PRIOR[0]) / (total + sum(PRIOR))
        for _ in range(5):  # a few damped steps of Newton's method on the diagonal
            so = sigmoid(scores[better] - scores[worse])
            pull, curve = right - so, so * (1 - so)
            slope = (
                np.bincount(better, pull, len(items))
                - np.bincount(worse, pull, len(items))
                - RIDGE * scores
            )
            bend = (
                np.bincount(better, curve, len(items))
                + np.bincount(worse, curve, len(items))
                + RIDGE
            )
            scores = scores + 0.5 * slope / bend
        scores -= scores.mean()
    return Agreed(
        {name: float(value) for name, value in zip(people, eta, strict=True)},
        {item: float(scores[at]) for item, at in place.items()},
    )


def reconcile_pairs(pairs: Sequence[Pair]) -> tuple[list[Pair], dict[str, float]]:
    """What several annotators said of the same pair as one pair, weighed by how sure that is; ties
    are no preference.

    Pairs that no annotator is named for stay as they are. Gives the annotators' reliability too.
    """
    kept = [pair for pair in pairs if pair.annotator is None and not pair.tie]
    named = [pair for pair in pairs if pair.annotator is not None and not pair.tie]
    reliability: dict[str, float] = {}
    by_aspect: dict[str, list[Pair]] = defaultdict(list)
    for pair in named:
        by_aspect[pair.aspect].append(pair)
    for some in by_aspect.values():
        agreed = agree(
            [
                AnnotatorWord(str(pair.annotator), pair.chosen.key, pair.rejected.key)
                for pair in some
            ]
        )
        reliability |= agreed.reliability
        sides: dict[frozenset[str], Pair] = {}
        for pair in some:
            sides.setdefault(frozenset((pair.chosen.key, pair.rejected.key)), pair)
        for pair in sides.values():
            kept += _as_agreed(pair, agreed.chance(pair.chosen.key, pair.rejected.key))
    return kept, reliability


def _as_agreed(pair: Pair, chance: float) -> list[Pair]:
    if chance < 0.5:
        pair, chance = replace(pair, chosen=pair.rejected, rejected=pair.chosen), 1 - chance
    weight = 2 * chance - 1
    return [replace(pair, annotator=None, weight=pair.weight * weight)] if weight > 0.05 else []
