"""A region of the screen looks like a reference picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from detectors.matchers import Grade
from detectors.matchers.likeness import differing_bits, grays, ssim
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.registry import rule
from detectors.sdk.screen_regions import as_pixels, check_region, find_region
from detectors.sdk.world import World

ENOUGH = 0.85
"""The structural similarity from which on two pictures are alike, where the task says nothing."""


@dataclass(frozen=True, slots=True)
class ScreenLikeArgs:
    region: tuple[float, ...] = arg("[x, y, width, height] of the screen, in pixels.")
    to: str | None = arg(
        "The reference: the `gray` that `agentd read FILE` prints of a picture of the region.", None
    )
    phash: str | None = arg("The reference's `phash`, 16 hex digits, instead of `to`.", None)
    bits: int = arg("In how many of the hash's 64 bits it may differ.", 6)
    grade: Grade | None = arg(
        "What a structural similarity is worth, as {linear: {from: 0.5, to: 0.95}}; without it,"
        " from 0.85 on it is met.",
        None,
    )

    def __post_init__(self) -> None:
        check_region(self.region)
        if (self.to is None) == (self.phash is None):
            raise ValueError("to or phash, one of the two")
        if self.to is not None and grays(self.to) is None:
            raise ValueError("to: base64 of 64 × 64 brightnesses, the gray of `agentd read FILE`")
        if self.phash is not None and differing_bits(self.phash, "0") is None:
            raise ValueError("phash: 16 hex digits, as `agentd read FILE` prints them")
        if self.grade is not None and (
            self.to is None or self.grade.way not in ("linear", "tiers")
        ):
            raise ValueError("grade: linear or tiers, of the similarity to `to`")

    @property
    def pixels(self) -> list[int]:
        """Where the region stands on the screen, in whole pixels."""
        return as_pixels(self.region)

    def asks(self) -> dict[str, list[Any]]:
        """Name the region to be measured, nothing of how it is to look."""
        return {"regions": [self.pixels]}


@rule(component="ui", hears=("screen.captured",), args=ScreenLikeArgs)
def screen_like(event: Event, world: World, args: ScreenLikeArgs) -> Iterator[Reading]:
    """A region of the screen is similar to a reference: by structural similarity (SSIM) of 64 × 64
    mean brightnesses, or by perceptual hash. True until a later picture shows it otherwise.

    Needs a daemon with `--screen`, which takes a picture after each step's seal: what it shows pays
    in the step after, or at the close. The reference stays in the task and is never sent to the
    daemon. A region that is not on the screen, or that was not measured, is not known.
    """
    key = f"screen:{','.join(map(str, args.pixels))}"
    found = find_region(event, args.pixels)
    level = None if found is None else _level(found.get("gray"), found.get("phash"), args)
    if level is None:
        raise UnseenError("the region was not measured in the recording", Reading(1.0, key))
    yield Reading(level, key)


def _level(gray: object, phash: object, args: ScreenLikeArgs) -> float | None:
    """Return how like the region is to the reference, from 0 to 1; None where its measure is not
    there or can't be read."""
    if args.phash is not None:
        bits = differing_bits(phash, args.phash)
        return None if bits is None else float(bits <= args.bits)
    found, expected = grays(gray), grays(args.to)
    if found is None or expected is None:
        return None
    alike = round(ssim(found, expected), 6)
    if args.grade is None:
        return float(alike >= ENOUGH)
    return args.grade.level(alike) or 0.0
