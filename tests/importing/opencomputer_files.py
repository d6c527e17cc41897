"""Documents, pictures and profiles as libraries make them: what an end state of OpenComputer's is
made of."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any


def workbook(path: Path, cells: Mapping[str, Any], bold: str = "", sheet: str = "Sales") -> None:
    """A workbook of one sheet beside an empty one."""
    from openpyxl import Workbook
    from openpyxl.styles import Font

    book = Workbook()
    page = book.create_sheet(sheet)
    for place, value in cells.items():
        page[place] = value
        page[place].font = Font(bold=place in bold.split())
    book.save(path)


def text(path: Path, *parts: tuple[str, Any], header: str = "", footer: str = "") -> None:
    """A text of headings (``h1``, ``h2``), paragraphs (``p``, ``bold``), tables, bookmarks."""
    from odfdo import Bookmark, Document, Header, Paragraph, Style, Table

    document = Document("text")
    document.body.clear()
    style = Style("paragraph", name="Strong")
    style.set_properties({"fo:font-weight": "bold"}, area="text")
    document.insert_style(style, automatic=True)
    for kind, value in parts:
        if kind == "table":
            name, rows = value
            table = Table(name)
            table.set_values(rows)
            document.body.append(table)
        elif kind == "mark":
            paragraph = Paragraph("here")
            paragraph.insert(Bookmark(value), 0)
            document.body.append(paragraph)
        elif kind in ("h1", "h2"):
            document.body.append(Header(int(kind[1]), value))
        else:
            document.body.append(Paragraph(value, style="Strong" if kind == "bold" else None))
    master: Any = document.get_style("master-page", "Standard")
    if header:
        master.set_page_header(header)
    if footer:
        master.set_page_footer(footer)
    document.save(path)


def pages(path: Path, *texts: str, notes: str = "", shape: str = "rect", name: str = "p") -> None:
    """A presentation or drawing (.odp, .odg) of a page for each text, in a shape of its own."""
    from odfdo import Document, DrawPage, Element

    document = Document("drawing" if path.suffix == ".odg" else "presentation")
    document.body.clear()
    for number, said in enumerate(texts):
        page = DrawPage(f"page{number}", name=f"{name}{number}")
        page.append(Element.from_tag(f"<draw:{shape}><text:p>{said}</text:p></draw:{shape}>"))
        if notes:
            frame = (
                f"<draw:frame><draw:text-box><text:p>{notes}</text:p></draw:text-box></draw:frame>"
            )
            page.append(Element.from_tag(f"<presentation:notes>{frame}</presentation:notes>"))
        document.body.append(page)
    document.save(path)


def deck(path: Path, *texts: str, notes: str = "", transition: bool = False) -> None:
    """A presentation (.pptx) of a slide for each text."""
    from lxml import etree
    from pptx import Presentation

    made = Presentation()
    for said in texts:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = said
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
        if transition:
            space = slide.element.nsmap["p"]
            slide.element.append(etree.SubElement(slide.element, f"{{{space}}}transition"))
    made.save(str(path))


def drawing(path: Path, body: str, width: str = "600") -> None:
    """An SVG as Inkscape writes it."""
    spaces = (
        'xmlns="http://www.w3.org/2000/svg"'
        ' xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"'
    )
    path.write_text(f'<svg {spaces} width="{width}" height="600">{body}</svg>')


def diagram(path: Path, *cells: str, name: str = "One") -> None:
    """A diagram as drawio writes it, of one page."""
    model = f"<mxGraphModel><root>{''.join(cells)}</root></mxGraphModel>"
    path.write_text(f'<mxfile><diagram name="{name}">{model}</diagram></mxfile>')


def picture(path: Path, width: int = 80, mode: str = "RGB", format: str = "PNG") -> None:
    from PIL import Image

    Image.new(mode, (width, 60)).save(path, format)


def database(path: Path, *statements: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def written(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def three_sheets(path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.create_sheet("Two")
    book.create_sheet("Three")
    book.save(path)


def moded(path: Path, mode: int) -> None:
    path.write_text("x")
    path.chmod(mode)


def several(path: Path, number: int) -> None:
    """So many files beside each other, and one that is hidden."""
    for n in range(number):
        path.with_name(f"{n}.txt").write_text("x")
    path.with_name(".hidden").write_text("x")


def linked(path: Path, to: str) -> None:
    """A link to a file beside it, by its whole path."""
    target = path.with_name(to)
    target.write_text("x")
    path.symlink_to(target)
