"""Plain text, and the text that every other textual format begins with."""

from __future__ import annotations

import codecs
from typing import BinaryIO

from agentd.readers.bounds import TEXT_BYTES, DamagedError, LargeError
from agentd.readers.request import Facts, ReadRequest

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GUESSED = 64 << 10
"""Bytes by which an encoding is guessed."""


def whole(file: BinaryIO) -> bytes:
    """Read all of a file. Raises `LargeError` for one of more than `TEXT_BYTES`."""
    data = file.read(TEXT_BYTES + 1)
    if len(data) > TEXT_BYTES:
        raise LargeError(f"more than {TEXT_BYTES} bytes")
    return data


def decode_text(file: BinaryIO) -> str:
    """Read a file's text: by its byte order mark, as UTF-8, else in the likeliest encoding.

    Raises `DamagedError`, `LargeError`.
    """
    data = whole(file)
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(marked)
    except UnicodeDecodeError:
        pass
    if b"\0" in data:
        raise DamagedError("no text: it has NUL bytes")
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_GUESSED]).best()
    if best is None:
        raise DamagedError("no text in any known encoding")
    return data.decode(best.encoding, "replace")


def read_text(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{text, lines}``: the whole text and the number of its lines."""
    text = decode_text(file)
    return {"text": text, "lines": len(text.splitlines())}
