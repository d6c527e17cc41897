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
from numpy.typing import NDArray

from api.stages.model.calibration import sigmoid
from lab.training.measures import Floats
from lab.training.preferences import Pair

Places = NDArray[np.intp]

TURNS = 60
PRIOR = (8.0, 2.0)
"""Pseudo-counts of right and wrong words with which each annotator begins: most people are
right."""
RIDGE = 0.1
NEWTON_STEPS = 5
DAMPING = 0.5


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
    people = sorted({one.who for one in words})
    items = sorted({item for one in words for item in one[1:]})
    place = {item: at for at, item in enumerate(items)}
    who = np.asarray([people.index(one.who) for one in words])
    better = np.asarray([place[one.better] for one in words])
    worse = np.asarray([place[one.worse] for one in words])
    scores = np.zeros(len(items))
    eta = np.full(len(people), PRIOR[0] / sum(PRIOR))
    spoken = np.bincount(who, minlength=len(people))
    for _ in range(TURNS):
        so = sigmoid(scores[better] - scores[worse])
        is_right = eta[who] * so
        is_wrong = (1 - eta[who]) * (1 - so)
        right = is_right / (is_right + is_wrong)
        hits = np.bincount(who, right, len(people))
        eta = (hits + PRIOR[0]) / (spoken + sum(PRIOR))
        scores = _fitted_scores(scores, better, worse, right)
    return Agreed(
        dict(zip(people, eta.tolist(), strict=True)),
        dict(zip(items, scores.tolist(), strict=True)),
    )


def _fitted_scores(scores: Floats, better: Places, worse: Places, right: Floats) -> Floats:
    """Move the items' scores towards what was said of them, and centre them.

    ``better`` and ``worse`` are the places of each word's items in ``scores``, ``right`` the chance
    that the word is right. A few damped steps of Newton's method on the diagonal.
    """
    count = len(scores)
    for _ in range(NEWTON_STEPS):
        so = sigmoid(scores[better] - scores[worse])
        pull = right - so
        curve = so * (1 - so)
        gained = np.bincount(better, pull, count)
        lost = np.bincount(worse, pull, count)
        slope = gained - lost - RIDGE * scores
        bend = np.bincount(better, curve, count) + np.bincount(worse, curve, count) + RIDGE
        scores = scores + DAMPING * slope / bend
    centred: Floats = scores - scores.mean()
    return centred


def reconcile_pairs(pairs: Sequence[Pair]) -> tuple[list[Pair], dict[str, float]]:
    """What several annotators said of the same pair as one pair, weighed by how sure that is; ties
    are no preference.

    Pairs that no annotator is named for stay as they are. Gives the annotators' reliability too.
    """
    kept: list[Pair] = []
    by_aspect: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        if pair.tie:
            continue
        if pair.annotator is None:
            kept.append(pair)
        else:
            by_aspect[pair.aspect].append(pair)
    reliability: dict[str, float] = {}
    for some in by_aspect.values():
        agreed = agree([_word(pair) for pair in some])
        reliability |= agreed.reliability
        sides: dict[frozenset[str], Pair] = {}
        for pair in some:
            sides.setdefault(frozenset((pair.chosen.key, pair.rejected.key)), pair)
        for pair in sides.values():
            kept += _as_agreed(pair, agreed.chance(pair.chosen.key, pair.rejected.key))
    return kept, reliability


def _word(pair: Pair) -> AnnotatorWord:
    """What one annotator said of a pair."""
    return AnnotatorWord(str(pair.annotator), pair.chosen.key, pair.rejected.key)


def _as_agreed(pair: Pair, chance: float) -> list[Pair]:
    """Return the pair with the side first that is more likely better, weighed by how sure that is;
    nothing where it is as good as even."""
    if chance < 0.5:
        pair, chance = replace(pair, chosen=pair.rejected, rejected=pair.chosen), 1 - chance
    weight = 2 * chance - 1
    return [replace(pair, annotator=None, weight=pair.weight * weight)] if weight > 0.05 else []
