"""`python -m benchmarks.flame_graph STACKS SVG`: draws where a process spends its time.

``STACKS`` has a line for each way through the code, ``outermost;…;innermost COUNT``, as
``py-spy record --function --format raw`` writes it. The picture has no script: each box says its
share, and what it is where it is too small for its name, as the pointer rests on it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

WIDTH, ROW, LETTER = 1200, 17, 6.6
"""Of the picture, of a row and of a letter, in pixels."""
MIN_SHARE = 0.003
"""Boxes of a smaller share are left out."""
COLOURS = {"detectors": "#f4a582", "api": "#92c5de", "common": "#b8e186", "benchmarks": "#e0e0e0"}
OTHER = "#fddbc7"
"""The colour of the libraries' and Python's own functions."""


@dataclass
class Frame:
    """A function as one way leads to it; ``count``: the samples in it and in what it calls."""

    name: str
    count: int = 0
    calls: dict[str, Frame] = field(default_factory=dict)


def read_stacks(lines: Iterable[str]) -> Frame:
    """Return the outermost frame, of all samples. Raises `ValueError` for a line without a count."""
    whole = Frame("all")
    for line in lines:
        names, _, count = line.strip().rpartition(" ")
        frame = whole
        frame.count += int(count)
        for name in names.split(";"):
            frame = frame.calls.setdefault(name, Frame(name))
            frame.count += int(count)
    return whole


def draw(whole: Frame) -> str:
    """Return the picture as SVG, the outermost frame in the first row."""
    boxes = list(_boxes(whole, 0.0, 0, whole.count))
    height = (max(depth for _, _, depth in boxes) + 1) * ROW
    parts = [_box(frame, at, depth, whole.count) for frame, at, depth in boxes]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' font-family="monospace" font-size="11">\n{"".join(parts)}</svg>\n'
    )


def _boxes(frame: Frame, at: float, depth: int, total: int) -> Iterator[tuple[Frame, float, int]]:
    """Yield each frame that is large enough, where it begins (0 to 1) and its row."""
    yield frame, at, depth
    for call in sorted(frame.calls.values(), key=lambda one: one.name):
        if call.count / total >= MIN_SHARE:
            yield from _boxes(call, at, depth + 1, total)
        at += call.count / total


def _box(frame: Frame, at: float, depth: int, total: int) -> str:
    share = frame.count / total
    width = share * WIDTH
    place = frame.name.partition("(")[2].partition("/")[0]
    fits = int((width - 4) / LETTER)
    text = frame.name if len(frame.name) <= fits else f"{frame.name[: fits - 1]}…"
    shown = (
        f'<text x="{at * WIDTH + 2:.1f}" y="{depth * ROW + 12}">{escape(text)}</text>'
        if fits > 3
        else ""
    )
    return (
        f"<g><title>{escape(frame.name)}: {share:.1%}</title>"
        f'<rect x="{at * WIDTH:.1f}" y="{depth * ROW}" width="{width:.1f}" height="{ROW - 1}"'
        f' fill="{COLOURS.get(place, OTHER)}"/>{shown}</g>\n'
    )


if __name__ == "__main__":
    stacks, picture = map(Path, sys.argv[1:])
    picture.write_text(draw(read_stacks(stacks.read_text().splitlines())))
