"""A paragraph or slide of a document looks as wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from detectors.matchers import FactsMatch
from detectors.model.three_valued import any_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.file_reads import (
    ReadArgs,
    as_object_list,
    facts_are,
    facts_of,
    has_masked_facts,
    is_cut,
    may_go_on,
    pick_part,
    read_index,
    read_keys,
    tell_verdict,
)
from detectors.sdk.reader_facts import PARTS, explain_unknown_facts
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPartArgs(ReadArgs):
    has: FactsMatch = arg(
        "What it has, such as {text: Agenda, style: Heading 1, bold: true, align: center}."
    )
    unit: Literal["paragraph", "slide"] = arg("What must have it.", "paragraph")
    number: int | None = arg("Which one, from 1; without it, any.", None)

    def explain_mismatches(self) -> Iterator[tuple[str, str]]:
        """Yield the argument and what is expected for each property that no such part has."""
        for expected in explain_unknown_facts(self.has, PARTS[self.unit], f"a {self.unit}"):
            yield "has", expected


@rule(
    version=4,
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
    such a part, or is gone. If what was left out of a long file
    decides, or a secret that the daemon masked, the step is null.
    """
    facts = facts_of(event, args)
    if facts is None:
        return
    cut, name = is_cut(event), f"{args.unit}s"
    parts, more = as_object_list(facts.get(name)), may_go_on(facts, name, cut)
    if args.number is not None:
        parts, more = pick_part(parts, args.number, more=more)
    masked = has_masked_facts(event)
    verdict = any_verdict(
        (facts_are(args.has, part, cut, masked=masked) for part in parts), more=more
    )
    yield from tell_verdict(event, verdict)
