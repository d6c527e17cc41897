"""The coverage/risk curve as an SVG of a few lines: no plotting library for one picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
WIDTH, HEIGHT, LEFT, TOP = 560, 340, 56, 24
POINTS = 200


def risk_plot(coverage: Floats, risk: Floats, base: float, title: str) -> str:
    """Risk over coverage; ``base`` is the error of saying the commoner outcome always."""
    high = max(0.1, float(np.ceil(max(float(risk.max(initial=0.0)), base) * 10) / 10))
    chosen = np.unique(np.linspace(0, len(coverage) - 1, min(POINTS, len(coverage))).astype(int))
    points = " ".join(_point(float(coverage[at]), float(risk[at]) / high) for at in chosen)
    marks = "".join(_across(value, high) for value in _ticks(high)) + "".join(
        map(_down, (0.0, 0.25, 0.5, 0.75, 1.0))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' font-family="sans-serif" font-size="12"><title>{_escaped(title)}</title><rect'
        f' width="{WIDTH}" height="{HEIGHT}" fill="#fff"/><text x="{LEFT}" y="15"'
        f' fill="#222">{_escaped(title)}</text>{marks}<line x1="{LEFT}" x2="{WIDTH - 12}"'
        f' y1="{_y(base / high)}" y2="{_y(base / high)}" stroke="#999" stroke-dasharray="4'
        f' 3"/><polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="2"/><text'
        f' x="{WIDTH // 2}" y="{HEIGHT - 6}" text-anchor="middle" fill="#222">coverage</text><text'
        f' x="14" y="{HEIGHT // 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT // 2})"'
        ' fill="#222">risk</text></svg>\n'
    )


def _ticks(high: float) -> Sequence[float]:
    return [high * part / 4 for part in range(5)]


def _across(value: float, high: float) -> str:
    y = _y(value / high)
    return (
        f'<line x1="{LEFT}" x2="{WIDTH - 12}" y1="{y}" y2="{y}" stroke="#ddd"/>'
        f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end" fill="#555">{value:.0%}</text>'
    )


def _down(value: float) -> str:
    x, _ = _point(value, 0).split(",")
    return f'<text x="{x}" y="{HEIGHT - 26}" text-anchor="middle" fill="#555">{value:.0%}</text>'


def _point(x: float, y: float) -> str:
    return f"{LEFT + x * (WIDTH - LEFT - 12):.1f},{_y(y)}"


def _y(share: float) -> float:
    return round(TOP + (1 - share) * (HEIGHT - TOP - 44), 1)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
