"""What a file is by its content, and by its name only where content can't tell: one kind of text
from another.

A name that says something else than the content is not believed: a picture called ``report.csv`` is
a picture.
"""

from __future__ import annotations

import mimetypes

import filetype
import orjson

HEAD = 8192
"""How many bytes of a file are looked at."""

_NAMES = mimetypes.MimeTypes(filenames=())
"""The standard library's own table, whatever the machine's says."""
_TEXT = bytes({7, 8, 9, 10, 12, 13, 27} | set(range(0x20, 0x100)) - {0x7F})
_TEXTUAL = frozenset(
    "application/json application/javascript application/xml application/sql application/x-sh"
    " application/x-csh application/x-tex application/x-latex application/x-tcl application/yaml"
    " application/toml".split()
)
_WRITTEN = frozenset(("application/pdf", "application/rtf", "application/postscript"))
"""Kinds with a signature that can be text throughout; every other signature in a text is chance."""


def mime_of(head: bytes, name: str) -> str | None:
    """Return the MIME type of a file called ``name`` that begins with ``head``; None if it is
    empty."""
    if not head:
        return None
    head = head[:HEAD]
    by_signature: str | None = filetype.guess_mime(head)  # type: ignore[no-untyped-call]
    by_name = _NAMES.guess_type("x" + name)[0]
    if _is_text(head):
        return by_signature if by_signature in _WRITTEN else _text_type(head, by_name)
    if by_signature is not None:
        return by_signature
    if by_name is not None and not _is_textual(by_name):
        return by_name
    return "application/octet-stream"


def _is_text(head: bytes) -> bool:
    """Whether a beginning is that of a text: it has a mark of UTF-16, or no bytes that texts don't
    have."""
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or not head.translate(None, _TEXT)


def _text_type(head: bytes, by_name: str | None) -> str:
    """Return the type of a text, of which its name says ``by_name``."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:512].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    if by_name is not None and _is_textual(by_name):
        return by_name
    if start.startswith((b"<?xml", b"<svg")):
        return "image/svg+xml" if b"<svg" in head.lower() else "application/xml"
    if start[:1] in (b"{", b"[") and len(head) < HEAD and _is_json(head):
        return "application/json"
    return "text/plain"


def _is_json(text: bytes) -> bool:
    """Whether the bytes are one whole value of JSON."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _is_textual(mime: str) -> bool:
    """Whether files of a type are read as text, too."""
    return mime.startswith("text/") or mime in _TEXTUAL or mime.endswith(("+xml", "+json"))
