"""A text in which a daemon masked a secret: nobody knows all of it."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from detectors.matchers.plain import literal, normal
from detectors.matchers.structures import is_assignable
from detectors.matchers.text import TextMatch

V = TypeVar("V")
MASK = "***"
"""What the daemon writes in the place of a secret."""
HIDDEN_VALUE = "•••"
"""What the page's observer writes in the place of a secret field's value."""
SEVERAL_WORDS = f"{MASK} {MASK}"
"""What stands for a secret with white space in it: a private key, a pass phrase that a page shows.
Nobody knows how many words it has."""
MASKS = (HIDDEN_VALUE, MASK)
"""What stands for a secret."""
ANY_SECRET = f"{string.ascii_letters}{string.digits}-._~"
"""A text of the letters that secrets in an address have."""
SHORT_SECRET = "x"
"""A secret of one letter, which a pattern that wants more of them does not match."""
MARKED_SECRET = "a!#$%&'()+,-./:;<=>?@[]^_`{|}~"
"""A password with all marks but those that JSON escapes."""
SECRETS_OF_ADDRESS = (ANY_SECRET, SHORT_SECRET)
SECRETS = (*SECRETS_OF_ADDRESS, MARKED_SECRET)
"""Texts that a mask may stand for: what matches each of them is taken to match any secret."""
MAX_PIECES = 20
"""Pieces between masks up to which is looked whether a text can stand among them."""
_SPACE = re.compile(r"\s")
_GROUPS = re.compile(r"[0-9\s-]+")
OTHER_MARKS = ("@@@", "###", "%%%")
"""Texts as long as the mask: a pattern that the mask meets, but not for its asterisks, is met by
one of them too."""
_RUN = re.compile(r"\*{3,}")
_IN_NUMBER = re.compile(r"[\d.,+-]*")


def has_mask(text: str) -> bool:
    """Return whether a secret was kept back from a text."""
    return any(mask in text for mask in MASKS)


def judge_text(wanted: TextMatch, text: str) -> bool | None:
    """Whether a text is as wanted; None where that hangs on what was masked in it."""
    if MASK not in text:
        return wanted.matches(text)
    if wanted.matches(text):
        secrets = SECRETS_OF_ADDRESS if wanted.OF_ADDRESS else SECRETS
        is_open = is_met_by_mask(wanted.matches, lambda put: put_for_masks(text, put), secrets)
        return None if is_open else True
    if wanted.typed is not None or wanted.mode == "contains":
        return None
    if wanted.mode == "number":
        return None if _IN_NUMBER.fullmatch(normal(put_for_masks(text, ""))) else False
    pieces = split_at_masks(_fold(wanted, text))
    return None if any(_can_be(wanted, one, pieces) for one in wanted.texts) else False


def judge_running_text(wanted: TextMatch, text: str) -> bool | None:
    """`judge_text` of a text of a page or a window: among its words a mask stands for one word, or
    for the digits of a card's number, two together for words (docs/network.md#masked-secrets)."""
    is_so = judge_text(wanted, text)
    if is_so is not None or wanted.mode != "contains" or wanted.typed is not None:
        return is_so
    folded = _fold(wanted, text)
    pieces = split_at_masks(folded)
    # A text that is all secret may have more than one word, as two secrets side by side may.
    if not any(pieces) or SEVERAL_WORDS in folded or MASK * 2 in folded:
        return None
    return None if any(_can_contain(pieces, one) for one in wanted.texts) else False


def _can_contain(pieces: Sequence[str], expected: str) -> bool:
    """Whether a text of these pieces, with a word between each two, can contain what is expected;
    so it may where that would reach beyond the two pieces beside a mask, to the next one."""
    if len(pieces) > MAX_PIECES:
        return True
    places = range(len(expected) + 1)
    for count, (before, after) in enumerate(pairwise(pieces), 2):
        starts = [at for at in places if _ends_with(before, expected[:at], is_first=count == 2)]
        is_last = count == len(pieces)
        ends = [at for at in places if _begins_with(after, expected[at:], is_last=is_last)]
        if any(_is_secret_word(expected[start:end]) for start in starts for end in ends):
            return True
    return False


def _ends_with(piece: str, part: str, *, is_first: bool) -> bool:
    """Whether what stands up to the end of a piece can end with a part; what stands before a piece
    that is not the first is not known."""
    return piece.endswith(part) or (not is_first and part.endswith(piece))


def _begins_with(piece: str, part: str, *, is_last: bool) -> bool:
    return piece.startswith(part) or (not is_last and part.startswith(piece))


def _is_secret_word(text: str) -> bool:
    """Whether a text can be a part of a masked word, or of a card's number in groups."""
    if not text:
        return False
    return _SPACE.search(text) is None or _GROUPS.fullmatch(text.strip("*")) is not None


def _fold(wanted: TextMatch, text: str) -> str:
    """Fold a text as the matcher folds what it reads."""
    folded = literal(text) if wanted.exact else normal(text)
    return folded.casefold() if wanted.ignore_case else folded


def is_met_by_mask(
    matches: Callable[[V], bool], put: Callable[[str], V], secrets: Sequence[str] = SECRETS
) -> bool:
    """Whether what a matcher matches is as wanted for the mask in it, as of `[^0-9]+` or `???`, and
    another secret, which ``put`` puts there, would not do; an author who writes the asterisks
    themselves means them."""
    if all(matches(put(secret)) for secret in secrets):
        return False
    return any(matches(put(marks)) for marks in OTHER_MARKS)


def put_for_masks(text: str, secret: str) -> str:
    """Return a text with ``secret`` in the place of each mask."""
    return secret.join(split_at_masks(text))


def put_secrets(text: str) -> Iterator[str]:
    """Yield a text with each of `SECRETS` in the place of its masks."""
    return (put_for_masks(text, secret) for secret in SECRETS)


def split_at_masks(text: str) -> list[str]:
    """Return what stands around the masks of a text. Nobody knows which of more than three
    asterisks are a mask, so that all of them are taken for one: `**4111…**` becomes `*******`."""
    return _RUN.split(text)


def _can_be(wanted: TextMatch, expected: str, pieces: Sequence[str]) -> bool:
    """Whether a text of these pieces, with something between each two, can be as expected."""
    first, last = pieces[0], pieces[-1]
    if wanted.mode == "starts_with":
        return expected.startswith(first)
    if wanted.mode == "ends_with":
        return expected.endswith(last)
    if wanted.mode == "glob":
        return can_be_globbed(expected, pieces)
    return is_made_of(expected, pieces)


def can_be_globbed(pattern: str, pieces: Sequence[str]) -> bool:
    """Whether a text of these pieces, with something between each two, can be as a pattern of ``*``
    and ``?`` wants it: of what stands between its marks nothing is said."""
    marks = [place for place, letter in enumerate(pattern) if letter in "*?"]
    if not marks:
        return is_made_of(pattern, pieces)
    head, tail = pattern[: marks[0]], pattern[marks[-1] + 1 :]
    first, last = pieces[0], pieces[-1]
    return (first.startswith(head) or head.startswith(first)) and (
        last.endswith(tail) or tail.endswith(last)
    )


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
        is_made_of(one, split_at_masks(part)) if MASK in part else one == part
        for one, part in zip(expected, found, strict=True)
    )
