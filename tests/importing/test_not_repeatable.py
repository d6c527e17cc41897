"""What no other run can repeat, or nobody sees, in tasks of the importers that know no start state:
what looks drawn is named, a secret is asked by nothing, counts alone and contradictions make no task.

A benchmark's own data do not say whether a code was there before the agent came. So the code stays
asked; that it may never be met again is told at import.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from detectors.model.json_value import objects_in
from lab.benchmarks import miniwob, opencomputer, webcanvas
from lab.benchmarks.base import Imported
from lab.benchmarks.miniwob.instance import Instance
from lab.benchmarks.miniwob.plan import UnobservableError
from tests.importing import osworld_tasks as osworld
from tests.importing.test_opencomputer import D, check, imported, task

UUID, CARD = "0b9f4c2e-7d1a-4f35-9c6e-2a7b18d3e501", "4111 1111 1111 1111"
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
SAID = "may be drawn anew in each run, and then nobody meets it: "


def opencomputer_task(folder: Path, app: str, *checks: dict[str, Any], text: str = "") -> Imported:
    """The one task of these checks, about a workbook where it is about one."""
    words = f"{text} Save it as {D}a.xlsx."
    made: list[Imported] = imported(folder, {**task(app, *checks), "task": words})
    return made[0]


@pytest.mark.parametrize(
    ("app", "command", "drawn"),
    [
        ("gedit", f"check-file-contains {D}a.txt '{UUID}'", UUID),
        ("gedit", f"check-file-line {D}a.txt 1 'Saved 2026-03-02T10:11:12Z'", "2026-03-02T10:11:12Z"),
        ("gedit", f"check-file-contains {D}a.txt 'on Mar 2, 2026, 10:11 AM'", "Mar 2, 2026, 10:11 AM"),
        ("gedit", f"check-file-exists {D}export-2026-03-02-101112.txt", "2026-03-02-101112"),
        ("gimp", f"check-file-exists '{D}Shot 2026-03-02 10-11-12.png'", "2026-03-02 10-11-12"),
        ("libreoffice_calc", f"check-cell-value B2 {UUID}", UUID),
        ("firefox", f"check-url-visited https://shop.test/cart?cart={UUID}", UUID),
        ("chrome", f"check-tab-open shop.test/carts/{UUID}", UUID),
        ("thunderbird", f"check-pref-value mail.identity.id1.uuid {UUID}", UUID),
    ],
)  # fmt: skip
def test_what_looks_drawn_is_named_unless_the_instruction_names_it(
    app: str, command: str, drawn: str, tmp_path: Path
) -> None:
    one = opencomputer_task(tmp_path, app, check(command), text="Do it.")
    assert one.remarks == (f"{SAID}{drawn}",)
    assert opencomputer_task(tmp_path, app, check(command), text=f"Do {drawn}.").remarks == ()


def test_a_moment_of_a_day_that_the_instruction_names_was_not_drawn(tmp_path: Path) -> None:
    stamp = check(f"check-file-contains {D}a.txt '2026-03-02T10:11:12Z'")
    assert opencomputer_task(tmp_path, "gedit", stamp, text="Due March 2.").remarks == ()
    assert opencomputer_task(tmp_path, "gedit", stamp, text="Due March 3.").remarks != ()


@pytest.mark.parametrize(
    ("spec", "drawn"),
    [
        (osworld.task("file_contains", osworld.vm("a"), osworld.rule(expected=[UUID])), UUID),
        (
            osworld.task("compare_config", osworld.vm("a"), osworld.rule(expected="a\n2026-03-02 10:11:12\n")),
            "2026-03-02 10:11:12",
        ),
        (
            osworld.task("check_json", osworld.vm("a"), osworld.rule(expect=[{"key": ["createdAt"], "method": "eq", "ref": 1767348672}])),
            "1767348672",
        ),
        (
            osworld.task("check_moved_jpgs", {"type": "list_directory", "path": "/home/user/in"}, osworld.rule(expected=["IMG_20260302_101112.jpg"])),
            "20260302_101112",
        ),
        (osworld.task("exact_match", osworld.COMMAND, osworld.rule(expected="run 9f1c2e770b3a4d1e")), "9f1c2e770b3a4d1e"),
    ],
)  # fmt: skip
def test_of_osworld_s_too(spec: dict[str, Any], drawn: str, tmp_path: Path) -> None:
    assert osworld.imported(tmp_path, spec).remarks[-1] == f"{SAID}{drawn}"


@pytest.mark.parametrize(
    "spec",
    [
        osworld.task("check_json", osworld.vm("a"), osworld.rule(expect=[{"key": ["apiKey"], "method": "eq", "ref": "abcd"}])),
        osworld.task("check_thunderbird_prefs", osworld.vm("a"), osworld.rule(expect={"mail.password": {"method": "eq", "ref": "abcd"}})),
        osworld.task("file_contains", osworld.vm("a"), osworld.rule(expected=[f"paid by {CARD}"])),
        osworld.task("exact_match", osworld.COMMAND, osworld.rule(expected=TOKEN)),
    ],
)  # fmt: skip
def test_a_secret_makes_no_task_of_osworld_s(spec: dict[str, Any], tmp_path: Path) -> None:
    one = osworld.imported(tmp_path, spec)
    assert (one.spec, one.kind) == (None, "external")
    assert one.remarks[-1] == "a secret, which the daemon masks"


def test_a_secret_is_no_check_of_opencomputer_s(tmp_path: Path) -> None:
    card, name = check(f"check-cell-value B2 '{CARD}'"), check("check-cell-value A1 Tea")
    one = opencomputer_task(tmp_path, "libreoffice_calc", card, name)
    assert one.kind == opencomputer.PART
    assert one.remarks == ("check 1: a secret, which the daemon masks",)
    assert opencomputer_task(tmp_path, "libreoffice_calc", card).kind == opencomputer.REFUSED


def test_a_secret_is_no_node_of_webcanvas_and_no_instance_of_miniwob(tmp_path: Path) -> None:
    content = {"url": "https://shop.test/", "netloc": "shop", "reference_answer": CARD, "path": "#card"}  # fmt: skip
    node = {"match_function_name": "element_value_exactly_match", "content": content}
    other = {**node, "content": {**content, "reference_answer": "Ada"}}
    tasks = [{"index": 1, "task": "Pay.", "evaluation": [node, other]}]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    [one] = webcanvas.tasks(tmp_path, {})
    assert one.spec is not None
    steps = objects_in(one.spec["milestones"])
    assert [step["id"] for step in steps] == ["node-2", "goal"]
    assert one.remarks == ("node 1: asks for a secret, which the daemon masks",)
    words = f'Enter "{TOKEN}" into the text field and press Submit.'
    with pytest.raises(UnobservableError, match="the daemon masks"):
        miniwob.task_of(Instance("enter-text", words))


@pytest.mark.parametrize(
    ("app", "commands"),
    [
        ("pcmanfm", [f"check-file-count {D} 3"]),
        ("gedit", [f"check-file-line-count {D}a.txt 2"]),
        ("drawio", [f"check-vertex-count {D}a.drawio 2", f"check-page-count {D}a.drawio 2"]),
    ],
)
def test_what_only_counts_makes_no_task(app: str, commands: list[str], tmp_path: Path) -> None:
    """A file, line or shape more, whatever it is, would be paid."""
    counts = [*map(check, commands)]
    one = opencomputer_task(tmp_path, app, *counts)
    assert (one.spec, one.kind) == (None, opencomputer.REFUSED)
    assert one.remarks[-1].startswith("it only counts")
    there = check(f"check-file-exists {D}new.txt")
    assert opencomputer_task(tmp_path, app, *counts, there).spec is not None


def test_checks_that_contradict_each_other_make_no_task(tmp_path: Path) -> None:
    command = f"check-file-contains {D}a.txt Tea"
    one = opencomputer_task(tmp_path, "gedit", check(command), check(command, expected=False))
    why = "checks 1 and 2 contradict each other: its own solution fails"
    assert (one.spec, one.remarks) == (None, (why,))
