"""Text documents: paragraphs with how they look, tables, and what else there is."""

from __future__ import annotations

from typing import Any, BinaryIO

from agentd.readers.archives import bounded_zip
from agentd.readers.bounds import MAX_ITEMS
from agentd.readers.sheets import damaged, open_document
from agentd.readers.tables import sheet

_LOOKS = ("bold", "italic", "underline")


def read_docx(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{text, paragraphs: [{text, style?, align?, bold?, italic?, underline?, font?, size?,
    color?}], sheets, images, header?, footer?}``: what all runs of a paragraph share; ``size`` in
    points, ``color`` as RRGGBB."""
    from docx import Document
    from docx.opc.exceptions import OpcError

    bounded_zip(file)
    with damaged("docx", OpcError):
        document = Document(file)
        paragraphs = [_paragraph(one) for one in document.paragraphs[: MAX_ITEMS + 1]]
        tables = [
            sheet("", [[cell.text for cell in row.cells] for row in one.rows])
            for one in document.tables
        ]
        first = document.sections[0] if document.sections else None
        around = (
            {name: _text(getattr(first, name).paragraphs) for name in ("header", "footer")}
            if first
            else {}
        )
        images = len(document.inline_shapes)
        facts = {
            "text": _text(document.paragraphs),
            "paragraphs": paragraphs,
            "sheets": tables,
            "images": images,
        }
    return facts | {name: text for name, text in around.items() if text}


def _paragraph(one: Any) -> dict[str, Any]:
    runs = [run for run in one.runs if run.text.strip()]
    looks: dict[str, Any] = {
        name: True for name in _LOOKS if runs and all(getattr(run, name) for run in runs)
    }
    looks["style"] = one.style.name if one.style is not None else None
    looks["align"] = one.alignment.name.lower() if one.alignment is not None else None
    for name, of in (("font", _font), ("size", _size), ("color", _color)):
        found = {of(run) for run in runs}
        looks[name] = found.pop() if len(found) == 1 else None
    return {"text": one.text} | {name: value for name, value in looks.items() if value is not None}


def _font(run: Any) -> Any:
    return run.font.name


def _size(run: Any) -> Any:
    return None if run.font.size is None else run.font.size.pt


def _color(run: Any) -> Any:
    return None if run.font.color is None or run.font.color.rgb is None else str(run.font.color.rgb)


def _text(paragraphs: Any) -> str:
    return "\n".join(one.text for one in paragraphs)


def read_odt(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{text, paragraphs: [{text, style?, level?}], sheets, images}``; ``level``: of a heading."""
    document = open_document(file, "odt")
    with damaged("odt"):
        return _odt(document.body)


def _odt(body: Any) -> dict[str, Any]:
    paragraphs = []
    for one in body.get_elements(
        "//office:text//text:p[not(ancestor::table:table)]|//office:text//text:h"
    ):
        level = getattr(one, "level", None)
        looks = {"style": one.style, "level": int(level) if level else None}
        paragraphs.append(
            {"text": one.inner_text} | {name: value for name, value in looks.items() if value}
        )
    return {
        "text": "\n".join(one["text"] for one in paragraphs),
        "paragraphs": paragraphs,
        "sheets": [sheet(table.name, list(table.iter_values())) for table in body.tables],
        "images": len(body.get_images()),
    }
