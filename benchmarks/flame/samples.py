"""What the processes of a benchmark sampled, as stacks that people can read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

FOLDER, OF = "MILESTONED_FLAME_FOLDER", "MILESTONED_FLAME_OF"
"""The variables that say where samples are written, and of which processes, by a part of their
command line; hook/sitecustomize.py reads them."""
ROOT = Path(__file__).parents[2]
_LIBRARY = re.compile(r".*/(?:site|dist)-packages/(?P<package>[^/.]+)")
_STANDARD = re.compile(r".*/lib/python3[^/]*/(?P<module>[^/.]+)|<frozen (?P<frozen>[^>]+)>")
_IMPORTING = "<frozen importlib"

Stacks = Counter[tuple[str, ...]]
"""Samples by stack, the outermost name first."""


def read_samples(folder: Path) -> Stacks:
    """Return the samples of all processes. What imports modules is left out: it is done once."""
    stacks: Stacks = Counter()
    for file in sorted(folder.glob("*.stacks")):
        for line in file.read_text().splitlines():
            count, *frames = line.split("\0")
            named = [tuple(frame.split("\t")) for frame in frames]
            if not any(path.startswith(_IMPORTING) for _, path in named):
                stacks[name_stack((name, path) for name, path in named)] += int(count)
    return stacks


def name_stack(frames: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return a stack of (function, file) by names: a function of ours by its name and file,
    frames of one library that follow each other by the library's."""
    names: list[str] = []
    for function, path in frames:
        name = _library(path)
        if name is None:
            own = path.removeprefix(f"{ROOT}/")
            names.append(f"{function} ({own})")
        elif not names or names[-1] != name:
            names.append(name)
    return tuple(names)


def _library(path: str) -> str | None:
    """Return the library that a file belongs to; None for one of ours."""
    if found := _LIBRARY.match(path):
        return found["package"]
    if found := _STANDARD.match(path):
        return found["module"] or found["frozen"]
    return "generated" if path.startswith("<") else None
