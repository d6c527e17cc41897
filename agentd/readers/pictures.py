"""Pictures: what they are and how they look, small enough to be compared without the picture."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, BinaryIO

from agentd.readers.bounds import DamagedError, HeavyError
from agentd.readers.request import Facts, ReadRequest

if TYPE_CHECKING:
    import PIL.Image

MAX_PIXELS = 64_000_000
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "ICO")
"""Formats that Pillow reads by itself: no other program is ever started for one."""


def read_image(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{kind, width, height, mode, frames, colors?, phash, brightness, contrast,
    saturation, transparent, mean, gray}``.

    ``brightness`` and ``saturation``: means, ``contrast``: standard deviation of brightness, all of
    255; ``transparent``: the share of pixels that are less than half opaque; ``mean``: red, green,
    blue; ``colors``: of a palette; ``gray``: base64 of 64 × 64 mean brightnesses, by which the rule
    image_like computes likeness.
    """
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # our own bound is below
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = Image.open(file, formats=_FORMATS)
            if picture.width * picture.height > MAX_PIXELS:
                raise HeavyError(f"{picture.width} by {picture.height} pixels")
            facts: Facts = {
                "kind": str(picture.format).lower(),
                "width": picture.width,
                "height": picture.height,
                "mode": picture.mode,
                "frames": getattr(picture, "n_frames", 1),
            }
            rgba = picture.convert("RGBA")
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise DamagedError(f"no picture: {error}") from None
    facts |= _measures(rgba)
    if facts["mode"] == "P":
        colors = picture.getcolors(256)
        if colors is not None:
            facts["colors"] = len(colors)
    return facts


def _measures(rgba: PIL.Image.Image) -> Facts:
    """Return what tests of pictures compare: hash, brightness, contrast, saturation, transparency,
    mean colour, and a small grey copy."""
    from PIL import Image, ImageStat

    from agentd.readers import picture_measures

    # As a person sees it: what is transparent lies on white.
    opaque = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
    gray = opaque.convert("L")
    alpha = rgba.getchannel("A").histogram()
    return {
        "phash": picture_measures.phash(opaque),
        "brightness": round(ImageStat.Stat(gray).mean[0], 2),
        "contrast": round(ImageStat.Stat(gray).stddev[0], 2),
        "saturation": round(ImageStat.Stat(opaque.convert("HSV")).mean[1], 2),
        "transparent": round(sum(alpha[:128]) / (rgba.width * rgba.height), 4),
        "mean": [round(value, 2) for value in ImageStat.Stat(opaque).mean],
        "gray": picture_measures.gray(opaque),
    }
