"""A text was copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.matchers.masked_text import MASK
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.kept_back import SECRET_COPY, judge_told, reading_if_told
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class ClipboardHoldsArgs:
    text: TextMatch = arg("The text in the clipboard.")
    app: TextMatch | None = arg("The window class of the program that it was copied in.", None)
    selection: str = arg("clipboard (default) or primary.", "clipboard")


@rule(
    version=4,
    component="ui",
    hears=("clipboard.changed",),
    args=ClipboardHoldsArgs,
    single=lambda args: True,
)
def clipboard_holds(event: Event, world: World, args: ClipboardHoldsArgs) -> Iterator[Reading]:
    """The clipboard contains the text. True until something else is copied. If a program marked
    its text as a secret, or the text has one or is longer than is reported, it may not be known
    whether it is this one: the step is null."""
    data = event.data
    if data.get("selection") != args.selection:
        return
    if not is_met(args.app, data.get("app") or ""):
        return
    reading = Reading(1.0, f"clipboard:{args.selection}")
    if data.get("unread_reason") == "secret":
        raise UnseenError(SECRET_COPY, reading)
    if MASK in str(data.get("text")) and "sha256" not in data:  # a secret was masked in it
        data = {**data, "masked": ["text"]}
    yield from reading_if_told(judge_told(args.text, data, "text"), reading, data, "text")
