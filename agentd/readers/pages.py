"""PDF: its text by page, and what it says of itself."""

from __future__ import annotations

from typing import BinaryIO

from agentd.readers.request import Facts, ReadRequest
from agentd.readers.sheets import damaged

MAX_PAGES = 200


def read_pdf(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{text, pages: [text], count, title?, author?}``, or ``{encrypted: True}`` for one
    that a password locks."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    with damaged("PDF", PyPdfError, DependencyError):
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            return {"encrypted": True}  # nobody can read it, so that nothing was left out
        pages = [page.extract_text() for page in reader.pages[:MAX_PAGES]]
        about = {name: getattr(reader.metadata, name, None) for name in ("title", "author")}
        count = len(reader.pages)
    facts = {"text": "\n".join(pages), "pages": pages, "count": count, "cut": count > len(pages)}
    return facts | {name: str(value) for name, value in about.items() if value}
