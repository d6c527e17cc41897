"""A file's text is as wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from detectors.matchers import TextMatch
from detectors.matchers.masked_text import MASK, SEVERAL_WORDS
from detectors.model.safe_json import json_or_none
from detectors.model.three_valued import any_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.file_reads import (
    Format,
    ReadArgs,
    as_object_list,
    as_objects,
    facts_of,
    goes_on,
    has_masked_facts,
    is_cut,
    may_go_on,
    pick_part,
    read_index,
    read_keys,
    tell_verdict,
    text_is,
)
from detectors.sdk.registry import rule
from detectors.sdk.world import World

NO_TEXT = frozenset(
    (
        "csv",
        "json",
        "yaml",
        "toml",
        "ini",
        "prefs",
        "gimprc",
        "sqlite",
        "xlsx",
        "ods",
        "zip",
        "tar",
        "image",
        "media",
    )
)
"""Formats of whose files no text is told."""
DATA_ENDS = tuple(
    (
        ".csv .tsv .json .ipynb .yaml .yml .toml .ini .cfg .conf .desktop .properties"
        " vlcrc prefs.js user.js gimprc sessionrc toolrc"
    ).split()
)
"""How the names of files end that are written as text and read as data."""
_HOLDERS = {
    "whole": "text",
    "line": "text",
    "paragraph": "paragraphs",
    "page": "pages",
    "slide": "slides",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTextArgs(ReadArgs):
    text: TextMatch = arg(
        "The text, such as {contains: Total}; a plain text is compared with the whole."
    )
    unit: Literal["whole", "line", "paragraph", "page", "slide"] = arg(
        "What must say it: all, or one of these.", "whole"
    )
    number: int | None = arg("Which line, paragraph, page or slide, from 1; without it, any.", None)

    def __post_init__(self) -> None:
        ReadArgs.__post_init__(self)
        if self.format in NO_TEXT:
            raise ValueError(
                f"format: {self.format} has no text; wanted text, to read the file as it is"
                " written, or a format of documents and pages"
            )

    @property
    def read_as(self) -> Format | None:
        """As text where the path's end says that the file is data written as text: read as data, it
        has none."""
        data = self.format is None and self.path.lower().endswith(DATA_ENDS)
        return "text" if data and self.unit in ("whole", "line") else self.format


@rule(
    version=7,
    component="file",
    hears=("file.read",),
    args=FileTextArgs,
    index_args=read_index,
    index_event=read_keys,
)
def file_text(event: Event, world: World, args: FileTextArgs) -> Iterator[Reading]:
    """The text of a text file, document, page or PDF matches: the whole, or one line, paragraph,
    page or slide.

    A file of data (.csv, .json, .yaml, .toml, .ini and the like) is read as it is written; the end
    of its path shows that it is one. If the path ends with a `*`, write `format: text`.

    True until the file is read with another text, or is gone. A text that matched at the start
    earns nothing. Of a text that was cut only the beginning is known: `contains` and `starts_with`
    can match it, and where the rest decides the step is null. So it is where a secret decides
    that the daemon masked in the text: a private key is several lines, and the `number` of what
    stands below it is not known, nor how a text of JSON was written.
    """
    facts = facts_of(event, args)
    if facts is None:
        return
    cut, masked = is_cut(event), has_masked_facts(event)
    verdict = _judge_masked(args, facts, cut) if masked else _judge(args, facts, cut, masked=False)
    yield from tell_verdict(event, verdict if cut or masked else bool(verdict))


def _judge(
    args: FileTextArgs, facts: Mapping[str, object], cut: bool, *, masked: bool
) -> bool | None:
    """Whether one of the parts that are asked for matches; None where that hangs on what was cut or
    masked."""
    parts, more = _parts(facts, args.unit, cut), _may_have_more(args, facts, cut)
    if args.number is not None:
        parts, more = pick_part(parts, args.number, more=more)
    told = (text_is(args.text, part, on, masked=masked) for part, on in parts)
    return any_verdict(told, more=more or not facts)


def _judge_masked(args: FileTextArgs, facts: Mapping[str, object], cut: bool) -> bool | None:
    """As `_judge`, of a text in which the daemon masked something: that may have moved lines."""
    if args.unit in ("whole", "line") and _is_written_anew(facts.get("text")):
        return None
    if args.number is not None and args.unit == "line":
        moved = _find_moved(_parts(facts, args.unit, cut), args.number)
        is_so = any_verdict(text_is(args.text, part, on, masked=True) for part, on in moved)
        if moved:
            return None if _may_have_more(args, facts, cut) or is_so is not False else False
    return _judge(args, facts, cut, masked=True)


def _may_have_more(args: FileTextArgs, facts: Mapping[str, object], cut: bool) -> bool:
    """Whether there may be further parts than those that were told."""
    return may_go_on(facts, _HOLDERS[args.unit], cut) and args.unit != "whole"


def _parts(facts: Mapping[str, object], unit: str, cut: bool) -> list[tuple[str, bool]]:
    """The texts of the parts, each with whether it may go on."""
    if unit == "paragraph":
        texts = [str(paragraph.get("text")) for paragraph in as_objects(facts.get("paragraphs"))]
        return [(text, goes_on(text, cut)) for text in texts]
    if unit == "page":
        return [(str(page), goes_on(page, cut)) for page in as_object_list(facts.get("pages"))]
    if unit == "slide":
        slides = [as_object_list(slide.get("texts")) for slide in as_objects(facts.get("slides"))]
        return [("\n".join(map(str, texts)), cut) for texts in slides]
    text = facts.get("text")
    if not isinstance(text, str):
        return []
    return [(text, cut)] if unit == "whole" else _lines(text, cut)


def _is_written_anew(text: object) -> bool:
    """Whether a text is JSON in which the daemon masked something: it writes that without the white
    space of the file."""
    if not isinstance(text, str) or MASK not in text or text.lstrip()[:1] not in ("{", "["):
        return False
    return json_or_none(text) is not None


def _find_moved(lines: list[tuple[str, bool]], number: int) -> list[tuple[str, bool]]:
    """Return the lines of which each may be the one of that number, since the mask of a private key
    before them stands for several; none where it is known which one that is."""
    for place, (line, _) in enumerate(lines[:number]):
        if SEVERAL_WORDS in line:
            return lines[place:number]
    return []


def _lines(text: str, cut: bool) -> list[tuple[str, bool]]:
    lines = text.splitlines()
    return [(line, goes_on(text, cut) and n == len(lines)) for n, line in enumerate(lines, 1)]
