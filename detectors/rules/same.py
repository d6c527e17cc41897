"""Several conditions, about the same thing: a tab, a file, a value that is carried from one to the
other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from detectors.sdk.arguments import arg
from detectors.sdk.correlation import HIDDEN
from detectors.sdk.registry import Moment, Standing, composite

MIN_LENGTH = 3


@dataclass(frozen=True, slots=True)
class Args:
    by: str = arg(
        "What must be the same: tab, frame, file, app, window, value (what a field, a text, the"
        " clipboard, a probe, a tool or the answer holds), or a dotted path into the events."
    )
    of_first: str | None = arg(
        "What it is in the first condition's event, where that is another path.", None
    )
    order: Literal["any", "given"] = arg(
        "given: each must come after the one before, as `a value seen in A`.", "any"
    )
    part: bool = arg(
        f"Whether it suffices that the value stands as a word, of at least {MIN_LENGTH} characters,"
        " in the first's.",
        False,
    )


def _path(args: Args, place: int) -> str:
    return args.of_first if place == 0 and args.of_first is not None else args.by


@composite(args=Args, binds=_path)
def same(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: Args
) -> float:
    """Every condition in `of` has been true about one and the same thing: clicked in the tab that
    stands at the address, the file that was downloaded is the one that was renamed, the number seen
    on one page is typed into another (`by: value, order: given`).
    """
    if own.best >= 1.0:
        return 1.0
    bound = [c.bound or {} for c in children]
    values = (
        dict.fromkeys(value for one in bound for value in one)
        if any(HIDDEN in one for one in bound)
        else bound[-1]
    )
    return 1.0 if all(bound) and any(_chain(bound, value, args) for value in values) else 0.0


def _chain(bound: Sequence[dict[str, list[int]]], value: str, args: Args) -> bool:
    """Whether every part was true about ``value``, in the order that is asked for."""
    last = 0
    for place, values in enumerate(bound):
        found = values.get(value) or values.get(HIDDEN)
        firsts = [found[0]] if found else []
        lasts = [found[1]] if found else []
        if place == 0 and args.part and len(value) >= MIN_LENGTH:
            holding = [
                times for text, times in values.items() if text == HIDDEN or word_in(value, text)
            ]
            firsts, lasts = [t[0] for t in holding], [t[1] for t in holding]
        if not firsts:
            return False
        if args.order == "given":
            # The earliest that comes after the one before; of what came several times the last
            # counts too.
            after = [seq for seq in (*firsts, *lasts) if seq > last]
            if not after:
                return False
            last = min(after)
    return True


def word_in(word: str, text: str) -> bool:
    """Whether ``word`` stands in ``text`` with no letter or digit on either side."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (at and text[at - 1].isalnum()) and not (end < len(text) and text[end].isalnum()):
            return True
        at = text.find(word, at + 1)
    return False
