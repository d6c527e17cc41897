"""Every format, read by the real process: what is told of a file made by another program."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest

from agentd.readers.formats import FORMATS, format_of
from detectors.sdk.file_reads import Format
from detectors.sdk.reader_facts import FACTS, PARTS
from tests.readers.making import MAKERS, TEXTS, make
from tests.readers.reading import facts, told

SAID: dict[str, tuple[str, dict[str, Any]]] = {
    "note.txt": ("text", {"text": TEXTS["note.txt"], "lines": 2}),
    "sales.csv": ("csv", {"sheets": [{"name": "", "rows": [["Item", "Price"], ["Lamp", "12,5"]], "size": [2, 2]}]}),
    "data.json": ("json", {"value": {"items": [{"id": 7, "open": True}]}}),
    "data.yaml": ("yaml", {"value": {"theme": "dark", "sizes": [1, 2.5], "born": "2024-05-06"}}),
    "data.toml": ("toml", {"value": {"theme": "dark", "window": {"width": 800}}}),
    "status.xml": (
        "xml",
        {"root": "root", "text": "playing\na\nb",
         "value": {"state": {"@at": "1", "#text": "playing"}, "i": ["a", "b"]}},
    ),
    "page.html": (
        "html",
        {"title": "Lamps", "text": "Lamps\nAll lamps\nDesk lamp\nName\nAda",
         "links": [{"text": "Desk lamp", "href": "/7"}], "headings": ["All lamps"],
         "sheets": [{"name": "", "rows": [["Name"], ["Ada"]], "size": [2, 1]}]},
    ),
    "vlcrc": ("ini", {"value": {"qt": {"qt-bgcone": "0"}, "core": {"play-and-exit": "1"}}}),
    "prefs.js": ("prefs", {"value": {"browser.startup.homepage": "https://shop.example/", "a.b": 3}}),
    "gimprc": (
        "gimprc",
        {"value": {"theme": "Light", "undo-levels": "100", "default-image": [["width", "10"], ["height", "20"]]}},
    ),
    "sales.xlsx": (
        "xlsx",
        {"active": "Sales", "sheets": [
            {"name": "Sales", "size": [4, 3], "frozen": "A2", "formulas": {"B4": "=SUM(B2:B3)"},
             "rows": [["Item", "Price", "Sold"], ["Lamp", 12.5, True], ["Desk", 80, None], [None, None, None]]},
            {"name": "Notes", "size": [1, 1], "rows": [["later"]]}]},
    ),
    "sales.ods": (
        "ods",
        {"sheets": [{"name": "Sales", "size": [3, 2], "rows": [["Item", "Price"], ["Lamp", 12.5], ["Desk", 80]]}]},
    ),
    "minutes.docx": (
        "docx",
        {"text": "Minutes\nAll agreed.", "images": 0, "header": "Draft",
         "paragraphs": [{"text": "Minutes", "style": "Heading 1"},
                        {"text": "All agreed.", "style": "Normal", "align": "center", "bold": True, "size": 14.0,
                         "font": "Arial", "color": "FF0000"}],
         "sheets": [{"name": "", "rows": [["Ada", "yes"]], "size": [1, 2]}]},
    ),
    "minutes.odt": (
        "odt",
        {"text": "Minutes\nAll agreed.", "sheets": [], "images": 0,
         "paragraphs": [{"text": "Minutes", "level": 1}, {"text": "All agreed."}]},
    ),
    "plan.pptx": (
        "pptx",
        {"text": "Plan\nFirst the lamp", "count": 1,
         "slides": [{"title": "Plan", "texts": ["Plan", "First the lamp"], "images": 0, "notes": "Speak slowly",
                     "layout": "Title and Content"}]},
    ),
    "plan.odp": (
        "odp",
        {"text": "First the lamp", "count": 1, "slides": [
            {"title": "Plan", "texts": ["First the lamp"], "images": 0, "shapes": []}]},
    ),
    "axes.svg": (
        "svg",
        {"width": "600", "height": "300", "text": "Scatter Plot", "layers": {"Axes": True},
         "tags": {"svg": 1, "g": 1, "circle": 1, "text": 1, "tspan": 1},
         "ids": {"pt": {"tag": "circle", "style": {"fill": "#ff5722", "stroke": "none"}}}},
    ),
    "plan.drawio": (
        "drawio",
        {"count": 1, "text": "VPC\nTo it", "pages": [{"name": "One", "vertices": 1, "edges": 1, "cells": {
            "a": {"style": {"shape": "ellipse", "fillColor": "#fff"}, "value": "VPC"},
            "e": {"edge": True, "source": "a", "target": "a", "value": "To it"}}}]},
    ),
    "invoice.pdf": ("pdf", {"text": "Invoice 1001", "pages": ["Invoice 1001"], "count": 1, "title": "An invoice"}),
    "all.zip": (
        "zip",
        {"count": 3, "bytes": 7, "entries": [{"name": "a.txt", "size": 3}, {"name": "in/b.txt", "size": 4},
                                             {"name": "empty", "size": 0, "folder": True}]},
    ),
    "all.tar.gz": (
        "tar",
        {"count": 3, "bytes": 7, "entries": [{"name": "./a.txt", "size": 3}, {"name": "in/b.txt", "size": 4},
                                             {"name": "away", "size": 0, "link": "/etc/passwd"}]},
    ),
    "places.sqlite": (
        "sqlite",
        {"tables": ["bookmark"], "sheets": [{"name": "bookmark", "count": 2, "size": [3, 2],
                                             "rows": [["id", "title"], [1, "Lamps"], [2, "Desks"]]}]},
    ),
    "quiet.wav": (
        "media",
        {"container": "Wave", "duration": 2.0, "bitrate": 256176, "video": [], "subtitles": [],
         "audio": [{"codec": "PCM", "channels": 2, "rate": 8000, "bitrate": 256000}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
async def test_what_is_told(name: str, tmp_path: Path) -> None:
    """The format is found by content and name, but for a drawing that is read by element; the facts
    are these and no others."""
    answer = await told(make(tmp_path, name), "svg" if name == "axes.svg" else None)
    assert (answer["format"], answer["status"]) == (SAID[name][0], "read"), answer
    assert answer["facts"] == SAID[name][1]
    assert set(answer["facts"]) <= set(FACTS[answer["format"]]), "conditions may name no others"
    for unit, names in PARTS.items():
        for part in answer["facts"].get(f"{unit}s", []):
            assert set(part) <= set(names)
    assert "cut" not in answer


def test_every_format_has_its_facts() -> None:
    assert set(FACTS) == set(FORMATS)


async def test_a_picture_is_told_by_numbers(tmp_path: Path) -> None:
    """What it is, how it looks, and a grid of brightness by which it can be compared."""
    found = await facts(make(tmp_path, "dot.png"))
    assert len(found.pop("gray")) == 5464
    assert found == {
        "kind": "png", "width": 200, "height": 100, "mode": "RGB", "frames": 1, "phash": found["phash"],
        "brightness": found["brightness"], "contrast": found["contrast"], "saturation": found["saturation"],
        "transparent": 0.0, "mean": found["mean"],
    }  # fmt: skip
    assert 200 < found["brightness"] < 255
    assert found["mean"][2] > found["mean"][0] == found["mean"][1]


async def test_what_is_transparent_lies_on_white(tmp_path: Path) -> None:
    """And is counted; a palette says how many colours it has."""
    from PIL import Image

    Image.new("RGBA", (10, 10), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    found = await facts(tmp_path / "clear.png")
    assert (found["brightness"], found["transparent"]) == (255, 1)
    Image.new("RGB", (10, 10), "red").quantize(4).save(tmp_path / "few.gif")
    few = await facts(tmp_path / "few.gif")
    assert (few["kind"], few["mode"], few["colors"]) == ("gif", "P", 1)


def test_rules_and_readers_know_the_same_formats() -> None:
    """And each is made and read above."""
    assert set(get_args(Format)) == set(FORMATS)
    assert {SAID[name][0] for name in SAID} | {"image"} == set(FORMATS)
    assert set(SAID) | {"dot.png"} == {*TEXTS, *MAKERS}
    for name, one in FORMATS.items():
        assert callable(
            getattr(importlib.import_module(f"agentd.readers.{one.module}"), f"read_{name}")
        )


@pytest.mark.parametrize(
    ("mime", "name", "found"),
    [
        ("image/png", "report.csv", "image"),  # a picture called a table is a picture
        ("text/csv", "a.csv", "csv"),
        ("text/plain", "vlcrc", "ini"),
        ("text/plain", "gimprc", "gimprc"),
        ("text/plain", "org.desktop", "ini"),
        ("text/plain", "unheard.of", "text"),
        ("application/gzip", "a.tar.gz", "tar"),
        ("video/mp4", "a", "media"),
        (None, "empty.json", "json"),
    ],
)
def test_content_comes_before_the_name(mime: str | None, name: str, found: str) -> None:
    """As far as it tells anything."""
    assert format_of(mime, name) == found


def test_a_person_can_ask_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`agentd read FILE` prints what an event would tell: where a picture's reference comes
    from."""
    from agentd.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main(
            [
                "read",
                str(make(tmp_path, "places.sqlite")),
                "--query",
                "SELECT max(id) AS n FROM bookmark",
            ]
        )
    assert ended.value.code == 0
    printed = orjson.loads(capsys.readouterr().out)
    assert (printed["format"], printed["facts"]["sheets"][0]["rows"]) == ("sqlite", [["n"], [2]])
    with pytest.raises(SystemExit) as ended:
        main(["read", str(tmp_path / "none")])
    assert ended.value.code == 2
    assert "No such file" in capsys.readouterr().err
