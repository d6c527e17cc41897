"""OSWorld's tasks as ours: what becomes of each, and that a right and a wrong outcome are told
apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from api.tasks.task_files import check_task
from lab.benchmarks.base import BadSourceError
from lab.benchmarks.osworld import FUNCTIONS, coverage, tasks
from tests.detectors.tables_reads import told
from tests.importing.osworld_tasks import (
    ACTIVE,
    RIGHT_AND_WRONG,
    gold,
    imported,
    rule,
    task,
    vm,
    worth,
)
from tests.support.cases import CASES
from tests.support.logs import Said, went

OSWORLD = CASES / "osworld"
needs_cases = pytest.mark.shared_cases("osworld")


@pytest.mark.parametrize("function", RIGHT_AND_WRONG)
def test_a_right_outcome_pays_and_a_wrong_one_does_not(function: str, tmp_path: Path) -> None:
    """Each function that is covered, over what the sources would tell; doing nothing pays
    nothing."""
    spec, right, wrong = RIGHT_AND_WRONG[function]
    one = imported(tmp_path, spec)
    assert one.spec is not None, one.remarks
    check_task(one.spec)
    assert worth(one.spec, right) == 1.0
    assert worth(one.spec, wrong) == 0.0
    assert worth(one.spec, []) == 0.0


PLAIN = {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}
SLIDE = {"texts": ["Plan", "the  lamp"]}
NOT_READ: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"expect": ["^a"], "unexpect": ["^x"]}, "check_list", {"text": "abc"}),
    ({"unexpect": ["^x"]}, "check_list", {"text": "abc"}),
    ({"unexpect": [{"key": ["a"], "method": "eq", "ref": 1}]}, "check_json", {"value": {"b": 1}}),
    (
        {"unexpect": {"a.b": {"method": "eq", "ref": 1}}},
        "check_thunderbird_prefs",
        {"value": {"b": 1}},
    ),
    (
        {"unexpect": [{"n": {"method": "eq", "ref": "7"}}]},
        "check_csv",
        {"sheets": [{"rows": [["n"], ["8"]]}]},
    ),
]
"""What is forbidden, the function that forbids it, and facts in which it does not stand."""


@pytest.mark.parametrize(("rules", "function", "facts"), NOT_READ)
def test_what_was_not_read_may_be_forbidden(
    rules: Any, function: str, facts: Any, tmp_path: Path
) -> None:
    """A file that is damaged, too large, too heavy or gone fulfils no "none of these"; of one that
    is padded until it is cut nobody knows."""
    one = imported(tmp_path, task(function, vm("a"), rule(**rules)))
    as_ = {"check_thunderbird_prefs": "prefs", "check_csv": "csv"}.get(function, "auto")
    assert worth(one.spec, [told(facts, **{"as": as_})]) == 1.0
    assert worth(one.spec, [told(facts, cut=True, **{"as": as_})]) is None
    for status in ("damaged", "large", "heavy", "gone"):
        assert (
            worth(one.spec, [told(facts, **{"as": as_}), told(None, status=status, **{"as": as_})])
            == 0.0
        )
        assert worth(one.spec, [told(None, status=status, **{"as": as_})]) == 0.0


PATTERNS = task("is_expected_url_pattern_match", ACTIVE, rule(expected=["a\\.test/", "id=7"]))
SHEETS = task("compare_table", vm("a"), gold("gold.csv"), options={"rules": [PLAIN]})
ROWS = [["n", "x"], ["1", ""]]
ALMOST: list[tuple[dict[str, Any], list[Said], float | None]] = [
    (PATTERNS, [went("https://a.test/?id=7")], 1.0),
    (PATTERNS, [went("https://a.test/"), went("https://b.test/?id=7", tab="U")], 0.0),
    (PATTERNS, [went("https://a.test/?id=7"), went("https://b.test/")], 0.0),
    (SHEETS, [told({"sheets": [{"rows": ROWS, "size": [2, 2]}]})], 1.0),
    (SHEETS, [told({"sheets": [{"rows": [["n", "x"], ["1", "2"]], "size": [2, 2]}]})], 0.0),
    (SHEETS, [told({"sheets": [{"rows": [[*row, "more"] for row in ROWS], "size": [2, 3]}]})], 0.0),
    (SHEETS, [told({"sheets": [{"rows": ROWS, "size": [2, 2]}]}, cut=True)], 1.0),
    (SHEETS, [told({"sheets": [{"rows": ROWS, "size": [3, 2]}]}, cut=True)], 0.0),
    (SHEETS, [told({"sheets": [{"rows": ROWS[:1], "size": [2, 2]}]}, cut=True)], None),
    (SHEETS, [told({"sheets": [{"rows": ROWS}]}, cut=True)], None),
    (
        task("compare_pptx_files", vm("a"), gold("gold.pptx")),
        [told({"slides": [SLIDE, SLIDE], "count": 2})],
        0.0,
    ),
]
"""What comes close to the task, and what it pays."""


@pytest.mark.parametrize(("spec", "happened", "pays"), ALMOST)
def test_what_comes_close(
    spec: Any, happened: list[Said], pays: float | None, tmp_path: Path
) -> None:
    """Patterns in two tabs, or one that was left; a cell, a column, a slide more."""
    assert worth(imported(tmp_path, spec).spec, happened) == pays


@pytest.mark.parametrize(
    ("spec", "remark"),
    [
        (PATTERNS, "in front or not"),
        (
            task("is_expected_active_tab", ACTIVE, rule(type="url", url="https://a.test/")),
            "in front or not",
        ),
        (
            task(
                "is_expected_tabs",
                {"type": "open_tabs_info"},
                rule(type="url", urls=["https://a.test/"]),
            ),
            "other tabs",
        ),
    ],
)
def test_what_is_not_compared_is_said(spec: Any, remark: str, tmp_path: Path) -> None:
    """Which tab is in front can't be asked of any rule."""
    assert remark in imported(tmp_path, spec).remarks[-1]


ALIKE = [
    {"check_qt_max_volume", "check_qt_minimal_view", "check_one_instance_when_started_from_file",
     "is_vlc_recordings_folder", "check_qt_bgcone"},
    {"compare_docx_files", "compare_pdfs", "compare_python_pure_text", "compare_text_file"},
    {"compare_csv", "compare_table"},
    {"compare_archive", "compare_zip_files"},
    {"compare_images", "check_structure_sim_resized", "check_file_exists_and_structure_sim", "check_image_mirror",
     "check_palette_and_structure_sim", "check_saturation_increase_and_structure_sim",
     "check_contrast_increase_and_structure_sim", "check_brightness_decrease_and_structure_sim"},
    {"is_cookie_deleted", "check_history_deleted"},
    {"is_expected_active_tab", "is_expected_tabs"},
]  # fmt: skip
"""Functions that share their code with one of the table above."""


def test_every_function_is_in_the_table_or_alike_to_one() -> None:
    """None is covered by word alone."""
    for function in FUNCTIONS:
        peers = next((group for group in ALIKE if function in group), {function})
        assert peers & set(RIGHT_AND_WRONG), function


def test_two_functions_are_joined(tmp_path: Path) -> None:
    """By and, or by or."""
    text = {"func": ["file_contains"] * 2, "result": [vm("a"), vm("b")],
            "expected": [rule(expected=["x"]), rule(expected=["y"])]}  # fmt: skip
    for conj, pays in (("and", 0.0), ("or", 1.0)):
        one = imported(
            tmp_path / conj, {"id": "t", "instruction": "Do.", "evaluator": {**text, "conj": conj}}
        )
        assert worth(one.spec, [told({"text": "x"})]) == pays
        assert worth(one.spec, [told({"text": "x"}), told({"text": "y"}, "b")]) == 1.0


@pytest.mark.parametrize(
    ("spec", "kind", "why"),
    [
        (task("compare_videos", vm("a"), gold("x")), "external", "the function compare_videos"),
        (
            task("file_contains", {"type": "vm_wallpaper"}, rule(expected=["x"])),
            "external",
            "result of type vm_wallpaper",
        ),
        (
            task("file_contains", {"type": "vm_file", "path": "/etc/x"}, rule(expected=["x"])),
            "external",
            "/etc/x lies",
        ),
        (
            task("compare_text_file", vm("a"), gold("unknown")),
            "file",
            "its expected file is needed",
        ),
        (task("file_contains", vm("a"), rule(expected=[])), "external", "it asks for nothing"),
        (
            task("is_expected_url_pattern_match", ACTIVE, rule(expected=[])),
            "external",
            "it asks for nothing",
        ),
        (task("compare_text_file", vm("a"), gold("cut.txt")), "file", "gold/t/cut.txt.json: cut"),
        (
            task("compare_text_file", vm("a"), gold("bad.txt")),
            "file",
            "gold/t/bad.txt.json: status: damaged",
        ),
        (
            task("compare_table", vm("a"), gold("two.csv")),
            "external",
            "an expected table of 3 columns",
        ),
        (
            task("compare_csv", vm("a"), gold("gold.csv"), options={"strict": False}),
            "external",
            "a table compared with",
        ),
        *(
            (
                task("compare_table", vm("a"), gold("gold.csv"), options={"rules": [PLAIN, one]}),
                "external",
                "a table c",
            )
            for one in (
                {"type": "chart"},
                {**PLAIN, "sheet_idx0": 1},
                {**PLAIN, "sheet_idx1": "EI1"},
                {**PLAIN, "precision": 4},
                {"type": "freeze", "sheet_idx0": 0, "sheet_idx1": "EI0"},
            )
        ),
    ],
)
def test_what_can_not_be_judged_is_said(spec: Any, kind: str, why: str, tmp_path: Path) -> None:
    """And why; no task is made of it."""
    one = imported(tmp_path, spec)
    assert (one.spec, one.kind) == (None, kind)
    assert one.remarks[-1].startswith(why)


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSourceError, match=r"no \*\.json in it"):
        list(tasks(tmp_path, {}))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "a task: expected an object, got []"),
        ('{"id": "x"}', "instruction: expected a text, got None"),
        ('{"instruction": "Do.", "evaluator": {}}', "id: expected a text, got None"),
        ('{"id": 7, "instruction": "Do.", "evaluator": {}}', "id: expected a text, got 7"),
        ('{"id": "x", "instruction": "Do."}', "evaluator: expected an object, got None"),
    ],
)
def test_a_file_that_is_no_task_is_refused_by_its_field(
    tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(BadSourceError) as refusal:
        list(tasks(tmp_path, {}))
    assert f"x.json: {said}" in str(refusal.value)


@needs_cases
def test_the_groups_beside_the_project() -> None:
    """The table of docs/coverage.md, for the three groups that are here; every task of ours is one
    that is accepted."""
    assert [tuple(row) for row in coverage(OSWORLD).rows] == [
        ("gimp", 26, 10, 12, 1, 3, 15),
        ("os", 24, 8, 0, 16, 0, 24),
        ("vlc", 17, 2, 9, 3, 3, 13),
        ("all", 67, 20, 21, 20, 6, 52),
    ]
    for one in tasks(OSWORLD, {}):
        if one.spec is not None:
            check_task(one.spec)
