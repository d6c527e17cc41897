"""A tab stands at an address whose text is as wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import AddressTextMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import errors_arg, is_error_page, loaded_arg, reading_if
from detectors.sdk.registry import rule
from detectors.sdk.world import World

_COPIES = ("blob:", "data:", "view-source:")
"""Schemes of pages that may name any address after them, and are no site's."""


@dataclass(frozen=True, slots=True)
class AddressSaysArgs:
    text: AddressTextMatch = arg(
        "The whole address as a text, such as {contains: id=7}; several at once by `all_of`."
    )
    loaded: bool | None = loaded_arg()
    errors: bool | None = errors_arg()
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )


@rule(component="nav", version=4, hears=("page.navigated",), args=AddressSaysArgs)
def address_says(event: Event, world: World, args: AddressSaysArgs) -> Iterator[Reading]:
    """The address of a tab's main frame matches the text, compared as a whole. The path counts
    both as it is written and as it reads: with %61 or a, with a slash at its end or without. Every
    character counts: a full-width digit or a typographic dash is not the one on a keyboard.

    True until that tab goes to another address. url_reached compares an address by its parts,
    which is safer if they are known: a page of another site can have any text in its query. A page
    of `data:`, `blob:` or `view-source:` is no site's, whatever address follows: it counts only
    with `anywhere`. As for url_reached, the document must have been loaded from an address with the
    text, unless `loaded: false`; in a guard it need not.
    """
    url = str(event.data.get("url"))
    if not event.data.get("main") or (url.lower().startswith(_COPIES) and not args.anywhere):
        return
    if not args.errors and is_error_page(event, world):
        return
    reading = Reading(1.0, f"url:{event.data.get('frame')}")
    yield from reading_if(args.text.judge_address(url), reading, url)
