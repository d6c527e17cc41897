"""A window of a desktop program is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.kept_back import judge_told, reading_if_told
from detectors.sdk.registry import rule
from detectors.sdk.world import World, window_key


@dataclass(frozen=True, slots=True)
class WindowOpenedArgs:
    title: TextMatch = arg("The window's title.")
    app: TextMatch | None = arg("The application's name on the accessibility bus.", None)
    role: TextMatch | None = arg("AT-SPI's role name, such as frame, dialog or alert.", None)


@rule(
    version=2,
    component="ax",
    hears=("window.opened", "window.title_changed"),
    args=WindowOpenedArgs,
)
def window_opened(event: Event, world: World, args: WindowOpenedArgs) -> Iterator[Reading]:
    """A window or dialog with that title is on the desktop. True until it is closed or has
    another title."""
    data = event.data
    pairs = (("app", args.app), ("role", args.role))
    if all(is_met(matcher, data.get(part) or "") for part, matcher in pairs):
        is_so = judge_told(args.title, data, "title")
        yield from reading_if_told(is_so, Reading(1.0, window_key(data)), data, "title")
