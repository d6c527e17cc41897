"""Presentations: what stands on each slide."""

from __future__ import annotations

from itertools import islice
from typing import Any, BinaryIO

from agentd.readers.archives import bounded_zip
from agentd.readers.sheets import damaged, open_document

MAX_SLIDES = 300


def read_pptx(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{text, slides: [{title?, texts, notes?, images, layout}], count}``."""
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    bounded_zip(file)
    with damaged("pptx", PythonPptxError):
        presentation = Presentation(file)
        slides = [_slide(one) for one in islice(presentation.slides, MAX_SLIDES)]
        return _facts(slides, len(presentation.slides))


def _slide(one: Any) -> dict[str, Any]:
    title = one.shapes.title
    notes = one.notes_slide.notes_text_frame if one.has_notes_slide else None
    more = {
        "title": title.text_frame.text if title is not None else None,
        "notes": notes.text if notes else None,
    }
    found = {
        "texts": [
            shape.text_frame.text
            for shape in one.shapes
            if shape.has_text_frame and shape.text_frame.text
        ],
        "images": sum(hasattr(shape, "image") for shape in one.shapes),
        "layout": one.slide_layout.name,
    }
    return found | {name: value for name, value in more.items() if value}


def read_odp(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{text, slides: [{title, texts, images}], count}``; ``title``: the page's name."""
    document = open_document(file, "odp")
    with damaged("odp"):
        pages = document.body.get_draw_pages()
        slides = [
            {
                "title": page.name,
                "texts": [
                    text
                    for one in page.get_elements("descendant::text:p")
                    if (text := one.inner_text)
                ],
                "images": len(page.get_elements("descendant::draw:image")),
            }
            for page in pages[:MAX_SLIDES]
        ]
        return _facts(slides, len(pages))


def _facts(slides: list[dict[str, Any]], count: int) -> dict[str, Any]:
    text = "\n".join(text for slide in slides for text in slide["texts"])
    return {"text": text, "slides": slides, "count": count, "cut": count > len(slides)}
