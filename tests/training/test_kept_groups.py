"""Which groups of recordings are kept for the last look at the package's model."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from api.stages.model.folder import BUILTIN
from benchmarks.builtin import KEPT, FormerChoice, kept_groups, read_former

PAGE = Path(__file__).parents[2] / "docs" / "reward-model.md"
NEW = [f"page-{number}" for number in range(30)]


def test_what_was_kept_stays_kept_and_what_was_trained_on_is_never_kept() -> None:
    former = FormerChoice(frozenset(NEW[:4]), frozenset(NEW[4:12]))
    kept = kept_groups(NEW, former)
    assert former.kept <= kept
    assert not former.trained & kept
    new = kept - former.kept
    assert 0 < len(new) < 18, f"about one in {KEPT} of those that are new"


def test_the_choice_is_the_same_in_any_order_and_once_it_is_made() -> None:
    nothing = FormerChoice(frozenset(), frozenset())
    kept = kept_groups(NEW, nothing)
    assert kept_groups(reversed(NEW), nothing) == kept
    assert kept_groups(NEW[:15], nothing) == kept & set(NEW[:15]), "whatever else there is"
    made = FormerChoice(frozenset(kept), frozenset(NEW) - kept)
    assert kept_groups(NEW, made) == kept


def test_only_groups_that_were_recorded_are_kept() -> None:
    assert kept_groups(NEW[:3], FormerChoice(frozenset(NEW), frozenset())) == set(NEW[:3])


def test_the_card_of_the_package_says_what_was_kept_and_what_was_trained_on() -> None:
    former = read_former()
    assert former.kept
    assert former.trained
    assert not former.kept & former.trained


PARTS = [
    *(f"{part}, left out in turn" for part in ("desktop", "browser", "scenes, pages")),
    *(f"{part}, kept" for part in ("desktop", "browser", "browser, seen", "browser, probed")),
    *(f"{part}, steps, left out in turn" for part in ("desktop", "browser")),
    *(f"{part}, steps, kept" for part in ("desktop", "browser")),
    "scenes, programs, left out in turn",
    "scenes, steps, pages, left out in turn",
]


WITHOUT_ECE = ("browser, seen, kept", "browser, probed, kept")


@pytest.mark.parametrize("part", PARTS)
def test_the_page_of_the_model_has_the_figures_of_the_card(part: str) -> None:
    """The docs' tables are written by hand; each part is a column of one."""
    figures = orjson.loads((BUILTIN / "card.json").read_bytes())["figures"][part]
    section = PAGE.read_text().split("## The model in the package")[1].split("### ")[0]
    cells = {cell.strip() for line in section.splitlines() for cell in line.split("|")}
    assert f"{figures['cases']} of {figures['groups']}" in cells
    assert "{:.3f} [{:.3f}, {:.3f}]".format(*figures["auroc"]) in cells
    if part not in WITHOUT_ECE:
        assert "{:.3f} [{:.3f}, {:.3f}]".format(*figures["ece"]) in cells
    shares = [100 * share for share in figures["coverage"]]
    assert "{:.0f} % [{:.0f}, {:.0f}]".format(*shares) in cells
