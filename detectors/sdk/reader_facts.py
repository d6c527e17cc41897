"""The facts that readers report of each format: a condition on any other can never hold, and is
refused with the task."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from detectors.matchers import FactsMatch, TextMatch

FACTS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "lines"),
    "csv": ("sheets",),
    **dict.fromkeys(("json", "yaml", "toml", "ini", "prefs", "gimprc"), ("value",)),
    "xml": ("root", "value", "text"),
    "svg": ("width", "height", "layers", "tags", "ids", "text"),
    "drawio": ("pages", "count", "text"),
    "html": ("title", "text", "links", "headings", "sheets"),
    "sqlite": ("sheets", "tables"),
    "xlsx": ("sheets", "active"),
    "ods": ("sheets",),
    "docx": ("text", "paragraphs", "sheets", "images", "header", "footer"),
    "odt": ("text", "paragraphs", "sheets", "images", "header", "footer", "bookmarks"),
    "pptx": ("text", "slides", "count"),
    "odp": ("text", "slides", "count"),
    "pdf": ("text", "pages", "count", "title", "author", "encrypted"),
    **dict.fromkeys(("zip", "tar"), ("entries", "count", "bytes")),
    "image": (
        *("kind", "width", "height", "mode", "frames", "colors", "phash", "brightness"),
        *("contrast", "saturation", "transparent", "mean", "gray"),
    ),
    "media": (
        *("container", "duration", "bitrate", "title", "artist", "album", "genre", "date"),
        *("video", "audio", "subtitles"),
    ),
}
"""Names at the top of a file's facts, by the format that it was read as (docs/readers.md)."""
PARTS: Mapping[str, tuple[str, ...]] = {
    "paragraph": (
        *("text", "style", "align", "bold", "italic", "underline", "font", "size", "color"),
        "level",
    ),
    "slide": ("title", "texts", "notes", "images", "layout", "transition", "shapes"),
}
"""Names in the facts of a document's part."""


def formats_of(format: str | None, made: TextMatch | None) -> tuple[str, ...]:
    """Return the formats that a file can have: the one that it is read as, else those that ``made``
    matches."""
    if format is not None:
        return (format,)
    return tuple(one for one in FACTS if made is None or made.matches(one))


def explain_unknown_facts(
    facts: FactsMatch | None, known: Collection[str], of: str
) -> Iterator[str]:
    """Yield what is expected for each fact that is none of ``known``; ``of`` says what has
    these."""
    for path, _wanted in () if facts is None else facts.facts:
        if path[0] not in known:
            yield f"facts of {of}: {', '.join(sorted(known))}; got {path[0]}"


def explain_unknown_of_files(facts: FactsMatch | None, formats: Collection[str]) -> Iterator[str]:
    """Yield as `explain_unknown_facts` for the facts of a file of one of the formats."""
    known = {name for one in formats for name in FACTS.get(one, ())}
    return explain_unknown_facts(
        facts, known, " or ".join(formats) if len(formats) < 4 else "files"
    )
