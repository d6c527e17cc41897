"""What the two rules about files share: naming a file, and the step that caused it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detectors.matchers import TextMatch, text_key
from detectors.registry import Keys
from detectors.types import Event
from detectors.world import World


def file_index(name: TextMatch | None) -> Keys | None:
    """Index keys of the files that a name matcher can hit."""
    return name.keys() if name is not None else None


def file_keys(event: Event) -> Keys:
    """Index keys of a file event."""
    return (text_key(str(event.data.get("name"))),)


def named(data: Mapping[str, Any], name: TextMatch | None, path: TextMatch | None, root: TextMatch | None) -> bool:
    """Whether the file of an event's data is the one that name, path and root ask for; a symbolic link is no file."""
    return (
        data.get("link") is None
        and (name is None or name.matches(str(data.get("name"))))
        and (path is None or path.matches(str(data.get("path"))))
        and (root is None or root.matches(str(data.get("root"))))
    )


def cause(event: Event, world: World) -> tuple[tuple[int, ...], int | None]:
    """(seqs of evidence, step) of the download that brought the file; nothing if none is known by its name."""
    known = world.downloads.get(str(event.data.get("name")))
    return ((known[0],), known[1]) if known else ((), None)
