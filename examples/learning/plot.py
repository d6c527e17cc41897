"""The learning curves as an SVG: success over the last 20 episodes against environment steps. In
`.venv-learning`.

python -m examples.learning.plot RUNS OUT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from matplotlib import pyplot, rc_context

from examples.learning.tasks import KINDS

WINDOW = 20
COLOURS = {"sparse": "#b3541e", "milestones": "#1f6fb2", "potential": "#3f8f4f"}
NAMES = {
    "sparse": "the goal alone",
    "milestones": "milestones",
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
    with rc_context({"svg.hashsalt": "learning", "svg.fonttype": "none"}):
        _draw(runs, out)


def _draw(runs: list[dict[str, Any]], out: Path) -> None:
    figure, axes = pyplot.subplots(figsize=(8, 4))
    for kind in KINDS:
        for number, run in enumerate(one for one in runs if one["kind"] == kind):
            steps, shares = curve(run)
            label = NAMES[kind] if number == 0 else None
            axes.plot(steps, shares, color=COLOURS[kind], label=label, linewidth=1.4, alpha=0.85)
            axes.plot(steps[-1:], shares[-1:], "o", color=COLOURS[kind], markersize=4)
    axes.axhline(0.8, color="#888888", linewidth=0.8, linestyle="--")
    axes.set_xlabel("environment steps in Chromium")
    axes.set_ylabel("success, last 20 episodes")
    axes.set_ylim(-0.02, 1.04)
    axes.legend(loc="center right", frameon=False, title="paid for")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
