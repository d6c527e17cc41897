"""Which groups of recordings are kept for the last look at the package's model."""

from __future__ import annotations

from benchmarks.builtin import KEPT, FormerChoice, kept_groups, read_former

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
