"""One small file of each format."""

from __future__ import annotations

import base64
import io
import sqlite3
import tarfile
import wave
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote


def xlsx(path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Sales"
    for row in (["Item", "Price", "Sold"], ["Lamp", 12.5, True], ["Desk", 80, None]):
        sheet.append(row)
    sheet["B4"] = "=SUM(B2:B3)"
    sheet.freeze_panes = "A2"
    book.create_sheet("Notes").append(["later"])
    book.save(path)


def ods(path: Path) -> None:
    from odfdo import Document, Table

    book = Document("spreadsheet")
    book.body.clear()
    table = Table("Sales")
    table.set_values([["Item", "Price"], ["Lamp", 12.5], ["Desk", 80]])
    book.body.append(table)
    book.save(path)


def docx(path: Path) -> None:
    from docx import Document
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt, RGBColor

    document = Document()
    document.add_heading("Minutes", level=1)
    said = document.add_paragraph()
    run = said.add_run("All agreed.")
    run.bold, run.font.size, run.font.color.rgb, run.font.name = (
        True,
        Pt(14),
        RGBColor(0xFF, 0, 0),
        "Arial",
    )
    said.alignment = WD_ALIGN_PARAGRAPH.CENTER
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Ada", "yes"
    document.sections[0].header.paragraphs[0].text = "Draft"
    document.save(str(path))


def odt(path: Path) -> None:
    from odfdo import Document, Header, Paragraph

    document = Document("text")
    document.body.clear()
    document.body.append(Header(1, "Minutes"))
    document.body.append(Paragraph("All agreed."))
    document.save(path)


def pptx(path: Path) -> None:
    from pptx import Presentation

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Plan"
    slide.placeholders[1].text_frame.text = "First the lamp"
    slide.notes_slide.notes_text_frame.text = "Speak slowly"
    deck.save(str(path))


def odp(path: Path) -> None:
    from odfdo import Document, DrawPage, Paragraph

    deck = Document("presentation")
    deck.body.clear()
    page = DrawPage("p1", name="Plan")
    page.append(Paragraph("First the lamp"))
    deck.body.append(page)
    deck.save(path)


def pdf(path: Path) -> None:
    """By hand: one page, one line; no library here writes text into one."""
    stream = b"BT /F1 24 Tf 72 700 Td (Invoice 1001) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Title (An invoice) >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size 7 /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(out)
    path.write_bytes(out + b"xref\n0 7\n0000000000 65535 f \n" + table + end)


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "one")
        archive.writestr("in/b.txt", "two!")
        archive.mkdir("empty")


def tarred(path: Path) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in (("./a.txt", b"one"), ("in/b.txt", b"two!")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("away")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)


def sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE bookmark (id INTEGER, title TEXT)")
        database.executemany("INSERT INTO bookmark VALUES (?, ?)", [(1, "Lamps"), (2, "Desks")])
        database.commit()


def png(path: Path) -> None:
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (200, 100), "white")
    ImageDraw.Draw(picture).ellipse((20, 20, 80, 80), fill="navy")
    picture.save(path)


def wav(path: Path) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(2)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\0\0\0\0" * 16000)


TEXTS = {
    "note.txt": "Dear Ada,\nthe lamp is here.\n",
    "sales.csv": "Item;Price\nLamp;12,5\n",
    "data.json": '{"items": [{"id": 7, "open": true}]}',
    "data.yaml": "theme: dark\nsizes: [1, 2.5]\nborn: 2024-05-06\n",
    "data.toml": 'theme = "dark"\n[window]\nwidth = 800\n',
    "status.xml": '<?xml version="1.0"?><root><state at="1">playing</state><i>a</i><i>b</i></root>',
    "page.html": (
        "<html><title>Lamps</title><h1>All lamps</h1><a href='/7'>Desk lamp</a><script>x()</script>"
        "<table><tr><th>Name</th></tr><tr><td>Ada</td></tr></table></html>"
    ),
    "vlcrc": (
        "# a comment\n[qt] # the"
        " interface\nqt-bgcone=0\n#qt-max-volume=125\n[core]\nplay-and-exit=1\n"
    ),
    "prefs.js": (
        '// Mozilla\nuser_pref("browser.startup.homepage",'
        ' "https://shop.example/");\nuser_pref("a.b", 3);\n'
    ),
    "gimprc": (
        '# GIMP gimprc\n(theme "Light")\n(undo-levels 100)\n(default-image (width 10) (height'
        " 20))\n"
    ),
}
"""Formats that are written by hand, by name of file."""


def drawio_page(cells: str) -> str:
    """A page as it is packed: percent-encoded, deflated, in base64."""
    model = quote(f"<mxGraphModel><root>{cells}</root></mxGraphModel>").encode()
    packer = zlib.compressobj(wbits=-15)
    return base64.b64encode(packer.compress(model) + packer.flush()).decode()


def drawio(path: Path) -> None:
    cells = (
        '<mxCell id="a" value="VPC" style="ellipse;fillColor=#fff" vertex="1"/>'
        '<object id="e" label="To it"><mxCell edge="1" source="a" target="a"/></object>'
    )
    path.write_text(f'<mxfile><diagram name="One">{drawio_page(cells)}</diagram></mxfile>')


def svg(path: Path) -> None:
    spaces = (
        'xmlns="http://www.w3.org/2000/svg"'
        ' xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"'
    )
    inside = '<circle id="pt" style="fill:#ff5722; stroke:none"/><text>Scatter <tspan>Plot</tspan></text>'
    layer = f'<g inkscape:groupmode="layer" inkscape:label="Axes">{inside}</g>'
    path.write_text(f'<svg {spaces} width="600" height="300">{layer}</svg>')


MAKERS: dict[str, Callable[[Path], None]] = {
    "sales.xlsx": xlsx, "sales.ods": ods, "minutes.docx": docx, "minutes.odt": odt, "plan.pptx": pptx, "plan.odp": odp,
    "invoice.pdf": pdf, "all.zip": zipped, "all.tar.gz": tarred, "places.sqlite": sqlite, "dot.png": png,
    "quiet.wav": wav, "axes.svg": svg, "plan.drawio": drawio,
}  # fmt: skip


def make(folder: Path, name: str) -> Path:
    """The file of that name, made in ``folder``."""
    path = folder / name
    if name in TEXTS:
        path.write_text(TEXTS[name])
    else:
        MAKERS[name](path)
    return path
