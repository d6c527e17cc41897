"""Files that a request carried and whose size is not known: the browser reads them from disk and
tells no byte."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from itertools import product

from detectors.matchers import IntRange, TextMatch
from detectors.model.kinds.network import MAX_UPLOADS
from detectors.model.kinds.shapes import Path
from detectors.model.safe_json import as_list, mapping
from detectors.model.types import Event, Json
from detectors.sdk.arguments import is_met
from detectors.sdk.condition_reads import Read

NO_SIZE = "the size of a file that was uploaded is not known"
"""Why a rule can't know what it is asked of such a request."""
MANY_FILES = "a request uploaded more files than are told"

UPLOADS = ("request.finished", "request.redirected")
"""The kinds that tell of a request's body."""

MAX_ASSIGNMENTS = 64
"""Ways for unknown sizes to equal each other, and known ones, that are looked at."""

_SIZE = ("body", "files", "*", "size")
_NOBODYS = -(2**40)
"""From here downwards: sizes that no file has."""


def uploads(
    request: Mapping[str, object],
    name: TextMatch | None,
    size: IntRange | None,
    field: TextMatch | None,
) -> bool | None:
    """Whether the request's body carries one file with all that is asked; None where that hangs on
    a size that is not known, or on files that were not told."""
    files = _files(request)
    found: bool | None = None if len(files) >= MAX_UPLOADS else False
    for about in map(mapping, files):
        if not (is_met(name, about.get("filename")) and is_met(field, about.get("name"))):
            continue
        if size is None or ("size" in about and size.matches(about["size"])):
            return True
        if "size" not in about:
            found = None
    return found


def why_unknown(request: Mapping[str, object]) -> str:
    """Why `uploads` can't say what the request's body carries."""
    return MANY_FILES if len(_files(request)) >= MAX_UPLOADS else NO_SIZE


def _files(request: Mapping[str, object]) -> Sequence[Json]:
    return as_list(mapping(request.get("body")).get("files"))


def unsized_places(event: Event, places: Collection[Read]) -> tuple[Path, ...]:
    """Where in the data of an event of `UPLOADS` the sizes of uploaded files would stand that are
    not there; only the bodies are looked at that one of the ``places`` leads into."""
    found: list[Path] = []
    if any(_reaches(place, _SIZE) for place in places):
        found += _unsized(event.data, ())
    if any(_reaches(place, ("hops", "*", *_SIZE)) for place in places):
        for number, hop in enumerate(as_list(event.data.get("hops"))):
            found += _unsized(mapping(hop), ("hops", str(number)))
    return tuple(found)


def _unsized(request: Mapping[str, object], base: Path) -> Iterator[Path]:
    for number, file in enumerate(_files(request)):
        if isinstance(file, Mapping) and "size" not in file:
            yield (*base, "body", "files", str(number), "size")


def _reaches(place: Read, pattern: Path) -> bool:
    missing = len(pattern) - len(place.path)
    if missing < 0 or (missing > 0 and not place.deep):
        return False
    return all(map(_takes_step, place.path, pattern))


def _takes_step(read: str, step: str) -> bool:
    return read == step or (step == "*" and read.isdecimal())


def is_one_of(read: Path, places: Collection[Path]) -> bool:
    """Whether what is read at a path stands at one of the places; ``*`` is any index."""
    return any(len(read) == len(place) and _leads_to(read, place) for place in places)


def is_part_of(read: Read, places: Collection[Path]) -> bool:
    """Whether one of the places is looked at as a part of something, or only for whether it is
    there."""
    if not read.deep:
        return is_one_of(read.path, places)
    return any(len(read.path) < len(place) and _leads_to(read.path, place) for place in places)


def assign_sizes(
    data: Mapping[str, object], hidden: Collection[Path]
) -> list[dict[str, object]] | None:
    """The data with the ``hidden`` sizes set, in every way that whole files can be told apart by:
    each like a known size, like another hidden one, or like none; the last way twice, by other
    numbers. None where there are too many."""
    known = sorted(set(_known_sizes(data)))
    choices = [[*known, *(_NOBODYS - n for n in range(k + 1))] for k in range(len(hidden))]
    many = 1
    for sizes in choices:
        many *= len(sizes)
        if many > MAX_ASSIGNMENTS:
            return None
    ways = [*product(*choices), tuple(_NOBODYS - len(hidden) - n for n in range(len(hidden)))]
    return [_with_sizes(data, dict(zip(hidden, sizes, strict=True))) for sizes in ways]


def _known_sizes(data: Mapping[str, object]) -> Iterator[int]:
    for request in (data, *(mapping(hop) for hop in as_list(data.get("hops")))):
        for file in _files(request):
            size = mapping(file).get("size")
            if isinstance(size, int):
                yield size


def _with_sizes(data: Mapping[str, object], sizes: Mapping[Path, int]) -> dict[str, object]:
    changed = dict(data)
    for path, size in sizes.items():
        part: Json = changed
        for step in path[:-1]:
            key = int(step) if isinstance(part, list) else step
            part[key] = copy(part[key])
            part = part[key]
        part[path[-1]] = size
    return changed


def _leads_to(read: Path, place: Path) -> bool:
    return all(map(_is_step, read, place))


def _is_step(read: str, step: str) -> bool:
    if not step.isdecimal():
        return read == step
    return read == "*" or (read.isdecimal() and len(read) < 7 and int(read) == int(step))
