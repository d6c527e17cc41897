"""Plain text, and the text that every other textual format begins with."""

from __future__ import annotations

import codecs
from typing import Any, BinaryIO

from agentd.readers.bounds import TEXT_BYTES, DamagedError, LargeError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_GUESSED = 64 << 10
"""Bytes by which an encoding is guessed."""


def whole(file: BinaryIO) -> bytes:
    """All of the file. Raises `LargeError`."""
    data = file.read(TEXT_BYTES + 1)
    if len(data) > TEXT_BYTES:
        raise LargeError(f"more than {TEXT_BYTES} bytes")
    return data


def decoded(file: BinaryIO) -> str:
    """The file's text: by its mark, as UTF-8, else in the likeliest encoding. Raises
    `DamagedError`."""
    data = whole(file)
    try:
        for mark, encoding in _MARKS:
            if data.startswith(mark):
                return data.decode(encoding)
        return data.decode()
    except UnicodeDecodeError:
        pass
    if b"\0" in data:
        raise DamagedError("no text: it has NUL bytes")
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_GUESSED]).best()
    if best is None:
        raise DamagedError("no text in any known encoding")
    return data.decode(best.encoding, "replace")


def read_text(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{text, lines}``: the whole text and the number of its lines."""
    text = decoded(file)
    return {"text": text, "lines": len(text.splitlines())}
