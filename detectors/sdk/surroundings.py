"""What an element stands in, as an event tells it where a rule asks: the text of a row, a card, a
message."""

from __future__ import annotations

from detectors.matchers import TextMatch
from detectors.matchers.masked_text import has_mask
from detectors.model.errors import UnseenError
from detectors.model.kinds.limits import MAX_OWN_TEXT, utf16_units
from detectors.model.types import Reading


def stands_in(around: object, expected: TextMatch, reading: Reading) -> bool:
    """Whether what the element stands in is as expected. Raises `UnseenError` where not all of it
    was told."""
    if around is None:
        raise UnseenError("what the element stands in was not told", reading)
    if expected.matches(str(around)):
        return True
    why = _hidden(str(around))
    if why is not None:
        raise UnseenError(why, reading)
    return False


def _hidden(around: str) -> str | None:
    """Why a text that does not match might, were all of it told."""
    if utf16_units(around) + 1 >= MAX_OWN_TEXT:  # half a letter at the end is lost
        return "what the element stands in goes on, and only its beginning was told"
    if has_mask(around):
        return "what the element stands in has a secret, kept back"
    return None
