"""Every format that can be converted, by hand: a line here and a file beside make one.

An importer's module has ``fits(source)``, whether a file looks like its format, and
``read(source)``, which checks the file and gives a `FormatReading`, or raises `ConvertError`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from lab.convert.errors import ConvertError, format_value
from lab.convert.source import WANTED, SourceFile
from lab.convert.tape import Tape


class FormatReading(Protocol):
    """A file that was read and found sound. ``shows``: the kinds that the file would show if they
    happened."""

    version: str | int | None
    shows: Collection[str]

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Put everything on the tape, with its secrets masked; ``mask``: further names of
        secrets."""


class FormatImporter(Protocol):
    """What an importer's module has."""

    def fits(self, source: SourceFile) -> bool: ...

    def read(self, source: SourceFile) -> FormatReading: ...


class RecordingFormat(NamedTuple):
    """``says``: what it is called; ``where``: how a gap's reason names it."""

    name: str
    says: str
    where: str

    def importer(self) -> FormatImporter:
        """The module, imported only when it is needed."""
        return cast(FormatImporter, import_module(f"lab.convert.{self.name}"))


FORMATS: dict[str, RecordingFormat] = {
    one.name: one
    for one in (
        RecordingFormat("trace", "Playwright trace", "a Playwright trace"),
        RecordingFormat("har", "HAR", "a HAR"),
        RecordingFormat("cdp", "log of CDP messages", "a log of CDP messages"),
        RecordingFormat("rrweb", "rrweb stream", "an rrweb stream"),
        RecordingFormat("atspi", "AT-SPI capture", "an AT-SPI capture"),
        RecordingFormat("flow", "Recorder flow", "a Recorder flow"),
        RecordingFormat("atif", "ATIF trajectory", "an ATIF trajectory"),
    )
}
"""In the order in which they are tried."""


def recognise(source: SourceFile) -> RecordingFormat:
    """The format that the content shows. Raises `ConvertError` that says what was found and what
    was wanted."""
    for format in FORMATS.values():
        if format.importer().fits(source):
            return format
    names = ", ".join(FORMATS)
    raise ConvertError(
        f"{source.path}: {_describe_content(source)}; {WANTED}, or --from FORMAT ({names})"
    )


def _describe_content(source: SourceFile) -> str:
    """Say what a file holds, for an error about it."""
    if source.zip is not None:
        return f"a zip with {format_value(source.zip.names[:5])}"
    value = source.value
    if isinstance(value, dict):
        return f"an object with the keys {format_value(list(value)[:8])}"
    if not source.items:
        return format_value(value)
    unit = "lines" if source.lines else "an array"
    return f"{unit} of {format_value(source.items[0])}"
