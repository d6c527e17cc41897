"""A region of the screen shows a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from detectors.matchers import TextMatch
from detectors.matchers.masked_text import has_mask
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.cut_off import CUT_OFF, judge_text
from detectors.sdk.registry import rule
from detectors.sdk.screen_regions import as_pixels, check_region, find_region
from detectors.sdk.world import World

NOT_READ = "no text of the region was read in the recording"
SECRET_SHOWN = "the region shows a secret, kept back"


@dataclass(frozen=True, slots=True)
class ScreenTextArgs:
    region: tuple[float, ...] = arg("[x, y, width, height] of the screen, in pixels.")
    text: TextMatch = arg(
        "All that the region shows, line by line: a text, {contains: Saved}, or, as letters may be"
        " misread, {fuzzy: Changes saved, threshold: 0.9}."
    )

    def __post_init__(self) -> None:
        check_region(self.region)

    def asks(self) -> dict[str, list[Any]]:
        """Name the region to be read, nothing of what it is to show."""
        pixels = as_pixels(self.region)
        return {"regions": [pixels], "text_regions": [pixels]}


@rule(component="ui", hears=("screen.captured",), args=ScreenTextArgs)
def screen_text(event: Event, world: World, args: ScreenTextArgs) -> Iterator[Reading]:
    """A region of the screen shows the text, as it is read from the picture's pixels (OCR): for
    what is drawn and has no names. True until a later picture shows it otherwise.

    Needs a daemon with `--screen` and the extra `milestoned[ocr]`. It takes a picture after each
    step's seal: what it shows pays in the step after, or at the close. The text is read once, and
    stands in the event; what it is compared with is never sent to the daemon. A region that is not
    on the screen, or whose text was not read, is not known. Text is weak evidence: any program can
    show anything.
    """
    pixels = as_pixels(args.region)
    key = f"screen-text:{','.join(map(str, pixels))}"
    found = find_region(event, pixels)
    text = None if found is None else found.get("text")
    if found is None or not isinstance(text, str):
        raise UnseenError(NOT_READ, Reading(1.0, key))
    is_so = judge_text(args.text, text, is_cut=found.get("cut") is True)
    if is_so is None:
        raise UnseenError(CUT_OFF, Reading(1.0, key))
    if not is_so and has_mask(text):
        raise UnseenError(SECRET_SHOWN, Reading(1.0, key))
    yield Reading(float(is_so), key)
