"""Text documents: paragraphs with how they look, tables, and what else there is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

from agentd.readers.archives import bounded_zip
from agentd.readers.bounds import MAX_ITEMS
from agentd.readers.request import Facts, ReadRequest
from agentd.readers.sheets import damaged, open_document
from agentd.readers.tables import sheet

_LOOKS = ("bold", "italic", "underline")
_ODT_PARAGRAPHS = "//office:text//text:p[not(ancestor::table:table)]|//office:text//text:h"


def read_docx(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{text, paragraphs: [{text, style?, align?, bold?, italic?, underline?, font?, size?,
    color?}], sheets, images, header?, footer?}``.

    Of a paragraph's looks what all its runs share; ``size`` in points, ``color`` as RRGGBB.
    """
    from docx import Document
    from docx.opc.exceptions import OpcError

    bounded_zip(file)
    with damaged("docx", OpcError):
        document = Document(file)
        facts: Facts = {
            "text": _text(document.paragraphs),
            "paragraphs": [_paragraph(part) for part in document.paragraphs[: MAX_ITEMS + 1]],
            "sheets": [_table(table) for table in document.tables],
            "images": len(document.inline_shapes),
        }
        if document.sections:
            first = document.sections[0]
            around = {"header": first.header, "footer": first.footer}
            facts |= _without_empty({name: _text(part.paragraphs) for name, part in around.items()})
    return facts


def _table(table: Any) -> Facts:
    return sheet("", [[cell.text for cell in row.cells] for row in table.rows])


def _without_empty(facts: Facts) -> Facts:
    return {name: value for name, value in facts.items() if value}


def _paragraph(paragraph: Any) -> Facts:
    runs = [run for run in paragraph.runs if run.text.strip()]
    facts: Facts = {"text": paragraph.text}
    for name in _LOOKS:
        if runs and all(getattr(run, name) for run in runs):
            facts[name] = True
    alignment = paragraph.alignment
    looks = {
        "style": None if paragraph.style is None else paragraph.style.name,
        "align": None if alignment is None else alignment.name.lower(),
        "font": _common(run.font.name for run in runs),
        "size": _common(_size(run) for run in runs),
        "color": _common(_color(run) for run in runs),
    }
    return facts | {name: value for name, value in looks.items() if value is not None}


def _common(values: Iterable[object]) -> object:
    """Return the value that all have, None where they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _size(run: Any) -> Any:
    size = run.font.size
    return None if size is None else size.pt


def _color(run: Any) -> str | None:
    color = run.font.color
    return None if color is None or color.rgb is None else str(color.rgb)


def _text(paragraphs: Any) -> str:
    return "\n".join(paragraph.text for paragraph in paragraphs)


def read_odt(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{text, paragraphs: [{text, style?, level?}], sheets, images}``; ``level``: of a
    heading."""
    document = open_document(file, "odt")
    with damaged("odt"):
        body = document.body
        paragraphs = [_odt_paragraph(element) for element in body.get_elements(_ODT_PARAGRAPHS)]
        return {
            "text": "\n".join(paragraph["text"] for paragraph in paragraphs),
            "paragraphs": paragraphs,
            "sheets": [sheet(table.name, list(table.iter_values())) for table in body.tables],
            "images": len(body.get_images()),
        }


def _odt_paragraph(element: Any) -> Facts:
    level = getattr(element, "level", None)
    looks = {"style": element.style, "level": int(level) if level else None}
    return {"text": element.inner_text, **_without_empty(looks)}
