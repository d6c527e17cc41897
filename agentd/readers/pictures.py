"""Pictures: what they are and how they look, small enough to be compared without the picture."""

from __future__ import annotations

import base64
import warnings
from typing import Any, BinaryIO

from agentd.readers.bounds import DamagedError, HeavyError

MAX_PIXELS = 64_000_000
GRID = 64
"""The picture's brightness is told in this many cells across and down (`gray`)."""
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "ICO")
"""Formats that Pillow reads by itself: no other program is ever started for one."""


def read_image(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{kind, width, height, mode, frames, colors?, phash, brightness, contrast, saturation,
    transparent, mean, gray}``.

    ``brightness`` and ``saturation``: means, ``contrast``: standard deviation of brightness, all of
    255; ``transparent``: the share of pixels that are less than half opaque; ``mean``: red, green,
    blue; ``colors``: of a palette; ``gray``: base64 of 64 × 64 mean brightnesses, by which the rule
    image_like computes likeness.
    """
    from PIL import Image, ImageStat

    from agentd.readers.picture_measures import phash

    Image.MAX_IMAGE_PIXELS = None  # our own bound is below
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = Image.open(file, formats=_FORMATS)
            if picture.width * picture.height > MAX_PIXELS:
                raise HeavyError(f"{picture.width} by {picture.height} pixels")
            kind, mode, frames = str(picture.format), picture.mode, getattr(picture, "n_frames", 1)
            rgba = picture.convert("RGBA")
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise DamagedError(f"no picture: {error}") from None
    # As it is seen: what is transparent lies on white.
    seen = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
    gray, alpha = seen.convert("L"), rgba.getchannel("A").histogram()
    facts = {
        "kind": kind.lower(), "width": picture.width, "height": picture.height, "mode": mode, "frames": frames,
        "phash": phash(seen),
        "brightness": round(ImageStat.Stat(gray).mean[0], 2),
        "contrast": round(ImageStat.Stat(gray).stddev[0], 2),
        "saturation": round(ImageStat.Stat(seen.convert("HSV")).mean[1], 2),
        "transparent": round(sum(alpha[:128]) / (rgba.width * rgba.height), 4),
        "mean": [round(value, 2) for value in ImageStat.Stat(seen).mean],
        "gray": base64.b64encode(gray.resize((GRID, GRID), Image.Resampling.BOX).tobytes()).decode(),
    }  # fmt: skip
    colors = picture.getcolors(256) if mode == "P" else None
    return facts | ({"colors": len(colors)} if colors is not None else {})
