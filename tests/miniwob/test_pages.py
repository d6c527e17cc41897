"""MiniWoB++: on each page the goal of the task that is made for its instance agrees with the page's
own raw reward.

The rules hear clicks, fields and what the document shows. The page's globals are read by the test,
as the oracle.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from lab.benchmarks.miniwob.registry import GENERATORS, UNOBSERVABLE
from lab.benchmarks.miniwob.table import agrees
from tests.miniwob.bench import Bench, Case, Way
from tests.miniwob.table import ENTRIES, SEEDS, seeds
from tests.support.cases import CASES

COVERAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
QUICK = ("click-color", "use-slider", "enter-password")
"""Places, the document's state, secrets."""


def _marked(name: str, seed: str) -> object:
    marks = () if name in QUICK and seed == SEEDS[0] else pytest.mark.slow
    return pytest.param(name, seed, marks=marks)


@pytest.fixture(scope="module")
def read() -> dict[tuple[str, str], Case]:
    """Each instance is read once for both ways."""
    return {}


@pytest.mark.slow_where("enter-password")
@pytest.mark.slow_where("use-slider")
@pytest.mark.browser
@pytest.mark.parametrize("way", get_args(Way))
@pytest.mark.parametrize(
    ("name", "seed"), [_marked(name, seed) for name in sorted(ENTRIES) for seed in seeds(name)]
)
def test_goal_agrees_with_the_page(
    bench: Bench, read: dict[tuple[str, str], Case], name: str, seed: str, way: Way
) -> None:
    """The goal pays what the page pays, parts of it too, and is reached where the page pays all."""
    case = read.get((name, seed)) or read.setdefault((name, seed), bench.read(name, seed))
    outcome = bench.run(case, way)
    assert (outcome.raw > 0.97) is (way == "right"), "the script itself is off"
    assert agrees(outcome.raw, outcome.credit, outcome.success), outcome


def test_every_page_is_scripted_or_named() -> None:
    assert ENTRIES.keys() | UNOBSERVABLE.keys() == GENERATORS.keys() | UNOBSERVABLE.keys()


@pytest.mark.shared_cases("miniwob")
def test_every_page_of_the_cases_is_known() -> None:
    pages = set(json.loads((CASES / "miniwob" / "pages.json").read_text()))
    assert pages == GENERATORS.keys() | UNOBSERVABLE.keys()


def test_the_published_table() -> None:
    """Each page stands in it once; what it says in all is what its rows say."""
    part = (
        COVERAGE.read_text()
        .split("<!-- milestoned coverage miniwob -->")[1]
        .split("<!-- end -->")[0]
    )
    rows = [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in part.splitlines()
        if row.startswith("| ")
    ][2:]
    assert sorted(row[0] for row in rows) == sorted(GENERATORS.keys() | UNOBSERVABLE.keys())
    assert {row[0] for row in rows if row[1] == "unobservable"} == set(UNOBSERVABLE)
    runs = [tuple(map(int, re.findall(r"\d+", row[1]))) for row in rows if " of " in row[1]]
    whole = sum(good == all_runs > 0 for good, all_runs in runs)
    assert f"{len(rows)} pages: {whole} agree" in part
