"""What a condition reads of an event, and what the daemon must therefore be asked to tell of it.

Derived from the condition itself, so that no author has to know which facts are told unasked
(`kinds.shapes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from detectors.matchers import FactsMatch, TextMatch
from detectors.model.kinds.shapes import ON_REQUEST, OnRequest, Path, shape_at

ANY_ADDRESS: dict[str, Any] = {"url": None, "refused": True}
"""The entry of a plan that asks for the bodies of all requests."""
_LITERAL = ("equals", "one_of")


class Read(NamedTuple):
    """One place of an event's data that a condition looks at; ``deep``: also at all that stands in
    it, not only at whether it is there, or how long it is."""

    path: Path
    deep: bool = True


@dataclass(frozen=True, slots=True)
class Reads:
    """All that a condition reads. ``wanted``: texts that a path must be equal to, as far as the
    condition names them; ``frame_url``: it reads the address of the event's frame."""

    places: tuple[Read, ...] = ()
    wanted: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    frame_url: bool = False

    def names(self, first: str) -> bool:
        """Whether a place begins with ``first``."""
        return any(place.path[:1] == (first,) for place in self.places)

    def may_read(self, first: str) -> bool:
        """Whether it looks at ``first``, be it as a part of the whole."""
        return self.names(first) or any(place.deep and not place.path for place in self.places)


def reads_of_facts(facts: FactsMatch | None, *paths: Path) -> Reads:
    """What named facts read, and further ``paths``."""
    if facts is None:
        return Reads(tuple(Read(path) for path in paths))
    places = [Read(path, isinstance(wanted, TextMatch)) for path, wanted in facts.facts]
    texts = {
        path: wanted.texts
        for path, wanted in facts.facts
        if isinstance(wanted, TextMatch)
        and wanted.mode in (*_LITERAL, "glob")
        and not wanted.ignore_case
    }
    return Reads((*places, *(Read(path) for path in paths)), texts)


def check_reads(kind: str, reads: Reads) -> None:
    """Raises `ValueError`, with the field named, for what no event of the kind can have or no plan
    can ask for."""
    for place in reads.places:
        try:
            shape_at(kind, place.path)
        except LookupError as error:
            raise ValueError(str(error)) from None
    if reads.frame_url:
        try:
            shape_at(kind, ("frame",))
        except LookupError:
            raise ValueError(f"url: {kind} is not told of a frame") from None
    asks_of_reads(kind, reads)


def asks_of_reads(kind: str, reads: Reads) -> dict[str, list[Any]]:
    """What the daemon is to be asked for, by the names of `ruleset.ASKED`. Raises `ValueError` for
    what it can't be."""
    asked = told_on_request(kind, reads)
    if kind == "attribute.changed":
        asked["attributes"] = _needed(kind, reads, ("attribute",), "which attribute it is about")
    if kind == "element.state_changed":
        asked["elements"] = [{}]  # of every control, and whatever has an id
    if kind == "file.read":
        asked["file_reads"] = list(_file_reads(reads))
    return asked


def told_on_request(kind: str, reads: Reads) -> dict[str, list[Any]]:
    """What of that stands in the kind's own table (`ON_REQUEST`). Raises `ValueError` for what
    other rules alone can ask for."""
    if kind != "element.state_changed" and reads.names("selectors"):
        raise ValueError(
            "selectors: which of them an element meets is told where element_clicked or"
            " field_filled names them"
        )
    if kind == "screen.captured" and reads.names("regions"):
        raise ValueError("regions: they are measured where screen_like or screen_text names them")
    asked: dict[str, list[Any]] = {}
    for place, fact in _on_request(kind, reads.places):
        item = (
            _header(place, fact)
            if fact.named
            else fact.item
            if fact.ask in ("around", "points")
            else _bodies(reads)
        )
        if item not in asked.setdefault(fact.ask, []):
            asked[fact.ask].append(item)
    return asked


def _on_request(kind: str, places: Iterable[Read]) -> Iterator[tuple[Read, OnRequest]]:
    for place in places:
        for fact in ON_REQUEST.get(kind, ()):
            reaches = len(place.path) >= len(fact.path) or place.deep
            if reaches and all(_is_step(a, b) for a, b in zip(place.path, fact.path, strict=False)):
                yield place, fact


def _is_step(read: str, told: str) -> bool:
    return read == told or (told == "*" and read.isdecimal())


def _header(place: Read, fact: OnRequest) -> str:
    if len(place.path) == len(fact.path) + 1 and place.path[-1] != "*":
        return place.path[-1].lower()
    named = ".".join((*fact.path, "content-type")).replace("*", "0")
    raise ValueError(
        f"{'.'.join(place.path) or 'data'}: headers are told one by one: say which is read, as in"
        f" {named}"
    )


def _bodies(reads: Reads) -> dict[str, Any]:
    methods = reads.wanted.get(("method",))
    return (
        ANY_ADDRESS
        if methods is None
        else ANY_ADDRESS | {"methods": sorted({one.casefold() for one in methods})}
    )


def _file_reads(reads: Reads) -> Iterator[dict[str, Any]]:
    forms = reads.wanted.get(("as",), ("auto",))
    for path in _needed(
        "file.read",
        reads,
        ("path",),
        "which file is to be read (the rules file_text, file_is, … do)",
    ):
        for root in reads.wanted.get(("root",), (None,)):
            for query in reads.wanted.get(("query",), (None,)):
                for form in forms:
                    yield {
                        "path": path,
                        "root": root,
                        "format": None if form == "auto" else form,
                        "query": query,
                    }


def _needed(kind: str, reads: Reads, path: Path, what: str) -> list[str]:
    if not (texts := reads.wanted.get(path)):
        raise ValueError(
            f"{'.'.join(path)}: {kind} is told only where the condition says {what}, as an exact"
            " text"
        )
    return list(texts)
