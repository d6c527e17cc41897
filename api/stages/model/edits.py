"""How a text differs from what it was: what came and what went, in whole words."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from api.stages.model.requirements import MAX_TEXT

_PART = re.compile(r"\w+|\s|[^\w\s]")


class Edit(NamedTuple):
    """``came`` stands where ``went`` stood; both are whole words."""

    came: str
    went: str

    @property
    def is_change(self) -> bool:
        """Whether anything but spaces came or went."""
        return bool(self.came.strip() or self.went.strip())


def compare(before: str, after: str) -> Edit:
    """Return the one part in which two texts differ, from the first to the last difference."""
    if before == after:
        return Edit("", "")
    if not before or not after:
        return Edit(after[:MAX_TEXT], before[:MAX_TEXT])
    old, new = _PART.findall(before[:MAX_TEXT]), _PART.findall(after[:MAX_TEXT])
    start = _common(old, new)
    rest = min(len(old), len(new)) - start
    end = min(rest, _common(old[::-1], new[::-1]))
    return Edit("".join(new[start : len(new) - end]), "".join(old[start : len(old) - end]))


def _common(one: list[str], other: list[str]) -> int:
    """How many parts at the beginning are the same."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
