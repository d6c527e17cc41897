"""The learning curves as an SVG: success in training over environment steps, a line a run, and the
95 % interval of all runs of a kind together. In `.venv-learning`.

python -m examples.agent.plot FOLDER OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from examples.agent.kinds import KINDS
from examples.agent.table import WINDOW_EPISODES, RunLog, pooled_curve, read_runs
from examples.learning.plot import Band, Curve, draw_curves


def draw(runs: list[RunLog], out: Path) -> None:
    """Write the plot; the same runs give the same file."""
    curves = []
    for run in runs:
        points = run.curve()
        steps, shares = [step for step, _ in points], [share for _, share in points]
        curves.append(Curve(run.kind, steps, shares, is_ended=run.is_done))
    bands = []
    for kind in KINDS:
        mine = [run for run in runs if run.kind == kind]
        if pooled := pooled_curve(mine) if mine else []:
            bands.append(Band(kind, *zip(*pooled, strict=True)))
    draw_curves(curves, out, salt="agent", window=WINDOW_EPISODES, legend="upper left", bands=bands)


if __name__ == "__main__":
    draw(read_runs(Path(sys.argv[1])), Path(sys.argv[2]))
