"""How policy versions compare by what people preferred: win rates, and ratings (pure).

Ratings are those of Bradley and Terry (1952): version i is preferred to j with the chance
1/(1 + 10^((r_j - r_i)/400)), a tie is half of each. Every version also has one tie against a
version of rating 0, so that ratings are finite and compare without a chain of common opponents.
They are found by the algorithm of Hunter (2004), their 95 % intervals by the inverse of the
observed information.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel

from api.core.intervals import Z, wilson

SCALE = 400 / math.log(10)
"""Points of a rating for each unit of log strength."""
ROUNDS = 1_000
CLOSE = 1e-10
_FIRST_WINS = {"first": 1.0, "second": 0.0, "tie": 0.5}


class Comparison(NamedTuple):
    """What one person said of an episode of ``first`` beside one of ``second``; ``choice`` is
    first, second, tie or unsure."""

    first: str
    second: str
    choice: str


class VersionRatingShape(BaseModel):
    """A version's comparisons with others. `win_rate` counts a tie as half a win, with its Wilson
    interval; `rating` is 0 for a version that is as good as the others on average."""

    version: str
    comparisons: int
    win_rate: float
    win_low: float
    win_high: float
    rating: float
    rating_low: float
    rating_high: float


def rate_versions(comparisons: Sequence[Comparison]) -> list[VersionRatingShape]:
    """Return a rating a version, the best first. Comparisons of a version with itself, and those of
    people who were unsure, say nothing."""
    wins: dict[tuple[str, str], float] = {}
    for one in comparisons:
        share = _FIRST_WINS.get(one.choice)
        if share is not None and one.first != one.second:
            wins[one.first, one.second] = wins.get((one.first, one.second), 0.0) + share
            wins[one.second, one.first] = wins.get((one.second, one.first), 0.0) + 1 - share
    versions = sorted({first for first, _ in wins})
    won = [[wins.get((mine, theirs), 0.0) for theirs in versions] for mine in versions]
    met = [[won[i][j] + won[j][i] for j in range(len(versions))] for i in range(len(versions))]
    strengths = fit_strengths(won, met)
    deviations = find_deviations(strengths, met)
    ratings = [
        _describe(version, sum(won[i]), sum(met[i]), strengths[i], deviations[i])
        for i, version in enumerate(versions)
    ]
    return sorted(ratings, key=lambda one: (-one.rating, one.version))


def _describe(
    version: str, won: float, met: float, strength: float, deviation: float
) -> VersionRatingShape:
    rate = won / met
    low, high = wilson(rate, met)
    rating, half = SCALE * math.log(strength), SCALE * Z * deviation
    return VersionRatingShape(
        version=version,
        comparisons=round(met),
        win_rate=rate,
        win_low=low,
        win_high=high,
        rating=rating,
        rating_low=rating - half,
        rating_high=rating + half,
    )


def fit_strengths(won: Sequence[Sequence[float]], met: Sequence[Sequence[float]]) -> list[float]:
    """Return the strengths of the greatest likelihood, given wins and meetings of i with j."""
    count = len(won)
    strengths = [1.0] * count
    for _ in range(ROUNDS):
        updated = [
            (sum(won[i]) + 0.5)
            / (
                1 / (strengths[i] + 1)
                + math.fsum(met[i][j] / (strengths[i] + strengths[j]) for j in range(count))
            )
            for i in range(count)
        ]
        change = max(
            (abs(new / old - 1) for new, old in zip(updated, strengths, strict=True)), default=0.0
        )
        strengths = updated
        if change < CLOSE:
            break
    return strengths


def find_deviations(strengths: Sequence[float], met: Sequence[Sequence[float]]) -> list[float]:
    """Return the standard deviation of each log strength: the root of the inverse information's
    diagonal."""
    count = len(strengths)
    information = [[0.0] * count for _ in range(count)]
    for i, mine in enumerate(strengths):
        information[i][i] += mine / (1 + mine) ** 2
        for j, theirs in enumerate(strengths):
            weight = met[i][j] * mine * theirs / (mine + theirs) ** 2
            information[i][i] += weight
            information[i][j] -= weight
    return [math.sqrt(row[i]) for i, row in enumerate(_invert(information))]


def _invert(matrix: list[list[float]]) -> list[list[float]]:
    """Return the inverse of a diagonally dominant matrix, by Gauss and Jordan; no pivot is
    needed."""
    count = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(count))] for i, row in enumerate(matrix)]
    for i in range(count):
        pivot = rows[i][i]
        rows[i] = [value / pivot for value in rows[i]]
        for j in range(count):
            factor = rows[j][i]
            if j != i and factor:
                rows[j] = [
                    value - factor * other for value, other in zip(rows[j], rows[i], strict=True)
                ]
    return [row[count:] for row in rows]
