"""A text came to stand on a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch, UrlMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class TextVisibleArgs:
    text: TextMatch = arg("The text; usually {contains: ...}, since a page is seen in chunks.")
    url: UrlMatch | None = arg("Only in a frame at this address.", None)
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )


@rule(component="ui", hears=("text.appeared",), args=TextVisibleArgs)
def text_visible(event: Event, world: World, args: TextVisibleArgs) -> Iterator[Reading]:
    """Visible text appears that contains the given text. True until the frame loads another page.

    Text that was visible when the source attached earns nothing. Text is weak evidence: a page can
    show anything.
    """
    frame = str(event.data.get("frame"))
    if args.url is not None and not args.url.matches(world.url(frame)):
        return
    if args.text.matches(str(event.data.get("text"))):
        yield Reading(1.0, f"doc:{frame}")
