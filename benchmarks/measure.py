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
STUDENT_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""The same of Student's t with 1 to 10 degrees of freedom: few rounds know their spread badly."""
FEW = 6
"""Fewer rounds have no two that are the ends of a 95 % interval of their median."""
MAX_UNREACHED = 0.4
"""How likely a quantile may be beyond all values that were measured, for its interval to be said."""
MAX_FACTOR = 10.0
"""An interval beyond ten times a value to each side says nothing, so it is not said."""
ALONE, TAIL, EXTREME = 0.1, 0.25, 0.5
"""What of a value is noise at least: of one that has no reference in its run, and moves with the
machine; of its slowest tenth, and of what is the difference of two; and of the longest of few."""


class Estimate(NamedTuple):
    """A measured value, and the ends of its 95 % interval, None where one measurement is all there
    is. ``rounds``: of how many samples it was made; ``noise``: the share of the value to each side
    that is noise from run to run, whatever the interval."""

    value: float
    low: float | None
    high: float | None
    rounds: int
    noise: float = ALONE


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
    by the binomial distribution of how many lie below; there is none where the quantile may well
    lie beyond all of them, as the 99th percentile of nine does."""
    ordered = sorted(values)
    count = len(ordered)
    middle = min(count - 1, int(share * count))
    if max(share, 1 - share) ** count > MAX_UNREACHED:
        return Estimate(ordered[middle], None, None, count, EXTREME)
    noise = TAIL if share > 0.9 else ALONE
    reach = NORMAL_95 * math.sqrt(count * share * (1 - share))
    low = max(0, math.floor(share * count - reach))
    high = min(count - 1, math.ceil(share * count + reach))
    ends = ordered[min(low, middle)], ordered[max(high, middle)]
    return Estimate(ordered[middle], *ends, count, noise)


def estimate_median(values: Sequence[float]) -> Estimate:
    """The median of ``values``, with an interval as `estimate_quantile` gives it. Of few values that
    are all above 0 it is made of their logarithms' deviation."""
    middle = statistics.median(values)
    if 1 < len(values) < FEW and min(values) > 0:
        return _spread(middle, values, ALONE)
    return estimate_quantile(values, 0.5)._replace(value=middle)


def estimate_longest(values: Sequence[float]) -> Estimate:
    """The longest of ``values``: of an extreme no interval is known."""
    return Estimate(max(values), None, None, len(values), EXTREME)


def estimate_share(count: int, total: int) -> Estimate:
    """``count`` of ``total`` in percent, with Wilson's interval."""
    share, weight = count / total, NORMAL_95**2 / total
    middle = share + weight / 2
    reach = NORMAL_95 * math.sqrt(share * (1 - share) / total + weight / total / 4)
    low, high = ((middle + side * reach) / (1 + weight) for side in (-1, 1))
    return Estimate(100 * share, max(0.0, 100 * low), min(100.0, 100 * high), total)


def estimate_rate(count: float, seconds: Sequence[float]) -> Estimate:
    """``count`` things a second, by the median round."""
    took = estimate_median(seconds)
    value = count / took.value
    if took.low is None or took.high is None:
        return Estimate(value, None, None, took.rounds, took.noise)
    return Estimate(value, count / took.high, count / took.low, took.rounds)


def estimate_difference(
    over: Sequence[float], under: Sequence[float], share: float = 0.5
) -> Estimate:
    """A quantile of ``over`` less the same of ``under``, by default of the medians; the interval is
    a bootstrap of the rounds, which both share, and of few rounds that of their mean difference."""
    pairs = list(zip(over, under, strict=True))
    noise = TAIL if share == 0.5 else EXTREME

    def difference(chosen: Sequence[tuple[float, float]]) -> float:
        return quantile([a for a, _ in chosen], share) - quantile([b for _, b in chosen], share)

    middle = difference(pairs)
    if len(pairs) < 2:
        return single(middle, noise)
    if len(pairs) < FEW:
        reach = _reach([a - b for a, b in pairs])
        return Estimate(middle, middle - reach, middle + reach, len(pairs), noise)
    draw = random.Random(0).choices
    drawn = sorted(difference(draw(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return Estimate(middle, drawn[CUT], drawn[-CUT - 1], len(pairs), noise)


def ratio(over: Sequence[float], under: Sequence[float]) -> Estimate:
    """The geometric mean of the rounds' ratios; the interval is that of the mean of their
    logarithms, by Student's t."""
    each = [a / b for a, b in zip(over, under, strict=True)]
    middle = statistics.geometric_mean(each)
    if len(each) < 2:
        return single(middle)
    return _spread(middle, each, 0.0)


def _spread(middle: float, values: Sequence[float], noise: float) -> Estimate:
    """Return ``middle`` of at least two values above 0, with the interval of their mean."""
    factor = math.exp(_reach([math.log(value) for value in values]))
    if factor > MAX_FACTOR:
        return Estimate(middle, None, None, len(values), EXTREME)
    return Estimate(middle, middle / factor, middle * factor, len(values), noise)


def _reach(values: Sequence[float]) -> float:
    """Return how far the 95 % interval of the mean of at least two values reaches to each side."""
    freedom = len(values) - 1
    is_listed = freedom <= len(STUDENT_95)
    deviations = STUDENT_95[freedom - 1] if is_listed else NORMAL_95 + 2.5 / freedom
    return deviations * statistics.stdev(values) / math.sqrt(len(values))


def exact(value: float) -> Estimate:
    """What is the same in every run, as the bytes that the same events are packed into."""
    return Estimate(value, value, value, 1, 0.0)


def single(value: float, noise: float = ALONE) -> Estimate:
    """What was measured once: its interval is not known."""
    return Estimate(value, None, None, 1, noise)
