"""End states of OpenComputer's checks, made of each check's own parameters: documents, drawings, pictures
and profiles that libraries write."""

from __future__ import annotations

import os
import wave
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.benchmarks.opencomputer.base import HOME
from tests.importing import opencomputer_files as make
from tests.importing.opencomputer_ways import facts_of, parts_of, paths_of
from tests.support.logs import Said, went

Facts = Mapping[str, Any]
PROFILE = "p"
"""The profile's folder, where a path of the importer's says that it may be any."""


class UnmadeStateError(Exception):
    """Nothing here makes such an end state; the message says of what."""


def make_state(home: Path, app: str, words: Sequence[str], when: Facts) -> None:
    """Make an end state in ``home`` that meets a check: what its command asks of a folder or a profile,
    else what its condition ``when`` asks of a file. Raises `UnmadeStateError`."""
    by_command = _BY_COMMAND.get((app, words[0]))
    if by_command is not None:
        by_command(home, words)
        return
    conditions = [*parts_of(dict(when))]
    paths = paths_of(conditions)
    if not paths:
        raise UnmadeStateError(f"{app}: {words[0]}")
    for path in paths:
        where = home / path.replace("*", PROFILE)
        where.parent.mkdir(parents=True, exist_ok=True)
        write_file(where, facts_of(path, conditions))


def write_file(path: Path, facts: Facts) -> None:
    """Write a file of which its reader tells these facts, and whatever else there must be. Raises
    `UnmadeStateError`."""
    writer = _WRITERS.get(path.suffix.lower().removeprefix("."), _write_text)
    writer(path, facts)


def _write_workbook(path: Path, facts: Facts) -> None:
    from openpyxl import Workbook
    from openpyxl.styles import Font

    book = Workbook()
    book.remove(book.worksheets[0])
    for sheet in facts.get("sheets") or [{"name": "Sheet1"}]:
        page = book.create_sheet(sheet.get("name") or "Sheet1")
        for row, cells in enumerate(sheet.get("rows", []), 1):
            for column, value in enumerate(cells, 1):
                if value != "":
                    page.cell(row, column, value)
        for place, formula in sheet.get("formulas", {}).items():
            page[place] = f"={formula.removeprefix('=') or '1+1'}"
        for place in sheet.get("bold", {}):
            page[place] = page[place].value or "x"
            page[place].font = Font(bold=True)
    book.save(path)


def _write_odt(path: Path, facts: Facts) -> None:
    from odfdo import Bookmark, Document, Header, Paragraph, Style, Table

    document = Document("text")
    document.body.clear()
    strong = Style("paragraph", name="Strong")
    strong.set_properties({"fo:font-weight": "bold"}, area="text")
    document.insert_style(strong, automatic=True)
    for part in facts.get("paragraphs", []):
        text = part.get("text", "x")
        if part.get("level"):
            document.body.append(Header(int(part["level"]), text))
            continue
        style = "Strong" if part.get("bold") else part.get("style")
        document.body.append(Paragraph(text, style=style))
    for line in str(facts.get("text", "")).splitlines():
        document.body.append(Paragraph(line))
    for name in facts.get("bookmarks", {}):
        paragraph = Paragraph("here")
        paragraph.insert(Bookmark(name), 0)
        document.body.append(paragraph)
    for number, sheet in enumerate(facts.get("sheets", [])):
        table = Table(sheet.get("name") or f"Table{number + 1}")
        table.set_values(_grid(sheet))
        document.body.append(table)
    master: Any = document.get_style("master-page", "Standard")
    if facts.get("header"):
        master.set_page_header(facts["header"])
    if facts.get("footer"):
        master.set_page_footer(facts["footer"])
    document.save(path)


def _grid(sheet: Facts) -> list[list[str]]:
    """The texts of a table's cells, as many rows and columns as it is to have."""
    rows = [[str(value) for value in row] for row in sheet.get("rows", [])]
    size = [*sheet.get("size", ())]
    high = max(len(rows), int((size[0:1] or [0])[0] or 0) if size else 0, 1)
    wide = max([len(row) for row in rows] + [int((size[1:2] or [0])[0] or 0), 1])
    if sheet.get("size") == [MANY, MANY]:
        high, wide = max(len(rows), 1), max([len(row) for row in rows] + [1])
    rows += [[] for _ in range(high - len(rows))]
    return [row + [""] * (wide - len(row)) for row in rows]


MANY = 64
"""What a right way says of a table whose size is not asked for."""
_ODF_SHAPES = {"rectangle": "rect", "round-rectangle": "rect"}


def _slides(facts: Facts) -> list[dict[str, Any]]:
    """The slides of a presentation, as many as are counted; each holds something."""
    slides = [dict(slide) if slide else {} for slide in facts.get("slides", [])]
    slides += [{} for _ in range(int(facts.get("count", 1)) - len(slides))]
    lines = str(facts.get("text", "")).splitlines()
    if lines:
        slides[0].setdefault("texts", []).extend(lines)
    return slides


def _write_odf_pages(path: Path, facts: Facts) -> None:
    from odfdo import Document, DrawPage, Element, Style

    document = Document("drawing" if path.suffix == ".odg" else "presentation")
    document.body.clear()
    moving = Style("drawing-page", name="Moving")
    moving.set_properties({"presentation:transition-type": "automatic"}, area="drawing-page")
    moving.set_properties({"smil:type": "fade"}, area="drawing-page")
    document.insert_style(moving, automatic=True)
    for number, slide in enumerate(_slides(facts)):
        page = DrawPage(f"page{number}", name=slide.get("title") or f"page{number}")
        if slide.get("transition"):
            page.set_attribute("draw:style-name", "Moving")
        texts = [str(text) for text in slide.get("texts", [])]
        shapes = [_ODF_SHAPES.get(str(kind), str(kind)) for kind in slide.get("shapes", [])]
        shapes += ["rect"] * (len(texts) - len(shapes))
        for place, kind in enumerate(shapes):
            said = _escaped(texts[place]) if place < len(texts) else ""
            kind = kind if kind.isalpha() and len(kind) > 1 else "rect"
            inner = f"<text:p>{said}</text:p>"
            if kind == "frame":
                inner = f"<draw:text-box>{inner}</draw:text-box>"
            page.append(Element.from_tag(f"<draw:{kind}>{inner}</draw:{kind}>"))
        if slide.get("notes"):
            inner = f"<text:p>{_escaped(str(slide['notes']))}</text:p>"
            frame = f"<draw:frame><draw:text-box>{inner}</draw:text-box></draw:frame>"
            page.append(Element.from_tag(f"<presentation:notes>{frame}</presentation:notes>"))
        document.body.append(page)
    document.save(path)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _write_pptx(path: Path, facts: Facts) -> None:
    from lxml import etree
    from pptx import Presentation
    from pptx.util import Inches

    made = Presentation()
    for slide in _slides(facts):
        page = made.slides.add_slide(made.slide_layouts[6])
        for text in slide.get("texts", []):
            box = page.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1))
            box.text_frame.text = str(text)
        if slide.get("notes"):
            page.notes_slide.notes_text_frame.text = str(slide["notes"])
        if slide.get("transition"):
            space = page.element.nsmap["p"]
            moved = etree.SubElement(page.element, f"{{{space}}}transition")
            etree.SubElement(moved, f"{{{space}}}fade")
    made.save(str(path))


def _write_svg(path: Path, facts: Facts) -> None:
    body = []
    for name, about in facts.get("ids", {}).items():
        tag = about.get("tag", "rect")
        style = ";".join(f"{key}:{value}" for key, value in about.get("style", {}).items())
        body.append(
            f'<{tag if tag.isalpha() and len(tag) > 1 else "rect"} id="{name}" style="{style}"/>'
        )
    for tag, number in facts.get("tags", {}).items():
        body += [f"<{tag}/>"] * int(number)
    for label in facts.get("layers", {}):
        body.append(f'<g inkscape:groupmode="layer" inkscape:label="{_escaped(label)}"/>')
    for line in str(facts.get("text", "")).splitlines():
        body.append(f"<text><tspan>{_escaped(line)}</tspan></text>")
    spaces = (
        'xmlns="http://www.w3.org/2000/svg"'
        ' xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"'
    )
    size = f'width="{facts.get("width", "600")}" height="{facts.get("height", "600")}"'
    path.write_text(f"<svg {spaces} {size}>{''.join(body)}</svg>", encoding="utf-8")


def _write_drawio(path: Path, facts: Facts) -> None:
    pages = [dict(page) if page else {} for page in facts.get("pages", [])]
    pages += [{} for _ in range(int(facts.get("count", 1)) - len(pages))]
    for line in str(facts.get("text", "")).splitlines():
        pages[0].setdefault("labels", []).append(line)
    written = [_diagram(number, page) for number, page in enumerate(pages)]
    path.write_text(f"<mxfile>{''.join(written)}</mxfile>", encoding="utf-8")


def _diagram(number: int, page: Facts) -> str:
    cells = [
        f'<mxCell id="{id}" style="{";".join(f"{k}={v}" for k, v in about.get("style", {}).items())}"/>'
        for id, about in page.get("cells", {}).items()
    ]
    labels = page.get("labels", [])
    cells += [f'<mxCell id="l{n}" value="{_quoted(one)}"/>' for n, one in enumerate(labels)]
    cells += [f'<mxCell id="v{n}" vertex="1"/>' for n in range(int(page.get("vertices", 0)))]
    cells += [f'<mxCell id="e{n}" edge="1"/>' for n in range(int(page.get("edges", 0)))]
    name = _quoted(str(page.get("name") or f"Page-{number + 1}"))
    root = f"<mxGraphModel><root>{''.join(cells)}</root></mxGraphModel>"
    return f'<diagram name="{name}">{root}</diagram>'


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', "&quot;")


_MODES = {"jpeg": "RGB", "gif": "P"}


def _write_picture(path: Path, facts: Facts) -> None:
    from PIL import Image

    kind = str(facts.get("kind", path.suffix.lower().removeprefix(".")))
    kind = {"jpg": "jpeg", "tif": "tiff"}.get(kind, kind)
    mode = facts.get("mode", _MODES.get(kind, "RGB"))
    size = (int(facts.get("width", 80)), int(facts.get("height", 60)))
    try:
        Image.new(mode, size).save(path, kind.upper())
    except (KeyError, OSError, ValueError) as error:
        raise UnmadeStateError(f"a picture of the kind {kind}, {mode}: {error}") from None


def _write_pdf(path: Path, facts: Facts) -> None:
    from pypdf import PdfWriter

    writer = PdfWriter()
    for _ in range(int(facts.get("count", 1))):
        writer.add_blank_page(200, 200)
    writer.write(path)


def _write_text(path: Path, facts: Facts) -> None:
    """Write a text, so many lines, or a setting, as the file's name has it."""
    if "value" in facts:
        path.write_text(_setting(path, facts["value"]), encoding="utf-8")
        return
    lines = facts.get("lines")
    if lines is not None and "text" not in facts:
        number = int(lines if isinstance(lines, int) else lines.get("min", 1))
        path.write_text("".join(f"line {n}\n" for n in range(number)), encoding="utf-8")
        return
    text = str(facts.get("text", "x"))
    path.write_text(text + "\n", encoding="utf-8")


def _setting(path: Path, value: Mapping[str, Any]) -> str:
    if path.name.endswith(".js"):
        return "".join(f'user_pref("{name}", {_literal(one)});\n' for name, one in value.items())
    [(section, pairs)] = value.items()
    return f"[{section}]\n" + "".join(f"{name}={one}\n" for name, one in pairs.items())


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else f'"{value}"'


def _write_sound(path: Path, facts: Facts) -> None:
    if str(facts.get("container", "Wave")).lower() != "wave" or facts.get("video"):
        raise UnmadeStateError(f"a medium: {path.suffix}")
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 8000)


_WRITERS: dict[str, Callable[[Path, Facts], None]] = {
    "xlsx": _write_workbook,
    "odt": _write_odt,
    "odp": _write_odf_pages,
    "odg": _write_odf_pages,
    "pptx": _write_pptx,
    "svg": _write_svg,
    "drawio": _write_drawio,
    "pdf": _write_pdf,
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "tif", "tiff", "webp", "bmp"), _write_picture),
    **dict.fromkeys(("wav", "mp3", "ogg", "mp4", "mkv", "flac", "avi", "webm"), _write_sound),
}
"""What a file's name ends in, and what writes such a file."""


def below(home: Path, path: str) -> Path:
    """Where a path of theirs is in a home of ours."""
    return home / path.removeprefix(HOME)


def _folder(home: Path, words: Sequence[str]) -> None:
    below(home, words[1]).mkdir(parents=True, exist_ok=True)


def _entry(home: Path, words: Sequence[str]) -> None:
    path = below(home, words[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")


def _entries(home: Path, words: Sequence[str]) -> None:
    folder = below(home, words[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(int(words[2])):
        (folder / f"entry-{number}").write_text("x")


def _moded(home: Path, words: Sequence[str]) -> None:
    _entry(home, words)
    below(home, words[1]).chmod(int(words[2].removeprefix("0o"), 8))


def _of_one_end(home: Path, words: Sequence[str]) -> None:
    folder = below(home, words[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"a.{words[2].removeprefix('.')}").write_text("x")


def _linked(home: Path, words: Sequence[str]) -> None:
    path = below(home, words[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    target = below(home, words[2]) if len(words) > 2 else path.with_name("target")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("x")
    os.symlink(target, path)


THUNDERBIRD = f".thunderbird/{PROFILE}"
FIREFOX = f".mozilla/firefox/{PROFILE}"
CARDS = "CREATE TABLE properties (card TEXT, name TEXT, value TEXT)"
LISTS = "CREATE TABLE lists (uid TEXT, name TEXT)"
FIELDS = {
    "display_name": "DisplayName", "first_name": "FirstName", "last_name": "LastName",
    "primary_email": "PrimaryEmail", "second_email": "SecondEmail", "work_phone": "WorkPhone",
    "home_phone": "HomePhone", "company": "Company", "job_title": "JobTitle", "notes": "Notes",
    "nickname": "NickName",
}  # fmt: skip


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _card(home: Path, pairs: Sequence[tuple[str, str]]) -> None:
    rows = [
        f"INSERT INTO properties VALUES ('1', {_sql(name)}, {_sql(value)})" for name, value in pairs
    ]
    other = "INSERT INTO properties VALUES ('2', 'DisplayName', 'Somebody Else')"
    make.database(home / THUNDERBIRD / "abook.sqlite", CARDS, LISTS, *rows, other)


def _contact(home: Path, words: Sequence[str]) -> None:
    _card(home, [("DisplayName", " ".join(words[1:]))])


def field_of(words: Sequence[str]) -> tuple[str, str, str]:
    """Of a check of a contact's field: who, which field, and what it says."""
    place = next(n for n, word in enumerate(words) if n > 1 and word in FIELDS)
    return " ".join(words[1:place]), words[place], " ".join(words[place + 1 :])


def _contact_field(home: Path, words: Sequence[str]) -> None:
    who, name, value = field_of(words)
    _card(home, [("DisplayName", who), (FIELDS[name], value)])


def _contacts(home: Path, words: Sequence[str]) -> None:
    rows = [f"INSERT INTO properties VALUES ('{n}', 'DisplayName', 'One {n}')" for n in range(9)]
    make.database(home / THUNDERBIRD / "abook.sqlite", CARDS, LISTS, *rows)


def _mailing_list(home: Path, words: Sequence[str]) -> None:
    row = f"INSERT INTO lists VALUES ('1', {_sql(' '.join(words[1:]))})"
    make.database(home / THUNDERBIRD / "abook.sqlite", CARDS, LISTS, row)


def _dated(table: str) -> Callable[[Path, Sequence[str]], None]:
    def write(home: Path, words: Sequence[str]) -> None:
        tables = [
            f"CREATE TABLE {one} (id TEXT, title TEXT)" for one in ("cal_events", "cal_todos")
        ]
        row = f"INSERT INTO {table} VALUES ('1', {_sql(' '.join(words[1:]))})"
        make.database(home / THUNDERBIRD / "calendar-data" / "local.sqlite", *tables, row)

    return write


def _message(home: Path, folder: str, subject: str, to: str, body: str) -> None:
    message = f"From - Mon Jun  1 10:00:00 2026\nSubject: {subject}\nTo: {to}\n\n{body}\n\n"
    make.written(home / THUNDERBIRD / "Mail" / "Local Folders" / folder, message)


def _draft(home: Path, words: Sequence[str]) -> None:
    _message(home, "Drafts", " ".join(words[1:]), "somebody@office.example", "A text.")


def _draft_content(home: Path, words: Sequence[str]) -> None:
    _message(home, "Drafts", words[1], "somebody@office.example", " ".join(words[2:]))


def _message_to(home: Path, words: Sequence[str]) -> None:
    _message(home, words[1], " ".join(words[2:-1]), words[-1], "A text.")


def _filter(home: Path, words: Sequence[str]) -> None:
    about = {"check-filter-condition": "condition", "check-filter-action": "action"}.get(words[0])
    lines = ['version="9"', f'name="{words[1] if about else " ".join(words[1:])}"', 'enabled="yes"']
    if about == "action":
        lines.append(f'action="{words[2]}"')
        lines += [f'actionValue="{" ".join(words[3:])}"'] if len(words) > 3 else []
    said = " ".join(words[2:]) if about == "condition" else "everything"
    lines.append(f'condition="AND (from,contains,{said})"')
    path = home / THUNDERBIRD / "Mail" / "Local Folders" / "msgFilterRules.dat"
    make.written(path, "\n".join(lines) + "\n")


def _saved_search(home: Path, words: Sequence[str]) -> None:
    name = words[1] if words[0].endswith("terms") else " ".join(words[1:])
    said = " ".join(words[2:]) if words[0].endswith("terms") else "nothing"
    lines = [
        "version=1",
        f"uri=mailbox://nobody@Local%20Folders/{name}",
        "scope=mailbox://nobody@Local%20Folders/Inbox",
        f"searchStr=AND ({said},is,x)",
    ]
    make.written(home / THUNDERBIRD / "virtualFolders.dat", "\n".join(lines) + "\n")


def _feed(home: Path, words: Sequence[str]) -> None:
    path = home / THUNDERBIRD / "Mail" / "Feeds" / "feeds.json"
    make.written(path, f'[{{"url": "https://feeds.{words[1]}/news.xml", "title": "News"}}]\n')


def _subscribed(home: Path, words: Sequence[str]) -> None:
    path = home / THUNDERBIRD / "ImapMail" / words[1] / "Subscriptions.dat"
    make.written(path, f"Trash\n{' '.join(words[2:])}\n")


PLACES = "CREATE TABLE moz_places (id INTEGER, url TEXT, title TEXT)"
BOOKMARKS = "CREATE TABLE moz_bookmarks (type INTEGER, fk INTEGER, title TEXT)"


def _visited(home: Path, words: Sequence[str]) -> None:
    row = f"INSERT INTO moz_places VALUES (1, {_sql(f'https://{words[1]}')}, 'A page')"
    make.database(home / FIREFOX / "places.sqlite", PLACES, BOOKMARKS, row)


def _bookmarked(home: Path, words: Sequence[str]) -> None:
    rows = [
        "INSERT INTO moz_places VALUES (1, 'https://site.example/', 'A page')",
        f"INSERT INTO moz_bookmarks VALUES (1, 1, {_sql(words[1])})",
    ]
    make.database(home / FIREFOX / "places.sqlite", PLACES, BOOKMARKS, *rows)


def _chrome_bookmark(home: Path, words: Sequence[str]) -> None:
    node = f'{{\n "name": "A page",\n "type": "url",\n "url": "https://{words[1]}/"\n}}'
    roots = f'{{"roots": {{"bookmark_bar": {{"children": [{node}], "type": "folder"}}}}}}'
    make.written(home / ".config" / "chromium" / "Default" / "Bookmarks", roots)


HISTORY = ".config/chromium/Default/History"
URLS = "CREATE TABLE urls (id INTEGER, url TEXT, title TEXT)"
DOWNLOADS = "CREATE TABLE downloads (id INTEGER, target_path TEXT, state INTEGER)"


def _chrome_visited(home: Path, words: Sequence[str]) -> None:
    row = f"INSERT INTO urls VALUES (1, {_sql(f'https://{words[1]}')}, 'A page')"
    make.database(home / HISTORY, URLS, DOWNLOADS, row)


def _chrome_downloaded(home: Path, words: Sequence[str]) -> None:
    row = f"INSERT INTO downloads VALUES (1, {_sql(f'/home/user/Downloads/a.{words[1]}')}, 1)"
    make.database(home / HISTORY, URLS, DOWNLOADS, row)


def seen_events(app: str, words: Sequence[str]) -> tuple[Said, ...]:
    """What a browser tells while it comes to the end state of a check that its history decides."""
    if (app, words[0]) == ("chrome", "check-url-visited"):
        return (went(f"https://{words[1]}"),)
    if (app, words[0]) == ("chrome", "check-download"):
        name = f"a.{words[1]}"
        return (
            ("download.finished", {"name": name, "url": f"https://site.test/{name}", "size": 9}),
        )
    return ()


def _downloaded(home: Path, words: Sequence[str]) -> None:
    make.written(home / "Downloads" / words[1], "x")


def _folder_bookmark(home: Path, words: Sequence[str]) -> None:
    line = f"file://{' '.join(words[1:])}\n"
    make.written(home / ".config" / "gtk-3.0" / "bookmarks", line)


_BY_COMMAND: dict[tuple[str, str], Callable[[Path, Sequence[str]], None]] = {
    ("pcmanfm", "check-dir-exists"): _folder,
    ("pcmanfm", "check-file-count"): _entries,
    ("pcmanfm", "check-permissions"): _moded,
    ("pcmanfm", "check-extension-match"): _of_one_end,
    ("pcmanfm", "check-symlink"): _linked,
    ("pcmanfm", "check-bookmark-exists"): _folder_bookmark,
    **{(app, "check-file-exists"): _entry for app in ("gedit", "pcmanfm", "vlc", "gimp")},
    ("thunderbird", "check-contact-exists"): _contact,
    ("thunderbird", "check-contact-field"): _contact_field,
    ("thunderbird", "contact-count"): _contacts,
    ("thunderbird", "check-mailing-list"): _mailing_list,
    ("thunderbird", "check-event-exists"): _dated("cal_events"),
    ("thunderbird", "check-todo-exists"): _dated("cal_todos"),
    ("thunderbird", "check-draft-exists"): _draft,
    ("thunderbird", "check-draft-content"): _draft_content,
    ("thunderbird", "check-message-to"): _message_to,
    ("thunderbird", "check-filter-exists"): _filter,
    ("thunderbird", "check-filter-condition"): _filter,
    ("thunderbird", "check-filter-action"): _filter,
    ("thunderbird", "check-virtual-folder-exists"): _saved_search,
    ("thunderbird", "check-virtual-folder-terms"): _saved_search,
    ("thunderbird", "check-feed-subscription"): _feed,
    ("thunderbird", "check-subscribed-folder"): _subscribed,
    ("firefox", "check-url-visited"): _visited,
    ("firefox", "check-bookmark"): _bookmarked,
    ("firefox", "check-download"): _downloaded,
    ("chrome", "check-bookmark"): _chrome_bookmark,
    ("chrome", "check-url-visited"): _chrome_visited,
    ("chrome", "check-download"): _chrome_downloaded,
}
"""What makes an end state of a check that asks for a folder, a database or a message."""
