"""From which address the document was loaded that an event is about: page script may put any other
address of its site into the address bar (`history.pushState`), and only a load shows that there is
a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from detectors.matchers import AddressTextMatch, UrlMatch
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.kept_back import explain_unknown_address
from detectors.sdk.world import World

NAVIGATED = "page.navigated"
UNKNOWN_LOAD = "it is not known from which address the document was loaded"


def loaded_arg() -> Any:
    """Declare the argument `loaded` of a rule with an address."""
    return arg(
        "Whether the document must have been loaded from the address, but for its fragment. false:"
        " an address that only page script put there (`history.pushState`) counts too, as"
        " single-page applications need it. By default true where the condition pays, and false"
        " where it guards (docs/tasks.md#addresses).",
        None,
    )


def errors_arg() -> Any:
    """Declare the argument `errors` of a rule about a page at an address."""
    return arg(
        "Whether a page that the server answered with an error, 400 or above, counts too; by"
        " default not where the condition pays, but where it guards.",
        None,
    )


@dataclass(frozen=True, slots=True)
class LoadedFrom:
    """What the address must be from which a document was loaded: ``url``, or ``text`` for one that
    is compared as a text."""

    url: UrlMatch | None
    text: AddressTextMatch | None

    def judge(self, event: Event, world: World) -> bool | None:
        """Whether the document that ``event`` is about was loaded from such an address; ``world``
        has taken the event in. None where nobody knows."""
        document = document_of(event, world)
        if not document:
            return None if world.navigated or event.kind == NAVIGATED else True
        if self.url is not None:
            return self.url.judge(document)
        return self.text is None or self._has_text(event, document)

    def _has_text(self, event: Event, document: str) -> bool | None:
        """Whether the address of the document has the text, with the fragment that it has now; None
        where nobody knows."""
        fragment = str(event.data.get("url")).partition("#")
        address = document.partition("#")[0] + "".join(fragment[1:])
        return self.text is not None and self.text.judge_address(address)


def loaded_from(args: Any) -> LoadedFrom | None:
    """Return what ``args`` require of the load of a document; None where they require nothing."""
    if not has_address(args) or not args.loaded:
        return None
    if hasattr(args, "url"):
        return LoadedFrom(replace(args.url, fragment=None), None)
    return LoadedFrom(None, args.text)


def has_address(args: Any) -> bool:
    """Whether ``args`` name the address of a page: as `url`, or as the text of `address_says`, the
    one rule with `loaded` that has no `url`."""
    return hasattr(args, "loaded") and getattr(args, "url", args) is not None


def with_defaults(args: Any, *, guards: bool) -> Any:
    """Return ``args`` with what they leave open: where a condition guards, the address counts
    however it came there."""
    if not has_address(args):
        return args
    if args.loaded is None:
        args = replace(args, loaded=not guards)
    if getattr(args, "errors", False) is None:
        args = replace(args, errors=guards)
    return args


def frame_of(event: Event, world: World) -> str:
    """Return the frame that an event is about: of a title, its tab's main frame."""
    frame = event.data.get("frame")
    return world.main_frame(str(event.data.get("tab"))) if frame is None else str(frame)


def reading_at(wanted: UrlMatch | None, event: Event, reading: Reading) -> Iterator[Reading]:
    """Yield ``reading`` where the event's own address is the wanted one, or none is wanted. Raises
    as `reading_if`."""
    address = str(event.data.get("url"))
    is_there = True if wanted is None else wanted.judge(address)
    return reading_if(is_there, reading, address)


def judge_page(wanted: UrlMatch | None, event: Event, world: World) -> bool | None:
    """Whether the event's frame is at the wanted address, or none is wanted; None where nobody
    knows, as `UrlMatch.judge` has it."""
    return True if wanted is None else wanted.judge(_page_of(event, world))


def reading_on_page(
    is_there: bool | None, reading: Reading, event: Event, world: World
) -> Iterator[Reading]:
    """Yield ``reading`` where the event's frame is at the wanted address, as `judge_page` has it.
    Raises as `reading_if`."""
    return reading_if(is_there, reading, _page_of(event, world))


def _page_of(event: Event, world: World) -> str:
    return world.url(str(event.data.get("frame")))


def reading_if(is_there: bool | None, reading: Reading, address: str) -> Iterator[Reading]:
    """Yield ``reading`` where ``address`` is the wanted one. Raises `UnseenError` for None: that
    hangs on the end of one that is too long, or on what was masked in it."""
    if is_there is None:
        raise UnseenError(explain_unknown_address(address), reading)
    if is_there:
        yield reading


def is_load(event: Event) -> bool:
    """Whether a frame has another document with ``event``."""
    return event.kind == NAVIGATED and not event.data.get("same_document")


def is_error_page(event: Event, world: World) -> bool:
    """Whether the server answered the document that ``event`` is about with an error."""
    if is_load(event):
        return type(event.data.get("status")) is int
    return world.is_failed(frame_of(event, world))


def document_of(event: Event, world: World) -> str:
    """Return from which address the document was loaded that ``event`` is about; an empty text if
    nobody knows."""
    if is_load(event):  # one out of the browser's cache may stand at another
        return str(event.data.get("document", event.data.get("url")))
    return world.document(frame_of(event, world))
