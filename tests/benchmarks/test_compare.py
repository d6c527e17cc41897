"""Two runs of the benchmarks: what of their difference is noise, and which files are no runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.compare import compare_runs, judge_row
from benchmarks.figures import Better, Figure
from benchmarks.run_file import BenchRun, PartState, write_run

Interval = tuple[float, float] | None


def figure(
    value: float,
    interval: Interval = None,
    *,
    better: Better = "lower",
    noise: float = 0.0,
    row: str = "row",
    unit: str = "ms",
) -> Figure:
    low, high = interval or (None, None)
    return Figure(
        part="engine",
        row=row,
        value=float(value),
        low=low,
        high=high,
        noise=noise,
        unit=unit,
        reference="",
        better=better,
        bound=None,
        rounds=5,
    )


def run_of(*figures: Figure, **changes: Any) -> BenchRun:
    fields: dict[str, Any] = {
        "commit": "c",
        "is_dirty": False,
        "python": "3.11.7",
        "cores": 2,
        "load_at_start": 0.2,
        "load_at_end": 1.5,
        "is_quick": False,
        "parts": {"engine": PartState(status="measured", seconds=2.0)},
    }
    return BenchRun(**(fields | changes), figures=list(figures))


Measured = tuple[float, Interval]
"""A value and its interval."""


def pair(old: Measured, new: Measured, **fields: Any) -> tuple[Figure, Figure]:
    """The same row of two runs."""
    return figure(*old, **fields), figure(*new, **fields)


APART: tuple[Measured, Measured] = (10, (9, 11)), (12, (11.5, 13))
VERDICTS: dict[str, tuple[tuple[Figure, Figure], str, bool]] = {
    "the intervals meet": (pair((10, (9, 11)), (12, (11, 13))), "within noise", False),
    "the intervals are apart, and lower is better": (pair(*APART), "worse", True),
    "the same, and higher is better": (pair(*APART, better="higher"), "better", False),
    "the same, and neither is better": (pair(*APART, better="neither"), "other", False),
    "worse, but by no more than a twentieth": (
        pair((10, (9.9, 10.1)), (10.5, (10.4, 10.6))),
        "worse",
        False,
    ),
    "worse, and by more than a twentieth": (
        pair((10, (9.9, 10.1)), (10.6, (10.5, 10.7))),
        "worse",
        True,
    ),
    "fewer a second": (
        pair((100, (99, 101)), (80, (79, 81)), better="higher"),
        "worse",
        True,
    ),
    "no interval, and a fifth apart": (
        pair((100, None), (120, None), noise=0.1),
        "within noise",
        False,
    ),
    "no interval, and more than that": (pair((100, None), (123, None), noise=0.1), "worse", True),
    "an interval in the new one alone": (
        (figure(100, noise=0.1), figure(108, (107, 109))),
        "within noise",
        False,
    ),
    "intervals apart, in rows that move with the machine": (
        pair((100, (99, 101)), (115, (114, 116)), noise=0.1),
        "within noise",
        False,
    ),
    "the longest of few, twice as long": (
        pair((10, None), (20, None), noise=0.5),
        "within noise",
        False,
    ),
    "an interval that is wider than a tenth": (
        pair((100, (60, 140)), (140, (130, 150)), noise=0.1),
        "within noise",
        False,
    ),
    "what noise does not change": (
        pair((24.6, (24.6, 24.6)), (24.7, (24.7, 24.7))),
        "worse",
        False,
    ),
    "an error where there was none": (pair((0, None), (1, None)), "worse", True),
    "no error, as before": (pair((0, None), (0, None)), "within noise", False),
    "a difference that is negative": (
        pair((-0.1, (-0.2, 0.1)), (0.3, (0.2, 0.4))),
        "worse",
        True,
    ),
    "another unit": ((figure(10, unit="s"), figure(10_000)), "not comparable", False),
}


@pytest.mark.parametrize(("row", "outcome", "fails"), VERDICTS.values(), ids=VERDICTS)
def test_verdict_of_a_row(row: tuple[Figure, Figure], outcome: str, fails: bool) -> None:
    verdict = judge_row(*row)
    assert (verdict.outcome, verdict.fails) == (outcome, fails)


def test_rows_of_one_run_alone_are_named_and_fail_nothing() -> None:
    found = compare_runs(
        run_of(figure(1, row="both"), figure(1, row="gone")),
        run_of(figure(1, row="both"), figure(9, row="come")),
    )
    assert [one.row for one in found.only_old] == ["gone"]
    assert [one.row for one in found.only_new] == ["come"]
    assert not found.fails


def test_only_ratios_are_compared_where_that_is_asked_for() -> None:
    old = run_of(figure(1, (1, 1), row="ratio", unit="ratio"), figure(1, (1, 1), row="time"))
    new = run_of(figure(1, (1, 1), row="ratio", unit="ratio"), figure(9, (9, 9), row="time"))
    assert compare_runs(old, new).fails
    found = compare_runs(old, new, only_ratios=True)
    assert [verdict.new.row for verdict in found.verdicts] == ["ratio"]
    assert not found.fails


WARNINGS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "alike": ({}, []),
    "one is the short form": (
        {"is_quick": True},
        ["OLD is the long form, NEW is the short form"],
    ),
    "another machine": (
        {"cores": 8, "python": "3.12.1"},
        ["cores: OLD has 2, NEW has 8", "Python: OLD has 3.11.7, NEW has 3.12.1"],
    ),
    "a busy machine": (
        {"load_at_start": 3.0},
        ["load at the start: OLD had 0.2, NEW had 3.0"],
    ),
    "a part is missing": (
        {"parts": {"engine": PartState(status="failed", reason="OSError: no space")}},
        ["NEW lacks the end of engine, which was failed: OSError: no space"],
    ),
    "changes that are in no commit": (
        {"is_dirty": True},
        ["NEW was measured on changes that are in no commit"],
    ),
}


@pytest.mark.parametrize(("changes", "warnings"), WARNINGS.values(), ids=WARNINGS)
def test_what_makes_two_runs_hard_to_compare_is_said(
    changes: dict[str, Any], warnings: list[str]
) -> None:
    assert compare_runs(run_of(), run_of(**changes)).warnings == warnings


def without(field: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run_of(figure(1)).model_dump_json())
    del document[field]
    return document


def with_value(value: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run_of(figure(1)).model_dump_json())
    document["figures"][0]["value"] = value
    return document


ERRORS: dict[str, tuple[str | None, str]] = {
    "no file": (None, "expected a file of a run, got 'No such file or directory'"),
    "no JSON": ("engine: 1.39", "expected JSON, got Expecting value: line 1 column 1 (char 0)"),
    "no object": ("[1]", "expected an object, got [1]"),
    "a later format": ('{"format": 2}', "format: expected 1, got 2"),
    "no format": ("{}", "format: expected 1, got null"),
    "a field is missing": (json.dumps(without("commit")), "commit: expected a value, got none"),
    "a field too many": (
        json.dumps(without("cores") | {"cores": 2, "host": "here"}),
        'host: expected no such field, got "here"',
    ),
    "a text for a number": (
        json.dumps(with_value("1.39")),
        'figures.0.value: expected a valid number, got "1.39"',
    ),
    "no number": (
        json.dumps(with_value(float("nan"))),
        "figures.0.value: expected a finite number, got NaN",
    ),
    "a row twice": (
        run_of(figure(1), figure(2)).model_dump_json(),
        "figures.1.row: expected a row once, got ('engine', 'row') again",
    ),
}


@pytest.mark.parametrize(("content", "message"), ERRORS.values(), ids=ERRORS)
def test_what_is_no_run_is_refused(
    content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    write_run(run_of(figure(1)), good)
    if content is not None:
        bad.write_text(content)
    assert main(["compare", str(good), str(bad)]) == 2
    assert capsys.readouterr().err == f"{bad}: {message}\n"


@pytest.mark.parametrize(
    ("value", "code", "end"),
    [
        (10, 0, "0 better, 0 worse, 1 within noise\n"),
        (5, 0, "1 better, 0 worse, 0 within noise\n"),
        (
            20,
            1,
            "0 better, 1 worse, 0 within noise\n"
            "worse by more than 5% beyond noise:\n  engine: row\n",
        ),
    ],
)
def test_the_command_prints_a_table_and_fails_for_what_is_worse(
    value: float, code: int, end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    write_run(run_of(figure(10, (9, 11))), old)
    write_run(run_of(figure(value, (value, value))), new)
    assert main(["compare", str(old), str(new)]) == code
    out = capsys.readouterr().out
    assert out.endswith(end)
    assert "row (ms)" in out
