"""The learning curves as an SVG: success in training over environment steps. In `.venv-learning`.

python -m examples.agent.plot FOLDER OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from examples.agent.table import WINDOW_EPISODES, RunLog, read_runs
from examples.learning.plot import Curve, draw_curves


def draw(runs: list[RunLog], out: Path) -> None:
    """Write the plot; the same runs give the same file."""
    curves = []
    for run in runs:
        points = run.curve()
        steps, shares = [step for step, _ in points], [share for _, share in points]
        curves.append(Curve(run.kind, steps, shares, is_ended=run.is_done))
    draw_curves(curves, out, salt="agent", window=WINDOW_EPISODES, legend="upper left")


if __name__ == "__main__":
    draw(read_runs(Path(sys.argv[1])), Path(sys.argv[2]))
