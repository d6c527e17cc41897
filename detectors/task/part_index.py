"""An index for conditions on a part of a text: which of a thousand may an event hit?

A condition such as ``{contains: "Lamp"}`` or ``/orders/*/done`` can hold only where one of the
event's keys contains all the fixed parts of what the author wrote. Each condition waits under three
letters of them, the ones that the fewest others have; an event looks its own keys up letter by
letter, and only what it finds there is compared. That takes time linear in the keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from detectors.matchers.plain import ANY_KEY

GRAM = 3
"""Letters under which a condition waits: a shorter part tells too little."""
MIN_LEAVES = 8
"""Conditions from which on the index is faster than asking each of them."""


class PartIndex:
    """Conditions by the parts that a key must contain, all of them in one key.

    ``parts``: of each condition, by its number, at least one text of `GRAM` letters or more.
    """

    def __init__(self, parts: Mapping[int, Sequence[str]]) -> None:
        self._all = list(parts)
        self._waiting: dict[str, list[tuple[int, Sequence[str]]]] = {}
        common = Counter(gram for of_leaf in parts.values() for gram in set(_grams_of(of_leaf)))
        for leaf, of_leaf in parts.items():
            gram = min(_grams_of(of_leaf), key=lambda one: (common[one], one))
            self._waiting.setdefault(gram, []).append((leaf, of_leaf))

    def leaves(self, keys: Iterable[str]) -> list[int]:
        """Return the conditions that an event of these keys may hit, each once. An empty key and
        `ANY_KEY` are those of a text of which not all is known, such as no address."""
        found: dict[int, None] = {}
        for key in keys:
            if not key or key == ANY_KEY:
                return self._all
            if ANY_KEY in key:  # a number's or its digits': no letters that an author writes
                continue
            for gram in {key[at : at + GRAM] for at in range(len(key) - GRAM + 1)}:
                for leaf, of_leaf in self._waiting.get(gram, ()):
                    if all(part in key for part in of_leaf):
                        found[leaf] = None
        return sorted(found)


def _grams_of(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        for at in range(len(part) - GRAM + 1):
            yield part[at : at + GRAM]
