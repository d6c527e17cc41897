"""One conversion: which format, what it cannot show, its events, the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from agentd.core.errors import UsageError
from agentd.journal.recordings import must_be_free, segments, write_recording
from common.regular_file import NotRegularError, read_regular
from detectors.model.json_value import JsonValue
from detectors.model.optional_values import drop_empty, entries_without_none
from lab.convert.formats import FORMATS, RecordingFormat, recognise
from lab.convert.source import SourceFile
from lab.convert.tape import Tape

MAX_ANSWER = 1 << 20
"""Bytes of an agent's answer."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """What is converted, and how.

    ``input`` becomes the recording ``out``, which is replaced only with ``force``. ``format`` is
    one of `FORMATS`, or None where the content tells. ``vouch``: nouns or kinds of events of which
    the input hides nothing; ``mask``: more names of secrets; ``cookies``: those whose values are
    told; ``answer``: a file with what the agent said in the end.
    """

    input: Path
    out: Path
    force: bool = False
    format: str | None = None
    vouch: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    cookies: tuple[str, ...] = ()
    answer: Path | None = None


class Made(NamedTuple):
    """What a conversion made. ``source``: what of, as in "a HAR"."""

    source: str
    events: int
    steps: int


def convert(settings: Conversion) -> Made:
    """Convert ``settings.input`` to ``settings.out``. Raises `ConvertError`, `UsageError`,
    `AgentdError`."""
    must_be_free(settings.out, force=settings.force)
    source = SourceFile(settings.input)
    format = FORMATS[settings.format] if settings.format else recognise(source)
    tape = record(
        source, format, settings.vouch, settings.mask, _answer(settings), settings.cookies
    )
    write_recording(
        segments(f"cnv-{source.sha256[:12]}", tape.lines), settings.out, force=settings.force
    )
    return Made(format.where, len(tape.lines), tape.step + 1)


def _answer(settings: Conversion) -> str | None:
    """Read the agent's answer from the file that the command names. Raises `UsageError`."""
    if settings.answer is None:
        return None
    try:
        return read_regular(settings.answer, MAX_ANSWER).decode("utf-8")
    except (OSError, UnicodeDecodeError, NotRegularError) as error:
        raise UsageError(
            f"--answer {settings.answer}: {error}; wanted a file of UTF-8 text"
        ) from None


def record(
    source: SourceFile,
    format: RecordingFormat,
    vouched: tuple[str, ...] = (),
    mask: tuple[str, ...] = (),
    answer: str | None = None,
    cookies: tuple[str, ...] = (),
) -> Tape:
    """The events of ``source``, from its opening to its close; ``answer``: what the agent said
    before that; ``cookies``: those whose values are told."""
    importer = format.importer()
    with source.part(""):  # what an importer did not name a place for
        found = importer.read(source)
    tape = Tape(shown=cookies)
    about: dict[str, JsonValue] = {
        "format": format.name,
        "sha256": source.sha256,
        "bytes": source.bytes,
    }
    about |= entries_without_none({"version": found.version})
    about |= drop_empty({"declared_complete": list(vouched)})
    tape.open(about)
    # Who tells what the fields hold leaves out those that are gone, and no condition is blind for
    # that.
    gone = {"field.removed"} if "field.filled" in found.shows else set()
    tape.blind({*found.shows, *gone}, vouched, format.where)
    with source.part(""):
        found.tell(tape, mask)
    if answer is not None:
        tape.tell(tape.at, "agent.answered", {"text": answer})
    tape.close(tape.at, f"{format.where} ends here")
    return tape
