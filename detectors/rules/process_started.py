"""A program was started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.arguments import arg
from detectors.matchers import TextMatch
from detectors.registry import rule
from detectors.shape import listed
from detectors.types import Event, Reading
from detectors.world import World


@dataclass(frozen=True, slots=True)
class Args:
    name: TextMatch = arg("The program's name, as in /proc/PID/comm.")
    arguments: TextMatch | None = arg("Its arguments, joined by blanks; secrets are masked in them.", None)


@rule(component="ui", hears=("process.started",), args=Args)
def process_started(event: Event, world: World, args: Args) -> Iterator[Reading]:
    """A process of that name runs. True until it ends. One that ran at the start earns nothing."""
    data = event.data
    words = " ".join(str(word) for word in listed(data.get("arguments")))
    if args.name.matches(str(data.get("name") or "")) and (args.arguments is None or args.arguments.matches(words)):
        yield Reading(1.0, f"process:{data.get('pid')}")
