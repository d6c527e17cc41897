"""What an audit names: one thing that is stored otherwise than the log or a signature says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from detectors.model.optional_values import last_or_none

_SHOWN = 200


class Difference(NamedTuple):
    """``what`` of ``episode`` ("" for the tree over all) is ``found``, but ``wanted`` is what it
    must be."""

    episode: str
    what: str
    found: str
    wanted: str

    def __str__(self) -> str:
        """Say what was found where something else was wanted."""
        whose = f"{self.episode}: " if self.episode else ""
        return f"{whose}{self.what}: found {self.found}, wanted {self.wanted}"


def differs(episode: str, what: str, found: Any, wanted: Any) -> Iterable[Difference]:
    """A difference, where there is one."""
    if found != wanted:
        yield Difference(episode, what, format_value(found), format_value(wanted))


def field_differences(
    episode: str, what: str, found: Mapping[str, Any], wanted: Mapping[str, Any]
) -> list[Difference]:
    """The differences of ``what``'s fields, each called ``what.field``, in the order of
    ``wanted``."""
    return [
        difference
        for name, value in wanted.items()
        for difference in differs(episode, f"{what}.{name}", found[name], value)
    ]


def format_value(value: Any) -> str:
    """Render a value for people: bytes as text, cut at `_SHOWN` characters."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


Page = Callable[[int, int], Any]
"""Stored rows whose key is greater than the first argument, at most as many as the second."""


class RowComparison:
    """Stored rows beside recomputed ones, both in the order of a whole-numbered key; a page of them
    in memory."""

    PAGE = 500

    def __init__(self, episode: str, what: str, key: str, page: Page) -> None:
        self._episode, self._what, self._key, self._page = episode, what, key, page
        self._rows: list[Any] = []
        self._last = -1
        self._more = True

    async def against(self, wanted: Sequence[Mapping[str, Any]]) -> AsyncIterator[Difference]:
        """What differs from the next recomputed rows."""
        for row in wanted:
            key = row[self._key]
            what = f"{self._what} {key}"
            async for extra in self._missing_before(key):
                yield extra
            stored = await self._next()
            if stored is None or getattr(stored, self._key) != key:
                yield Difference(self._episode, what, "none", "one, by the log")
                continue
            self._rows.pop()
            for difference in field_differences(self._episode, what, fields_of(stored, row), row):
                yield difference

    async def remaining(self) -> AsyncIterator[Difference]:
        """Rows that the log does not give."""
        async for extra in self._missing_before(None):
            yield extra

    async def _missing_before(self, key: int | None) -> AsyncIterator[Difference]:
        """Yield a difference for each stored row before ``key`` that the log knows nothing of."""
        while (stored := await self._next()) is not None:
            if key is not None and getattr(stored, self._key) >= key:
                return
            self._rows.pop()
            what = f"{self._what} {getattr(stored, self._key)}"
            yield Difference(self._episode, what, "one", "none, by the log")

    async def _next(self) -> Any:
        """Return the next stored row, read by pages; None after the last."""
        if not self._rows and self._more:
            page = await self._page(self._last, self.PAGE)
            self._more = len(page) == self.PAGE
            self._last = getattr(page[-1], self._key) if page else self._last
            self._rows = list(reversed(page))
        return last_or_none(self._rows)


def fields_of(stored: Any, like: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a ``stored`` row that ``like`` has too, bytes where that has bytes."""
    return {
        name: bytes(getattr(stored, name)) if isinstance(value, bytes) else getattr(stored, name)
        for name, value in like.items()
    }
