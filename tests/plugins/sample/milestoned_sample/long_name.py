"""A file with a long name came to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.plugins import PlugIn
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class SampleLongNameArgs:
    length: int = arg("How many characters the name has at least.")


@rule(component="file", hears=("file.created",), args=SampleLongNameArgs)
def sample_long_name(event: Event, world: World, args: SampleLongNameArgs) -> Iterator[Reading]:
    """A file was created whose name has at least so many characters."""
    name = str(event.data.get("name"))
    if len(name) >= args.length:
        yield Reading(1.0, f"long:{name}")


PLUG_IN = PlugIn(
    sample_long_name,
    yes=[({"length": 5}, [("file.created", {"root": "home", "path": "abcde", "name": "abcde"})])],
    no=[({"length": 6}, [("file.created", {"root": "home", "path": "abcde", "name": "abcde"})])],
)
