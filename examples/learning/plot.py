"""The learning curves as an SVG: success over the last 20 episodes against environment steps. In
`.venv-learning`.

python -m examples.learning.plot RUNS OUT
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib import pyplot, rc_context

from examples.learning.tasks import KINDS

WINDOW = 20
COLOURS = {
    "sparse": "#b3541e",
    "milestones": "#1f6fb2",
    "mined": "#7a4fa3",
    "potential": "#3f8f4f",
}
NAMES = {
    "sparse": "the goal alone",
    "milestones": "milestones",
    "mined": "milestones that nobody wrote",
    "potential": "the goal, with a potential",
}


def curve(run: dict[str, Any]) -> tuple[list[int], list[float]]:
    """Steps, and the share of the episodes up to there (20 at most) that reached the goal; after a
    run's end as it was."""
    ends = [step for step, _ in run["episodes"]]
    won = [success for _, success in run["episodes"]]
    shares = [sum(won[max(0, n - WINDOW) : n]) / min(n, WINDOW) for n in range(1, len(won) + 1)]
    return [0, *ends], [0.0, *shares]


def draw(runs: list[dict[str, Any]], out: Path) -> None:
    """Write the plot; the same runs give the same file."""
    curves = [Curve(run["kind"], *curve(run), is_ended=True) for run in runs]
    draw_curves(curves, out, salt="learning", window=WINDOW, legend="center right", threshold=0.8)


class Curve(NamedTuple):
    """A run's success by environment steps. ``kind``: one of `KINDS`; ``is_ended``: the run went to
    its end, which the plot marks."""

    kind: str
    steps: Sequence[int]
    shares: Sequence[float]
    is_ended: bool


class Band(NamedTuple):
    """An interval of the success of all runs of a kind, by environment steps."""

    kind: str
    steps: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def draw_curves(
    curves: Sequence[Curve],
    out: Path,
    *,
    salt: str,
    window: int,
    legend: str,
    threshold: float | None = None,
    bands: Sequence[Band] = (),
) -> None:
    """Write an SVG of success over the last ``window`` episodes; the same curves and ``salt`` give
    the same file. ``legend``: its place, in matplotlib's words; ``threshold``: a line to reach;
    ``bands``: drawn behind the curves."""
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure, axes = pyplot.subplots(figsize=(8, 4))
        labels = dict(NAMES)
        for band in bands:
            shade = {"color": COLOURS[band.kind], "alpha": 0.15, "linewidth": 0}
            axes.fill_between(band.steps, band.low, band.high, **shade)
        for kind, steps, shares, is_ended in sorted(curves, key=lambda one: KINDS.index(one.kind)):
            colour, label = COLOURS[kind], labels.pop(kind, None)
            axes.plot(steps, shares, color=colour, label=label, linewidth=1.4, alpha=0.85)
            if is_ended:
                axes.plot(steps[-1:], shares[-1:], "o", color=colour, markersize=4)
        if threshold is not None:
            axes.axhline(threshold, color="#888888", linewidth=0.8, linestyle="--")
        axes.set_xlabel("environment steps in Chromium")
        axes.set_ylabel(f"success, last {window} episodes")
        axes.set_ylim(-0.02, 1.04)
        axes.legend(loc=legend, frameon=False, title="paid for")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        figure.tight_layout()
        nameless = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", metadata=nameless)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
