"""A file is of the wanted making."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import FactsMatch, TextMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.file_reads import (
    ReadArgs,
    facts_are,
    facts_of,
    is_cut,
    read_index,
    read_keys,
    reading,
)
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Args(ReadArgs):
    made: TextMatch | None = arg(
        "The format that it was read as, such as pdf or {one_of: [docx, odt]}.", None
    )
    facts: FactsMatch | None = arg(
        "Dotted paths into what is reported of it (docs/readers.md), such as video.0.width, and"
        " what stands there.",
        None,
    )
    whole: bool = arg(
        "Whether nothing of it may be left out: what `none_of` needs beside it.", False
    )

    def __post_init__(self) -> None:
        ReadArgs.__post_init__(self)
        if self.made is None and self.facts is None and not self.whole:
            raise ValueError(
                "made, facts or whole: without one, every file that can be read would count"
            )


@rule(
    version=2,
    component="file",
    hears=("file.read",),
    args=Args,
    index_args=read_index,
    index_event=read_keys,
)
def file_is(event: Event, world: World, args: Args) -> Iterator[Reading]:
    """A picture's size, a video's length and codec, a PDF's number of pages: what is reported of a
    file is as wanted.

    A file that claims by its name to be of a format and is damaged, or another, is none. True until
    the file is read with other facts, or is gone. Null is what is not there, unless the file was
    told cut. A file that could not be read says nothing, so that it has no forbidden word either:
    `none_of` rules about it stand in an `all_of` with `whole`.
    """
    facts = facts_of(event, args)
    if facts is None or (
        args.made is not None and not args.made.matches(str(event.data.get("format")))
    ):
        return
    if args.whole and is_cut(event):
        return
    if args.facts is None or facts_are(args.facts, facts, is_cut(event)):
        yield reading(event)
