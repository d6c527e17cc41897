"""The tables of docs/coverage.md: their sums are the sums of their rows, and they are what the
importers say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import benchmarks.proposal
import benchmarks.proposal_states
from lab.benchmarks import IMPORTERS, infinity
from lab.benchmarks.miniwob.registry import GENERATORS, UNOBSERVABLE
from lab.benchmarks.osworld import coverage as osworld
from lab.cli.coverage import BEGIN, END
from tests.importing import test_infinity, test_osworld

PAGE = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text("utf-8")


def published(name: str) -> str:
    """What stands between the table's marks."""
    return PAGE.partition(BEGIN.format(name=name))[2].partition(END)[0]


def rows(name: str) -> list[list[str]]:
    lines = [line for line in published(name).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:].removesuffix("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize(
    "name", ["osworld", "webarena-infinity", "webarena-verified", "webcanvas", "opencomputer"]
)
def test_the_last_row_is_the_sum_of_the_others(name: str) -> None:
    """In each column that counts."""
    *groups, total = rows(name)
    assert len(groups) > 2
    assert "all" in total[0]
    for column in range(1, len(total)):
        assert int(total[column]) == sum(int(row[column]) for row in groups), column


def test_the_totals_that_are_published() -> None:
    """A change of them is a change of what is covered."""
    assert rows("webarena-verified")[-1] == ["**all**", "812", "663", "8", "8", "9", "298", "1996"]
    assert rows("webarena-infinity")[-1] == ["**all**", "1189", "1", "2307", "3052", "0"]
    assert rows("webcanvas")[-1] == ["**all**", "895", "829", "57", "5", "4"]
    assert rows("osworld")[-1] == ["all", "67", "20", "21", "20", "6", "52"]
    assert {name for name in IMPORTERS if published(name)} == set(IMPORTERS)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        (benchmarks.proposal.BEGIN, benchmarks.proposal.END),
        (benchmarks.proposal_states.BEGIN, benchmarks.proposal_states.END),
    ],
    ids=["pages", "states"],
)
def test_proposed_goals_agree_with_the_verdicts_of_others(begin: str, end: str) -> None:
    """At least 0.95 of what is decided, at most 1 % of wrong runs paid; the last row is the sum of
    the others, and the lines below it say the same."""
    table, _, said = PAGE.partition(begin)[2].partition(end)[0].partition("\n\n")
    of = [[int(n) for n in re.findall(r"\d+", row.partition("|")[2])] for row in _counts(table)]
    *rows_of, total = of
    assert [sum(column) for column in zip(*rows_of, strict=True)] == total
    right, all_right, wrong, all_wrong = total[:4]
    judged, agreed = all_right + all_wrong, right + all_wrong - wrong
    assert said.startswith(f"Agreement {agreed}/{judged} = ")
    assert f"Wrong runs paid {wrong}/{all_wrong} = " in said
    assert agreed >= 0.95 * judged
    assert wrong <= 0.01 * all_wrong


def _counts(table: str) -> list[str]:
    """The rows of a table, without its head."""
    return [line.removeprefix("|") for line in table.splitlines()[2:]]


@test_osworld.needs_cases
def test_osworld_s_table_is_what_the_command_prints() -> None:
    """Of the groups beside the project."""
    assert published("osworld") == osworld(test_osworld.OSWORLD).markdown()


@pytest.mark.slow
@test_infinity.needs_cases
def test_infinity_s_table_is_what_the_command_prints() -> None:
    """Of the applications beside the project."""
    assert published("webarena-infinity") == infinity.coverage(test_infinity.INFINITY).markdown()


BY_ONE_ACT = {
    "buy-ticket", "click-color", "click-dialog", "click-dialog-2", "click-link", "click-shape", "click-tab",
    "click-tab-2-easy", "click-tab-2-medium", "click-test-2", "click-widget", "count-shape", "drag-cube",
    "drag-items-grid",
    "email-inbox", "email-inbox-important", "email-inbox-nl-turk", "email-inbox-noscroll", "email-inbox-star-reply",
    "focus-text", "focus-text-2", "identify-shape", "navigate-tree", "social-media", "unicode-test",
}  # fmt: skip
"""Pages of which an instance that was run is decided by one click, or one drag: there is nothing on the way."""


def test_miniwob_s_pages_and_their_steps() -> None:
    """Every page once; two steps before the goal wherever more than one act is needed; the line
    below says the same."""
    table = {row[0]: row for row in rows("miniwob")}
    assert set(table) == GENERATORS.keys() | UNOBSERVABLE.keys()
    ran = {page: row[2] for page, row in table.items() if row[1] not in ("unobservable", "not run")}
    assert {page for page, steps in ran.items() if steps == "0"} <= BY_ONE_ACT
    for page, steps in ran.items():
        assert all(int(number) >= 2 or page in BY_ONE_ACT for number in steps.split(" to ")), page
    agree = [page for page, row in table.items() if re.fullmatch(r"(\d+) of \1", row[1])]
    unrun = [page for page, row in table.items() if row[1] == "not run"]
    said = f"{len(table)} pages: {len(agree)} agree on every run of every instance"
    assert said in published("miniwob")
    assert f"{len(UNOBSERVABLE)} are unobservable, {len(unrun)} were not run." in published(
        "miniwob"
    )
