"""A program was started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.model.errors import UnseenError
from detectors.model.safe_json import as_list
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.cut_off import CUT_OFF, judge_text
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class ProcessStartedArgs:
    name: TextMatch = arg("The program's name, as in /proc/PID/comm.")
    arguments: TextMatch | None = arg(
        "Its arguments, joined by spaces; secrets are masked in them.", None
    )


@rule(version=3, component="ui", hears=("process.started",), args=ProcessStartedArgs)
def process_started(event: Event, world: World, args: ProcessStartedArgs) -> Iterator[Reading]:
    """A process of that name runs. True until it ends. One that ran at the start earns nothing.
    If its arguments could not be read, or there are more than are reported, it may not be known
    whether they match: the step is null."""
    data = event.data
    if not args.name.matches(str(data.get("name") or "")):
        return
    reading = Reading(1.0, f"process:{data.get('pid')}")
    if args.arguments is not None and data.get("arguments") is None:
        raise UnseenError("its arguments could not be read", reading)
    is_so = args.arguments is None or _has(data, args.arguments)
    if is_so is None:
        raise UnseenError(CUT_OFF, reading)
    if is_so:
        yield reading


def _has(data: Mapping[str, object], wanted: TextMatch) -> bool | None:
    words = " ".join(str(word) for word in as_list(data["arguments"]))
    return judge_text(wanted, words, is_cut=data.get("cut") is True)
