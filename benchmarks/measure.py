"""How figures are taken on shared, noisy machines: interleaved rounds, medians, ratios of
neighbours in time, each with the ends of its 95 % interval: what noise alone may have made of it."""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

RESAMPLES = 2_000
"""How often the rounds are drawn anew for a bootstrap interval; a fortieth is cut off each end."""
CUT = RESAMPLES // 40
NORMAL_95 = 1.96
"""Standard deviations of a normal distribution that hold 95 % of it."""


class Estimate(NamedTuple):
    """A measured value, and the ends of its 95 % interval, None where one measurement is all there
    is. ``rounds``: of how many samples it was made."""

    value: float
    low: float | None
    high: float | None
    rounds: int


def interleaved(rounds: int, **runs: Callable[[], Any]) -> dict[str, list[float]]:
    """Seconds of each run, round by round; every round does each once, so that noise hits all
    alike."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            # What one run leaves alive must not be walked during the next one's time.
            gc.collect()
            gc.freeze()
            start = time.perf_counter()
            run()
            taken[name].append(time.perf_counter() - start)
    return taken


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of ``values`` lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def estimate_quantile(values: Sequence[float], share: float) -> Estimate:
    """The value below which ``share`` of ``values`` lie. Its interval is between two of the values,
    by the binomial distribution of how many lie below: few values can't reach beyond their own
    ends."""
    ordered = sorted(values)
    count = len(ordered)
    middle = min(count - 1, int(share * count))
    reach = NORMAL_95 * math.sqrt(count * share * (1 - share))
    low = max(0, math.floor(share * count - reach))
    high = min(count - 1, math.ceil(share * count + reach))
    return Estimate(ordered[middle], ordered[min(low, middle)], ordered[max(high, middle)], count)


def estimate_median(values: Sequence[float]) -> Estimate:
    """The median of ``values``, with an interval as `estimate_quantile` gives it."""
    interval = estimate_quantile(values, 0.5)
    return interval._replace(value=statistics.median(values))


def estimate_rate(count: float, seconds: Sequence[float]) -> Estimate:
    """``count`` things a second, by the median round."""
    took = estimate_median(seconds)
    assert took.low is not None
    assert took.high is not None
    return Estimate(count / took.value, count / took.high, count / took.low, took.rounds)


def estimate_difference(
    over: Sequence[float], under: Sequence[float], share: float = 0.5
) -> Estimate:
    """A quantile of ``over`` less the same of ``under``, by default of the medians; the interval is
    a bootstrap of the rounds, which both share."""
    pairs = list(zip(over, under, strict=True))

    def difference(chosen: Sequence[tuple[float, float]]) -> float:
        return quantile([a for a, _ in chosen], share) - quantile([b for _, b in chosen], share)

    return _bootstrap(pairs, difference)


def ratio(over: Sequence[float], under: Sequence[float]) -> Estimate:
    """The geometric mean of the rounds' ratios; the interval is a bootstrap of the rounds."""
    return _bootstrap([a / b for a, b in zip(over, under, strict=True)], statistics.geometric_mean)


def exact(value: float) -> Estimate:
    """What is the same in every run, as the bytes that the same events are packed into."""
    return Estimate(value, value, value, 1)


def single(value: float) -> Estimate:
    """What was measured once: its interval is not known."""
    return Estimate(value, None, None, 1)


def _bootstrap(rounds: Sequence[Any], measure: Callable[[Sequence[Any]], float]) -> Estimate:
    draw = random.Random(0).choices
    drawn = sorted(measure(draw(rounds, k=len(rounds))) for _ in range(RESAMPLES))
    return Estimate(measure(rounds), drawn[CUT], drawn[-CUT - 1], len(rounds))
