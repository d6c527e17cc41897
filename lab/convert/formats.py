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
    if source.zip is not None:
        found = f"a zip with {format_value(source.zip.names[:5])}"
    elif isinstance(source.value, dict):
        found = f"an object with the keys {format_value(list(source.value)[:8])}"
    elif source.items:
        found = f"{'lines' if source.lines else 'an array'} of {format_value(source.items[0])}"
    else:
        found = format_value(source.value)
    raise ConvertError(f"{source.path}: {found}; {WANTED}, or --from FORMAT ({', '.join(FORMATS)})")
