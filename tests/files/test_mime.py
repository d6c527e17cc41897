"""Kinds of content: by what is in the file; the name only tells one text from another."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib

import pytest

from agentd.readers.mime import mime_of


def zipped(*names: str, first: tuple[str, str] | None = None) -> bytes:
    """A zip archive with entries of these names; ``first``: an entry stored before them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        if first is not None:
            archive.writestr(*first, compress_type=zipfile.ZIP_STORED)
        for name in names:
            archive.writestr(name, f"<{name}/>")
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + chunk(b"IEND", b"")
)
PDF = b"%PDF-1.4\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n"
OOXML = "application/vnd.openxmlformats-officedocument."
ODS = "application/vnd.oasis.opendocument.spreadsheet"
BOOK = ("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml")
TEXT = ("[Content_Types].xml", "_rels/.rels", "word/document.xml")

KINDS: list[tuple[str, bytes, str | None]] = [
    ("report.csv", b"name,qty\nlamp,2\n", "text/csv"),
    ("notes.txt", b"Hello.\n", "text/plain"),
    ("notes", b"Hello.\n", "text/plain"),
    ("caf\xe9.txt", "Bon caf\xe9\n".encode("latin-1"), "text/plain"),
    ("data.json", b'{"a": [1, 2]}', "application/json"),
    ("data", b'{"a": [1, 2]}', "application/json"),
    ("data", b"{a: not json}", "text/plain"),
    ("page.html", b"<!doctype html>\n<p>x", "text/html"),
    ("page", b"<html><body>x</body></html>", "text/html"),
    ("feed", b'<?xml version="1.0"?><rss/>', "application/xml"),
    ("icon", b'<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml"),
    ("run.py", b"import os\n", "text/x-python"),
    ("invoice.pdf", PDF, "application/pdf"),
    ("dot.png", PNG, "image/png"),
    ("report.csv", PNG, "image/png"),
    ("dot.png", b"not a picture\n", "text/plain"),
    ("BM.txt", b"BM is how a bitmap begins, and this text.\n", "text/plain"),
    ("book.xlsx", zipped(*BOOK), OOXML + "spreadsheetml.sheet"),
    ("book", zipped(*BOOK), OOXML + "spreadsheetml.sheet"),
    ("text.docx", zipped(*TEXT), OOXML + "wordprocessingml.document"),
    ("sheet.ods", zipped("content.xml", first=("mimetype", ODS)), ODS),
    ("plain.zip", zipped("a.txt", "b.txt"), "application/zip"),
    ("plain.docx", zipped("a.txt", "b.txt"), "application/zip"),
    ("log.gz", gzip.compress(b"log"), "application/gzip"),
    ("core", bytes(range(256)), "application/octet-stream"),
    ("core.csv", bytes(range(256)), "application/octet-stream"),
    ("empty.csv", b"", None),
]


@pytest.mark.parametrize(
    ("name", "content", "kind"), KINDS, ids=[f"{name}-{kind}" for name, _, kind in KINDS]
)
def test_kind(name: str, content: bytes, kind: str | None) -> None:
    """A name that lies about the content is not believed."""
    assert mime_of(content, name) == kind
