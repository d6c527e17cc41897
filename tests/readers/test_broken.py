"""Files that are broken by their own doing are told as damaged, which is no gap; and tables as they
are written."""

from __future__ import annotations

import io
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfWriter

from agentd.readers.bounds import DamagedError
from agentd.readers.sheets import damaged
from tests.readers.making import make
from tests.readers.reading import facts, told


def _repacked(path: Path, part: str, change: Callable[[bytes], bytes]) -> None:
    """The office file with one part changed and packed again, all its sums right."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, change(data) if name == part else data)


def _of_part(path: Path, part: str, change: Callable[[bytearray, int, int], None]) -> None:
    """The office file with bytes of one part's headers or stream changed in place: its local
    header, its list entry."""
    data = bytearray(path.read_bytes())
    name = part.encode()
    local = next(
        found.start()
        for found in re.finditer(b"PK\3\4", data)
        if data[found.start() + 30 :].startswith(name)
    )
    listed = next(
        found.start()
        for found in re.finditer(b"PK\1\2", data)
        if data[found.start() + 46 :].startswith(name)
    )
    change(data, local, listed)
    path.write_bytes(data)


def _flip(data: bytearray, local: int, listed: int) -> None:
    start = local + 30 + sum(struct.unpack_from("<HH", data, local + 26))
    data[start : start + 8] = b"\xff" * 8


def _lock(data: bytearray, local: int, listed: int) -> None:
    data[local + 6] |= 1
    data[listed + 8] |= 1


def _odd_packing(data: bytearray, local: int, listed: int) -> None:
    data[local + 8 : local + 10] = data[listed + 10 : listed + 12] = b"\x63\x01"


PARTS = {
    "minutes.docx": "word/document.xml", "sales.xlsx": "xl/worksheets/sheet1.xml", "plan.pptx": "ppt/slides/slide1.xml",
    "minutes.odt": "content.xml", "sales.ods": "content.xml", "plan.odp": "content.xml",
}  # fmt: skip
BREAKS: dict[str, Callable[[Path, str], None]] = {
    "half its XML": lambda path, part: _repacked(path, part, lambda data: data[: len(data) // 2]),
    "no XML": lambda path, part: _repacked(path, part, lambda data: b"<<" + data),
    "a flipped stream": lambda path, part: _of_part(path, part, _flip),
    "a password": lambda path, part: _of_part(path, part, _lock),
    "an unknown packing": lambda path, part: _of_part(path, part, _odd_packing),
}


@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("name", PARTS)
async def test_a_broken_office_file_is_damaged(name: str, broken: str, tmp_path: Path) -> None:
    """Not a fault of ours: else whoever breaks the file would blind the episode."""
    path = make(tmp_path, name)
    BREAKS[broken](path, PARTS[name])
    answer = await told(path, name.rpartition(".")[2])
    assert (answer["status"], answer["reason"][:3]) == ("damaged", "no "), answer


@pytest.mark.parametrize(
    "error", [SyntaxError, RuntimeError, NotImplementedError, OSError, zlib.error, struct.error]
)
def test_what_libraries_raise_over_bad_files(error: type[Exception]) -> None:
    """All of it."""
    with pytest.raises(DamagedError, match="no PDF: so"), damaged("PDF"):
        raise error("so")


def test_what_is_too_deep_is_not_called_broken() -> None:
    """RecursionError is a RuntimeError, and heavy."""
    with pytest.raises(RecursionError), damaged("PDF"):
        raise RecursionError


async def test_of_a_pdf_that_a_password_locks_only_that_is_told(tmp_path: Path) -> None:
    """It is not cut: nobody has left anything out. An owner's password alone locks nothing."""
    for user, expected in (("secret", {"encrypted": True}), ("", None)):
        writer = PdfWriter(clone_from=make(tmp_path, "invoice.pdf"))
        writer.encrypt(user, "owner", algorithm="RC4-128")
        writer.write(tmp_path / "a.pdf")
        answer = await told(tmp_path / "a.pdf")
        assert (answer["status"], answer.get("cut", False)) == ("read", False)
        if expected is None:
            assert answer["facts"]["count"] >= 1
        else:
            assert answer["facts"] == expected


LONG = "1" * 200
CSV: list[tuple[str, list[list[str]]]] = [
    ('a,b\n"say ""x""",2\n', [["a", "b"], ['say "x"', "2"]]),
    (
        f"a,b\n{LONG},x\n" * 50 + '"say ""x""",2\n',
        [*[["a", "b"], [LONG, "x"]] * 50, ['say "x"', "2"]],
    ),
    ('a,b\n"one\ntwo",2\n', [["a", "b"], ["one\ntwo", "2"]]),
    ('a;b\r\n"one\r\ntwo";2\r\n', [["a", "b"], ["one\r\ntwo", "2"]]),
    (
        "a,b\none\u2028two,2\nx\x0by\x0cz\x85w,3\n",
        [["a", "b"], ["one\u2028two", "2"], ["x\x0by\x0cz\x85w", "3"]],
    ),
    ("a\tb\n1\t2\n", [["a", "b"], ["1", "2"]]),
    ("one\n", [["one"]]),
]


@pytest.mark.parametrize(("text", "rows"), CSV)
async def test_a_table_is_read_as_it_is_written(
    text: str, rows: list[list[str]], tmp_path: Path
) -> None:
    """Quotes are doubled whatever the beginning has; newlines within them stay; nothing but a
    newline ends a row."""
    (tmp_path / "a.csv").write_bytes(text.encode())
    (sheet,) = (await facts(tmp_path / "a.csv"))["sheets"]
    assert sheet["size"] == [len(rows), max(map(len, rows))]
    assert sheet["rows"] == rows[: len(sheet["rows"])]


async def test_an_open_quote_is_damage(tmp_path: Path) -> None:
    """As ever."""
    (tmp_path / "a.csv").write_text('a,b\n"one,2\n')
    assert (await told(tmp_path / "a.csv"))["status"] == "damaged"


async def test_what_is_no_file_is_marked(tmp_path: Path) -> None:
    """A link in a zip; a pipe and a device in a tar."""
    link = zipfile.ZipInfo("away")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", "one")
        archive.writestr(link, "/etc/passwd")
    found: dict[str, Any] = await facts(tmp_path / "a.zip")
    assert found["entries"] == [
        {"name": "a.txt", "size": 3},
        {"name": "away", "size": 11, "link": True},
    ]
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, kind in (
            ("pipe", tarfile.FIFOTYPE),
            ("disk", tarfile.BLKTYPE),
            ("tty", tarfile.CHRTYPE),
        ):
            one = tarfile.TarInfo(name)
            one.type = kind
            tar.addfile(one)
        plain = tarfile.TarInfo("a.txt")
        plain.size = 3
        tar.addfile(plain, io.BytesIO(b"one"))
    listed = (await facts(tmp_path / "a.tar"))["entries"]
    assert [(one["name"], one.get("special", False)) for one in listed] == [
        ("pipe", True), ("disk", True), ("tty", True), ("a.txt", False),
    ]  # fmt: skip


async def test_what_a_reader_left_out_itself_is_told_as_cut(tmp_path: Path) -> None:
    """Rows of a query beyond the most, sheets beyond the most: the rest may say anything."""
    make(tmp_path, "places.sqlite")
    many = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 600) SELECT i FROM n"
    )
    assert (await told(tmp_path / "places.sqlite", query=many))["cut"] is True
    from openpyxl import Workbook

    book = Workbook()
    for n in range(40):
        book.create_sheet(f"s{n}")
    book.save(tmp_path / "many.xlsx")
    assert (await told(tmp_path / "many.xlsx"))["cut"] is True
    wide = Workbook()
    assert wide.active is not None
    wide.active.cell(1, 300).value = None
    wide.active.cell(1, 1).value = "x"
    wide.save(tmp_path / "wide.xlsx")
    assert "cut" not in await told(tmp_path / "wide.xlsx")
    wide.active.cell(1, 300).value = "far out"
    wide.save(tmp_path / "wide.xlsx")
    assert (await told(tmp_path / "wide.xlsx"))["cut"] is True
