"""Text documents: paragraphs with how they look, tables, and what else there is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

from agentd.readers.archives import bounded_zip
from agentd.readers.bounds import MAX_ITEMS
from agentd.readers.request import Facts, ReadRequest, without_empty
from agentd.readers.sheets import damaged, open_document
from agentd.readers.tables import sheet

_WEIGHT = "fo:font-weight"
MAX_STYLES = 12
"""Styles of which one may come of the next."""
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
            facts |= without_empty({name: _text(part.paragraphs) for name, part in around.items()})
    return facts


def _table(table: Any) -> Facts:
    """Return a table's cells as rows of texts, under no name."""
    return sheet("", [[cell.text for cell in row.cells] for row in table.rows])


def _paragraph(paragraph: Any) -> Facts:
    """Return a paragraph's text and its looks: those that all of its words have."""
    facts: Facts = {"text": paragraph.text}
    runs = [run for run in paragraph.runs if run.text.strip()]
    for name in _LOOKS:
        if runs and all(getattr(run, name) for run in runs):
            facts[name] = True
    looks = {
        "style": _style_name(paragraph),
        "align": _alignment_name(paragraph),
        "font": _common(run.font.name for run in runs),
        "size": _common(_size(run) for run in runs),
        "color": _common(_color(run) for run in runs),
    }
    for name, look in looks.items():
        if look is not None:
            facts[name] = look
    return facts


def _style_name(paragraph: Any) -> str | None:
    """Return the name of a paragraph's style, None without one."""
    style = paragraph.style
    return None if style is None else style.name


def _alignment_name(paragraph: Any) -> str | None:
    """Return how a paragraph is aligned, in small letters; None where its style decides."""
    alignment = paragraph.alignment
    return None if alignment is None else alignment.name.lower()


def _common(values: Iterable[object]) -> object:
    """Return the value that all have, None where they differ."""
    distinct = set(values)
    if len(distinct) != 1:
        return None
    return distinct.pop()


def _size(run: Any) -> Any:
    """Return a run's size in points, None where its style decides."""
    size = run.font.size
    return None if size is None else size.pt


def _color(run: Any) -> str | None:
    """Return a run's own colour; None where it has none, or one of the theme's."""
    color = run.font.color
    if color is None or color.rgb is None:
        return None
    return str(color.rgb)


def _text(paragraphs: Any) -> str:
    """Return the texts of all paragraphs, one a line."""
    return "\n".join(paragraph.text for paragraph in paragraphs)


def read_odt(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{text, paragraphs: [{text, style?, level?, bold?}], sheets, images, header?,
    footer?, bookmarks?}``; ``level``: of a heading; ``bold``: its first words are; ``header`` and
    ``footer``: of the page style Standard; ``bookmarks``: their names, as in ``{sum: true}``."""
    document = open_document(file, "odt")
    with damaged("odt"):
        body = document.body
        looks = _OdtLooks(document)
        paragraphs = [
            _odt_paragraph(element, looks) for element in body.get_elements(_ODT_PARAGRAPHS)
        ]
        marks = body.get_elements("//text:bookmark|//text:bookmark-start")
        around = {name: looks.around(name) for name in ("header", "footer")}
        return {
            **without_empty(around),
            **({"bookmarks": {mark.name: True for mark in marks}} if marks else {}),
            "text": "\n".join(paragraph["text"] for paragraph in paragraphs),
            "paragraphs": paragraphs,
            "sheets": [sheet(table.name, list(table.iter_values())) for table in body.tables],
            "images": len(body.get_images()),
        }


class _OdtLooks:
    """What an ODT's styles say: which are bold, what stands above and below its pages."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._bold: dict[str, bool] = {}

    def is_bold(self, element: Any) -> bool:
        """Whether the first words of a paragraph are: by its first span, else by its own style."""
        spans = element.get_elements("descendant::text:span")
        first = element.inner_text.lstrip()
        if spans and spans[0].style and first.startswith(spans[0].inner_text.strip() or "\0"):
            return self._has_bold("text", spans[0].style)
        return bool(element.style) and self._has_bold("paragraph", element.style)

    def _has_bold(self, family: str, name: str | None, depth: int = 0) -> bool:
        """Whether a style is bold, or one that it comes of."""
        if not name or depth > MAX_STYLES:
            return False
        known = f"{family}/{name}"
        if known not in self._bold:
            style = self._document.get_style(family, name)
            weight = None if style is None else (style.get_properties("text") or {}).get(_WEIGHT)
            parent = None if style is None else style.get_attribute("style:parent-style-name")
            self._bold[known] = (
                weight == "bold" if weight else self._has_bold(family, parent, depth + 1)
            )
        return self._bold[known]

    def around(self, name: str) -> str:
        """The text of the page style Standard's header or footer."""
        master = self._document.get_style("master-page", "Standard")
        found = [] if master is None else master.get_elements(f"style:{name}")
        return found[0].inner_text.strip() if found else ""


def _odt_paragraph(element: Any, looks: _OdtLooks) -> Facts:
    """Describe one paragraph or heading: its text, style, level, and whether it is bold."""
    level = getattr(element, "level", None)
    found = {
        "style": element.style,
        "level": int(level) if level else None,
        "bold": looks.is_bold(element),
    }
    return {"text": element.inner_text, **without_empty(found)}
