"""A tab bears a title."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch, UrlMatch, text_keys
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import loaded_arg, reading_at
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class TitleMatchesArgs:
    title: TextMatch = arg("The title of the tab.")
    url: UrlMatch | None = arg(
        "Only while the tab is at this address: a title alone is easily borne.", None
    )
    loaded: bool | None = loaded_arg()
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )


@rule(
    version=2,
    component="nav",
    hears=("page.title_changed",),
    args=TitleMatchesArgs,
    index_args=lambda args: args.title.text_keys(),
    index_parts=lambda args: args.title.parts(),
    index_event=lambda event: text_keys(str(event.data.get("title"))),
)
def title_matches(event: Event, world: World, args: TitleMatchesArgs) -> Iterator[Reading]:
    """The title of a tab becomes the text. Stays true until the tab's title changes."""
    if args.title.matches(str(event.data.get("title"))):
        yield from reading_at(args.url, event, Reading(1.0, f"title:{event.data.get('tab')}"))
