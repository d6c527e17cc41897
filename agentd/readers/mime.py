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
    """The MIME type of a file that begins with ``head``; None if it is empty."""
    if not head:
        return None
    head = head[:HEAD]
    signed: str | None = filetype.guess_mime(head)  # type: ignore[no-untyped-call]
    called = _NAMES.guess_type("x" + name)[0]
    if _is_text(head):
        return signed if signed in _WRITTEN else _text(head, called)
    if signed is not None:
        return signed
    return called if called is not None and not _textual(called) else "application/octet-stream"


def _is_text(head: bytes) -> bool:
    return head.startswith((b"\xff\xfe", b"\xfe\xff")) or not head.translate(None, _TEXT)


def _text(head: bytes, called: str | None) -> str:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:512].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    if called is not None and _textual(called):
        return called
    if start.startswith((b"<?xml", b"<svg")):
        return "image/svg+xml" if b"<svg" in head.lower() else "application/xml"
    if start[:1] in (b"{", b"[") and len(head) < HEAD:
        try:
            orjson.loads(head)
        except orjson.JSONDecodeError:
            return "text/plain"
        return "application/json"
    return "text/plain"


def _textual(mime: str) -> bool:
    return mime.startswith("text/") or mime in _TEXTUAL or mime.endswith(("+xml", "+json"))
