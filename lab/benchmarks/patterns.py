"""Other people's regular expressions as RE2 takes them: what looks around is said as patterns that
must and must not.

RE2 has no look-around, so that its time is linear in the text. The forms that benchmarks use can be
said without.
"""

from __future__ import annotations

import re
from typing import TypeGuard

from detectors.model.json_value import JsonObject

_AHEAD = re.compile(r"\(\?=\.\*")


def is_pattern(value: object) -> TypeGuard[str]:
    """WebArena-Verified's own sign of one: a text from ^ to $."""
    return isinstance(value, str) and len(value) >= 2 and value[0] == "^" and value[-1] == "$"


def rewrite_pattern(pattern: str) -> str | JsonObject:
    """A pattern, or {all: patterns, none: patterns}, each of which is to match the whole text."""
    body = pattern.removeprefix("^").removesuffix("$")
    if body.startswith("(?!"):
        inner, rest = _group(body)
        return {"all": [rest], "none": [_anchored(one) for one in _choices(inner[3:])]}
    if body.startswith(".*(?="):
        required, rest = [], body[2:]
        while _AHEAD.match(rest):
            inner, rest = _group(rest)
            required.append(f".*{inner[5:]}.*")
        return {"all": [*required, f".*{rest}"]}
    # Somewhere in a text there is always a place that is not followed by the rest of it.
    return re.sub(r"\.\*\(\?![^()]*\$\)\.\*", ".*", body)


def _anchored(choice: str) -> str:
    return choice.removesuffix("$") if choice.endswith("$") else choice + ".*"


def _group(text: str) -> tuple[str, str]:
    """The group that ``text`` begins with, without its last parenthesis, and what follows it."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[:place], text[place + 1 :]
    return text, ""


def _choices(text: str) -> list[str]:
    """What stands between the bars that are in no group."""
    choices, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and depth == 0:
            choices.append("")
        else:
            choices[-1] += letter
    return choices
