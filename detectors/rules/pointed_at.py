"""A click hit a place, or came near to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from detectors.matchers import Grade, UrlMatch
from detectors.model.errors import UnseenError
from detectors.model.safe_json import as_list
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import judge_page, loaded_arg, reading_on_page
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class PointedAtArgs:
    point: tuple[float, ...] | None = arg("The place in the window, [x, y] in CSS pixels.", None)
    box: tuple[float, ...] | None = arg(
        "The place as [x, y, width, height]; what is in it is at a distance of 0.", None
    )
    grade: Grade | None = arg(
        "What a distance in CSS pixels is worth: {tiers: [{at_most: 0, pays: 1}, {at_most: 20,"
        " pays: 0.5}]} or {linear: {from: 100, to: 0}}; without it, only 0 counts.",
        None,
    )
    presses: bool = arg(
        "A press that no click followed counts too, by where it began; as on what the page replaces"
        " meanwhile, or drags.",
        False,
    )
    url: UrlMatch | None = arg("Only in a frame at this address.", None)
    loaded: bool | None = loaded_arg()
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )

    def __post_init__(self) -> None:
        if (self.point is None) == (self.box is None):
            raise ValueError("point or box, one of the two")
        if self.point is not None and len(self.point) != 2:
            raise ValueError("point: [x, y]")
        if self.box is not None and (len(self.box) != 4 or min(self.box[2:]) <= 0):
            raise ValueError("box: [x, y, width, height], both above 0")
        if self.point is not None and self.grade is None:
            raise ValueError("grade beside point: nobody hits a point exactly")
        if self.grade is not None and self.grade.way not in ("linear", "tiers"):
            raise ValueError("grade: linear or tiers, of a distance")

    def asks(self) -> dict[str, list[Any]]:
        """Where a click was is reported only where it is read."""
        return {"points": [True]}

    def distance(self, x: float, y: float) -> float:
        """Return how far a place is away, in CSS pixels."""
        left, top, width, height = self.box or (*(self.point or ()), 0.0, 0.0)
        return math.hypot(max(left - x, 0, x - left - width), max(top - y, 0, y - top - height))


def _hears(args: PointedAtArgs) -> tuple[str, ...]:
    return ("element.clicked", "element.pressed") if args.presses else ("element.clicked",)


@rule(
    version=2,
    component="ui",
    hears=("element.clicked", "element.pressed"),
    hears_of=_hears,
    args=PointedAtArgs,
    occurrence=True,
)
def pointed_at(event: Event, world: World, args: PointedAtArgs) -> Iterator[Reading]:
    """A trusted click at a place of the window, or near it: in a box, or by its distance in tiers.

    For pictures and canvases, where no element has a name. Places are those of the frame's window
    as it is scrolled: give the browser a size. The milestone pays the nearest click so far. In a
    recording that does not say where clicks were the step is null.
    """
    if event.data.get("trusted") is not True:
        return
    if event.kind == "element.pressed" and not args.presses:
        return
    is_there = judge_page(args.url, event, world)
    if is_there is False:
        return
    place = as_list(event.data.get("point"))
    if len(place) != 2 or not all(type(one) in (int, float) for one in place):
        raise UnseenError("where the click was is not in the recording", Reading(1.0, "pointed"))
    distance = args.distance(*place)
    level = float(distance == 0) if args.grade is None else args.grade.level(distance)
    yield from reading_on_page(is_there, Reading(level or 0.0, "pointed"), event, world)
