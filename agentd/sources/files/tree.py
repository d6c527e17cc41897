"""Paths by the folder that they lie in, so that what lies below one folder is found without reading
all."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from agentd.sources.files.names import LEFT_OUT


class PathTree:
    """A set of relative paths that knows its folders."""

    def __init__(self) -> None:
        self._own: set[str] = set()
        self._in: dict[str, set[str]] = {}
        # Made for a folder when somebody asks for it, and kept up from then on.
        self._ends: dict[str, dict[str, set[str]]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._own

    def add(self, path: str) -> None:
        """Add ``path``, and know the folders that it lies in."""
        self._own.add(path)
        while path:
            folder = path.rpartition("/")[0]
            inside = self._in.setdefault(folder, set())
            if path in inside:
                return
            inside.add(path)
            if folder in self._ends:
                self._ends[folder].setdefault(_end(path), set()).add(path)
            path = folder

    def discard(self, path: str) -> None:
        """Remove ``path``; what lies below it stays."""
        self._own.discard(path)
        while path and path not in self._own and path not in self._in:
            folder = path.rpartition("/")[0]
            inside = self._in.get(folder, set())
            inside.discard(path)
            self._discard_end(folder, path)
            if inside:
                return
            self._in.pop(folder, None)
            self._ends.pop(folder, None)
            path = folder

    def _discard_end(self, folder: str, path: str) -> None:
        """Drop a path from those that end alike in its folder."""
        ends = self._ends.get(folder, {})
        alike = ends.get(_end(path))
        if alike is not None:
            alike.discard(path)
            if not alike:
                del ends[_end(path)]

    def below(self, folder: str) -> Iterator[str]:
        """Yield every path below ``folder``, a folder before what is in it.

        The tree must not change meanwhile.
        """
        for path in sorted(self._in.get(folder, ())):
            if path in self._own:
                yield path
            yield from self.below(path)

    def ending(self, folder: str, end: str) -> Collection[str]:
        """Return the paths and the folders in ``folder`` itself whose names are ``end`` after their
        first `LEFT_OUT` letters, as they are held; the tree must not change while they are read."""
        if folder not in self._in:
            return ()
        ends = self._ends.get(folder)
        if ends is None:
            ends = self._ends[folder] = {}
            for path in self._in[folder]:
                ends.setdefault(_end(path), set()).add(path)
        return ends.get(end, ())

    def directly_in(self, folder: str) -> list[str]:
        """Return the paths that lie in ``folder`` itself, sorted."""
        return sorted(self._own.intersection(self._in.get(folder, ())))


def _end(path: str) -> str:
    return path.rpartition("/")[2][LEFT_OUT:]
