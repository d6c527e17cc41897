"""Draws a flame graph (Gregg, "The flame graph", 2016) as SVG: a box for each function below its
caller, as wide as its share of the samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from benchmarks.flame.samples import Stacks

WIDTH = 1_200
ROW = 17
MIN_SHARE = 0.004
"""Narrower boxes are left out: their time stays in their callers' boxes."""
LETTER = 6.2
"""The width of a letter, in pixels."""
_OURS, _OTHERS, _ALL = "#f2b56b", "#bcd3e6", "#dddddd"


@dataclass
class Box:
    """A function at one place of the graph, with the samples in it and in what it calls."""

    name: str
    samples: int = 0
    callees: dict[str, Box] = field(default_factory=dict)


def draw(stacks: Stacks, title: str) -> str:
    """Return the graph of ``stacks``, whose outermost functions stand on top."""
    root = Box(f"all: {title}")
    for stack, count in stacks.items():
        box = root
        box.samples += count
        for name in stack:
            box = box.callees.setdefault(name, Box(name))
            box.samples += count
    rows: list[str] = []
    depth = 0
    for level, left, box in _boxes(root, 0, 0.0, root.samples):
        depth = max(depth, level)
        rows.append(_draw_box(box, level, left, root.samples))
    height = (depth + 1) * ROW
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
            f' font-family="monospace" font-size="10.5" role="img">',
            f"<title>{escape(title)}: processor time by function</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            *rows,
            "</svg>",
            "",
        ]
    )


def _boxes(box: Box, level: int, left: float, total: int) -> Iterator[tuple[int, float, Box]]:
    """Yield each box that is wide enough, with its level and its left edge in pixels."""
    yield level, left, box
    for callee in sorted(box.callees.values(), key=lambda one: -one.samples):
        if callee.samples < MIN_SHARE * total:
            break
        yield from _boxes(callee, level + 1, left, total)
        left += callee.samples / total * WIDTH


def _draw_box(box: Box, level: int, left: float, total: int) -> str:
    """Return the box with as much of its name as it has room for, and all of it as a tooltip."""
    share = box.samples / total
    width = share * WIDTH
    letters = int((width - 4) / LETTER)
    shown = box.name if len(box.name) <= letters else box.name[: max(letters - 1, 0)] + "…"
    text = ""
    if letters >= 3:
        text = f'<text x="{left + 2:.1f}" y="{level * ROW + 12}">{escape(shown)}</text>'
    colour = _ALL if level == 0 else _OURS if "/" in box.name else _OTHERS
    return (
        f"<g><title>{escape(box.name)}: {share:.1%}</title>"
        f'<rect x="{left:.1f}" y="{level * ROW}" width="{width:.1f}" height="{ROW - 1}"'
        f' fill="{colour}"/>{text}</g>'
    )
