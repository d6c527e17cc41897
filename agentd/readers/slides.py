"""Presentations: what stands on each slide."""

from __future__ import annotations

from itertools import islice
from typing import Any, BinaryIO

from agentd.readers.archives import bounded_zip
from agentd.readers.request import Facts, ReadRequest, without_empty
from agentd.readers.sheets import damaged, open_document

MAX_SLIDES = 300
_PPTX_TRANSITION = "descendant::*[local-name()='transition']"
_ODP_TRANSITION = (
    "descendant::*[@smil:type or @presentation:transition-type or @presentation:transition-style]"
)
_ODP_SHAPES = "*[starts-with(name(), 'draw:') and not(starts-with(name(), 'draw:layer'))]"
"""A page's own shapes: what is grouped stands in its group."""


def read_pptx(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{text, slides: [{title?, texts, notes?, images, layout, transition?}], count}``."""
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    bounded_zip(file)
    with damaged("pptx", PythonPptxError):
        presentation = Presentation(file)
        slides = [_slide(slide) for slide in islice(presentation.slides, MAX_SLIDES)]
        return _facts(slides, len(presentation.slides))


def _slide(slide: Any) -> Facts:
    """Describe one slide: title, texts, images, layout, and where there are some, transition and
    notes."""
    shapes = slide.shapes
    texts = [shape.text_frame.text for shape in shapes if shape.has_text_frame]
    facts: Facts = {
        "texts": [text for text in texts if text],
        "images": sum(hasattr(shape, "image") for shape in shapes),
        "layout": slide.slide_layout.name,
    }
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    some = {
        "title": shapes.title and shapes.title.text_frame.text,
        "transition": bool(slide.element.xpath(_PPTX_TRANSITION)),
        "notes": notes and notes.text,
    }
    return facts | without_empty(some)


def read_odp(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{text, slides: [{title, texts, images, shapes, notes?, transition?}], count}``;
    ``title``: the page's name; ``texts``: of its shapes, one each; ``shapes``: what each is, such
    as rect, frame, connector, or a custom shape's own type. A drawing's pages are slides."""
    document = open_document(file, "odp")
    with damaged("odp"):
        pages = document.body.get_draw_pages()
        slides = [_odp_slide(document, page) for page in pages[:MAX_SLIDES]]
        return _facts(slides, len(pages))


def _odp_slide(document: Any, page: Any) -> Facts:
    """Describe one slide of OpenDocument: title, texts, images, kinds of shapes, and where there
    are some, transition and notes."""
    shapes = page.get_elements(_ODP_SHAPES)
    loose = page.get_elements("text:p")
    texts = ["\n".join(_paragraphs(shape)) for shape in shapes]
    texts += [paragraph.inner_text for paragraph in loose]
    facts: Facts = {
        "title": page.name,
        "texts": [text for text in texts if text],
        "images": len(page.get_elements("descendant::draw:image")),
        "shapes": [_shape_type(shape) for shape in shapes],
    }
    notes = [text for part in page.get_elements("presentation:notes") for text in _paragraphs(part)]
    some = {"notes": "\n".join(notes), "transition": _odp_transition(document, page)}
    return facts | without_empty(some)


def _paragraphs(element: Any) -> list[str]:
    """Return the texts of all paragraphs below an element that are not empty."""
    found = element.get_elements("descendant::text:p")
    return [text for one in found if (text := one.inner_text)]


def _shape_type(shape: Any) -> str:
    """What a shape is, by its element, or by the geometry that a custom shape names."""
    if shape.tag == "draw:custom-shape":
        geometry = shape.get_elements("draw:enhanced-geometry")
        return str((geometry and geometry[0].get_attribute("draw:type")) or "custom-shape")
    return str(shape.tag).removeprefix("draw:")


def _odp_transition(document: Any, page: Any) -> bool:
    """Whether a slide's style lets it come in by a transition."""
    name = page.get_attribute("draw:style-name")
    style = document.get_style("drawing-page", name) if name else None
    return style is not None and bool(style.get_elements(_ODP_TRANSITION))


def _facts(slides: list[Facts], count: int) -> Facts:
    """Return all slides with their text as one; ``count`` is how many the file has."""
    text = "\n".join(text for slide in slides for text in slide["texts"])
    return {"text": text, "slides": slides, "count": count, "cut": count > len(slides)}
