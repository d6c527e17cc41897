"""Drawings that are too much, cut short, or say less than they could."""

from __future__ import annotations

import base64
import io
import zlib
from typing import Any

import pytest

from agentd.readers import drawings
from agentd.readers.bounds import MAX_ITEMS, DamagedError, HeavyError
from tests.readers.making import drawio_page

CELL = '<mxCell id="{}" vertex="1"/>'
SPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:i="http://www.inkscape.org/namespaces/inkscape"'


def diagram(*pages: str) -> dict[str, Any]:
    inside = "".join(f"<diagram>{page}</diagram>" for page in pages)
    return drawings.read_drawio(io.BytesIO(f"<mxfile>{inside}</mxfile>".encode()), {})


def drawing(*layers: str) -> dict[str, Any]:
    inside = "".join(f'<g i:groupmode="layer" {attributes}/>' for attributes in layers)
    return drawings.read_svg(io.BytesIO(f"<svg {SPACES}>{inside}</svg>".encode()), {})


@pytest.mark.parametrize(("pages", "is_read"), [(1, True), (2, True), (3, False)])
def test_all_pages_of_a_file_unpack_to_no_more_than_a_file_may(
    pages: int, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of these come to just that; each of them alone is small enough."""
    page = drawio_page(CELL.format("a") * 10)
    size = len(zlib.decompress(base64.b64decode(page), -15))
    monkeypatch.setattr(drawings, "UNPACKED", 2 * size)
    if is_read:
        assert diagram(*[page] * pages)["count"] == pages
    else:
        with pytest.raises(HeavyError, match="more than 0 bytes, of 33554432 a page"):
            diagram(*[page] * pages)


def test_a_page_of_more_than_its_bound_is_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawings, "MAX_PAGE_BYTES", 500)
    assert diagram(drawio_page(CELL.format("a")))["count"] == 1
    with pytest.raises(HeavyError, match="a page unpacks to more than 500 bytes"):
        diagram(drawio_page(CELL.format("a") * 10))


def test_a_packed_page_that_ends_too_early_is_damaged() -> None:
    """All of its graph came out; the mark of the end did not."""
    whole = base64.b64decode(drawio_page(CELL.format("a")))
    with pytest.raises(DamagedError, match="ends too early"):
        diagram(base64.b64encode(whole[:-1]).decode())


def test_pages_with_too_many_cells_are_cut_and_say_nothing_else() -> None:
    full = drawio_page("".join(map(CELL.format, range(MAX_ITEMS + 1))))
    found = diagram(full, full, drawio_page(CELL.format("a")))
    assert found["cut"] is True
    assert {key for page in found["pages"] for key in page} == {
        "name", "vertices", "edges", "cells",
    }  # fmt: skip
    assert [len(page["cells"]) for page in found["pages"]] == [MAX_ITEMS, MAX_ITEMS, 1]
    assert found["pages"][0]["vertices"] == MAX_ITEMS + 1
    assert diagram(drawio_page(CELL.format("a")))["cut"] is False


@pytest.mark.parametrize(("number", "is_cut"), [(MAX_ITEMS, False), (MAX_ITEMS + 1, True)])
def test_layers_that_are_left_out_are_said(number: int, is_cut: bool) -> None:
    found = drawing(*(f'i:label="L{n}"' for n in range(number)))
    assert (len(found["layers"]), found["cut"]) == (MAX_ITEMS, is_cut)


def test_a_layer_without_a_label_is_none_that_can_be_named() -> None:
    found = drawing('i:label="Axes"', "", 'i:label="None"', 'i:label=""')
    assert [*found["layers"]] == ["Axes", "None", ""]
    assert drawing("")["layers"] == {}
