"""Which leaves hold a reading under which key, so that an event finds at once what it makes
untrue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from detectors.model.codec import sha256
from detectors.sdk.world import form_of

MAX_KEY = 96
"""Characters of a reading key that are kept as they are."""

MAX_BEGINNING = 48
"""Characters of a longer one's beginning that are kept."""


class HeldKeys:
    """Reading key → the leaves that hold it; the form of a key is what it is about (`form_of`)."""

    def __init__(self) -> None:
        self._leaves: dict[str, set[int]] = {}
        self.forms: dict[str, int] = {}
        """Form → how many of the keys that are held have it: few, where the keys may be many."""

    def select_held(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Those of ``keys`` that are held, as they are held: long ones shortened."""
        short = [key if len(key) <= MAX_KEY else short_key(key) for key in keys]
        return tuple([key for key in short if key in self._leaves])

    def select_below(self, beginnings: Sequence[str]) -> tuple[str, ...]:
        """Those that are held and begin with one of ``beginnings``."""
        starts = tuple([beginning[:MAX_BEGINNING] for beginning in beginnings])
        return tuple([key for key in self._leaves if key.startswith(starts)])

    def leaves(self, key: str) -> list[int]:
        """The leaves that hold the key, in their order."""
        return sorted(self._leaves.get(key, ()))

    def hold(self, key: str, leaf: int) -> None:
        """Note that the leaf holds the key."""
        leaves = self._leaves.get(key)
        if leaves is None:
            leaves = self._leaves[key] = set()
            form = form_of(key)
            self.forms[form] = self.forms.get(form, 0) + 1
        leaves.add(leaf)

    def release(self, key: str, leaf: int) -> None:
        """Note that the leaf does not hold the key any more, if it did."""
        leaves = self._leaves.get(key)
        if leaves is None:
            return
        leaves.discard(leaf)
        if leaves:
            return
        del self._leaves[key]
        form = form_of(key)
        self.forms[form] -= 1
        if not self.forms[form]:
            del self.forms[form]


def short_key(key: str) -> str:
    """The key itself, or for a long one its beginning and its hash: pages may use names of any
    length."""
    if len(key) <= MAX_KEY:
        return key
    return f"{key[:MAX_BEGINNING]}#{sha256(key.encode('utf-8', 'surrogatepass'))[:32]}"
