"""A dialog of the browser was answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from detectors.matchers import TextMatch, text_keys
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
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
            f"{part}:{key}"
            for part in ("message", "input")
            for key in text_keys(str(event.data.get(part)))
        ]
    )


@rule(
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
    if not is_met(args.message, data.get("message")):
        return
    if args.input is None or (
        data.get("accepted") is True and args.input.matches(str(data.get("input")))
    ):
        yield Reading(1.0, f"dialog:{data.get('type')}:{str(data.get('message'))[:80]}")
