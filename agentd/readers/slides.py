"""Presentations: what stands on each slide."""

from __future__ import annotations

from itertools import islice
from typing import Any, BinaryIO

from agentd.readers.archives import bounded_zip
from agentd.readers.request import Facts, ReadRequest
from agentd.readers.sheets import damaged, open_document

MAX_SLIDES = 300


def read_pptx(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{text, slides: [{title?, texts, notes?, images, layout}], count}``."""
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    bounded_zip(file)
    with damaged("pptx", PythonPptxError):
        presentation = Presentation(file)
        slides = [_slide(slide) for slide in islice(presentation.slides, MAX_SLIDES)]
        return _facts(slides, len(presentation.slides))


def _slide(slide: Any) -> Facts:
    shapes = slide.shapes
    texts = [shape.text_frame.text for shape in shapes if shape.has_text_frame]
    facts: Facts = {
        "texts": [text for text in texts if text],
        "images": sum(hasattr(shape, "image") for shape in shapes),
        "layout": slide.slide_layout.name,
    }
    if shapes.title is not None and shapes.title.text_frame.text:
        facts["title"] = shapes.title.text_frame.text
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes and notes.text:
        facts["notes"] = notes.text
    return facts


def read_odp(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{text, slides: [{title, texts, images}], count}``; ``title``: the page's name."""
    document = open_document(file, "odp")
    with damaged("odp"):
        pages = document.body.get_draw_pages()
        slides = [_odp_slide(page) for page in pages[:MAX_SLIDES]]
        return _facts(slides, len(pages))


def _odp_slide(page: Any) -> Facts:
    texts = [element.inner_text for element in page.get_elements("descendant::text:p")]
    return {
        "title": page.name,
        "texts": [text for text in texts if text],
        "images": len(page.get_elements("descendant::draw:image")),
    }


def _facts(slides: list[Facts], count: int) -> Facts:
    text = "\n".join(text for slide in slides for text in slide["texts"])
    return {"text": text, "slides": slides, "count": count, "cut": count > len(slides)}
