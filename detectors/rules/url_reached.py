"""A tab stands at an address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import UrlMatch
from detectors.matchers.url import url_key
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import is_error_page, is_load, loaded_arg, reading_at
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class UrlReachedArgs:
    url: UrlMatch = arg(
        "The address; a path resolves against the task's origin, `*` in it is a run of characters."
    )
    frames: bool = arg("Whether a child frame at the address counts too.", False)
    loaded: bool | None = loaded_arg()
    errors: bool = arg(
        "Whether a page that the server answered with an error, 400 or above, counts too.", False
    )


@rule(
    component="nav",
    version=3,
    hears=("page.navigated",),
    args=UrlReachedArgs,
    index_args=lambda args: args.url.keys(),
    index_parts=lambda args: args.url.parts(),
    index_event=lambda event: (url_key(str(event.data.get("url"))),),
)
def url_reached(event: Event, world: World, args: UrlReachedArgs) -> Iterator[Reading]:
    """The main frame of any tab commits the address, and its document was loaded from there: by a
    link, a form, a redirect. The fragment may change in the document.

    True until that tab goes to another address. A page that does not exist (404), or that the
    server could not or would not give, is not reached. An address that only page script put there
    (`history.pushState`) does not count: any script may put any address of the site there. Nor does
    a document that a service worker made up, or took out of a cache that scripts fill. In a
    single-page application, whose routes are such addresses, write `loaded: false`, and beside it
    what the route shows or does. In a guard, as a penalty, it counts by default: a forbidden
    address is reached however it came there.
    """
    # An application of one page may be served by whatever page answers, its error page too.
    is_judged = is_load(event) or args.loaded
    if is_judged and not args.errors and is_error_page(event, world):
        return
    if args.frames or event.data.get("main"):
        yield from reading_at(args.url, event, Reading(1.0, f"url:{event.data.get('frame')}"))
