"""A file has the wanted name and content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import IntRange, TextMatch
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.file_facts import cause, file_index, file_keys, is_named
from detectors.sdk.registry import rule
from detectors.sdk.world import World, file_key


@dataclass(frozen=True, slots=True)
class FileMatchesArgs:
    name: TextMatch | None = arg("The file's name.", None)
    path: TextMatch | None = arg("The path relative to the watched folder.", None)
    root: TextMatch | None = arg("The label of the watched folder.", None)
    extension: TextMatch | None = arg(
        "What follows the last dot of the name, lower case, without the dot.", None
    )
    size: IntRange | None = arg("The size in bytes.", None)
    sha256: TextMatch | None = arg("The hex sha256 of the content.", None)

    def __post_init__(self) -> None:
        if all(p is None for p in (self.name, self.path, self.extension, self.size, self.sha256)):
            raise ValueError("at least one of name, path, extension, size, sha256")


@rule(
    version=2,
    component="file",
    hears=("file.created", "file.modified", "file.moved", "file.present"),
    args=FileMatchesArgs,
    index_args=lambda args: file_index(args.name),
    index_event=file_keys,
)
def file_matches(event: Event, world: World, args: FileMatchesArgs) -> Iterator[Reading]:
    """A settled file in a watched folder has the given name, extension, size and hash.

    True until its content changes or it is gone. A file that matched at the start earns nothing.
    If the rule has a hash and the file could not be read (`unread_reason`: slow, denied, busy),
    the step is null; a file that is too large to be hashed does not match.
    """
    data = event.data
    extension = (
        str(data.get("name")).rpartition(".")[2].lower() if "." in str(data.get("name")) else ""
    )
    if (
        is_named(data, args.name, args.path, args.root)
        and (args.extension is None or args.extension.matches(extension))
        and (args.size is None or args.size.matches(data.get("size")))
    ):
        seqs, step = cause(event, world)
        reading = Reading(1.0, file_key(data, data.get("path")), seqs, step)
        if args.sha256 is not None and data.get("unread_reason") in ("slow", "denied", "busy"):
            raise UnseenError(f"the file has no sha256: {data['unread_reason']}", reading)
        if is_met(args.sha256, data.get("sha256")):
            yield reading
