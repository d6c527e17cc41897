"""A text in which a daemon masked a secret: nobody knows all of it."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence

from detectors.matchers.plain import literal, normal, number
from detectors.matchers.structures import is_assignable
from detectors.matchers.text import TextMatch

MASK = "***"
"""What the daemon writes in the place of a secret."""
MASKS = ("•••", MASK)
"""What stands for a secret: put there by the page's observer, and by the daemon."""
ANY_SECRET = f"{string.ascii_letters}{string.digits}-._~"
"""A text of the letters that secrets have: what matches it is taken to match each of them."""
OTHER_MARKS = "@@@"
"""A text as long as the mask: a pattern that the mask meets, but not for its asterisks, is met by
it too."""


def has_mask(text: str) -> bool:
    """Return whether a secret was kept back from a text."""
    return any(mask in text for mask in MASKS)


def judge_text(wanted: TextMatch, text: str) -> bool | None:
    """Whether a text is as wanted; None where that hangs on what was masked in it."""
    if MASK not in text:
        return wanted.matches(text)
    if wanted.matches(text):
        return None if _is_met_by_mask(wanted, text) else True
    if wanted.typed is not None or wanted.mode == "contains":
        return None
    if wanted.mode == "number":
        return None if number(text.replace(MASK, "1")) is not None else False
    folded = literal(text) if wanted.exact else normal(text)
    pieces = (folded.casefold() if wanted.ignore_case else folded).split(MASK)
    return None if any(_can_be(wanted, one, pieces) for one in wanted.texts) else False


def _is_met_by_mask(wanted: TextMatch, text: str) -> bool:
    """Whether a text is as wanted for the mask in it, as of `[^0-9]+` or `???`, and another secret
    would not do; an author who writes the asterisks themselves means them."""
    if wanted.matches(text.replace(MASK, ANY_SECRET)):
        return False
    return wanted.matches(text.replace(MASK, OTHER_MARKS))


def _can_be(wanted: TextMatch, expected: str, pieces: Sequence[str]) -> bool:
    """Whether a text of these pieces, with something between each two, can be as expected."""
    first, last = pieces[0], pieces[-1]
    if wanted.mode == "starts_with":
        return expected.startswith(first)
    if wanted.mode == "ends_with":
        return expected.endswith(last)
    if wanted.mode == "glob":
        marks = [place for place, letter in enumerate(expected) if letter in "*?"]
        if marks:
            head, tail = expected[: marks[0]], expected[marks[-1] + 1 :]
            return (first.startswith(head) or head.startswith(first)) and (
                last.endswith(tail) or tail.endswith(last)
            )
    return is_made_of(expected, pieces)


def is_made_of(text: str, pieces: Sequence[str]) -> bool:
    """Whether the pieces stand in the text in order, from its start to its end, with at least one
    letter between each two."""
    first, *inner, last = pieces
    if not text.startswith(first):
        return False
    place = len(first)
    for piece in inner:
        place = text.find(piece, place + 1)
        if place < 0:
            return False
        place += len(piece)
    return len(text) - len(last) > place and text.endswith(last)


def judge_pairs(
    expected: Sequence[tuple[str, str]], found: Sequence[tuple[str, str]]
) -> bool | None:
    """Whether names and values of a query are those that are expected, in any order; None where
    that hangs on what was masked in them."""
    missing = Counter(expected)
    masked = [pair for pair in found if MASK in "".join(pair)]
    known = Counter(pair for pair in found if MASK not in "".join(pair))
    if known - missing or len(found) != len(expected):
        return False
    missing -= known
    can_be = is_assignable(list(missing.elements()), masked, _can_be_pair)
    return True if not masked else None if can_be else False


def _can_be_pair(expected: tuple[str, str], found: tuple[str, str]) -> bool:
    return all(
        is_made_of(one, part.split(MASK)) if MASK in part else one == part
        for one, part in zip(expected, found, strict=True)
    )
