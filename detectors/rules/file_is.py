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
    has_masked_facts,
    is_cut,
    is_locked,
    read_index,
    read_keys,
    tell_verdict,
)
from detectors.sdk.reader_facts import explain_unknown_of_files, formats_of
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIsArgs(ReadArgs):
    made: TextMatch | None = arg(
        "The format that it was read as, such as pdf or {one_of: [docx, odt]}.", None
    )
    facts: FactsMatch | None = arg(
        "Dotted paths into its reported facts (docs/readers.md), such as video.0.width, with their"
        " values.",
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

    def explain_mismatches(self) -> Iterator[tuple[str, str]]:
        """Yield the argument and what is expected for each fact that no such file has."""
        formats = formats_of(self.format, self.made)
        for expected in explain_unknown_of_files(self.facts, formats) if formats else ():
            yield "facts", expected

    @property
    def is_of_whole(self) -> bool:
        return self.whole


@rule(
    version=5,
    component="file",
    hears=("file.read",),
    args=FileIsArgs,
    index_args=read_index,
    index_event=read_keys,
)
def file_is(event: Event, world: World, args: FileIsArgs) -> Iterator[Reading]:
    """The reported facts of a file match: a picture's size, a video's length and codec, a PDF's
    number of pages.

    A file whose name claims a format, and which is damaged or has another one, does not match.
    True until the file is read with other facts, or is gone. A missing value counts as the value
    null. If the file was reported as cut and what was left out decides, or a secret that the daemon
    masked, the step is null. A file that is gone matches nothing, so that it has no forbidden word
    either: put `none_of` rules about it into an `all_of` with `whole`. A file that a password locks
    is not whole.
    """
    facts = facts_of(event, args)
    if facts is None or (
        args.made is not None and not args.made.matches(str(event.data.get("format")))
    ):
        return
    if args.whole and is_locked(event):
        return
    verdict = args.facts is None or facts_are(
        args.facts, facts, is_cut(event), masked=has_masked_facts(event)
    )
    yield from tell_verdict(event, None if args.whole and is_cut(event) and verdict else verdict)
