"""OSWorld's tasks that are oddly put: each becomes a task that is accepted, or is external and says
why; none ends the import. And what no trick is paid, numbered as in
tests/detectors/test_immunity.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import main
from api.tasks.task_files import check_task
from lab.benchmarks.osworld import coverage, tasks
from tests.detectors.tables_reads import told
from tests.importing.osworld_tasks import (
    ACTIVE,
    COMMAND,
    gold,
    imported,
    line,
    rule,
    task,
    vm,
    worth,
)
from tests.support.logs import Said, answered

NOT_THERE = task("is_extension_installed", COMMAND, rule(type="not_contain", expected="ms.python"))
SILENT = task("check_include_exclude", COMMAND, rule(include=[], exclude=["not found"]))
FAVOURITE = task("check_gnome_favorite_apps", COMMAND, rule(expected=["a.desktop"]))
LOUD = {"ignore_case": True, "ignore_blanks": True}
SAID: list[tuple[dict[str, Any], list[Said], float]] = [
    (NOT_THERE, [line("ms.go\n")], 1.0),
    (NOT_THERE, [line("")], 1.0),
    (NOT_THERE, [line("ms.go\nms.python\n")], 0.0),
    (SILENT, [line("/usr/bin/spotify")], 1.0),
    (SILENT, [line("spotify: not found")], 0.0),
    (FAVOURITE, [line("['a.desktop']\n")], 1.0),
    (FAVOURITE, [line("['a.desktop', 'b.desktop']\n")], 0.0),
    (FAVOURITE, [line("@as []\n")], 0.0),
    (task("file_contains", vm("a"), rule(expected=["lamp", ""])), [told({"text": "a lamp"})], 1.0),
    (task("file_contains", vm("a"), rule(expected=["lamp", ""])), [told({"text": "a desk"})], 0.0),
    (
        task("compare_docx_files", vm("a"), gold("gold.txt"), options=LOUD),
        [told({"text": "DEAR ada,"})],
        1.0,
    ),
    (task("compare_docx_files", vm("a"), gold("gold.txt")), [told({"text": "DEAR ada,"})], 0.0),
]


@pytest.mark.parametrize(("spec", "happened", "pays"), SAID)
def test_what_is_oddly_asked_for_is_asked_for(
    spec: dict[str, Any], happened: list[Said], pays: float, tmp_path: Path
) -> None:
    """What must not be said, alone: a command that says nothing at all, and did not run, fulfils
    nothing."""
    one = imported(tmp_path, spec)
    assert one.spec is not None, one.remarks
    check_task(one.spec)
    assert worth(one.spec, happened) == pays
    assert worth(one.spec, []) == 0.0


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a blank that must not be said": (
        task("check_include_exclude", COMMAND, rule(exclude=[""])),
        "a text that is not empty",
    ),
    "a look-around in an address": (
        task("is_expected_url_pattern_match", ACTIVE, rule(expected=["^(?!x).*y"])),
        "RE2",
    ),
    "a look-around in a line": (task("check_list", vm("a"), rule(expect=["(?=a)b"])), "RE2"),
    "any address": (
        task("is_expected_url_pattern_match", ACTIVE, rule(expected=[".*"])),
        "an empty text does not fulfil",
    ),
    "no favourites": (
        task("check_gnome_favorite_apps", COMMAND, rule(expected=[])),
        "it asks for nothing",
    ),
    "nothing in a file": (
        task("file_contains", vm("a"), rule(expected=[""])),
        "it asks for nothing",
    ),
    "no size": (task("check_image_size", vm("a"), rule()), "it asks for nothing"),
    "a size in words": (
        task("check_image_file_size", vm("a"), rule(max_size="5k")),
        "the size '5k'",
    ),
    "a query without end": (
        task("run_sqlite3", vm("a"), rule(sql="S" * 5000)),
        "SQL of at most 4000",
    ),
    "at least a text": (
        task("check_thunderbird_prefs", vm("a"), rule(expect={"a": {"method": "ge", "ref": "5"}})),
        "the comparison ge",
    ),
    "a list as a value": (
        task("check_json", vm("a"), rule(expect=[{"key": ["a"], "method": "eq", "ref": [1]}])),
        "an object or a list",
    ),
    "rules that are a list": (
        task("check_csv", vm("a"), {"type": "rule", "rules": ["x"]}),
        "rules that are list",
    ),
    "a result that is a text": (task("exact_match", "x", rule(expected="x")), "result that is str"),
    "a function that is a list": (
        task([["x"]], vm("a")),  # type: ignore[arg-type]
        "an argument that is not as upstream's: func: expected a text, got ['x']",
    ),
    "no function": (
        {"id": "t", "instruction": "Do.", "evaluator": {}},
        "an argument that is not there: func",
    ),
    "no instruction": ({**SILENT, "instruction": 5}, "what it asks for is refused"),
    "a preference without a value": (
        task("check_font_size", {"type": "chrome_font_size"}, rule(type="equal", min=1)),
        "it asks for nothing: neither expected nor value",
    ),
    "a key without a value": (
        task("check_json", vm("a"), rule(expect=[{"key": ["a"], "method": "eq"}])),
        "it asks for nothing: no ref",
    ),
    "VLC's setting without a value": (
        task("check_qt_bgcone", {"type": "vlc_config"}, rule()),
        "it asks for nothing",
    ),
    "no functions": (task([], vm("a")), "it asks for nothing"),  # type: ignore[arg-type]
    "an extension in another way": (
        task("is_extension_installed", COMMAND, rule(type="begins", expected="x")),
        "an extension by begins",
    ),
    "in any order": (
        task("compare_docx_files", vm("a"), gold("gold.txt"), options={"ignore_order": True}),
        "a text compared with ignore_order",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_refused_is_external_and_says_why(name: str, tmp_path: Path) -> None:
    """The checker's own word is the reason."""
    spec, why = REFUSED[name]
    one = imported(tmp_path, spec)
    assert (one.spec, one.kind) == (None, "external")
    assert why in one.remarks[-1]


def test_an_expected_file_s_facts_that_are_no_json(tmp_path: Path) -> None:
    """Are as if they were not there, with their place; one elsewhere is not looked for."""
    spec = task("compare_text_file", vm("a"), gold("gold.txt"))
    imported(tmp_path, spec)
    (tmp_path / "gold" / "t" / "gold.txt.json").write_text("{")
    (one,) = tasks(tmp_path, {})
    assert (one.spec, one.kind) == (None, "file")
    assert one.remarks[-1].startswith("gold/t/gold.txt.json: no JSON")
    (tmp_path / "beside.json").write_text("{}")
    away = imported(tmp_path / "away", task("compare_text_file", vm("a"), gold("../../../beside")))
    assert (away.spec, away.kind) == (None, "file")


def test_options_that_do_not_count_are_said(tmp_path: Path) -> None:
    """By name."""
    slides = task(
        "compare_pptx_files", vm("a"), gold("gold.pptx"), options={"examine_shape": False}
    )
    assert (
        "options of compare_pptx_files that do not count: examine_shape"
        in imported(tmp_path, slides).remarks
    )


def test_one_bad_task_ends_no_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are written; the table counts as ready what was."""
    source, out = tmp_path / "source" / "os", tmp_path / "out"
    source.mkdir(parents=True)
    for name, (spec, _) in REFUSED.items():
        (source / f"{name}.json").write_text(json.dumps(spec))
    (source / "zz.json").write_text(json.dumps(SILENT))
    assert main(["task", "import", "osworld", str(source.parent), "--out", str(out)]) == 0
    assert [path.name for path in (out / "os").iterdir()] == ["zz.json"]
    assert f"{len(REFUSED) + 1} tasks" in capsys.readouterr().out
    row = dict(zip(coverage(source.parent).columns, coverage(source.parent).rows[-1], strict=True))
    assert (row["tasks"], row["ready"]) == (len(REFUSED) + 1, 1)


CONTAINS = task("file_contains", vm("a"), rule(expected=["lamp"]))
INFEASIBLE = {"id": "t", "instruction": "Do.", "evaluator": {"func": "infeasible"}}


def test_1_text_from_the_machine_is_no_pattern(tmp_path: Path) -> None:
    """What a file, a command or an answer says is compared and never compiled."""
    for n, text in enumerate(("^.*$", ".*", "(a+)+$", "*lam?*", "la.p")):
        assert worth(imported(tmp_path / f"a{n}", CONTAINS).spec, [told({"text": text})]) == 0.0
        exact = task("exact_match", COMMAND, rule(expected="true"))
        assert worth(imported(tmp_path / f"b{n}", exact).spec, [line(text)]) == 0.0
        assert worth(imported(tmp_path / f"c{n}", INFEASIBLE).spec, [answered(text)]) == 0.0


def test_2_what_is_so_at_the_start_pays_nothing(tmp_path: Path) -> None:
    """A file that says it already: nothing was done."""
    assert (
        worth(imported(tmp_path, CONTAINS).spec, [told({"text": "a lamp"}, baseline=True)]) == 0.0
    )


def test_3_a_claim_pays_nothing(tmp_path: Path) -> None:
    """SUCCESS and FAIL are answers: the first to no task, the second to those that can't be
    done."""
    for n, spec in enumerate((CONTAINS, SILENT, NOT_THERE, FAVOURITE)):
        one = imported(tmp_path / str(n), spec)
        assert [worth(one.spec, [answered(text)]) for text in ("SUCCESS", "DONE", "FAIL")] == [
            0.0,
            0.0,
            0.0,
        ]
    one = imported(tmp_path / "infeasible", INFEASIBLE)
    assert [worth(one.spec, [answered(text)]) for text in ("SUCCESS", "DONE", "FAIL")] == [
        0.0,
        0.0,
        1.0,
    ]
    assert one.spec["infeasible"] is True


def test_6_what_was_done_and_undone_pays_nothing(tmp_path: Path) -> None:
    """The end decides: a text that was there and is gone again is no result."""
    one = imported(tmp_path, CONTAINS)
    assert worth(one.spec, [told({"text": "a lamp"}), told({"text": "a desk"})]) == 0.0
    assert worth(one.spec, [told({"text": "a lamp"}), told(None, status="gone")]) == 0.0
    assert worth(one.spec, [told({"text": "a desk"}), told({"text": "a lamp"})]) == 1.0
