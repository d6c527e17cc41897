"""Files that are made to hurt: each is told with a status in bounded time, by a process that is not
the daemon's."""

from __future__ import annotations

import asyncio
import bz2
import io
import os
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from agentd.readers import asking, bounds
from agentd.readers.bounds import MAX_BYTES, MAX_ITEMS, fit_facts
from agentd.readers.request import Facts
from detectors.model.kinds.limits import READ_ENDS as ENDS
from detectors.model.kinds.limits import READ_ITEMS, READ_KEY
from tests.detectors.tables_reads import told as told_read
from tests.readers.making import make, sqlite
from tests.readers.reading import facts, told
from tests.support.logs import episode, ruleset, run

LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><x>&b;</x>'
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{one}: &{one} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, one in zip("abcdefgh", "bcdefghi", strict=True)
)


def _zip_bomb(path: Path) -> None:
    """An office file, 300 kB, that unpacks to 300 MB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (300 << 20))


def _lying_zip(path: Path) -> None:
    """One whose list says that its part is small."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", b"<a>" * (40 << 20))
    size = struct.pack("<I", 120 << 20)
    path.write_bytes(out.getvalue().replace(size, struct.pack("<I", 64)))


def _tar_bomb(path: Path) -> None:
    info = tarfile.TarInfo("zeros")
    info.size = 400 << 20
    packer = bz2.BZ2Compressor()
    with path.open("wb") as out:
        out.write(packer.compress(info.tobuf()))
        for _ in range(400):
            out.write(packer.compress(bytes(1 << 20)))
        out.write(packer.flush())


def _huge_picture(path: Path) -> None:
    """A PNG's head that claims 100,000 by 100,000 pixels."""
    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    start = (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", len(head))
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
    )
    path.write_bytes(start + b"\0\0\0\0IDAT" + struct.pack(">I", zlib.crc32(b"IDAT")))


BAD: dict[str, tuple[str, Callable[[Path], object], set[str]]] = {
    "entities": ("a.xml", lambda path: path.write_text(LAUGHS), {"heavy"}),
    "aliases": ("a.yaml", lambda path: path.write_text(ALIASES), {"read"}),
    "deep json": ("a.json", lambda path: path.write_text("[" * 100_000), {"damaged"}),
    "deep yaml": ("a.yaml", lambda path: path.write_text("[" * 100_000), {"damaged", "heavy"}),
    "deep html": ("a.html", lambda path: path.write_text("<html>" + "<div>" * 100_000), {"read", "damaged"}),
    "zip bomb": ("a.xlsx", _zip_bomb, {"heavy"}),
    "lying zip": ("a.docx", _lying_zip, {"damaged", "heavy"}),
    "tar bomb": ("a.tar.bz2", _tar_bomb, {"heavy"}),
    "huge picture": ("a.png", _huge_picture, {"heavy"}),
    "half a zip": ("a.zip", lambda path: path.write_bytes(b"PK\3\4" + b"\0" * 40), {"damaged"}),
    "half a PDF": ("a.pdf", lambda path: path.write_bytes(b"%PDF-1.4\n1 0 obj\n<<"), {"damaged"}),
    "half a database": ("a.sqlite", lambda path: path.write_bytes(b"SQLite format 3\0" + b"x" * 2000), {"damaged"}),
    "no text": ("a.txt", lambda path: path.write_bytes(bytes(range(256))), {"damaged"}),
    "no sound": ("a.mp3", lambda path: path.write_text("no sound"), {"damaged"}),
    "no prefs": ("prefs.js", lambda path: path.write_text('user_pref("a", system("x"));'), {"damaged"}),
    "open brackets": ("gimprc", lambda path: path.write_text("(a (b"), {"damaged"}),
}  # fmt: skip


LONG = {"zip bomb", "lying zip", "tar bomb", "deep yaml"}
"""These cost a second or two of one core each."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case in LONG)) for case in BAD]
)
async def test_a_bad_file_is_told_as_one(case: str, tmp_path: Path) -> None:
    """With a status and why; of a file that only unfolds to much, what fits."""
    name, write, statuses = BAD[case]
    write(tmp_path / name)
    answer = await told(
        tmp_path / name, name.rpartition(".")[2] if name.endswith(("xlsx", "docx", "pdf")) else None
    )
    assert answer["status"] in statuses, answer
    assert answer["status"] == "read" or answer["reason"]
    assert answer["status"] != "read" or case != "aliases" or answer["cut"] is True


async def test_a_reader_that_is_late_is_ended(tmp_path: Path) -> None:
    """A pipe that nobody writes to would be waited for without end; it says nothing of the file."""
    reading, writing = os.pipe()
    try:
        from agentd.readers.asking import read_in_child

        answer = await read_in_child(reading, "text", 1.0)
    finally:
        os.close(reading)
        os.close(writing)
    assert answer == {"status": "slow", "reason": "not read within 1 s"}


@pytest.mark.slow
async def test_processor_time_is_the_file_s_own(tmp_path: Path) -> None:
    """A query without end is stopped by the process's own limit, long before a slow machine's
    deadline."""
    sqlite(tmp_path / "a.sqlite")
    forever = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    )
    answer = await told(tmp_path / "a.sqlite", query=forever)
    assert (answer["status"], answer["reason"]) == ("heavy", "the reader ended with signal 24")


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM bookmark",
        "ATTACH '/tmp/x' AS x",
        "PRAGMA query_only = 0",
        "SELECT load_extension('x')",
    ],
)
async def test_a_query_only_reads(query: str, tmp_path: Path) -> None:
    """Whatever the task's author wrote."""
    sqlite(tmp_path / "a.sqlite")
    before = (tmp_path / "a.sqlite").read_bytes()
    assert (await told(tmp_path / "a.sqlite", query=query))["status"] == "damaged"
    assert (tmp_path / "a.sqlite").read_bytes() == before


def _all(folder: Path) -> list[tuple[str, int, bytes]]:
    return [
        (one.name, one.stat().st_mtime_ns, one.read_bytes()) for one in sorted(folder.iterdir())
    ]


async def test_a_database_that_is_open_is_read_with_its_log(tmp_path: Path) -> None:
    """What a running program has committed counts, though it stands in the write-ahead log; both
    stay as they are."""
    path = tmp_path / "a.sqlite"
    sqlite(path)
    program = sqlite3.connect(path)
    program.execute("PRAGMA journal_mode = wal")
    program.execute("INSERT INTO bookmark VALUES (3, 'Chairs')")
    program.commit()
    query = "SELECT title FROM bookmark WHERE id = 3"
    wal = os.open(tmp_path / "a.sqlite-wal", os.O_RDONLY)
    try:
        before = _all(tmp_path)
        found = await facts(path, query=query, wal=wal)
        assert _all(tmp_path) == before
    finally:
        os.close(wal)
        program.close()
    assert found["sheets"][0]["rows"] == [["title"], ["Chairs"]]
    alone = await facts(path, query="SELECT count(*) AS n FROM bookmark")
    assert alone["sheets"][0]["rows"] == [["n"], [3]], "closed, it is all in one file again"


async def test_a_file_longer_than_its_bound_says_so(tmp_path: Path) -> None:
    """The text is cut at the end, a table at its last rows; nothing is told that was not there."""
    (tmp_path / "a.txt").write_text("lamp\n" * 100_000)
    answer = await told(tmp_path / "a.txt")
    assert (answer["status"], answer["cut"], answer["facts"]["lines"]) == ("read", True, 100_000)
    assert ("lamp\n" * 100_000).startswith(answer["facts"]["text"])
    (tmp_path / "a.csv").write_text("n,name\n" + "".join(f"{n},lamp\n" for n in range(3000)))
    table = (await told(tmp_path / "a.csv"))["facts"]["sheets"][0]
    assert table["size"] == [3001, 2]
    assert len(table["rows"]) <= MAX_ITEMS
    with (tmp_path / "big.txt").open("wb") as big:
        big.truncate(64 << 20)
    assert (await told(tmp_path / "big.txt", "text"))["status"] == "large"


def test_facts_always_fit() -> None:
    """However they are made."""
    import orjson

    for value in (
        {"a": "é" * 100_000},
        {"a": [["x" * 1000] * 1000] * 1000},
        {"a": {str(n): n for n in range(100_000)}},
    ):
        clipped, cut = fit_facts(value)
        assert cut
        assert len(orjson.dumps(clipped)) <= MAX_BYTES


def test_rules_know_where_texts_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is cut, a text of any other length is whole."""
    lengths = set()
    for room in (27, 40, 50, 100, 200, 300, 600, 1_500, 3_000, 7_000, 9_000, 20_000, 40_000):
        monkeypatch.setattr(bounds, "MAX_BYTES", room)
        lengths.add(len(fit_facts({"text": "x" * 50_000})[0]["text"]))
    assert lengths == ENDS


def test_rules_know_where_lists_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is cut, a list or an object of any other length is whole; a key of fewer characters,
    too."""
    lengths = set()
    for power in range(30):
        monkeypatch.setattr(bounds, "MAX_BYTES", int(20 * 1.2**power))
        for value in ([7] * 3_000, {str(n): 7 for n in range(3_000)}):
            clipped, cut = fit_facts({"value": value})
            assert cut
            lengths.add(len(clipped.get("value", ())))
    assert lengths - {0} == READ_ITEMS
    monkeypatch.undo()
    assert max(map(len, fit_facts({"k" * 300: 1})[0])) == READ_KEY


SHEETS = {
    "sheets": [
        {"name": "a", "rows": [[f"{row}.{n}" for n in range(7)] for row in range(9)], "size": [9, 7]},
        {"name": "b", "rows": [["w" * (5 * n + 1) for n in range(12)]] * 40, "size": [40, 12]},
    ]
}  # fmt: skip
VALUES = {
    "value": {
        "few": {"a": 1},
        "list": ["x" * n for n in range(40)],
        "many": {f"k{n}": n for n in range(90)},
    }
}
OF_SHEETS: list[dict[str, object]] = [
    {"cells": {"A9": "8.0", "G9": "8.6"}}, {"cells": {"A10": ""}}, {"row": {"0.0": "8.0", "0.6": "8.6"}},
    {"row": {"0.0": "9.0"}}, {"rows": 9}, {"rows": 10}, {"sheet": "b", "rows": 40}, {"sheet": "b", "rows": 25},
    {"table": {"table": [[f"{row}.{n}" for n in range(7)] for row in range(9)], "header": False}},
    {"table": {"table": [[f"{row}.{n}" for n in range(7)] for row in range(8)], "header": False}},
    {"sheet": "b", "cells": {"L40": "w" * 56}}, {"sheet": "b", "cells": {"L40": "w" * 31}},
]  # fmt: skip
OF_VALUES: list[dict[str, object]] = [
    {"at": ["few", "a"], "value": 1}, {"at": ["few", "b"], "value": None}, {"at": ["many", "k89"], "value": 89},
    {"at": ["many", "k90"], "value": None}, {"at": ["list", "39"], "value": "x" * 39}, {"at": ["none"], "value": None},
    {"at": ["list", "40"], "value": None}, {"at": ["list", "16"], "value": "x" * 16}, {"at": ["many", "k90"], "value": 1},
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "whole", "args"),
    [("table_cells", SHEETS, one) for one in OF_SHEETS] + [("file_value", VALUES, one) for one in OF_VALUES],
)  # fmt: skip
def test_of_what_is_cut_a_rule_says_what_it_says_of_the_whole_or_nothing(
    monkeypatch: pytest.MonkeyPatch, rule: str, whole: Facts, args: dict[str, object]
) -> None:
    milestone = {"id": "m", "component": "ui", "when": {rule: {"path": "a", **args}}}
    rules = ruleset(milestone, weights={"ui": 1.0})

    def paid(facts: Facts, cut: bool) -> float | None:
        return run(rules, *episode([told_read(facts, format="json", cut=cut)]))[0].reward

    expected = paid(whole, False)
    for room in (60, 90, 200, 300, 500, 900, 1_500, 2_500, 4_000, 8_000, 12_000):
        monkeypatch.setattr(bounds, "MAX_BYTES", room)
        assert paid(*fit_facts(whole)) in (expected, None), room


async def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Without the extra the daemon goes on, and the answer says what to install."""
    script = (
        "import sys; sys.modules['openpyxl'] = None\n"
        "from agentd.readers import child; child.main()"
    )  # fmt: skip
    import sys

    with make(tmp_path, "sales.xlsx").open("rb") as file:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            script,
            '{"format": "xlsx"}',
            stdin=file,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await process.communicate()
    assert b'"status":"unavailable"' in out
    assert b"milestoned[readers]" in out


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"


@pytest.mark.parametrize(("budget_s", "status"), [(60.0, "heavy"), (0.3, "slow")])
async def test_a_reader_that_is_killed_leaves_no_copy_of_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget_s: float, status: str
) -> None:
    """A view that never ends has the reader killed, each time that somebody looks: what it copied
    would fill the disk."""
    path, temporary = tmp_path / "a.sqlite", tmp_path / "temporary"
    sqlite(path)
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(asking, "_ENVIRONMENT", {**asking._ENVIRONMENT, "TMPDIR": str(temporary)})
    program = sqlite3.connect(path)
    program.execute("PRAGMA journal_mode = wal")
    program.execute(f"CREATE VIEW orders AS {ENDLESS}")
    program.commit()
    wal = os.open(tmp_path / "a.sqlite-wal", os.O_RDONLY)
    try:
        answer = await told(path, "sqlite", budget_s, query="SELECT * FROM orders", wal=wal)
    finally:
        os.close(wal)
        program.close()
    assert answer["status"] == status
    assert list(temporary.iterdir()) == []
