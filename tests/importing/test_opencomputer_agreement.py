"""Ours and theirs over end states that are made of a check's own parameters: that both say the same, and that
it shows where they do not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lab.benchmarks import opencomputer
from lab.benchmarks.opencomputer.base import HOME, in_file
from tests.importing.opencomputer_agreement import (
    BEGIN,
    END,
    Compared,
    change_word,
    compare_check,
    compare_checks,
    is_lasting,
    main,
    tables,
)
from tests.importing.opencomputer_theirs import is_met
from tests.importing.test_coverage_page import PAGE
from tests.importing.test_opencomputer import OPENCOMPUTER, check, needs_cases, task

D = f"{HOME}Documents/"
EVERY = 40
"""Of the checks so many are compared beside the table, which the command compares all of."""


def compared(app: str, one: dict[str, Any], document: str = "") -> Compared:
    """A check of a task of its own, compared."""
    of = task(app, one, document=document)
    [(_, told, why)] = opencomputer.read_checks(of)
    assert told is not None, why
    return compare_check(of, one, told)


ALIKE: list[tuple[str, dict[str, Any], str, int]] = [
    ("libreoffice_calc", check("check-cell-value B2 55000 Sales"), "a.xlsx", 2),
    ("libreoffice_calc", check("cell-value B2", "abs((result.get('value') or 0) - 120) < 1.0"), "a.xlsx", 2),
    ("libreoffice_calc", check("check-file-saved"), "a.xlsx", 1),
    ("libreoffice_writer", check("parse-tables", "any(len(t.get('data', [])) >= 5 and t['data'][1][0] == 'Lamp' for t in result.get('tables', []))"), "a.odt", 2),
    ("libreoffice_writer", check("check-text-contains OldCo", expected=False), "a.odt", 1),
    ("libreoffice_impress", check("check-notes-contain 1 slowly"), "a.pptx", 2),
    ("libreoffice_draw", check("check-shape-count 0 5"), "a.odg", 2),
    ("gedit", check(f"check-file-line {D}a.txt 2 b"), "", 2),
    ("pcmanfm", check(f"check-file-count {D}inbox 0"), "", 2),
    ("pcmanfm", check(f"check-file-exists {D}a.txt", expected=False), "", 1),
    ("gimp", check(f"check-file-dimensions {D}a.png 80 60"), "", 2),
    ("drawio", check(f"check-label-exists {D}a.drawio VPC"), "", 2),
    ("thunderbird", check("check-draft-content 'Helix Labs' 'Helix'"), "", 2),
    ("chrome", check("check-url-visited site.test/a"), "", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("app", "one", "document", "wrong"),
    ALIKE,
    ids=[f"{row[0]}: {row[1]['command']}" for row in ALIKE],
)
def test_both_say_the_same_of_each_end_state(
    app: str, one: dict[str, Any], document: str, wrong: int
) -> None:
    found = compared(app, one, document)
    assert (found.unlike, found.unmade) == ([], "")
    assert found.states == {"right": 1, "untouched": 1, "wrong": wrong}


LOOSER = {
    "any value": in_file("table_cells", "Documents/a.xlsx", cells={"B2": {"regex": ".+"}}),
    "any cell": in_file("file_text", "Documents/a.xlsx", text={"contains": "55000"}),
}


@pytest.mark.parametrize("name", LOOSER)
def test_a_condition_that_takes_more_or_less_than_theirs_shows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = check("check-cell-value B2 55000")
    of = task("libreoffice_calc", one, document="a.xlsx")
    [(_, told, _)] = opencomputer.read_checks(of)
    assert told is not None
    condition = opencomputer._condition_of
    monkeypatch.setattr(opencomputer, "_condition_of", lambda number, one: LOOSER[name])
    found = compare_check(of, one, told)
    assert condition(1, told) == told.when
    assert any("theirs says" in why for why in found.unlike)
    assert f"- libreoffice_calc, `{one['command']}`: " in tables([found])


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("VPC", "VPq"),
        ("Iraq", "Irak"),
        ("B9", "B0"),
        ("55000", "55001"),
        ("2.5", "12.5"),
        ("true", "false"),
        (f"{D}a.txt", f"{D}other-a.txt"),
        ("#dae8fc", "#dae8fq"),
        ("---", "---q"),
    ],
)
def test_a_changed_word_is_like_it_and_another(word: str, other: str) -> None:
    assert change_word(word) == other


def test_what_no_library_makes_or_reads_is_said() -> None:
    assert compared("vlc", check(f"check-media-format {D}a.mp4 mp4")).unmade == "a medium: .mp4"


def test_an_expression_calls_nothing_but_what_its_forms_call(tmp_path: Path) -> None:
    one = check("parse-tables", "__import__('os').getpid() > 0")
    with pytest.raises(NameError):
        is_met("libreoffice_writer", one, _written(tmp_path), "a.odt")


def _written(home: Path) -> Path:
    from tests.importing.opencomputer_files import text

    text(home / "a.odt", ("p", "x"))
    return home


@needs_cases
def test_a_share_of_the_checks_agrees() -> None:
    """Of every program; the command compares all."""
    found = [*compare_checks(OPENCOMPUTER, EVERY)]
    assert len(found) >= 45
    assert [(one.app, one.check["command"], one.unlike) for one in found if one.unlike] == []
    assert sum(not one.unmade for one in found) >= 0.9 * len(found)


def test_the_table_is_written_between_its_marks(tmp_path: Path) -> None:
    line = json.dumps(task("gedit", check(f"check-file-contains {D}a.txt two words")))
    (tmp_path / "tasks.jsonl").write_text(line)
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n{BEGIN}An old table.\n{END}\nAfter.\n")
    assert main([str(tmp_path), "--into", str(page)]) == 0
    written = page.read_text()
    assert written.startswith(
        f"Before.\n{BEGIN}Of 1 checks that a file or a profile decides, 1 agree (100.0%)"
    )
    assert written.endswith(f"{END}\nAfter.\n")
    assert "| gedit | 1 | 1 | 1 | 1 | 2 | 1 |" in written
    assert "An old table" not in written


@needs_cases
def test_the_published_table_is_of_all_checks() -> None:
    said = re.search(rf"{BEGIN}Of (\d+) checks that a file or a profile decides, (\d+) agree", PAGE)
    assert said is not None
    asked, agree = map(int, said.groups())
    tasks = [json.loads(line) for line in (OPENCOMPUTER / "tasks.jsonl").read_text().splitlines()]
    every = [
        one
        for of in tasks
        for one, told, _ in opencomputer.read_checks(of)
        if told is not None and told.when and is_lasting(one, of["app"])
    ]
    assert asked == len(every)
    assert agree >= 0.95 * asked
