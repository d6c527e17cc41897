"""Caches that are bounded in bytes; docs/scale.md lists each with its bound."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from sys import getsizeof
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
P = ParamSpec("P")
R = TypeVar("R")

BODIES_BYTES = 1 << 25
"""Bytes of the request bodies that a matcher keeps parsed."""
PARSED = 40
"""Bytes that parsed JSON or a parsed form takes for each character of its text, at most."""
ENTRY = 256
"""Bytes that an entry costs beside its key and value: its places in the tables of a cache."""


class SharedPart(NamedTuple):
    """What several values hold together, such as the rules of several engines; counted once."""

    key: Hashable
    bytes: int


class _Entry(NamedTuple, Generic[V]):
    value: V
    bytes: int
    shared: SharedPart | None


class SizedCache(Generic[K, V]):
    """Values by key, ``max_bytes`` of them together; the one that was used longest ago makes room.

    A value that alone is larger is not kept. Not for several threads; see `cache_by_size`.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        """Bytes of what is kept, and of what that shares."""
        self._kept: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._sharers: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """The value, if it is kept; it was used just now."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found.value

    def put(self, key: K, value: V, size: int, shared: SharedPart | None = None) -> None:
        """Keep ``value``, of ``size`` bytes and those of ``shared``, in place of what stood under
        the key."""
        self.drop(key)
        self._kept[key] = _Entry(value, size + ENTRY, shared)
        self.bytes += size + ENTRY
        if shared is not None:
            self._sharers[shared.key] += 1
            self.bytes += shared.bytes if self._sharers[shared.key] == 1 else 0
        if size + ENTRY + (shared.bytes if shared else 0) > self.max_bytes:
            self.drop(key)
        while self.bytes > self.max_bytes:
            self.drop(next(iter(self._kept)))

    def peek(self, key: K) -> V | None:
        """The value, if it is kept; that is no use of it."""
        found = self._kept.get(key)
        return None if found is None else found.value

    def resize(self, key: K, size: int) -> None:
        """Count the kept value of ``key`` as ``size`` bytes; it was not used by that."""
        found = self._kept[key]
        self._kept[key] = found._replace(bytes=size + ENTRY)
        self.bytes += size + ENTRY - found.bytes

    def drop(self, key: K) -> None:
        """Forget the value of ``key``, if it is kept."""
        found = self._kept.pop(key, None)
        if found is None:
            return
        self.bytes -= found.bytes
        if found.shared is not None:
            self._sharers[found.shared.key] -= 1
            if not self._sharers[found.shared.key]:
                del self._sharers[found.shared.key]
                self.bytes -= found.shared.bytes

    def clear(self) -> None:
        """Forget every value and count no bytes any more."""
        self._kept.clear()
        self._sharers.clear()
        self.bytes = 0


def cache_by_size(
    max_bytes: int, result_size: Callable[..., int], *, keeps_last: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a pure function of texts that takes much longer than a microsecond: results are
    kept, ``max_bytes`` of arguments and results together, in any thread.

    ``result_size`` gives the bytes of a result, from it and the arguments. ``keeps_last``: the last
    result that alone is larger is kept too, until `release_large`, since many conditions ask for
    it one after the other.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cache: SizedCache[Hashable, tuple[R]] = SizedCache(max_bytes)
        large: dict[Hashable, tuple[R]] = {}
        lock = threading.Lock()
        if keeps_last:
            _LARGE.append(large)

        @wraps(function)
        def cached(*args: P.args, **named: P.kwargs) -> R:
            key = (*args, *named.items())
            with lock:
                found = cache.get(key) or large.get(key)
            if found is not None:
                return found[0]
            result = function(*args, **named)
            size = sum(map(getsizeof, args)) + result_size(result, *args, **named)
            with lock:
                cache.put(key, (result,), size)
                if keeps_last and size > max_bytes:
                    large.clear()
                    large[key] = (result,)
            return result

        cached.cache = cache  # type: ignore[attr-defined]  # for those who measure
        return cached

    return decorate


_LARGE: list[dict[Hashable, Any]] = []


def release_large() -> None:
    """Forget the results that are larger than their caches: the events that they are about were
    read."""
    for large in _LARGE:
        large.clear()


def cache_short(
    max_entries: int, max_characters: int
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a pure function whose first argument is a text: results are kept for texts of at
    most ``max_characters``, so that ``max_entries`` bound the bytes, too. In any thread."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        short = lru_cache(maxsize=max_entries)(function)

        @wraps(function)
        def cached(*args: P.args, **named: P.kwargs) -> R:
            if len(args[0]) > max_characters:  # type: ignore[arg-type]
                return function(*args, **named)
            return short(*args, **named)  # type: ignore[arg-type]

        cached.cache = short  # type: ignore[attr-defined]
        return cached

    return decorate
