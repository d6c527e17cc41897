"""How figures are taken on shared, noisy machines: interleaved rounds, medians, ratios of
neighbours in time."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any


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


def rate(count: int, seconds: Sequence[float]) -> str:
    """``count`` things a second, by the median round."""
    return f"{count / statistics.median(seconds):,.0f}"


def quantile(values: list[float], share: float) -> float:
    """The value below which ``share`` of ``values`` lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def ratio(over: Sequence[float], under: Sequence[float]) -> tuple[float, float, float]:
    """The geometric mean of the rounds' ratios, and the ends of its 95 % bootstrap interval
    (percentiles of 2,000 resamples of the rounds): what noise alone may have made of it."""
    each = [a / b for a, b in zip(over, under, strict=True)]
    draw = random.Random(0).choices
    means = sorted(statistics.geometric_mean(draw(each, k=len(each))) for _ in range(2_000))
    return statistics.geometric_mean(each), means[50], means[-51]


def beside(over: Sequence[float], under: Sequence[float]) -> str:
    """The figure beside its reference, as `ratio` gives it, as text."""
    middle, low, high = ratio(over, under)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def line(name: str, value: str, wanted: str = "") -> None:
    """Print one figure, and beside it what is expected."""
    print(f"  {name:<58} {value:>20}  {wanted}", flush=True)
