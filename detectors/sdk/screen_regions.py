"""Regions of the screen: what a rule may name, and where a picture's measures of one stand."""

from __future__ import annotations

from detectors.model.json_value import JsonObject
from detectors.model.safe_json import as_list, mapping
from detectors.model.types import Event

MAX_SIDE = 16_384


def check_region(region: tuple[float, ...]) -> None:
    """Raise `ValueError` for what is no rectangle of whole pixels."""
    whole = all(side == int(side) and 0 <= side <= MAX_SIDE for side in region)
    if len(region) != 4 or not whole or min(region[2:]) < 1:
        raise ValueError("region: [x, y, width, height] in whole pixels")


def as_pixels(region: tuple[float, ...]) -> list[int]:
    """Return a region as the daemon is asked for it, in whole pixels."""
    return [int(side) for side in region]


def find_region(event: Event, pixels: list[int]) -> JsonObject | None:
    """Return what a picture of the screen was measured to show in a region; None where it was
    not."""
    measured = [mapping(one) for one in as_list(event.data.get("regions"))]
    return next((one for one in measured if one.get("region") == pixels), None)
