"""A run of the benchmarks keeps what it measured, whatever becomes of a part."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from math import e, exp, sqrt
from pathlib import Path

import pytest

from benchmarks.figures import HIGHER, NEITHER, RATIO, Wanted, at_least, at_most, make_figure
from benchmarks.measure import (
    EXTREME,
    TAIL,
    Estimate,
    estimate_difference,
    estimate_longest,
    estimate_median,
    estimate_quantile,
    estimate_rate,
    estimate_share,
    exact,
    ratio,
    single,
)
from benchmarks.parts import PARTS, Options, _arguments, choose_parts
from benchmarks.report import PartReport
from benchmarks.run import run_parts
from benchmarks.run_file import read_run


def measure(report: PartReport) -> None:
    report.add("a row", single(report.choose(2.0, 1.0)), "ms", at_most(3), "another")


def fail(report: PartReport) -> None:
    report.add("before it", single(1.0), "ms", NEITHER)
    raise OSError("no space")


def interrupt(report: PartReport) -> None:
    report.add("before it", single(1.0), "ms", NEITHER)
    raise KeyboardInterrupt


def find_no_database(report: PartReport) -> None:
    report.leave_out("Postgres is not installed")


ENDS: dict[str, tuple[Callable[[PartReport], None], str, str, list[str]]] = {
    "measured": (measure, "measured", "", ["first", "second", "third"]),
    "a part fails, the others follow": (
        fail,
        "failed",
        "OSError: no space",
        ["first", "second", "third"],
    ),
    "an interrupt ends the run": (interrupt, "interrupted", "", ["first", "second"]),
}


@pytest.mark.parametrize(("second", "status", "reason", "parts"), ENDS.values(), ids=ENDS)
def test_what_was_measured_is_kept(
    second: Callable[[PartReport], None],
    status: str,
    reason: str,
    parts: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "folder" / "bench.json"
    run_parts({"first": measure, "second": second, "third": measure}, file, is_quick=False)
    run = read_run(file)
    assert [figure.part for figure in run.figures] == parts
    assert (run.parts["second"].status, run.parts["second"].reason) == (status, reason)
    assert run.parts["third"].status == ("measured" if "third" in parts else "not run")
    missing = [line for line in capsys.readouterr().out.splitlines() if line.startswith("missing")]
    assert [line.split()[1] for line in missing] == [f"{name}," for name in run.missing]


def test_the_short_form_is_marked_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_parts({"first": measure}, tmp_path / "bench.json", is_quick=True)
    run = read_run(tmp_path / "bench.json")
    assert run.is_quick
    assert run.figures[0].value == 1.0
    assert "the short form" in capsys.readouterr().out


def test_what_a_part_could_not_measure_stands_in_the_file(tmp_path: Path) -> None:
    run_parts({"first": find_no_database}, tmp_path / "bench.json", is_quick=False)
    assert read_run(tmp_path / "bench.json").parts["first"].left_out == [
        "Postgres is not installed"
    ]


def test_rows_of_another_process_are_kept(tmp_path: Path) -> None:
    child, parent = PartReport("model"), PartReport("model")
    child.add("a row", Estimate(1.5, 1.25, 2.0, 7), "ms", HIGHER)
    child.write_figures(tmp_path / "figures.json")
    parent.read_figures(tmp_path / "figures.json")
    assert parent.figures == child.figures


def test_a_row_has_one_name() -> None:
    report = PartReport("engine")
    report.add("a row", single(1), "ms", NEITHER)
    with pytest.raises(ValueError, match="engine: expected a row once, got 'a row' again"):
        report.add("a row", single(2), "ms", NEITHER)


def test_a_value_is_a_number() -> None:
    with pytest.raises(ValueError, match="engine: a row: expected a number, got nan"):
        PartReport("engine").add("a row", single(float("nan")), "ms", NEITHER)


LINES: dict[str, tuple[Estimate, str, Wanted, str, str]] = {
    "a ratio": (
        Estimate(1.391, 1.333, 1.449, 7, 0.0),
        RATIO,
        at_most(2),
        "decoding",
        "1.39 (1.33 to 1.45) wanted <= 2 beside decoding",
    ),
    "a bound that is missed": (
        single(0.48),
        RATIO,
        at_least(0.6),
        "",
        "0.48 wanted >= 0.6, missed",
    ),
    "a rate": (
        Estimate(7_412.3, 7_000, 8_000, 5),
        "requests/s",
        HIGHER,
        "",
        "7,412 requests/s (7,000 to 8,000)",
    ),
    "what is always the same": (exact(24.63), "bytes", NEITHER, "", "24.6 bytes"),
    "none": (single(0), "errors", at_most(0), "", "0 errors wanted <= 0"),
    "a small time": (single(0.0041), "ms", NEITHER, "", "0.004 ms"),
}


@pytest.mark.parametrize(
    ("estimate", "unit", "wanted", "reference", "text"), LINES.values(), ids=LINES
)
def test_a_row_as_text(
    estimate: Estimate, unit: str, wanted: Wanted, reference: str, text: str
) -> None:
    line = str(make_figure("engine", "row", estimate, unit, wanted, reference))
    assert " ".join(line.split()) == f"row {text}"


ESTIMATES: dict[str, tuple[Estimate, Estimate]] = {
    "median of eleven": (estimate_median(list(range(11))), Estimate(5, 2, 9, 11)),
    "median of few: by their deviation": (
        estimate_median([10.0, 10.0, 10.0]),
        Estimate(10.0, 10.0, 10.0, 3),
    ),
    "median of two that differ": (
        estimate_median([2.0, 2.2]),
        Estimate(2.1, 2.1 / exp(12.71 * 0.04766), 2.1 * exp(12.71 * 0.04766), 2),
    ),
    "median of two that differ much: not known": (
        estimate_median([1.0, 4.0]),
        Estimate(2.5, None, None, 2, EXTREME),
    ),
    "median of one": (estimate_median([7.0]), Estimate(7.0, None, None, 1, EXTREME)),
    "p99 of two hundred": (
        estimate_quantile(list(range(200)), 0.99),
        Estimate(198, 195, 199, 200, TAIL),
    ),
    "p99 of nine: it may be longer than all of them": (
        estimate_quantile(list(range(9)), 0.99),
        Estimate(8, None, None, 9, EXTREME),
    ),
    "the longest": (estimate_longest([1, 3, 2]), Estimate(3, None, None, 3, EXTREME)),
    "a rate is the greater the less time it took": (
        estimate_rate(100, [2.0, 4.0, 5.0, 5.0, 5.0, 10.0]),
        Estimate(20.0, 10.0, 50.0, 6),
    ),
    "ratios of rounds": (ratio([2.0, 4.0], [1.0, 2.0]), Estimate(2.0, 2.0, 2.0, 2, 0.0)),
    "a ratio of three rounds": (
        ratio([1.0, e**0.1, e**0.2], [1.0, 1.0, 1.0]),
        Estimate(e**0.1, e**0.1 / exp(0.430 / sqrt(3)), e**0.1 * exp(0.430 / sqrt(3)), 3, 0.0),
    ),
    "a difference of few rounds": (
        estimate_difference([2.0, 3.0, 5.0], [1.0, 2.0, 3.0]),
        Estimate(1.0, 1.0 - 4.30 / 3, 1.0 + 4.30 / 3, 3, TAIL),
    ),
    "a difference of many": (
        estimate_difference([2.0, 3.0] * 10, [1.0, 2.0] * 10),
        Estimate(1.0, 1.0, 1.0, 20, TAIL),
    ),
    "none of sixty": (estimate_share(0, 60), Estimate(0.0, 0.0, 6.018, 60)),
    "half of a hundred": (estimate_share(50, 100), Estimate(50.0, 40.383, 59.617, 100)),
    "bytes": (exact(24.6), Estimate(24.6, 24.6, 24.6, 1, 0.0)),
}


@pytest.mark.parametrize(("estimate", "wanted"), ESTIMATES.values(), ids=ESTIMATES)
def test_estimates(estimate: Estimate, wanted: Estimate) -> None:
    assert estimate == (wanted if wanted.low is None else pytest.approx(wanted, rel=1e-3))


def test_the_short_form_leaves_out_what_takes_its_time() -> None:
    full, quick = choose_parts([], is_quick=False), choose_parts([], is_quick=True)
    assert set(full) - set(quick) == {"fleet-1000"}
    assert choose_parts(["soak"], is_quick=True) == ["soak"]


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_the_table_is_a_function_that_takes_a_report(name: str) -> None:
    part = PARTS[name]
    function = getattr(import_module(f"benchmarks.{part.module}"), part.function)
    first, *others = signature(function).parameters.values()
    assert first.annotation == "PartReport"
    given = _arguments(name, Options(1.0, 10, 5.0), PartReport(name))
    required = [parameter for parameter in others if parameter.default is parameter.empty]
    assert len(required) <= len(given) <= len(others)
