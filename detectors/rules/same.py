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
class SameArgs:
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
        f"Whether it suffices that the first value contains this one as a word of at least"
        f" {MIN_LENGTH} characters.",
        False,
    )


def _path(args: SameArgs, place: int) -> str:
    return args.of_first if place == 0 and args.of_first is not None else args.by


@composite(args=SameArgs, binds=_path)
def same(
    children: Sequence[Standing], own: Standing, child: int, moment: Moment, args: SameArgs
) -> float:
    """Every condition in `of` has been true about the same thing: a click in the tab that shows the
    address, a rename of the file that was downloaded, a number of one page typed into another
    (`by: value, order: given`).
    """
    if own.best >= 1.0:
        return 1.0
    bound = [child.bound or {} for child in children]
    if not all(bound):
        return 0.0
    values = dict.fromkeys(bound[-1])
    if any(HIDDEN in values_of_part for values_of_part in bound):
        values = dict.fromkeys(value for values_of_part in bound for value in values_of_part)
    return 1.0 if any(_chain(bound, value, args) for value in values) else 0.0


def _chain(bound: Sequence[dict[str, list[int]]], value: str, args: SameArgs) -> bool:
    """Whether every part was true about ``value``, in the order that is asked for."""
    last = 0
    for place, values in enumerate(bound):
        seqs = _seqs_about(value, values, in_words=place == 0 and args.part)
        if not seqs:
            return False
        if args.order == "given":
            # The earliest that comes after the one before; of what came several times the last
            # counts too.
            after = [seq for seq in seqs if seq > last]
            if not after:
                return False
            last = min(after)
    return True


def _seqs_about(value: str, values: dict[str, list[int]], *, in_words: bool) -> list[int]:
    """The first and last events in which a part was true about ``value``; ``in_words``: or about a
    text that has it as a word."""
    if in_words and len(value) >= MIN_LENGTH:
        texts = [text for text in values if text == HIDDEN or word_in(value, text)]
        return [seq for text in texts for seq in values[text]]
    return values.get(value) or values.get(HIDDEN) or []


def word_in(word: str, text: str) -> bool:
    """Whether ``word`` stands in ``text`` with no letter or digit on either side."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (at and text[at - 1].isalnum()) and not (end < len(text) and text[end].isalnum()):
            return True
        at = text.find(word, at + 1)
    return False
