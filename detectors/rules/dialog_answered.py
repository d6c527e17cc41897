"""A dialog of the browser was answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from detectors.matchers import TextMatch
from detectors.matchers.plain import ANY_KEY
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.kept_back import explain_untold, judge_told, keys_of_text
from detectors.sdk.registry import Keys, rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class DialogAnsweredArgs:
    accepted: bool | None = arg(
        "Whether the answer was yes (OK) or no (Cancel); either if left out.", None
    )
    type: Literal["alert", "confirm", "prompt", "beforeunload"] | None = arg(
        "The dialog's type.", None
    )
    message: TextMatch | None = arg("The dialog's message.", None)
    input: TextMatch | None = arg("What was typed into a prompt.", None)
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )


def _index_keys(args: DialogAnsweredArgs) -> Keys | None:
    for part, matcher in (("message", args.message), ("input", args.input)):
        keys = matcher.text_keys() if matcher else None
        if keys is not None:
            return tuple(f"{part}:{key}" for key in keys)
    return None


def _index_parts(args: DialogAnsweredArgs) -> Keys | None:
    for matcher in (args.message, args.input):
        parts = matcher.parts() if matcher else None
        if parts is not None:
            return parts
    return None


def _event_keys(event: Event) -> Keys:
    return tuple(
        [
            key if key == ANY_KEY else f"{part}:{key}"
            for part in ("message", "input")
            for key in keys_of_text(event.data, part)
        ]
    )


@rule(
    version=2,
    component="ui",
    hears=("dialog.closed",),
    args=DialogAnsweredArgs,
    index_args=_index_keys,
    index_parts=_index_parts,
    index_event=_event_keys,
    occurrence=True,
    alone=True,
)
def dialog_answered(event: Event, world: World, args: DialogAnsweredArgs) -> Iterator[Reading]:
    """An alert, confirm, prompt or beforeunload dialog is closed with the expected answer."""
    data = event.data
    if args.type is not None and data.get("type") != args.type:
        return
    if args.accepted is not None and data.get("accepted") is not args.accepted:
        return
    if args.input is not None and data.get("accepted") is not True:
        return
    reading = Reading(1.0, f"dialog:{data.get('type')}:{str(data.get('message'))[:80]}")
    fields = (("message", args.message), ("input", args.input))
    verdicts = [
        (field, judge_told(wanted, data, field)) for field, wanted in fields if wanted is not None
    ]
    if any(is_so is False for _, is_so in verdicts):
        return
    for field, is_so in verdicts:
        if is_so is None:
            raise UnseenError(explain_untold(data, field), reading)
    yield reading
