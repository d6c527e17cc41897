"""What is written in a region of a picture, read from its pixels (OCR).

The weights come with the package `rapidocr`: nothing is fetched. One thread of the processor reads,
so that the agent's machine is left to the agent.
"""

from __future__ import annotations

import hashlib

from PIL import Image
from rapidocr import RapidOCR

from agentd.masking import Masker

MAX_SIDE = 1_280
"""Pixels of the longer side that text is looked for in: a larger region is made smaller, a smaller
one is not made larger, which would take ten times as long and finds no more."""
_PARAMETERS = {
    "Global.log_level": "critical",
    "Global.use_cls": False,  # whether text stands on its head
    "Det.limit_type": "max",
    "Det.limit_side_len": MAX_SIDE,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


class TextReader:
    """Reads regions one after another, each again only where its pixels have changed.

    Making one loads the weights: three seconds of a processor. It takes up to 500 MB of memory.
    """

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._engine = RapidOCR(params=_PARAMETERS)
        self._known: dict[tuple[int, ...], tuple[bytes, str]] = {}

    def read(self, region: tuple[int, ...], part: Image.Image) -> str:
        """Return the pieces of text on ``part``, the picture of a region, a line for each, from top
        to bottom and from left to right; secrets are masked. "" where there are none."""
        pixels = part.convert("RGB")
        digest = hashlib.sha256(pixels.tobytes()).digest()
        known = self._known.get(region)
        if known is not None and known[0] == digest:
            return known[1]
        pieces = self._engine(pixels).txts or ()
        text = self._masker.mask_text("\n".join(pieces))
        self._known[region] = (digest, text)
        return text
