"""A tab bears a title."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch, UrlMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import loaded_arg, reading_at
from detectors.sdk.kept_back import judge_told, keys_of_text, reading_if_told
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
    version=3,
    component="nav",
    hears=("page.title_changed",),
    args=TitleMatchesArgs,
    index_args=lambda args: args.title.text_keys(),
    index_parts=lambda args: args.title.parts(),
    index_event=lambda event: keys_of_text(event.data, "title"),
)
def title_matches(event: Event, world: World, args: TitleMatchesArgs) -> Iterator[Reading]:
    """The title of a tab becomes the text. Stays true until the tab's title changes."""
    is_so = judge_told(args.title, event.data, "title")
    if is_so is not False:
        reading = Reading(1.0, f"title:{event.data.get('tab')}")
        for there in reading_at(args.url, event, reading):
            yield from reading_if_told(is_so, there, event.data, "title")
