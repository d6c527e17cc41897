"""A text came to stand on a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch, UrlMatch, text_keys
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import judge_page, loaded_arg, reading_on_page
from detectors.sdk.registry import Keys, rule
from detectors.sdk.world import World, shown_key


@dataclass(frozen=True, slots=True)
class TextVisibleArgs:
    text: TextMatch = arg("The text; usually {contains: ...}, since a page is seen in chunks.")
    now: bool = arg(
        "True only while it stands: untrue once it goes, changes or is hidden. The text is then"
        " that of a block: a paragraph, a heading, a table's row, a list's item.",
        False,
    )
    url: UrlMatch | None = arg("Only in a frame at this address.", None)
    loaded: bool | None = loaded_arg()
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )


def _hears(args: TextVisibleArgs) -> tuple[str, ...]:
    return ("text.shown",) if args.now else ("text.appeared",)


def _index_keys(args: TextVisibleArgs) -> Keys | None:
    # Of a block that is cut only whole texts are known not to be there.
    if args.now and args.text.mode != "equals":
        return None
    return args.text.text_keys()


def _event_keys(event: Event) -> Keys:
    text = str(event.data.get("text"))
    if event.kind == "text.shown" and event.data.get("cut") is True:
        return (*text_keys(text), "")  # what the rest has is not known
    return text_keys(text) if text else ()


@rule(
    version=2,
    component="ui",
    hears=("text.appeared", "text.shown"),
    hears_of=_hears,
    index_args=_index_keys,
    index_parts=lambda args: args.text.parts(),
    index_event=_event_keys,
    args=TextVisibleArgs,
)
def text_visible(event: Event, world: World, args: TextVisibleArgs) -> Iterator[Reading]:
    """Visible text appears that contains the given text. True until the frame loads another page;
    with `now`, until the text is gone, hidden or another.

    Text that was visible when the source attached earns nothing. Text is weak evidence: a page can
    show anything.
    """
    if (event.kind == "text.shown") is not args.now:
        return
    is_there = judge_page(args.url, event, world)
    if is_there is False:
        return
    text = str(event.data.get("text"))
    if args.now:
        for reading in _shown_now(event, text, args):
            yield from reading_on_page(is_there, reading, event, world)
    elif args.text.matches(text):
        reading = Reading(1.0, f"doc:{event.data.get('frame')}")
        yield from reading_on_page(is_there, reading, event, world)


def _shown_now(event: Event, text: str, args: TextVisibleArgs) -> Iterator[Reading]:
    """Read what a block shows. Raises `UnseenError` where the rest of it may match."""
    reading = Reading(1.0, shown_key("text", event.data))
    if text and args.text.matches(text):
        yield reading
    elif event.data.get("cut") is True and args.text.mode != "equals":
        raise UnseenError("only the beginning of a block's text was reported", reading)
