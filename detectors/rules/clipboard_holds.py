"""A text was copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.cut_off import CUT_OFF, judge_text
from detectors.sdk.kept_back import SECRET_COPY
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class ClipboardHoldsArgs:
    text: TextMatch = arg("The text in the clipboard.")
    app: TextMatch | None = arg("The window class of the program that it was copied in.", None)
    selection: str = arg("clipboard (default) or primary.", "clipboard")


@rule(
    version=3,
    component="ui",
    hears=("clipboard.changed",),
    args=ClipboardHoldsArgs,
    single=lambda args: True,
)
def clipboard_holds(event: Event, world: World, args: ClipboardHoldsArgs) -> Iterator[Reading]:
    """The clipboard contains the text. True until something else is copied. If a program marked
    its text as a secret, or the text is longer than is reported, it may not be known whether it is
    this one: the step is null."""
    data = event.data
    if data.get("selection") != args.selection:
        return
    if not is_met(args.app, data.get("app") or ""):
        return
    reading = Reading(1.0, f"clipboard:{args.selection}")
    if data.get("unread_reason") == "secret":
        raise UnseenError(SECRET_COPY, reading)
    is_so = judge_text(args.text, str(data.get("text") or ""), is_cut=data.get("cut") is True)
    if is_so is None:
        raise UnseenError(CUT_OFF, reading)
    if is_so:
        yield reading
