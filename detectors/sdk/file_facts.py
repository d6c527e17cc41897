"""What the two rules about files share: naming a file, and the step that caused it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from detectors.matchers import TextMatch, text_key
from detectors.model.types import Event
from detectors.sdk.registry import Keys
from detectors.sdk.world import MAX_NAME, World

_NUMBERED = re.compile(r" \(\d{1,3}\)")


def file_index(name: TextMatch | None) -> Keys | None:
    """Index keys of the files that a name matcher can hit."""
    return name.keys() if name is not None else None


def file_keys(event: Event) -> Keys:
    """Index keys of a file event."""
    return (text_key(str(event.data.get("name"))),)


def is_named(
    data: Mapping[str, object],
    name: TextMatch | None,
    path: TextMatch | None,
    root: TextMatch | None,
) -> bool:
    """Whether the file of an event's data is the one that name, path and root ask for; a symbolic
    link is no file."""
    return (
        data.get("link") is None
        and (name is None or name.matches(str(data.get("name"))))
        and (path is None or path.matches(str(data.get("path"))))
        and (root is None or root.matches(str(data.get("root"))))
    )


def cause(event: Event, world: World) -> tuple[tuple[int, ...], int | None]:
    """(seqs of evidence, step) of the download that brought the file; nothing if none is known.

    It bears the suggested name, or that with a number where the name was taken; if its size is
    known it is the file's; of several it is the one that began last.
    """
    name, size = str(event.data.get("name"))[:MAX_NAME], event.data.get("size")
    names = _suggested(name)
    for suggested, began, step, received, finished in reversed(world.downloads.values()):
        if suggested in names and (received is None or size is None or received == size):
            return (began,) if finished is None else (began, finished), step
    return (), None


def _suggested(name: str) -> frozenset[str]:
    """The names under which a file could have been offered: "a.csv" for "a (1).csv"."""
    return frozenset(
        (name, *(name[: at.start()] + name[at.end() :] for at in _NUMBERED.finditer(name)))
    )
