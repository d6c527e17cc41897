"""What OpenComputer's verifiers make of an end state: a reading of its commands by other libraries than
ours, written from a description of them.

What a check asks "as meant" is read as it was meant: all words of a text that nobody quoted, and a file that
is there.
"""

from __future__ import annotations

import json
import mailbox
import re
import shlex
import sqlite3
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

from tests.importing.opencomputer_states import (
    FIELDS,
    FIREFOX,
    HISTORY,
    THUNDERBIRD,
    below,
    field_of,
)

Element = ElementTree.Element
_SAFE = {"abs": abs, "all": all, "any": any, "float": float, "len": len, "next": next, "str": str}
"""What expressions of the known forms call."""


class UnreadStateError(Exception):
    """Nothing here reads what a command of theirs reads; the message says which."""


def is_met(app: str, check: Mapping[str, Any], home: Path, document: str | None) -> bool:
    """Whether a check of theirs passes in ``home``; ``document``: the file that an office program works
    on. Raises `UnreadStateError`."""
    words = shlex.split(str(check["command"]))
    reader = _READERS.get((app, words[0]))
    if reader is None:
        raise UnreadStateError(f"{app}: {words[0]}")
    path = home / document if document else home
    try:
        result = reader(words, home, path)
    except (
        OSError,
        KeyError,
        IndexError,
        StopIteration,
        ElementTree.ParseError,
        sqlite3.Error,
        zipfile.BadZipFile,
    ):
        return False
    if "eval" not in check:
        wanted = check["expected"]
        return bool(result) is (wanted if isinstance(wanted, bool) else True)
    try:
        return bool(eval(str(check["eval"]), {"__builtins__": _SAFE, "result": result}))  # noqa: S307 of known forms
    except (TypeError, KeyError, IndexError, ValueError):
        return False


# -- LibreOffice


def _book(path: Path) -> Any:
    from openpyxl import load_workbook

    return load_workbook(path)


def _sheet(path: Path, words: Sequence[str], place: int) -> Any:
    book = _book(path)
    if place >= len(words):
        return book.worksheets[0]
    return next(one for one in book.worksheets if one.title.lower() == words[place].lower())


def _cell_value(words: Sequence[str], home: Path, path: Path) -> bool:
    value = _sheet(path, words, 3)[words[1]].value
    return value is not None and _equals_as_cell(value, words[2])


def _equals_as_cell(value: Any, wanted: str) -> bool:
    try:
        return float(value) == float(wanted)
    except ValueError:
        return str(value).lower() == wanted.lower()


def _cell(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    value = _sheet(path, words, 2)[words[1]].value
    is_formula = isinstance(value, str) and value.startswith("=")
    return {"value": None if is_formula else value, "formula": value if is_formula else None}


def _cell_bold(words: Sequence[str], home: Path, path: Path) -> bool:
    is_bold = bool(_sheet(path, words, 3)[words[1]].font.b)
    return is_bold is (len(words) < 3 or words[2].lower() == "true")


def _has_sheet(words: Sequence[str], home: Path, path: Path) -> bool:
    return words[1].lower() in [name.lower() for name in _book(path).sheetnames]


def _sheet_count(words: Sequence[str], home: Path, path: Path) -> bool:
    return len(_book(path).sheetnames) == int(words[1])


def _is_there(words: Sequence[str], home: Path, path: Path) -> bool:
    where = below(home, words[1]) if len(words) > 1 else path
    return where.exists() or where.is_symlink()


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _attribute(element: Element, name: str) -> str | None:
    return next(
        (value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), None
    )


def _part(path: Path, name: str) -> Element:
    with zipfile.ZipFile(path) as package:
        return ElementTree.fromstring(package.read(name))


def _named(root: Element, *names: str) -> Iterator[Element]:
    return (one for one in root.iter() if _local(one) in names)


def _said(element: Element) -> str:
    """The text of an element of OpenDocument, spaces and tabs as they are shown."""
    found = element.text or ""
    for part in element:
        if _local(part) == "s":
            found += " " * int(_attribute(part, "c") or 1)
        elif _local(part) == "tab":
            found += "\t"
        elif _local(part) not in ("bookmark", "note", "annotation"):
            found += _said(part)
        found += part.tail or ""
    return found


def _paragraphs(path: Path) -> list[Element]:
    """The paragraphs and headings of a text that stand in no table."""
    [body] = _named(_part(path, "content.xml"), "text")
    return [one for one in body if _local(one) in ("p", "h")]


def _heading(words: Sequence[str], home: Path, path: Path) -> bool:
    wanted = " ".join(words[1].split())
    return any(
        _local(one) == "h"
        and " ".join(_said(one).split()) == wanted
        and (len(words) < 3 or _attribute(one, "outline-level") == words[2])
        for one in _paragraphs(path)[:100]
    )


def _tables_of(path: Path) -> list[dict[str, Any]]:
    found = []
    for table in _named(_part(path, "content.xml"), "table"):
        data = []
        for row in table:
            if _local(row) != "table-row":
                continue
            cells = [
                ["".join(map(_said, cell))] * int(_attribute(cell, "number-columns-repeated") or 1)
                for cell in row
                if _local(cell) in ("table-cell", "covered-table-cell")
            ]
            data += [[*chain(*cells)]] * int(_attribute(row, "number-rows-repeated") or 1)
        size = {"rows": len(data), "cols": max(map(len, data), default=0)}
        found.append({"name": _attribute(table, "name"), "data": data, **size})
    return found


def _tables(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    found = _tables_of(below(home, words[1]) if len(words) > 1 else path)
    return {"tables": found, "count": len(found)}


def _body(path: Path) -> str:
    return "\n".join(map(_said, _paragraphs(path)))


def _text_contains(words: Sequence[str], home: Path, path: Path) -> bool:
    return " ".join(words[1:]).lower() in _body(path).lower()


def _around(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    masters = _named(_part(path, "styles.xml"), "master-page")
    master = next(one for one in masters if _attribute(one, "name") == "Standard")
    found: dict[str, Any] = {}
    for name in ("header", "footer"):
        parts = [one for one in master if _local(one) == name]
        found[f"{name}_on"] = bool(parts)
        found[f"{name}_text"] = "\n".join(_said(one).strip() for one in parts)
    return found


def _table_cell(words: Sequence[str], home: Path, path: Path) -> bool:
    table = next(one for one in _tables_of(path) if one["name"] == words[1])
    value, wanted = table["data"][int(words[2])][int(words[3])].strip(), " ".join(words[4:]).strip()
    return _equals_as_cell(value, wanted)


def _has_table(words: Sequence[str], home: Path, path: Path) -> bool:
    return words[1].lower() in [str(one["name"]).lower() for one in _tables_of(path)]


def _search(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    [body] = _named(_part(path, "content.xml"), "text")
    every = "\n".join(_said(one) for one in _named(body, "p", "h"))
    return {"count": every.lower().count(" ".join(words[1:]).lower())}


def _is_bold(path: Path, paragraph: Element) -> bool:
    styles = {_attribute(one, "name"): one for one in _named(_part(path, "content.xml"), "style")}
    spans = [one for one in paragraph if _local(one) == "span"]
    style = styles.get(
        _attribute(spans[0] if spans and not paragraph.text else paragraph, "style-name")
    )
    return style is not None and any(
        _attribute(one, "font-weight") == "bold" for one in _named(style, "text-properties")
    )


def _paragraph_bold(words: Sequence[str], home: Path, path: Path) -> bool:
    is_bold = _is_bold(path, _paragraphs(path)[int(words[1])])
    return is_bold is (len(words) < 3 or words[2].lower() == "true")


def _paragraph_format(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    return {"bold": _is_bold(path, _paragraphs(path)[int(words[1])])}


def _style_name(text: str) -> str:
    return text.replace("_20_", "").replace(" ", "").lower()


def _paragraph_style(words: Sequence[str], home: Path, path: Path) -> bool:
    style = _attribute(_paragraphs(path)[int(words[1])], "style-name") or ""
    return _style_name(style) == _style_name(" ".join(words[2:]))


def _paragraph_text(words: Sequence[str], home: Path, path: Path) -> bool:
    return _said(_paragraphs(path)[int(words[1])]).strip() == " ".join(words[2:]).strip()


def _bookmarks(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    found = _named(_part(path, "content.xml"), "bookmark", "bookmark-start")
    return {"bookmarks": [_attribute(one, "name") for one in found]}


def _word_count(words: Sequence[str], home: Path, path: Path) -> bool:
    return len(_body(path).split()) >= int(words[1])


def _paragraph_list(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    return {"paragraphs": [{"text": _said(one)} for one in _paragraphs(path)[:100]]}


_SHAPES = ("rect", "ellipse", "circle", "connector", "line", "frame", "custom-shape", "g")
_KINDS = {"rect": "RectangleShape", "ellipse": "EllipseShape", "circle": "EllipseShape", "frame": "TextShape",
          "connector": "ConnectorShape", "line": "LineShape"}  # fmt: skip


class _Page:
    """A slide or a drawing's page: its shapes with their texts, its notes, whether it moves in."""

    def __init__(
        self, name: str, shapes: list[tuple[str, str]], notes: str, has_transition: bool
    ) -> None:
        self.name, self.shapes, self.notes = name, shapes, notes
        self.has_transition = has_transition

    @property
    def text(self) -> str:
        """The texts of all its shapes, a line each."""
        return "\n".join(text for _, text in self.shapes if text.strip())


def _pages(path: Path) -> list[_Page]:
    return _pptx_pages(path) if path.suffix == ".pptx" else _odf_pages(path)


def _odf_pages(path: Path) -> list[_Page]:
    root = _part(path, "content.xml")
    moving = {
        _attribute(style, "name")
        for style in _named(root, "style")
        if any(
            _attribute(one, "transition-type") or _attribute(one, "type")
            for one in _named(style, "drawing-page-properties")
        )
    }
    return [_odf_page(page, moving) for page in _named(root, "page") if "drawing" in page.tag]


def _odf_page(page: Element, moving: set[str | None]) -> _Page:
    shapes = [
        (_KINDS.get(_local(one), "CustomShape"), "\n".join(map(_said, _named(one, "p"))))
        for one in page
        if _local(one) in _SHAPES
    ]
    notes = [_said(line) for part in page if _local(part) == "notes" for line in _named(part, "p")]
    is_moving = _attribute(page, "style-name") in moving
    return _Page(_attribute(page, "name") or "", shapes, "\n".join(notes), is_moving)


def _pptx_pages(path: Path) -> list[_Page]:
    with zipfile.ZipFile(path) as package:
        names = package.namelist()
        count = sum(re.fullmatch(r"ppt/slides/slide\d+\.xml", name) is not None for name in names)
        return [_pptx_page(package, number, names) for number in range(1, count + 1)]


def _pptx_page(package: zipfile.ZipFile, number: int, names: Sequence[str]) -> _Page:
    root = ElementTree.fromstring(package.read(f"ppt/slides/slide{number}.xml"))
    shapes = [("CustomShape", _drawn_text(one)) for one in _named(root, "sp")]
    related = f"ppt/slides/_rels/slide{number}.xml.rels"
    notes = ""
    for link in ElementTree.fromstring(package.read(related)):
        target = str(link.get("Target")).replace("..", "ppt")
        if "notesSlides" in target and target in names:
            notes = _drawn_text(ElementTree.fromstring(package.read(target)))
    return _Page("", shapes, notes, any(True for _ in _named(root, "transition")))


def _drawn_text(element: Element) -> str:
    lines = ["".join(one.text or "" for one in _named(line, "t")) for line in _named(element, "p")]
    return "\n".join(lines)


def _page(words: Sequence[str], path: Path) -> _Page:
    return _pages(path)[int(words[1])]


def _slide_contains(words: Sequence[str], home: Path, path: Path) -> bool:
    return " ".join(words[2:]).lower() in _page(words, path).text.lower()


def _slide_title(words: Sequence[str], home: Path, path: Path) -> bool:
    wanted = " ".join(words[2:]).strip().lower()
    return any(wanted in text.strip().lower() for _, text in _page(words, path).shapes)


def _notes_contain(words: Sequence[str], home: Path, path: Path) -> bool:
    return " ".join(words[2:]).lower() in _page(words, path).notes.lower()


def _slide_count(words: Sequence[str], home: Path, path: Path) -> bool:
    return len(_pages(path)) == int(words[1])


def _transition(words: Sequence[str], home: Path, path: Path) -> bool:
    return _page(words, path).has_transition


def _notes(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    return {"notes": _page(words, path).notes}


def _slide_text(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    return {"full_text": _page(words, path).text}


def _has_shape(words: Sequence[str], home: Path, path: Path) -> bool:
    wanted = words[2].lower()
    return any(wanted in kind.lower() for kind, _ in _page(words, path).shapes)


def _shape_count(words: Sequence[str], home: Path, path: Path) -> bool:
    return len(_page(words, path).shapes) == int(words[2])


def _page_list(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    return {
        "pages": [{"shape_count": len(page.shapes), "name": page.name} for page in _pages(path)]
    }


def _page_name(words: Sequence[str], home: Path, path: Path) -> bool:
    where = below(home, words[4]) if len(words) > 4 else path
    return _pages(where)[int(words[1])].name.lower() == words[3].lower()


def _pdf_pages(words: Sequence[str], home: Path, path: Path) -> bool:
    data = below(home, words[1]).read_bytes()
    counts = [int(one) for one in re.findall(rb"/Count (\d+)", data)]
    return max(counts, default=0) == int(words[2])


# -- texts and folders


def _content(words: Sequence[str], home: Path) -> str:
    return below(home, words[1]).read_text(encoding="utf-8", errors="replace")


def _gedit_contains(words: Sequence[str], home: Path, path: Path) -> bool:
    return " ".join(words[2:]) in _content(words, home)


def _pcmanfm_contains(words: Sequence[str], home: Path, path: Path) -> bool:
    return " ".join(words[2:]).lower() in _content(words, home).lower()


def _line(words: Sequence[str], home: Path, path: Path) -> bool:
    lines = _content(words, home).splitlines()
    number = int(words[2])
    return 1 <= number <= len(lines) and lines[number - 1].strip() == " ".join(words[3:]).strip()


def _line_count(words: Sequence[str], home: Path, path: Path) -> bool:
    return len(_content(words, home).splitlines()) == int(words[2])


def _lines(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    return {"line_count": len(_content(words, home).splitlines())}


def _whole(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    return {"content": _content(words, home)}


def _is_folder(words: Sequence[str], home: Path, path: Path) -> bool:
    return below(home, words[1]).exists()


def _entries(words: Sequence[str], home: Path, path: Path) -> bool:
    names = [one.name for one in below(home, words[1]).iterdir()]
    shown = [name for name in names if "--hidden" in words or not name.startswith(".")]
    return len(shown) == int(words[2])


def _mode(words: Sequence[str], home: Path, path: Path) -> bool:
    mode = stat.S_IMODE(below(home, words[1]).lstat().st_mode)
    return mode == int(words[2].removeprefix("0o"), 8)


def _ends(words: Sequence[str], home: Path, path: Path) -> bool:
    files = [one for one in below(home, words[1]).iterdir() if one.is_file()]
    end = f".{words[2].removeprefix('.')}"
    return bool(files) and all(one.suffix == end for one in files)


def _link(words: Sequence[str], home: Path, path: Path) -> bool:
    where = below(home, words[1])
    is_to = len(words) < 3 or where.resolve() == below(home, words[2]).resolve()
    return where.is_symlink() and is_to


def _folder_bookmark(words: Sequence[str], home: Path, path: Path) -> bool:
    lines = (home / ".config" / "gtk-3.0" / "bookmarks").read_text().splitlines()
    return any(
        words[1] in unquote(line.partition(" ")[0].removeprefix("file://")) for line in lines
    )


def _ini(path: Path) -> dict[str, dict[str, str]]:
    sections: dict[str, dict[str, str]] = {}
    now: dict[str, str] = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            now = sections.setdefault(line.strip("[]"), {})
        elif "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            now[name.strip()] = value.strip()
    return sections


def _pcmanfm_setting(words: Sequence[str], home: Path, path: Path) -> bool:
    found = _ini(home / ".config" / "pcmanfm" / "default" / "pcmanfm.conf")
    return found[words[1]].get(words[2]) == " ".join(words[3:])


def _vlc_settings(home: Path) -> dict[str, str]:
    sections = _ini(home / ".config" / "vlc" / "vlcrc").values()
    return {name: value for section in sections for name, value in section.items()}


def _vlc_setting(words: Sequence[str], home: Path, path: Path) -> bool:
    return _vlc_settings(home)[words[1]] == " ".join(words[2:])


def _vlc_config(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    return {"value": _vlc_settings(home).get(words[1])}


# -- pictures and drawings


def _picture(words: Sequence[str], home: Path) -> Any:
    from PIL import Image

    with Image.open(below(home, words[1])) as picture:
        picture.load()
        return picture


def _dimensions(words: Sequence[str], home: Path, path: Path) -> bool:
    return tuple(_picture(words, home).size) == (int(words[2]), int(words[3]))


def _format(words: Sequence[str], home: Path, path: Path) -> bool:
    kind = words[2].upper()
    return str(_picture(words, home).format) == {"JPG": "JPEG", "TIF": "TIFF"}.get(kind, kind)


def _picture_mode(words: Sequence[str], home: Path, path: Path) -> bool:
    return str(_picture(words, home).mode) == words[2]


def _drawing(words: Sequence[str], home: Path) -> Element:
    return ElementTree.parse(below(home, words[1])).getroot()


def _has_element(words: Sequence[str], home: Path, path: Path) -> bool:
    return any(one.get("id") == words[2] for one in _drawing(words, home).iter())


def _style_of(text: str, mark: str) -> dict[str, str]:
    pairs = [part.split(mark, 1) for part in text.split(";") if mark in part]
    return {name.strip(): value.strip() for name, value in pairs}


def _svg_style(words: Sequence[str], home: Path, path: Path) -> bool:
    element = next(one for one in _drawing(words, home).iter() if one.get("id") == words[2])
    name, _, value = words[3].partition(":")
    wanted = value or " ".join(words[4:])
    actual = _style_of(element.get("style", ""), ":").get(name, "")
    if wanted.startswith("#"):
        return actual.lower() == wanted.lower()
    return actual == wanted


def _svg_text(words: Sequence[str], home: Path, path: Path) -> bool:
    texts = ["".join(one.itertext()) for one in _named(_drawing(words, home), "text")]
    return any(" ".join(words[2:]) in text for text in texts)


def _layer(words: Sequence[str], home: Path, path: Path) -> bool:
    wanted = " ".join(words[2:])
    return any(
        _attribute(one, "groupmode") == "layer" and _attribute(one, "label") == wanted
        for one in _named(_drawing(words, home), "g")
    )


def _svg_size(words: Sequence[str], home: Path, path: Path) -> bool:
    root = _drawing(words, home)
    return (root.get("width"), root.get("height")) == (words[2], words[3])


def _has_tag(words: Sequence[str], home: Path, path: Path) -> bool:
    return any(True for _ in _named(_drawing(words, home), words[2]))


def _cells(words: Sequence[str], home: Path, place: int) -> list[Element]:
    page = int(words[place]) if place < len(words) else 0
    diagrams = _drawing(words, home).findall("diagram")
    return [*diagrams[page].iter("mxCell")] if page < len(diagrams) else []


def _label(words: Sequence[str], home: Path, path: Path) -> bool:
    cells = _drawing(words, home).iter("mxCell")
    return any(" ".join(words[2:]) in (one.get("value") or "") for one in cells)


def _vertices(words: Sequence[str], home: Path, path: Path) -> bool:
    return sum(one.get("vertex") == "1" for one in _cells(words, home, 3)) == int(words[2])


def _edges(words: Sequence[str], home: Path, path: Path) -> bool:
    return sum(one.get("edge") == "1" for one in _cells(words, home, 3)) == int(words[2])


def _edge_list(words: Sequence[str], home: Path, path: Path) -> Any:
    return [{"id": one.get("id")} for one in _cells(words, home, 2) if one.get("edge") == "1"]


def _diagram_count(words: Sequence[str], home: Path, path: Path) -> bool:
    return len(_drawing(words, home).findall("diagram")) == int(words[2])


def _diagrams(words: Sequence[str], home: Path, path: Path) -> Any:
    return [{"name": one.get("name")} for one in _drawing(words, home).findall("diagram")]


def _cell_style(words: Sequence[str], home: Path, path: Path) -> bool:
    cell = next(one for one in _cells(words, home, 5) if one.get("id") == words[2])
    return _style_of(cell.get("style", ""), "=").get(words[3]) == words[4]


# -- profiles


def _rows(path: Path, sql: str, *values: str) -> list[tuple[Any, ...]]:
    if not path.exists():
        raise OSError(f"{path}: expected a database")
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql, values).fetchall()


def _contacts(home: Path) -> dict[str, dict[str, str]]:
    cards: dict[str, dict[str, str]] = {}
    rows = _rows(home / THUNDERBIRD / "abook.sqlite", "SELECT card, name, value FROM properties")
    for card, name, value in rows:
        cards.setdefault(card, {})[name] = value
    return cards


def _found_contacts(home: Path, who: str) -> list[dict[str, str]]:
    names = ("DisplayName", "FirstName", "LastName", "PrimaryEmail", "SecondEmail")
    cards = _contacts(home).values()
    joined = [(" ".join(card.get(name, "") for name in names), card) for card in cards]
    return [card for text, card in joined if who.lower() in text.lower()]


def _contact(words: Sequence[str], home: Path, path: Path) -> bool:
    return bool(_found_contacts(home, " ".join(words[1:])))


def _contact_field(words: Sequence[str], home: Path, path: Path) -> bool:
    who, name, value = field_of(words)
    cards = _found_contacts(home, who)
    return any(card.get(FIELDS[name], "").lower() == value.lower() for card in cards)


def _contact_count(words: Sequence[str], home: Path, path: Path) -> dict[str, Any]:
    return {"count": len(_contacts(home))}


def _list(words: Sequence[str], home: Path, path: Path) -> bool:
    rows = _rows(home / THUNDERBIRD / "abook.sqlite", "SELECT name FROM lists")
    return any(" ".join(words[1:]).lower() in name.lower() for (name,) in rows)


def _dated(table: str) -> Callable[[Sequence[str], Path, Path], bool]:
    def is_there(words: Sequence[str], home: Path, path: Path) -> bool:
        where = home / THUNDERBIRD / "calendar-data" / "local.sqlite"
        rows = _rows(where, f"SELECT title FROM {table}")
        return any(" ".join(words[1:]).lower() in title.lower() for (title,) in rows)

    return is_there


def _preferences(path: Path) -> dict[str, Any]:
    found = re.findall(r'^user_pref\("([^"]+)", (.+)\);$', path.read_text(), re.MULTILINE)
    return {name: json.loads(value) for name, value in found}


def _preference(profile: str) -> Callable[[Sequence[str], Path, Path], bool]:
    def is_set(words: Sequence[str], home: Path, path: Path) -> bool:
        value = _preferences(home / profile / "prefs.js")[words[1]]
        said = str(value).lower() if isinstance(value, bool) else str(value)
        return said.lower() == " ".join(words[2:]).lower()

    return is_set


def _messages(home: Path, folder: str) -> list[tuple[str, str, str]]:
    """Subject, receiver and text of each message of a local folder."""
    path = home / THUNDERBIRD / "Mail" / "Local Folders" / folder
    if not path.exists():
        raise OSError(f"{path}: expected a folder of messages")
    with closing(mailbox.mbox(path, create=False)) as messages:
        return [(str(one["Subject"]), str(one["To"]), str(one.get_payload())) for one in messages]


def _draft(words: Sequence[str], home: Path, path: Path) -> bool:
    wanted = " ".join(words[1:]).lower()
    return any(wanted in subject.lower() for subject, _, _ in _messages(home, "Drafts"))


def _draft_content(words: Sequence[str], home: Path, path: Path) -> bool:
    wanted, text = words[1].lower(), " ".join(words[2:]).lower()
    found = _messages(home, "Drafts")
    return any(wanted in subject.lower() and text in body.lower() for subject, _, body in found)


def _message_to(words: Sequence[str], home: Path, path: Path) -> bool:
    wanted, address = " ".join(words[2:-1]).lower(), words[-1].lower()
    found = _messages(home, words[1])
    return any(wanted in subject.lower() and address in to.lower() for subject, to, _ in found)


def _filters(home: Path) -> list[dict[str, list[str]]]:
    path = home / THUNDERBIRD / "Mail" / "Local Folders" / "msgFilterRules.dat"
    found: list[dict[str, list[str]]] = []
    for name, value in re.findall(r'^(\w+)="(.*)"$', path.read_text(), re.MULTILINE):
        if name == "name":
            found.append({})
        if found:
            found[-1].setdefault(name, []).append(value)
    return found


def _filter(words: Sequence[str], home: Path, path: Path) -> bool:
    about = words[0].removeprefix("check-filter-")
    wanted = " ".join(words[1:]) if about == "exists" else words[1]
    for one in _filters(home):
        if wanted.lower() in one["name"][0].lower() and _is_filter(one, about, words):
            return True
    return False


def _is_filter(one: Mapping[str, Sequence[str]], about: str, words: Sequence[str]) -> bool:
    if about == "condition":
        return " ".join(words[2:]).lower() in one["condition"][0].lower()
    if about == "action":
        values = one.get("actionValue", [])
        is_done = words[2].lower() in [name.lower() for name in one.get("action", [])]
        text = " ".join(words[3:]).lower()
        return is_done and (not text or any(text in value.lower() for value in values))
    return True


def _saved_search(words: Sequence[str], home: Path, path: Path) -> bool:
    lines = (home / THUNDERBIRD / "virtualFolders.dat").read_text().splitlines()
    is_terms = words[0].endswith("terms")
    name = words[1] if is_terms else " ".join(words[1:])
    is_named = any(line.startswith("uri=") and name.lower() in line.lower() for line in lines)
    said = " ".join(words[2:]).lower()
    has_terms = any(line.startswith("searchStr=") and said in line.lower() for line in lines)
    return is_named and (not is_terms or has_terms)


def _feed(words: Sequence[str], home: Path, path: Path) -> bool:
    feeds = json.loads((home / THUNDERBIRD / "Mail" / "Feeds" / "feeds.json").read_text())
    return any(words[1].lower() in feed["url"].lower() for feed in feeds)


def _subscribed(words: Sequence[str], home: Path, path: Path) -> bool:
    [file] = (home / THUNDERBIRD / "ImapMail").glob("*/Subscriptions.dat")
    return " ".join(words[2:]) in file.read_text().splitlines()


def _has_key(words: Sequence[str], home: Path, path: Path) -> bool:
    identity = words[1] if len(words) > 1 else "id1"
    found = _preferences(home / THUNDERBIRD / "prefs.js")
    return bool(found[f"mail.identity.{identity}.openpgp_key_id"])


_PLACES = f"{FIREFOX}/places.sqlite"


def _visited(words: Sequence[str], home: Path, path: Path) -> bool:
    sql = "SELECT 1 FROM moz_places WHERE url LIKE ?1 OR title LIKE ?1"
    return bool(_rows(home / _PLACES, sql, f"%{words[1]}%"))


def _bookmarked(words: Sequence[str], home: Path, path: Path) -> bool:
    sql = (
        "SELECT 1 FROM moz_bookmarks b JOIN moz_places p ON p.id = b.fk"
        " WHERE b.type = 1 AND (b.title LIKE ?1 OR p.url LIKE ?1)"
    )
    return bool(_rows(home / _PLACES, sql, f"%{words[1]}%"))


def _downloaded(words: Sequence[str], home: Path, path: Path) -> bool:
    return any(words[1].lower() in one.name.lower() for one in (home / "Downloads").iterdir())


def _chrome_bookmark(words: Sequence[str], home: Path, path: Path) -> bool:
    roots = json.loads((home / ".config/chromium/Default/Bookmarks").read_text())["roots"]
    nodes = roots["bookmark_bar"]["children"]
    return any(words[1].lower() in f"{one['name']}\n{one['url']}".lower() for one in nodes)


def _chrome_visited(words: Sequence[str], home: Path, path: Path) -> bool:
    sql = "SELECT 1 FROM urls WHERE url LIKE ?1 OR title LIKE ?1"
    return bool(_rows(home / HISTORY, sql, f"%{words[1]}%"))


def _chrome_downloaded(words: Sequence[str], home: Path, path: Path) -> bool:
    sql = "SELECT state FROM downloads WHERE target_path LIKE ?1"
    return _rows(home / HISTORY, sql, f"%{words[1]}%")[:1] == [(1,)]


Reader = Callable[[Sequence[str], Path, Path], Any]
_OFFICE: dict[str, dict[str, Reader]] = {
    "libreoffice_calc": {
        "check-cell-value": _cell_value,
        "cell-value": _cell,
        "check-cell-formatted": _cell_bold,
        "check-sheet-exists": _has_sheet,
        "check-sheet-count": _sheet_count,
    },
    "libreoffice_writer": {
        "check-heading-exists": _heading,
        "parse-tables": _tables,
        "check-text-contains": _text_contains,
        "headers-footers": _around,
        "check-table-cell": _table_cell,
        "search": _search,
        "check-paragraph-formatted": _paragraph_bold,
        "paragraph-format": _paragraph_format,
        "bookmarks": _bookmarks,
        "check-word-count": _word_count,
        "check-paragraph-style": _paragraph_style,
        "check-paragraph-text": _paragraph_text,
        "check-table-exists": _has_table,
        "paragraphs": _paragraph_list,
    },
    "libreoffice_impress": {
        "check-slide-contains": _slide_contains,
        "check-slide-title": _slide_title,
        "check-notes-contain": _notes_contain,
        "check-slide-count": _slide_count,
        "check-has-transition": _transition,
        "notes": _notes,
        "slide-text": _slide_text,
    },
    "libreoffice_draw": {
        "check-page-contains": _slide_contains,
        "check-shape-exists": _has_shape,
        "pages": _page_list,
        "check-page-count": _slide_count,
        "check-page-property": _page_name,
        "check-shape-count": _shape_count,
        "check-pdf-page-count": _pdf_pages,
    },
}
for _of_app in _OFFICE.values():
    _of_app |= {"check-file-exists": _is_there, "check-file-saved": _is_there}
_PROGRAMS: dict[str, dict[str, Reader]] = {
    "gedit": {
        "check-file-contains": _gedit_contains,
        "check-file-line": _line,
        "check-file-exists": _is_there,
        "file-content": _whole,
        "check-file-line-count": _line_count,
        "file-line-count": _lines,
    },
    "pcmanfm": {
        "check-file-exists": _is_there,
        "check-file-contains": _pcmanfm_contains,
        "check-file-count": _entries,
        "check-dir-exists": _is_folder,
        "check-permissions": _mode,
        "check-extension-match": _ends,
        "check-bookmark-exists": _folder_bookmark,
        "check-symlink": _link,
        "check-config-value": _pcmanfm_setting,
    },
    "vlc": {"check-file-exists": _is_there, "check-config": _vlc_setting, "config": _vlc_config},
    "gimp": {
        "check-file-exists": _is_there,
        "check-file-dimensions": _dimensions,
        "check-file-format": _format,
        "check-file-mode": _picture_mode,
    },
    "inkscape": {
        "check-element-exists": _has_element,
        "check-style-property": _svg_style,
        "check-text-contains": _svg_text,
        "check-layer-exists": _layer,
        "check-page-size": _svg_size,
        "check-has-element-type": _has_tag,
    },
    "drawio": {
        "check-label-exists": _label,
        "check-vertex-count": _vertices,
        "check-edge-count": _edges,
        "edges": _edge_list,
        "check-page-count": _diagram_count,
        "diagrams": _diagrams,
        "check-style-property": _cell_style,
    },
    "thunderbird": {
        "check-contact-exists": _contact,
        "check-contact-field": _contact_field,
        "contact-count": _contact_count,
        "check-mailing-list": _list,
        "check-event-exists": _dated("cal_events"),
        "check-todo-exists": _dated("cal_todos"),
        "check-pref-value": _preference(THUNDERBIRD),
        "check-draft-exists": _draft,
        "check-draft-content": _draft_content,
        "check-message-to": _message_to,
        "check-filter-exists": _filter,
        "check-filter-condition": _filter,
        "check-filter-action": _filter,
        "check-virtual-folder-exists": _saved_search,
        "check-virtual-folder-terms": _saved_search,
        "check-feed-subscription": _feed,
        "check-subscribed-folder": _subscribed,
        "check-openpgp-configured": _has_key,
    },
    "firefox": {
        "check-url-visited": _visited,
        "check-bookmark": _bookmarked,
        "check-pref": _preference(FIREFOX),
        "check-download": _downloaded,
    },
    "chrome": {
        "check-bookmark": _chrome_bookmark,
        "check-url-visited": _chrome_visited,
        "check-download": _chrome_downloaded,
    },
}
_READERS: dict[tuple[str, str], Reader] = {
    (app, command): reader
    for app, readers in {**_OFFICE, **_PROGRAMS}.items()
    for command, reader in readers.items()
}
