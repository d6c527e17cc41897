"""A text that a regular expression of the benchmark's author takes."""

from __future__ import annotations

import re
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

_DIGIT, _SPACE = _constants.CATEGORY_DIGIT, _constants.CATEGORY_SPACE


def sample(pattern: str) -> str:
    """The shortest simple text that ``pattern`` takes; fails where it finds none."""
    for filler in ("a", "", "a 1"):
        said = "".join(
            _some(part, filler)
            for part in _parser.parse(pattern.removeprefix("^").removesuffix("$"))
        )
        if re.match(pattern, said, re.IGNORECASE):
            return said
    raise AssertionError(f"no sample of {pattern}")


def _some(part: tuple[Any, Any], filler: str) -> str:
    kind, value = part
    if kind is _constants.LITERAL:
        return chr(value)
    if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
        least, _, inner = value
        anything = next(iter(inner), (None, None))[0] is _constants.ANY
        return (
            filler
            if anything and not least
            else "".join(_some(one, filler) for one in inner) * least
        )
    if kind is _constants.IN:
        return _one_of(value)
    if kind is _constants.BRANCH:
        return "".join(_some(one, filler) for one in value[1][0])
    if kind is _constants.SUBPATTERN:
        return "".join(_some(one, filler) for one in value[3])
    if kind is _constants.ASSERT:
        return "".join(_some(one, "") for one in value[1])
    if kind is _constants.ANY:
        return "a"
    return ""


def _one_of(choices: Any) -> str:
    kind, value = choices[0]
    if kind is _constants.NEGATE:
        return " "
    if kind is _constants.CATEGORY:
        return "1" if value is _DIGIT else " " if value is _SPACE else "a"
    return chr(value[0] if kind is _constants.RANGE else value)
