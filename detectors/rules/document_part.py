"""A paragraph or slide of a document looks as wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from detectors.matchers import FactsMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.file_reads import (
    ReadArgs,
    as_object_list,
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
class DocumentPartArgs(ReadArgs):
    has: FactsMatch = arg(
        "What it has, such as {text: Agenda, style: Heading 1, bold: true, align: center}."
    )
    unit: Literal["paragraph", "slide"] = arg("What must have it.", "paragraph")
    number: int | None = arg("Which one, from 1; without it, any.", None)


@rule(
    version=2,
    component="file",
    hears=("file.read",),
    args=DocumentPartArgs,
    index_args=read_index,
    index_event=read_keys,
)
def document_part(event: Event, world: World, args: DocumentPartArgs) -> Iterator[Reading]:
    """One paragraph of a text document, or one slide of a presentation, has all the expected
    properties: text, style, format.

    docs/readers.md lists what is reported of each. True until the file is read and no longer has
    such a part, or is gone.
    """
    facts = facts_of(event, args)
    parts = [] if facts is None else as_object_list(facts.get(f"{args.unit}s"))
    if args.number is not None:
        parts = parts[args.number - 1 : args.number] if args.number > 0 else []
    if any(facts_are(args.has, part, is_cut(event)) for part in parts):
        yield reading(event)
