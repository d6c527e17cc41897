"""What is computed of a picture: its likeness to others, how much changed, its file. Pure, and the
same anywhere."""

from __future__ import annotations

import base64
import hashlib
import io
from typing import NamedTuple, Protocol

from PIL import Image, ImageChops

FORMAT = "webp"
QUALITY = 80
"""On a page with a photograph: 18 kB where PNG takes 464 kB, in the same time (docs/machine.md)."""
GRID = (64, 45)
"""Cells across and down: 20 by 20 pixels on a screen of 1280 by 900."""
GRAY = 64
"""Cells across and down in which brightness is reported (`gray`)."""
SAME = 4
"""By how much of 255 a cell's mean red, green or blue may differ without a change of the cell."""


class Shot(NamedTuple):
    """One look at the screen. ``data``: its file where the camera made it; ``tab``: whose, in a
    browser."""

    image: Image.Image
    data: bytes | None = None
    tab: str | None = None


class NoShotError(Exception):
    """There is no picture now, and why; there may be one next time."""


class Camera(Protocol):
    """``run`` holds what the camera needs until cancelled and raises `SourceLostError` once it sees
    nothing; meanwhile ``take`` gives a picture or raises `NoShotError`, in bounded time."""

    of: str

    async def run(self) -> None: ...

    async def take(self) -> Shot: ...


class ShotFacts(NamedTuple):
    """What is told of a shot. ``cells``: for the next one's ``changed``, None where there is none
    before."""

    data: bytes
    sha256: str
    phash: str
    changed: float | None
    cells: Image.Image


def develop(shot: Shot, before: Image.Image | None) -> ShotFacts:
    """Compute all facts of a shot; ``before``: the cells of the one before it, if there was one.

    It takes some 30 ms for a screen of 1280 by 900, so call it in a thread of its own.
    """
    data = shot.data if shot.data is not None else encode(shot.image)
    now = cells(shot.image)
    share = None if before is None else changed_share(before, now)
    return ShotFacts(data, hashlib.sha256(data).hexdigest(), phash(shot.image), share, now)


def encode(image: Image.Image) -> bytes:
    """Encode a picture as a file of `FORMAT`; the same bytes for the same pixels."""
    out = io.BytesIO()
    image.save(out, format=FORMAT, quality=QUALITY, method=0)
    return out.getvalue()


def phash(image: Image.Image) -> str:
    """Return 64 bits in hex: whether brightness falls from each cell of a 9 by 8 grid to the next
    one on its right.

    Pictures that a person calls alike differ in few bits: N. Krawetz's dHash ("Kind of Like That",
    2013).
    """
    small = image.convert("L").resize((9, 8), Image.Resampling.BOX).tobytes()
    bits = [small[row * 9 + x] > small[row * 9 + x + 1] for row in range(8) for x in range(8)]
    return f"{sum(bit << (63 - place) for place, bit in enumerate(bits)):016x}"


def gray(image: Image.Image) -> str:
    """Return base64 of the picture's 64 × 64 mean brightnesses, by which rules compute likeness."""
    small = image.convert("L").resize((GRAY, GRAY), Image.Resampling.BOX)
    return base64.b64encode(small.tobytes()).decode()


def cells(image: Image.Image) -> Image.Image:
    """Return the means of the grid's cells, as a picture with a pixel for each."""
    return image.convert("RGB").resize(GRID, Image.Resampling.BOX)


def changed_share(before: Image.Image, now: Image.Image) -> float:
    """Return the share of cells, 0 to 1, that differ between two pictures by more than `SAME`."""
    red, green, blue = (
        band.point(lambda value: 255 if value > SAME else 0)
        for band in ImageChops.difference(before, now).split()
    )
    differ = ImageChops.lighter(ImageChops.lighter(red, green), blue).histogram()[255]
    return round(differ / (GRID[0] * GRID[1]), 4)
