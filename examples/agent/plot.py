"""The learning curves as an SVG: success in training over environment steps. In `.venv-learning`.

python -m examples.agent.plot FOLDER OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib import pyplot, rc_context

from examples.agent.table import RunLog, read_runs
from examples.agent.tasks import KINDS
from examples.learning.plot import COLOURS, NAMES


def draw(runs: list[RunLog], out: Path) -> None:
    """Write the plot; the same runs give the same file."""
    with rc_context({"svg.hashsalt": "agent", "svg.fonttype": "none"}):
        _draw(runs, out)


def _draw(runs: list[RunLog], out: Path) -> None:
    figure, axes = pyplot.subplots(figsize=(8, 4))
    for kind in KINDS:
        for number, run in enumerate(one for one in runs if one.kind == kind):
            curve = run.curve()
            steps, shares = [at for at, _ in curve], [won for _, won in curve]
            label = NAMES[kind] if number == 0 else None
            axes.plot(steps, shares, color=COLOURS[kind], label=label, linewidth=1.4, alpha=0.85)
            if run.is_done:
                axes.plot(steps[-1:], shares[-1:], "o", color=COLOURS[kind], markersize=4)
    axes.set_xlabel("environment steps in Chromium")
    axes.set_ylabel("success, last 96 episodes")
    axes.set_ylim(-0.02, 1.04)
    axes.legend(loc="upper left", frameon=False, title="paid for")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(out, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))


if __name__ == "__main__":
    draw(read_runs(Path(sys.argv[1])), Path(sys.argv[2]))
