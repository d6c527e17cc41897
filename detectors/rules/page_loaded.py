"""A page came in whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import UrlMatch
from detectors.matchers.url import url_key
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import errors_arg, is_error_page, loaded_arg, reading_at
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class PageLoadedArgs:
    url: UrlMatch = arg("The address of the page; a path resolves against the task's origin.")
    loaded: bool | None = loaded_arg()
    errors: bool | None = errors_arg()


@rule(
    version=2,
    component="nav",
    hears=("page.loaded",),
    args=PageLoadedArgs,
    index_args=lambda args: args.url.keys(),
    index_parts=lambda args: args.url.parts(),
    index_event=lambda event: (url_key(str(event.data.get("url"))),),
)
def page_loaded(event: Event, world: World, args: PageLoadedArgs) -> Iterator[Reading]:
    """The load event of a tab's main frame fires at the address. A page that never finishes is
    not loaded, and script that puts another address there before the event (`history.pushState`)
    does not make it that page."""
    if not args.errors and is_error_page(event, world):
        return
    if event.data.get("main"):
        yield from reading_at(args.url, event, Reading(1.0, f"doc:{event.data.get('frame')}"))
