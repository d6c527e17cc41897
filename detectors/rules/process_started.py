"""A program was started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.matchers.masked_text import judge_text as judge_masked
from detectors.model.errors import UnseenError
from detectors.model.kinds.limits import MAX_ARGUMENT
from detectors.model.safe_json import as_list
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.cut_off import judge_text
from detectors.sdk.kept_back import explain_untold, is_masked_in
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class ProcessStartedArgs:
    name: TextMatch = arg("The program's name, as in /proc/PID/comm.")
    arguments: TextMatch | None = arg(
        "Its arguments, joined by spaces; secrets are masked in them.", None
    )


@rule(version=4, component="ui", hears=("process.started",), args=ProcessStartedArgs)
def process_started(event: Event, world: World, args: ProcessStartedArgs) -> Iterator[Reading]:
    """A process of that name runs. True until it ends. One that ran at the start earns nothing.
    If its arguments could not be read, or there are more than are reported, or the daemon masked a
    secret in them, it may not be known whether they match: the step is null."""
    data = event.data
    if not args.name.matches(str(data.get("name") or "")):
        return
    reading = Reading(1.0, f"process:{data.get('pid')}")
    if args.arguments is not None and data.get("arguments") is None:
        raise UnseenError("its arguments could not be read", reading)
    is_so = args.arguments is None or _judge(data, args.arguments)
    if is_so is None:
        raise UnseenError(explain_untold(data, "arguments"), reading)
    if is_so:
        yield reading


def _judge(data: Mapping[str, object], wanted: TextMatch) -> bool | None:
    """Whether the arguments are as wanted; None where that hangs on what was cut, or on
    what the daemon masked."""
    words = [str(word) for word in as_list(data["arguments"])]
    is_cut = data.get("cut") is True
    if is_cut:
        words = _up_to_a_cut(words)
    text = " ".join(words)
    is_so = judge_text(wanted, text, is_cut=is_cut)
    if not is_masked_in(data, "arguments"):
        return is_so
    is_known = judge_masked(wanted, text)  # an argument that is masked may have spaces
    return None if is_cut and not (is_so and is_known) else is_known


def _up_to_a_cut(words: list[str]) -> list[str]:
    """Return the words that the command line begins with: each argument is cut at a limit, and
    what follows one that was cut follows it at a place of which nobody knows."""
    for number, word in enumerate(words, 1):
        if len(word) >= MAX_ARGUMENT:
            return words[:number]
    return words
