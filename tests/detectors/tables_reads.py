"""Tables of yes and of no for the rules about the content of files."""

from __future__ import annotations

import base64
from typing import Any

from tests.support.logs import Said

LETTER = {"text": "Dear Ada,\nthe lamp is here.\n", "lines": 2}
MINUTES = {
    "text": "Minutes\nAll agreed.",
    "paragraphs": [
        {"text": "Minutes", "style": "Heading 1"},
        {"text": "All agreed.", "bold": True, "align": "center"},
    ],
}
PDF = {"text": "One\nTwo", "pages": ["One", "Two"], "count": 2}
DECK = {"slides": [{"title": "Plan", "texts": ["Plan", "the lamp"], "images": 1}], "count": 1}
PREFS = {
    "value": {
        "browser.homepage": "https://shop.test/",
        "tabs": {"count": 3, "open": True},
        "list": ["a", "b"],
    }
}
ROWS = [["Name", "Price", "Sold"], ["Lamp", 12.5, True], ["Desk", 80.0, None]]
SALES = {"sheets": [
    {"name": "Sales", "rows": ROWS, "size": [3, 3], "formulas": {"B4": "=SUM(B2:B3)"}},
    {"name": "Notes", "rows": [["later"]], "size": [1, 1]},
]}  # fmt: skip
PARTIAL = {"sheets": [{"name": "Sales", "rows": ROWS[:2], "size": [4, 3]}]}
"""Two of a sheet's four rows."""
MANY_ROWS = {"sheets": [{"name": "", "rows": [["n"], [1]], "size": [501, 1], "more": True}]}
"""A query's result of more rows than are counted."""
NULLED = {
    "sheets": [
        {"name": "", "rows": [["n", "m"], [None, None]], "size": [2, 2]},
        {"rows": [[0] * 25] * 800},
    ]
}
"""So many values that some are reported as null."""
INSIDE = [
    {"name": "./a.txt", "size": 3},
    {"name": "in", "size": 0, "folder": True},
    {"name": "in/b", "size": 0},
]
ZIP = {"entries": INSIDE, "count": 3, "bytes": 3}
LINKED = {"entries": [{"name": "a.txt", "size": 0, "link": "/etc/passwd"}], "count": 1, "bytes": 0}


PIPED = {"entries": [{"name": "a.txt", "size": 0, "special": True}], "count": 1, "bytes": 0}
LONG = "Dear Ada. " * 50
"""500 characters: one of the lengths at which the readers cut."""
SIX = {f"k{n}": n for n in range(6)}
"""Six keys: the lowest number at which they are cut."""
SHORT = "letters/of/march"
"""The first 16 characters of a longer name: the shortest length at which they are cut."""
CLIPPED = {"entries": [{"name": SHORT}, {"name": "a.txt"}], "count": 2}
MARKS = {"value": {"bar": [{"type": "folder", "name": "Fun"}, {"type": "url", "name": None}]}}


def gray(bright: Any) -> str:
    """A picture's brightnesses, by a function of row and column."""
    return base64.b64encode(
        bytes(bright(row, column) for row in range(64) for column in range(64))
    ).decode()


def _slope(row: int, column: int) -> int:
    return (row * 3 + column) % 256


SLOPE = gray(_slope)
MIRRORED = gray(lambda row, column: _slope(row, 63 - column))
SIMILAR = gray(lambda row, column: min(255, _slope(row, column) + 4))
CHECKS = gray(lambda row, column: 255 * ((row // 8 + column // 8) % 2))
FLAT = gray(lambda row, column: 128)
HASH = "00ff00ff00ff00ff"


def picture(gray: str = SLOPE, **more: Any) -> dict[str, Any]:
    return {
        "kind": "png",
        "width": 800,
        "height": 600,
        "phash": HASH,
        "brightness": 90.5,
        "gray": gray,
        **more,
    }


def told(
    facts: Any, path: str = "a", *, format: str = "text", status: str = "read", **more: Any
) -> Said:
    data = {
        "root": "home",
        "path": path,
        "name": path.rpartition("/")[2],
        "as": "auto",
        "format": format,
        "when": "step",
    }
    return ("file.read", {**data, "step": 0, "status": status, "facts": facts, "ms": 9, **more})


def gone(path: str = "a", **more: Any) -> Said:
    data = {
        "root": "home",
        "path": path,
        "name": path,
        "as": "auto",
        "status": "gone",
        "when": "step",
        "step": 0,
    }
    return ("file.read", {**data, **more})


def of(**args: Any) -> dict[str, Any]:
    return {"path": "a", **args}


LAMP = of(text={"contains": "lamp"})
SHEET = {"sheet": "Sales"}

YES: dict[str, list[tuple[Any, list[Said], float]]] = {
    "file_text": [
        (LAMP, [told(LETTER)], 1),
        (of(text="Dear Ada, the lamp is here."), [told(LETTER)], 1),
        (of(text="the lamp is here.", unit="line"), [told(LETTER)], 1),
        (of(text="Dear Ada,", unit="line", number=1), [told(LETTER)], 1),
        (of(text="All agreed.", unit="paragraph"), [told(MINUTES)], 1),
        (of(text="Two", unit="page", number=2), [told(PDF)], 1),
        (of(text={"contains": "lamp"}, unit="slide"), [told(DECK)], 1),
        (LAMP, [told({"text": "a lamp"}, cut=True)], 1),
        (LAMP, [told({"text": ""}), told(LETTER)], 1),
        (LAMP, [told(LETTER), gone("b"), gone(query="SELECT 1")], 1),
        ({**LAMP, "path": "in/*.txt"}, [told(LETTER, "in/deep/b.txt")], 1),
        ({**LAMP, "root": "home"}, [told(LETTER)], 1),
        ({**LAMP, "format": "xml"}, [told(LETTER, **{"as": "xml"})], 1),
        (LAMP, [told(LETTER), told({}, **{"as": "json"})], 1),
        (of(text="Dear Ada,", unit="line"), [told(LETTER, cut=True)], 1),
        (of(text="All agreed.", unit="paragraph"), [told(MINUTES, cut=True)], 1),
        (of(text={"starts_with": "Dear"}, unit="page"), [told({"pages": [LONG]}, cut=True)], 1),
        (of(text=LONG, unit="page"), [told({"pages": [LONG]})], 1),
    ],
    "file_value": [
        (of(at=["browser.homepage"], value="https://shop.test/"), [told(PREFS)], 1),
        (of(at=["tabs", "count"], value=3), [told(PREFS)], 1),
        (of(at=["tabs", "count"], value={"min": 2, "max": 4}), [told(PREFS)], 1),
        (of(at=["tabs", "open"], value=True), [told(PREFS)], 1),
        (of(at=["list", "1"], value="b"), [told(PREFS)], 1),
        (of(at=["list"], value={"list": ["b", "a"]}), [told(PREFS)], 1),
        (of(at=["none"], value=None), [told(PREFS)], 1),
        (of(at=["qt", "bgcone"], value={"number": 0}), [told({"value": {"qt": {"bgcone": "0"}}})], 1),
        (of(at=["tabs", "count"], value=3), [told(PREFS, cut=True)], 1),
        (of(at=["none"], value=None), [told(PREFS, format="json", cut=True)], 1),
        (of(at=["tabs", "none"], value=None), [told(PREFS, format="prefs", cut=True)], 1),
        (of(at=["tabs", "count", "none"], value=None), [told(PREFS, format="json", cut=True)], 1),
        (of(at=["list", "2"], value=None), [told(PREFS, format="json", cut=True)], 1),
        (of(at=["k6"], value=None), [told({"value": SIX})], 1),
        (of(at=["bar"], value={"json": "$[?@.type=='folder'].name", "value": "Fun"}), [told(MARKS, cut=True)], 1),
    ],
    "file_is": [
        (of(made="pdf"), [told(PDF, format="pdf")], 1),
        (of(made={"one_of": ["docx", "pdf"]}, facts={"count": 2}), [told(PDF, format="pdf")], 1),
        (of(facts={"width": 800, "height": {"min": 500}}), [told(picture())], 1),
        (of(whole=True), [told(LETTER)], 1),
        (of(facts={"footer": None}), [told(LETTER)], 1),
        (of(facts={"lines": 2}), [told(LETTER, cut=True)], 1),
        (of(facts={"text": {"contains": "Two"}}), [told(PDF, cut=True)], 1),
        (of(facts={"text": {"starts_with": "One"}}), [told(PDF, cut=True)], 1),
        (of(facts={"text": {"ends_with": "here."}}), [told(LETTER, cut=True)], 1),
        (of(facts={"pages.1": {"ends_with": "wo"}}), [told(PDF, cut=True)], 1),
        (of(facts={"video.0.codec": "AVC"}), [told({"video": [{"codec": "AVC"}], "duration": 2.0})], 1),
    ],
    "table_cells": [
        (of(cells={"A2": "Lamp", "B2": {"number": 12.5}, "C2": True}), [told(SALES)], 1),
        (of(cells={"B3": "80"}), [told(SALES)], 1),
        (of(row={"Name": "Desk", "Price": {"money": 80}}), [told(SALES)], 1),
        (of(sheet="Notes", cells={"A1": "later"}), [told(SALES)], 1),
        (of(rows=3, **SHEET), [told(SALES)], 1),
        (of(rows={"min": 2}), [told(SALES)], 1),
        (of(formulas={"B4": "=SUM(B2:B3)"}), [told(SALES)], 1),
        (of(table={"table": [["later"]]}, sheet="Notes"), [told(SALES)], 1),
        (of(row={"n": "2"}, query="SELECT 2 AS n"),
         [told({"sheets": [{"name": "", "rows": [["n"], [2]], "size": [2, 1]}]}, query="SELECT 2 AS n")], 1),
        (of(cells={"A2": "Lamp"}), [told(SALES, cut=True)], 1),
        (of(cells={"C3": ""}), [told(SALES)], 1),
        (of(cells={"C3": ""}), [told(SALES, cut=True)], 1),
        (of(row={"Name": "Desk", "Sold": ""}), [told(SALES, cut=True)], 1),
        (of(cells={"A1": "Name", "A2": "Lamp"}), [told({"sheets": [SALES["sheets"][0], *PARTIAL["sheets"]]}, cut=True)], 1),
        (of(rows=3), [told(SALES, cut=True)], 1),
        (of(rows=4), [told(PARTIAL, cut=True)], 1),
        (of(rows={"min": 502}), [told(MANY_ROWS, cut=True)], 1),
        (of(table={"table": [["later"]]}, sheet="Notes"), [told(SALES, cut=True)], 1),
        (of(row={"Name": "Desk", "Sold": ""}), [told(SALES)], 1),
        (of(cells={"A1": {"contains": "Ada"}}), [told({"sheets": [{"rows": [[LONG]]}]}, cut=True)], 1),
    ],
    "document_part": [
        (of(has={"text": "Minutes", "style": "Heading 1"}), [told(MINUTES)], 1),
        (of(has={"bold": True, "align": "center"}, number=2), [told(MINUTES)], 1),
        (of(has={"text": "Minutes", "bold": None}), [told(MINUTES)], 1),
        (of(has={"text": "Minutes"}), [told(MINUTES, cut=True)], 1),
        (of(has={"title": "Plan", "images": {"min": 1}}, unit="slide"), [told(DECK)], 1),
    ],
    "archive_lists": [
        (of(names=["a.txt"]), [told(ZIP)], 1),
        (of(names=["in/b", "a.txt"], only=True), [told(ZIP)], 1),
        (of(names=["a.txt"]), [told(ZIP, cut=True)], 1),
        (of(names=["a.txt"]), [told(CLIPPED, cut=True)], 1),
        (of(names=[SHORT, "a.txt"], only=True), [told(CLIPPED)], 1),
        (of(names=["a.txt"]), [told({**ZIP, "count": 4})], 1),
    ],
    "image_like": [
        (of(to=SLOPE), [told(picture())], 1),
        (of(to=SLOPE), [told(picture(SIMILAR))], 1),
        (of(to=SLOPE, ssim={"min": 0.99}), [told(picture())], 1),
        (of(to=SLOPE, mirrored=True, ssim={"min": 0.99}), [told(picture(MIRRORED))], 1),
        (of(to=SLOPE, facts={"brightness": {"max": 100}}), [told(picture())], 1),
        (of(phash=HASH), [told(picture(phash="00ff00ff00ff00fe"))], 1),
    ],
}  # fmt: skip

NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "file_text": [
        (of(text="Dear Bob,"), [told(LETTER, cut=True)]),
        (of(text={"starts_with": "Bob"}), [told(LETTER, cut=True)]),
        (of(text="Sum", unit="page", number=1), [told(PDF, cut=True)]),
        (of(text="One", unit="paragraph"), [told(PDF, cut=True)]),
        (LAMP, [told({"text": "no light"}), told({})]),
        (LAMP, [told(LETTER, baseline=True, when="start")]),
        (LAMP, [told(LETTER, "b"), told(LETTER, "in/a")]),
        (LAMP, [told(LETTER, status="damaged"), told(LETTER, status="heavy")]),
        (LAMP, [told(LETTER, **{"as": "html"})]),
        (LAMP, [told(LETTER, query="SELECT 1")]),
        ({**LAMP, "root": "work"}, [told(LETTER)]),
        (of(text="Dear"), [told(LETTER)]),
        (of(text="the lamp is here.", unit="line", number=1), [told(LETTER)]),
        (of(text="Dear Ada,", unit="line", number=0), [told(LETTER)]),
        (of(text="Two", unit="page", number=1), [told(PDF)]),
        (of(text="One", unit="paragraph"), [told(PDF)]),
        (of(text="^.*$"), [told(LETTER)]),
        (of(text="Dear"), [told({"text": "^.*$"})]),
    ],
    "file_value": [
        (of(at=["tabs", "count"], value=4), [told(PREFS, cut=True)]),
        (of(at=["none"], value="x"), [told(PREFS, format="json", cut=True)]),
        (of(at=["list", "2"], value="c"), [told(PREFS, format="toml", cut=True)]),
        (of(at=["tabs", "open", "none"], value=True), [told(PREFS, format="json", cut=True)]),
        (of(at=["tabs", "count"], value="3"), [told(PREFS)]),
        (of(at=["tabs", "open"], value=1), [told(PREFS)]),
        (of(at=["browser", "homepage"], value="https://shop.test/"), [told(PREFS)]),
        (of(at=["browser.homepage"], value="https://shop.test.evil/"), [told(PREFS)]),
        (of(at=["none"], value=None), [told({"text": "x"})]),
        (of(at=["none"], value=None), [gone()]),
        (of(at=["list"], value={"list": ["a"]}), [told(PREFS)]),
    ],
    "file_is": [
        (of(whole=True, facts={"lines": 3}), [told(LETTER, cut=True)]),
        (of(facts={"text": {"contains": "Total"}}), [told(PDF)]),
        (of(facts={"text": {"starts_with": "Total"}}), [told(PDF, cut=True)]),
        (of(facts={"text": "Total"}), [told(PDF, cut=True)]),
        (of(facts={"text": {"contains": "Total"}}), [told(LETTER, cut=True)]),
        (of(made="pdf"), [told(LETTER)]),
        (of(made="pdf"), [told(PDF, format="pdf", status="damaged")]),
        (of(facts={"width": 800, "height": 800}), [told(picture())]),
        (of(facts={"count": 1}), [told(PDF)]),
        (of(facts={"width": {"min": 1}}), [told(LETTER)]),
        (of(whole=True), [told(LETTER, status="damaged"), gone()]),
    ],
    "table_cells": [
        (of(cells={"A2": "Sofa"}), [told(SALES, cut=True)]),
        (of(cells={"A9": "Lamp"}), [told(SALES, cut=True)]),
        (of(row={"Name": "Sofa"}), [told(SALES, cut=True)]),
        (of(row={"Colour": "red"}), [told(SALES, cut=True)]),
        (of(formulas={"B9": "=A1"}), [told(SALES, cut=True)]),
        (of(rows=2), [told(PARTIAL, cut=True)]),
        (of(rows={"max": 501}), [told(MANY_ROWS, cut=True)]),
        (of(table={"table": [["later"]]}), [told(PARTIAL, cut=True)]),
        (of(table={"table": [["n"], ["1"]], "header": False}), [told({"sheets": [{"rows": [["n"], [1], [2]]}]}, cut=True)]),
        (of(table={"table": [ROWS[0], ["Sofa", 12.5, "true"], ["x"], ["x"]]}), [told(PARTIAL, cut=True)]),
        (of(table={"table": [["x"], ["y"], ["Sofa"], ROWS[0]], "ordered": False}), [told(PARTIAL, cut=True)]),
        (of(table={"table": [["never"]]}, sheet="Notes"), [told(SALES, cut=True)]),
        (of(cells={"A2": "Sofa", "A9": "Lamp"}), [told(SALES, cut=True)]),
        (of(cells={"A2": "Lamp", "B2": {"number": 13}}), [told(SALES)]),
        (of(cells={"C2": "Lamp"}), [told(SALES)]),
        (of(cells={"C3": False}), [told(SALES)]),
        (of(cells={"ZZ99": ""}), [told(SALES)]),
        (of(row={"Name": "Lamp", "Price": {"number": 80}}), [told(SALES)]),
        (of(row={"Colour": "red"}), [told(SALES)]),
        (of(row={"Name": "Name"}), [told(SALES)]),
        (of(sheet="Costs", cells={"A1": "later"}), [told(SALES)]),
        (of(rows=2), [told(SALES)]),
        (of(formulas={"B4": "=SUM(B2:B2)"}), [told(SALES)]),
        (of(formulas={"B4": "92.5"}), [told({"sheets": [{"name": "", "rows": [["92.5"]], "size": [1, 1]}]})]),
        (of(table={"table": [["later"], ["never"]]}, sheet="Notes"), [told(SALES)]),
        (of(row={"n": "2"}, query="SELECT 2 AS n"), [told({"sheets": [{"rows": [["n"], [2]], "size": [2, 1]}]})]),
        (of(cells={"A1": "x"}), [told({"sheets": ["x", {"rows": "x"}]})]),
    ],
    "document_part": [
        (of(has={"text": "The end"}, number=1), [told(MINUTES, cut=True)]),
        (of(has={"text": "Minutes", "bold": True}), [told(MINUTES)]),
        (of(has={"bold": True}, number=1), [told(MINUTES)]),
        (of(has={"notes": "Plan"}, unit="slide"), [told(DECK)]),
        (of(has={"text": None}), [told(LETTER)]),
    ],
    "archive_lists": [
        (of(names=["b"], only=True), [told({"entries": [{"name": "b"}, *PIPED["entries"]], "count": 2})]),  # type: ignore[misc]
        (of(names=["c.txt", "in/b"], only=True), [told(ZIP, cut=True)]),
        (of(names=["in/b", "a.txt"], only=True), [told({"entries": [*INSIDE, *LINKED["entries"]]}, cut=True)]),  # type: ignore[misc]
        (of(names=["a.txt"], only=True), [told(CLIPPED)]),
        (of(names=["a.txt"]), [told({"text": "a.txt"}, cut=True)]),
        (of(names=["a.txt", "c.txt"]), [told(ZIP)]),
        (of(names=["in"]), [told(ZIP)]),
        (of(names=["a.txt"], only=True), [told(ZIP)]),
        (of(names=["a.txt"]), [told(LINKED), told(PIPED)]),
    ],
    "image_like": [
        (of(to=SLOPE, facts={"colors": None}), [told(picture(CHECKS), cut=True)]),
        (of(to=SLOPE), [told(picture(CHECKS)), told(picture(FLAT)), told(picture(MIRRORED))]),
        (of(to=SLOPE, mirrored=True), [told(picture(CHECKS))]),
        (of(to=SLOPE, facts={"brightness": {"max": 80}}), [told(picture())]),
        (of(to=SLOPE, ssim={"max": 0.5}), [told(picture())]),
        (of(phash=HASH), [told(picture(phash="ff00ff00ff00ff00")), told(picture(phash="x"))]),
        (of(to=SLOPE), [told({"gray": "\u00e9" * 10}), told({"gray": 7}), told({})]),
        (of(to=SLOPE), [told(picture("x")), told({"width": 800})]),
    ],
}  # fmt: skip

UNKNOWN: dict[str, list[tuple[Any, list[Said]]]] = {
    "file_text": [
        (of(text="Dear Ada, the lamp is here."), [told(LETTER, cut=True)]),
        (of(text=LONG, unit="line"), [told({"text": LONG}, cut=True)]),
        (of(text=LONG, unit="page"), [told({"pages": [LONG]}, cut=True)]),
        (of(text=LONG, unit="paragraph"), [told({"paragraphs": [{"text": LONG}]}, cut=True)]),
        (of(text="Plan the lamp", unit="slide"), [told(DECK, cut=True)]),
        (LAMP, [told({"text": "no light"}, cut=True)]),
        (LAMP, [told({}, cut=True)]),
        (of(text="Sum", unit="page", number=3), [told(PDF, cut=True)]),
        (of(text="Sum", unit="page"), [told(PDF, cut=True)]),
    ],
    "file_value": [
        (of(at=["bar"], value={"json": "$[*].type", "value": {"contains": "o"}, "every": True}),
         [told({"value": {"bar": [{"type": "folder"}]}}, cut=True)]),
        (of(at=["none"], value=None), [told(PREFS, cut=True)]),
        (of(at=["none"], value=None), [told(PREFS, format="yaml", cut=True)]),
        (of(at=["k6"], value=6), [told({"value": SIX}, format="json", cut=True)]),
        (of(at=["6"], value="6"), [told({"value": list(SIX)}, format="json", cut=True)]),
        (of(at=["k6"], value=6), [told({"value": {"k" * 200: 6}}, format="json", cut=True)]),
        (of(at=["deep", "none"], value=6), [told({"value": {"deep": None}}, format="json", cut=True)]),
        (of(at=["k0"], value=None), [told({"value": {"k0": None}}, format="json", cut=True)]),
        (of(at=["none"], value=None), [told({}, format="json", cut=True)]),
        (of(at=["list"], value={"list": ["b", "a"]}), [told(PREFS, cut=True)]),
        (of(at=["text"], value=LONG), [told({"value": {"text": LONG}}, cut=True)]),
        (of(at=["list", "2"], value="c"), [told(PREFS, cut=True)]),
    ],
    "file_is": [
        (of(whole=True), [told(LETTER, cut=True)]),
        (of(whole=True, made="text", facts={"lines": 2}), [told(LETTER, cut=True)]),
        (of(facts={"footer": None}), [told(LETTER, cut=True)]),
        (of(facts={"text": LONG}), [told({"text": LONG}, cut=True)]),
        (of(facts={"text": {"contains": "Total"}}), [told(PDF, cut=True)]),
        (of(facts={"text": {"ends_with": "Two"}}), [told(PDF, cut=True)]),
        (of(facts={"text": "One Two"}), [told(PDF, cut=True)]),
        (of(facts={"text": {"contains": "Total"}}), [told({**DECK, "text": "Plan"}, cut=True)]),
    ],
    "table_cells": [
        (of(cells={"C3": ""}), [told(PARTIAL, cut=True)]),
        (of(cells={"A2": ""}), [told(NULLED, cut=True)]),
        (of(table={"table": [["n", "m"], ["1", "2"]]}), [told(NULLED, cut=True)]),
        (of(cells={"A1": LONG}), [told({"sheets": [{"rows": [[LONG]]}]}, cut=True)]),
        (of(row={"n": LONG}), [told({"sheets": [{"rows": [["n"], [LONG]]}]}, cut=True)]),
        (of(formulas={"A1": LONG}), [told({"sheets": [{"rows": [[1]], "formulas": {"A1": LONG}}]}, cut=True)]),
        (of(rows=600), [told(MANY_ROWS, cut=True)]),
        (of(rows=2), [told({"sheets": [{"rows": ROWS[:2]}]}, cut=True)]),
        (of(table={"table": [ROWS[0], ["Lamp", "12.5", "true"], ["x"], ["y"]]}), [told(PARTIAL, cut=True)]),
        (of(table={"table": [["y"], ["Lamp", "12.5", "true"], ["x"], ROWS[0]], "ordered": False}), [told(PARTIAL, cut=True)]),
        (of(table={"table": [[LONG]]}), [told({"sheets": [{"rows": [[LONG]], "size": [1, 1]}]}, cut=True)]),
        (of(table={"contains": "Sofa"}), [told(PARTIAL, cut=True)]),
        (of(cells={"A9": "Lamp"}), [told(PARTIAL, cut=True)]),
        (of(row={"Name": "Sofa"}), [told(PARTIAL, cut=True)]),
        (of(row={LONG: "1"}), [told({"sheets": [{"rows": [[LONG], [1]], "size": [2, 1]}]}, cut=True)]),
        (of(formulas={"B9": "=A1"}), [told({"sheets": [{"rows": [[1]], "size": [1, 1], "formulas": {f"A{n}": "=1" for n in range(6)}}]}, cut=True)]),
        (of(sheet="Costs", cells={"A1": "later"}), [told(SALES, cut=True)]),
    ],
    "document_part": [
        (of(has={"text": "Minutes", "bold": None}), [told(MINUTES, cut=True)]),
        (of(has={"text": LONG}), [told({"paragraphs": [{"text": LONG}]}, cut=True)]),
        (of(has={"text": "The end"}), [told(MINUTES, cut=True)]),
        (of(has={"text": "The end"}, number=3), [told(MINUTES, cut=True)]),
    ],
    "archive_lists": [
        (of(names=["in/b", "a.txt"], only=True), [told(ZIP, cut=True)]),
        (of(names=["in/b", "a.txt"], only=True), [told({**ZIP, "count": 4})]),
        (of(names=["c.txt"]), [told(ZIP, cut=True)]),
        (of(names=[SHORT + "/1.txt", "a.txt"], only=True), [told(CLIPPED, cut=True)]),
        (of(names=[SHORT]), [told(CLIPPED, cut=True)]),
        (of(names=["c.txt"]), [told({}, cut=True)]),
        (of(names=["c.txt"]), [told({**ZIP, "count": 4})]),
    ],
    "image_like": [
        (of(to=SLOPE, facts={"colors": None}), [told(picture(), cut=True)]),
    ],
}  # fmt: skip
"""What was left out of a long file decides."""
