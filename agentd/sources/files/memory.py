"""What was reported as there, so that a new attachment finds what went while nobody watched.

It is made of the source's own events: in this process as they are reported, after a restart from
the journal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import Any

_HERE = (
    "file.present",
    "file.created",
    "file.modified",
    "file.moved",
    "folder.created",
    "folder.moved",
)


class Memory:
    """The paths that events reported as there, by root."""

    def __init__(self) -> None:
        self._there: dict[str, dict[str, set[str]]] = {
            "file": defaultdict(set),
            "folder": defaultdict(set),
        }

    def note(self, kind: str, data: Mapping[str, Any]) -> None:
        """Take in one event of the source."""
        noun = kind.partition(".")[0]
        if noun not in self._there:
            return
        paths = self._there[noun][data["root"]]
        if "from" in data:
            paths.discard(data["from"])
        if kind in _HERE:
            paths.add(data["path"])
        elif kind.endswith(".deleted"):
            paths.discard(data["path"])

    def has(self, root: str, path: str) -> bool:
        """Return whether a file was reported as there."""
        return path in self._there["file"][root]

    def removal_events(
        self, root: str, there: Set[str], unknown: Set[str]
    ) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the events of what was reported and is not ``there``.

        What lies in ``unknown`` folders is left out: nobody knows whether it is there.
        """
        for noun in ("file", "folder"):
            for path in sorted(self._there[noun][root] - there):
                if any(path.startswith(folder + "/") for folder in unknown):
                    continue
                name = path.rpartition("/")[2]
                data = {"root": root, "path": path, "name": name, "baseline": True}
                yield f"{noun}.deleted", data
