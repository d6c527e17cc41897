"""A text came to stand on a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch, UrlMatch
from detectors.matchers.plain import ANY_KEY
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import judge_page, loaded_arg, reading_on_page
from detectors.sdk.kept_back import judge_told, keys_of_text, reading_if_told
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


def _event_keys(event: Event) -> Keys:
    text = str(event.data.get("text"))
    if event.kind == "text.shown" and event.data.get("cut") is True:
        return (ANY_KEY,)  # what the rest has is not known
    return keys_of_text(event.data, "text") if text else ()


@rule(
    version=3,
    component="ui",
    hears=("text.appeared", "text.shown"),
    hears_of=_hears,
    index_args=lambda args: args.text.text_keys(),
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
        return
    is_so = judge_told(args.text, event.data, "text")
    if is_so is not False:
        reading = Reading(1.0, f"doc:{event.data.get('frame')}")
        for there in reading_on_page(is_there, reading, event, world):
            yield from reading_if_told(is_so, there, event.data, "text")


def _shown_now(event: Event, text: str, args: TextVisibleArgs) -> Iterator[Reading]:
    """Read what a block shows. Raises `UnseenError` where the rest of it may match, or what was
    masked in it."""
    reading = Reading(1.0, shown_key("text", event.data))
    if not text:
        return
    is_so = judge_told(args.text, event.data, "text")
    yield from reading_if_told(is_so, reading, event.data, "text")
