"""Collecting the problems of a task's JSON instead of stopping at the first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import TypeGuard

from detectors.model.errors import DetectorError, SpecError
from detectors.model.types import Json

Path = tuple[str | int, ...]


class NotedError(DetectorError):
    """Nothing can be made of a value, and what is wrong with it is noted already."""


class TaskReader:
    """Collects the problems of one task. ``stored``: it was taken before, maybe by a build that
    asked for less; ``origin``: what its addresses resolve against."""

    def __init__(self, *, stored: bool = False, origin: str | None = None) -> None:
        self.stored, self.origin = stored, origin
        self.problems: list[SpecError] = []
        self._noting = Noting(self.problems)

    def note(self, path: Path, value: Json, expected: str) -> None:
        """Record a problem: the path to it, the value there, and what was expected."""
        self.problems.append(SpecError(path, value, expected))

    def note_new(self, path: Path, value: Json, expected: str) -> None:
        """Record a problem that older builds did not find: a stored task goes on with it."""
        if not self.stored:
            self.note(path, value, expected)

    def note_unknown(
        self, given: Mapping[str, Json], known: Collection[str], path: Path, noun: str = "key"
    ) -> None:
        """Record every key of ``given`` that is none of the ``known``."""
        for name in given:
            if name not in known:
                close = get_close_matches(str(name), known, n=1)
                meant = f" (did you mean {close[0]}?)" if close else ""
                expected = f"no such {noun}{meant}; there are {', '.join(known) or 'none'}"
                self.note((*path, str(name)), given[name], expected)

    def noting(self) -> Noting:
        """A context that records the `SpecError` which its block raises, and goes on behind it."""
        return self._noting


class Noting:
    """What `TaskReader.noting` returns; a class, as a generator takes twice as long to read a
    task."""

    def __init__(self, problems: list[SpecError]) -> None:
        self._problems = problems

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: object, _traceback: object) -> bool:
        if isinstance(error, SpecError):
            self._problems.append(error)
        return isinstance(error, SpecError | NotedError)


def is_text(value: Json) -> TypeGuard[str]:
    """Whether ``value`` is a text with more than blanks in it."""
    return isinstance(value, str) and bool(value.strip())
