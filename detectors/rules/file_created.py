"""A file came to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.file_facts import cause, file_index, file_keys, is_named
from detectors.sdk.registry import rule
from detectors.sdk.world import World, file_key


@dataclass(frozen=True, slots=True)
class FileCreatedArgs:
    name: TextMatch | None = arg(
        "The file's name, such as report.csv or {glob: 'invoice-*.csv'}.", None
    )
    path: TextMatch | None = arg("The path relative to the watched folder.", None)
    root: TextMatch | None = arg("The label of the watched folder.", None)

    def __post_init__(self) -> None:
        if self.name is None and self.path is None:
            raise ValueError("name or path: without one, every file would count")


@rule(
    component="file",
    hears=("file.created", "file.moved", "file.present"),
    args=FileCreatedArgs,
    index_args=lambda args: file_index(args.name),
    index_event=file_keys,
)
def file_created(event: Event, world: World, args: FileCreatedArgs) -> Iterator[Reading]:
    """A file of that name appears in a watched folder, its content settled, by writing, download
    or renaming.

    True until it is deleted or moved away. A file that existed at the start earns nothing, and
    rewriting it does not create it. An empty file counts; use file_matches with a size to require
    more.
    """
    if is_named(event.data, args.name, args.path, args.root):
        seqs, step = cause(event, world)
        yield Reading(1.0, file_key(event.data, event.data.get("path"), "exists"), seqs, step)
