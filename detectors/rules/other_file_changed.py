"""A file changed that the task does not speak of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.registry import rule
from detectors.sdk.world import World

UNSEEN = "a folder came and went, and what came and went in it before it was looked at is not known"
UNSEEN_IN_NEW = "something came and went in a new folder before it was looked at"
ANY_NAME = "\x01"
"""Stands for the name of a file that nobody saw: only what matches any name matches it."""
UNSETTLED = "a program holds a file open under a temporary name, and what it holds is not known"


@dataclass(frozen=True, slots=True)
class OtherFileChangedArgs:
    allowed: TextMatch | None = arg(
        "Paths below the watched folder that may change; of a moved file both.", None
    )
    root: TextMatch | None = arg("Only in the watched folder of this label.", None)


@rule(
    version=5,
    component="file",
    hears=(
        "file.created",
        "file.modified",
        "file.moved",
        "file.deleted",
        "file.mode_changed",
        "file.vanished",
        "file.unsettled",
        "folder.created",
        "folder.deleted",
    ),
    args=OtherFileChangedArgs,
    occurrence=True,
)
def other_file_changed(event: Event, world: World, args: OtherFileChangedArgs) -> Iterator[Reading]:
    """A watched file that is not among the `allowed` was created or removed, or changed in
    content, name or permissions.

    A file that was created and removed before the daemon could read it counts too. A folder that
    came and went, and in which nothing was seen, may have held one: its step is null, unless
    `allowed` matches all that can be in the folder, such as `tmp/**`. So is that of a new folder
    whose own times say that something came and went in it before the daemon watched it. If a
    program still held a file open under a temporary name (`.swp`, `.part`, `.tmp`) at the close,
    its content is not known: a step that it could have made worth more, or less, is null. Name in
    `allowed` what an open editor may keep, such as `*.swp`.

    A guard: use it under `none_of`, in an `only_if` or a goal, to require that nothing else
    changed.
    """
    data = event.data
    is_folder = event.kind in ("folder.created", "folder.deleted")
    if is_folder and data.get("unseen") is not True:
        return
    if not is_met(args.root, data.get("root")):
        return
    paths = [str(data[part]) for part in ("path", "from") if part in data]
    if is_folder:
        paths = [f"{paths[0]}/{ANY_NAME}", f"{paths[0]}/{ANY_NAME}/{ANY_NAME}"]
    if args.allowed is not None and all(args.allowed.matches(path) for path in paths):
        return
    reading = Reading(1.0, f"changed:{data.get('root')}/{data.get('path')}")
    if event.kind == "file.unsettled":
        raise UnseenError(UNSETTLED, reading)
    if is_folder:
        raise UnseenError(UNSEEN if event.kind == "folder.deleted" else UNSEEN_IN_NEW, reading)
    yield reading
