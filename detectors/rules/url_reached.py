"""A tab stands at an address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import UrlMatch
from detectors.matchers.url import url_key
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class UrlReachedArgs:
    url: UrlMatch = arg(
        "The address; a path resolves against the task's origin, `*` in it is a run of characters."
    )
    frames: bool = arg("Whether a child frame at the address counts too.", False)
    loaded: bool = arg(
        "Only by a document that was loaded there: neither pushState nor a hash counts.", False
    )
    errors: bool = arg(
        "Whether a page that the server answered with an error, 400 or above, counts too.", False
    )


@rule(
    component="nav",
    version=2,
    hears=("page.navigated",),
    args=UrlReachedArgs,
    index_args=lambda args: args.url.keys(),
    index_event=lambda event: (url_key(str(event.data.get("url"))),),
)
def url_reached(event: Event, world: World, args: UrlReachedArgs) -> Iterator[Reading]:
    """The main frame of any tab commits the address, by a load, a redirect, pushState or a hash.

    True until that tab goes to another address. A page that does not exist (404), or that the
    server could not or would not give, is not reached. A pushState of the site's own script
    counts, as single-page applications need it: their routes are such addresses, and a click
    cannot be distinguished from a script of the page. `loaded: true` requires a document at the
    address; `request_answered` with `which: document` requires the server's answer.
    """
    if args.loaded and event.data.get("same_document"):
        return
    if not args.errors and type(event.data.get("status")) is int:
        return
    if (args.frames or event.data.get("main")) and args.url.matches(str(event.data.get("url"))):
        yield Reading(1.0, f"url:{event.data.get('frame')}")
