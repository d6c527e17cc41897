"""Reading one object's keys with their checks, noting problems instead of stopping at the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from detectors.model.errors import SpecError

Path = tuple[str | int, ...]


class TaskReader:
    """Collects the problems of one task. ``stored``: it was taken before, maybe by a build that
    asked for less."""

    def __init__(self, *, stored: bool = False) -> None:
        self.stored = stored
        self.problems: list[SpecError] = []

    def note(self, path: Path, value: object, wanted: str) -> None:
        """Record a problem: the path to it, the value there, and what was expected."""
        self.problems.append(SpecError(path, value, wanted))

    def note_new(self, path: Path, value: object, wanted: str) -> None:
        """Remember a problem that older builds did not find: who has taken the task goes on with
        it."""
        if not self.stored:
            self.note(path, value, wanted)

    def get(
        self,
        spec: Mapping[str, object],
        key: str,
        path: Path,
        ok: Callable[[object], bool],
        wanted: str,
        default: object = None,
    ) -> Any:
        """What stands under ``key`` if it is ``ok``; else the default, with a problem if something
        stood there."""
        if key not in spec:
            return default
        if ok(spec[key]):
            return spec[key]
        self.note((*path, key), spec[key], wanted)
        return default

    def unknown(self, spec: Mapping[str, object], known: frozenset[str], path: Path) -> None:
        """Note every key that is none of the ``known``."""
        for key in spec:
            if key not in known:
                self.note(
                    (*path, str(key)),
                    spec[key],
                    f"no such key; there are {', '.join(sorted(known))}",
                )

    def attempt(self, parse: Callable[..., object], value: object, path: Path) -> Any:
        """What ``parse(value, path)`` gives; None, with a problem, where it raises `SpecError`."""
        try:
            return parse(value, path)
        except SpecError as error:
            self.problems.append(error)
            return None


def is_text(value: object) -> bool:
    """Whether ``value`` is a text with more than blanks in it."""
    return isinstance(value, str) and bool(value.strip())


def is_mapping(value: object) -> bool:
    """Whether ``value`` is a JSON object."""
    return isinstance(value, Mapping)


def is_number(value: object) -> TypeGuard[float]:
    """Whether ``value`` is a number of ordinary size; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e6
