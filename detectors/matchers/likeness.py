"""How alike two pictures are, computed of what an event tells of them: no picture is needed."""

from __future__ import annotations

import base64
from collections.abc import Sequence

GRID = 64
WINDOW = 8
STRIDE = 4
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def grays(text: object) -> bytes | None:
    """The 64 × 64 brightnesses of a picture's fact ``gray``; None for what is none."""
    try:
        data = base64.b64decode(str(text), validate=True)
    except ValueError:  # binascii.Error is one; letters beyond ASCII are another
        return None
    return data if len(data) == GRID * GRID else None


def mirror_picture(data: bytes) -> bytes:
    """The same picture, left for right."""
    return b"".join(data[row : row + GRID][::-1] for row in range(0, GRID * GRID, GRID))


def ssim(one: bytes, other: bytes) -> float:
    """The mean structural similarity of two brightness grids, in [-1, 1]; 1 is the same.

    Over windows of 8 × 8 cells, 4 apart: (2μxμy + C1)(2σxy + C2) / ((μx² + μy² + C1)(σx² + σy² +
    C2)), with C1 = (0.01·255)², C2 = (0.03·255)². Wang, Bovik, Sheikh and Simoncelli, "Image
    quality assessment", 2004.
    """
    places = range(0, GRID - WINDOW + 1, STRIDE)
    found = [
        _window(_cells(one, row, column), _cells(other, row, column))
        for row in places
        for column in places
    ]
    return sum(found) / len(found)


def _cells(data: bytes, row: int, column: int) -> bytes:
    starts = range(row * GRID + column, (row + WINDOW) * GRID + column, GRID)
    return b"".join(data[start : start + WINDOW] for start in starts)


def _window(x: Sequence[int], y: Sequence[int]) -> float:
    n = WINDOW * WINDOW
    sx, sy = sum(x), sum(y)
    mx, my = sx / n, sy / n
    # Whole numbers as long as possible: the same on any machine.
    vx, vy = (
        (n * sum(a * a for a in x) - sx * sx) / n**2,
        (n * sum(b * b for b in y) - sy * sy) / n**2,
    )
    both = (n * sum(a * b for a, b in zip(x, y, strict=True)) - sx * sy) / n**2
    return ((2 * mx * my + _C1) * (2 * both + _C2)) / ((mx * mx + my * my + _C1) * (vx + vy + _C2))


def differing_bits(one: object, other: object) -> int | None:
    """In how many of 64 bits two perceptual hashes in hex differ; None for what is none."""
    try:
        return (int(str(one), 16) ^ int(str(other), 16)).bit_count()
    except ValueError:
        return None
