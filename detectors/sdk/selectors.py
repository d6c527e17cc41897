"""CSS selectors that a rule names: whether a text can be one, and whether an event meets it.

The page itself finds what a selector means (agentd/sources/cdp/page/selectors.js).
"""

from __future__ import annotations

from collections.abc import Mapping

from detectors.model.errors import UnseenError
from detectors.model.safe_json import as_list
from detectors.model.types import Reading

MAX_SELECTOR = 400
_PAIRS = {")": "(", "]": "["}
_QUOTES = ("'", '"')
_OPENING = (*_PAIRS.values(), *_QUOTES)


def meets_selector(data: Mapping[str, object], selector: str, reading: Reading) -> bool:
    """Whether a click or a field meets the selector. Raises `UnseenError` where it was
    not told."""
    if "selectors" not in data:
        raise UnseenError("which of the task's selectors it meets was not told", reading)
    return selector in as_list(data["selectors"])


def check_selector(selector: str) -> None:
    """Raise `ValueError` for a text that is no selector in any browser."""
    if not selector.strip() or len(selector) > MAX_SELECTOR or set(selector) & set("{};<"):
        raise ValueError(f"selector: a CSS selector of at most {MAX_SELECTOR} characters")
    open_marks: list[str] = []
    for letter in selector:
        is_quoted = bool(open_marks) and open_marks[-1] in _QUOTES
        if is_quoted:
            if letter == open_marks[-1]:
                open_marks.pop()
        elif letter in _OPENING:
            open_marks.append(letter)
        elif letter in _PAIRS:
            _close_bracket(open_marks, letter)
    if open_marks:
        raise ValueError(f"selector: a CSS selector, got {open_marks[-1]} not closed")


def _close_bracket(open_marks: list[str], letter: str) -> None:
    if not open_marks or open_marks.pop() != _PAIRS[letter]:
        raise ValueError(f"selector: a CSS selector, got {letter} without its opening")
