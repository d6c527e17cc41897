"""Drawings as XML: what stands in an SVG or a diagrams.net file, by its elements' ids."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import Counter
from typing import Any, BinaryIO
from urllib.parse import unquote

from agentd.readers.bounds import MAX_ITEMS, UNPACKED, DamagedError, HeavyError
from agentd.readers.request import Facts, ReadRequest, without_empty
from agentd.readers.texts import whole
from detectors.model.json_value import read_text

MAX_PAGE_BYTES = 32 << 20
"""Bytes to which one packed page may unpack."""
_LABEL, _MODE = "label", "groupmode"


def read_svg(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{width, height, layers: {label: true}, tags: {tag: number}, ids: {id: {tag, style?,
    text?}}, text}``; ``style``: the properties of the element's own style; ``text``: of its text
    elements, a line each."""
    root = _parsed(whole(file))
    if _local(root.tag) != "svg":
        raise DamagedError(f"no SVG: its root is {_local(root.tag)}")
    elements = [one for one in root.iter() if isinstance(one.tag, str)]
    layers = [one for one in elements if _attribute(one, _MODE) == "layer"]
    labels = [label for one in layers if (label := _attribute(one, _LABEL)) is not None]
    named = [one for one in elements if one.get("id")]
    texts = ["".join(one.itertext()) for one in elements if _local(one.tag) == "text"]
    return {
        "width": root.get("width"),
        "height": root.get("height"),
        "layers": dict.fromkeys(labels[:MAX_ITEMS], True),
        "tags": dict(Counter(_local(one.tag) for one in elements)),
        "ids": {str(one.get("id")): _svg_element(one) for one in named[:MAX_ITEMS]},
        "text": "\n".join(text.strip() for text in texts),
        "cut": max(len(named), len(labels)) > MAX_ITEMS,
    }


def _svg_element(element: Any) -> Facts:
    """Describe one element of a picture: its tag, its style by property, and what a text says."""
    facts: Facts = {"tag": _local(element.tag)}
    if element.get("style"):
        facts["style"] = _style(element.get("style"), ":")
    if facts["tag"] == "text":
        facts["text"] = "".join(element.itertext()).strip()
    return facts


def read_drawio(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{pages: [{name, vertices, edges, cells: {id: {value?, style, edge?, source?,
    target?}}}], count, text}``; ``text``: the labels of all pages, a line each."""
    root = _parsed(whole(file))
    diagrams = [root] if root.tag == "mxGraphModel" else root.findall("diagram")
    if root.tag not in ("mxfile", "mxGraphModel"):
        raise DamagedError(f"no diagram: its root is {_local(root.tag)}")
    pages, cuts = [], [len(diagrams) > MAX_ITEMS]
    left = UNPACKED
    for diagram in diagrams[:MAX_ITEMS]:
        model, size = _model_of(diagram, left)
        left -= size
        page, cut = _drawio_page(read_text(diagram, "name"), model)
        pages.append(page)
        cuts.append(cut)
    labels = [cell["value"] for page in pages for cell in page["cells"].values() if "value" in cell]
    return {
        "pages": pages,
        "count": len(diagrams),
        "text": "\n".join(labels),
        "cut": any(cuts),
    }


def _model_of(diagram: Any, left: int) -> tuple[Any, int]:
    """A page's graph, and the bytes that it was unpacked to, of which ``left`` may be."""
    model = diagram if diagram.tag == "mxGraphModel" else diagram.find("mxGraphModel")
    if model is not None:
        return model, 0
    data = _unpacked(diagram.text or "", left)
    return _parsed(unquote(data.decode("utf-8", "replace")).encode()), len(data)


def _drawio_page(name: str, model: Any) -> tuple[Facts, bool]:
    """A page's facts, and whether cells are left out of them."""
    elements = list(model.iter("mxCell"))
    wrapped = _wrapped(model)
    facts: Facts = {
        "name": name,
        "vertices": sum(one.get("vertex") == "1" for one in elements),
        "edges": sum(one.get("edge") == "1" for one in elements),
        "cells": dict(_drawio_cell(one, wrapped.get(one)) for one in elements[:MAX_ITEMS]),
    }
    return facts, len(elements) > MAX_ITEMS


def _wrapped(model: Any) -> dict[Any, Any]:
    """The cells that stand in an object, which has their id and label, and that object."""
    return {
        cell: outer
        for tag in ("object", "UserObject")
        for outer in model.iter(tag)
        for cell in outer.iter("mxCell")
    }


def _drawio_cell(element: Any, outer: Any) -> tuple[str, Facts]:
    """A cell's id and facts; ``outer``: the object around it, if there is one."""
    if outer is None:
        return str(element.get("id") or None), _drawio_facts(element, element.get("value"))
    return str(element.get("id") or outer.get("id")), _drawio_facts(element, outer.get("label"))


def _drawio_facts(element: Any, label: str | None) -> Facts:
    """Describe one cell of a diagram: its ends, whether it is an edge, its style by property, and
    its label as its value."""
    style = element.get("style")
    found = {
        "source": element.get("source"),
        "target": element.get("target"),
        "edge": element.get("edge") == "1",
        "style": style and _style(style, "="),
        "value": label,
    }
    return without_empty(found)


def _style(text: str, mark: str) -> dict[str, str]:
    """Properties of a style, as ``fill:#fff;stroke:none``; a word alone is the shape's."""
    found = {}
    for part in text.split(";"):
        name, between, value = part.partition(mark)
        if name.strip():
            found[name.strip() if between else "shape"] = value.strip() if between else name.strip()
    return found


def _unpacked(text: str, left: int) -> bytes:
    """A page that is deflated and in base64, percent-encoded still; ``left``: the bytes to which
    the file's pages may unpack yet. Raises `DamagedError`, `HeavyError`."""
    most = min(MAX_PAGE_BYTES, left)
    try:
        packed = zlib.decompressobj(-15)
        data = packed.decompress(base64.b64decode(text.strip(), validate=True), most + 1)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise DamagedError(f"no diagram: a page can't be unpacked: {error}") from None
    if len(data) > most:
        raise HeavyError(
            f"a page unpacks to more than {most} bytes, of {MAX_PAGE_BYTES} a page and {UNPACKED}"
            " a file"
        )
    if not packed.eof:
        raise DamagedError("no diagram: a page's packed text ends too early")
    return data


def _parsed(data: bytes) -> Any:
    """Parse XML. Raises `HeavyError` for declared entities, `DamagedError` for what is no XML."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        return fromstring(data)
    except DefusedXmlException as error:
        raise HeavyError(f"it declares entities: {error}") from None
    except (ParseError, ValueError) as error:
        raise DamagedError(f"no XML: {error}") from None


def _local(name: str) -> str:
    return str(name).rpartition("}")[2]


def _attribute(element: Any, name: str) -> str | None:
    """An attribute by its name without its namespace."""
    return next((value for key, value in element.attrib.items() if _local(key) == name), None)
