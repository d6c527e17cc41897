"""What is on the screen and in the fields after each event: the small state that features are
differences of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from api.stages.model.words import plain
from detectors.model.types import Event

BOXES = frozenset(("checkbox", "radio", "switch", "option", "menuitemcheckbox", "menuitemradio"))
_WHOLE = (1 << 64) - 1
MAX_ELEMENTS = 4_000
"""Elements and lines of text that are kept; a page with more of them is told by what came first."""


class ScreenElement(NamedTuple):
    """An element as it is told."""

    role: str
    name: str
    tag: str


class Filled(NamedTuple):
    """What a field holds: its name, its role, text (None: a secret or a box), whether it is
    checked."""

    name: str
    role: str
    text: str | None
    checked: bool | None
    secret: bool
    parts: tuple[str, ...] = ()
    """What it holds, each choice of a list by itself."""
    values: tuple[str, ...] = ()
    """The same as plain words."""
    place: int = 0
    """Its place among those of its role and tag, from 1; 0 where it is not known."""
    tag: str = ""
    type: str = ""
    given: bool = False
    """It stood so when the watch began, and nobody changed it."""


def standing(element: Mapping[str, Any]) -> str:
    """What tells an element from others like it."""
    return "|".join(
        str(element.get(part) or "") for part in ("id", "path", "attr_name", "name", "text")
    )


def shown_element(element: Mapping[str, Any]) -> ScreenElement:
    """The element of an event."""
    name = str(element.get("name") or element.get("text") or element.get("id") or "")
    return ScreenElement(str(element.get("role") or ""), plain(name), str(element.get("tag") or ""))


@dataclass(slots=True)
class Screen:
    """Folded from events, in order. Its size does not grow with the length of the episode."""

    elements: Counter[ScreenElement] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    fields: dict[tuple[str, str], Filled] = field(default_factory=dict)
    places: dict[str, set[str]] = field(default_factory=dict)
    """Of each word the lines that have it."""
    order: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    """Of each role and tag what stands there, in the order in which it came, with how many are the same."""
    fresh: list[ScreenElement] = field(default_factory=list)
    """Elements that came since somebody last looked; it is theirs to clear."""
    size: int = 0
    """Elements and lines."""
    mark: int = 0
    """The same for the same elements and lines, in whatever order they came; of this process alone."""
    url: str = ""
    typing: str = ""
    """What the harness says that this step types: of a secret field nothing else is known."""
    told: bool = False
    """Whether text and elements are told in this log at all."""

    def take(self, event: Event) -> None:
        """One more event."""
        take = _TAKES.get(event.kind)
        if take is not None:
            take(self, event.data)

    def _appeared(self, data: Mapping[str, Any]) -> None:
        self.told = True
        one = shown_element(data["element"])
        if len(self.elements) < MAX_ELEMENTS:
            if one not in self.elements:
                self.fresh.append(one)
            self.elements[one] += 1
            self._count(one, 1)
            row = self.order.setdefault((one.role, one.tag), {})
            name = standing(data["element"])
            if name in row or len(row) < MAX_ELEMENTS:
                row[name] = row.get(name, 0) + 1

    def _disappeared(self, data: Mapping[str, Any]) -> None:
        one = shown_element(data["element"])
        if one in self.elements:
            _less(self.elements, one)
            self._count(one, -1)
            row, name = self.order.get((one.role, one.tag), {}), standing(data["element"])
            if row.get(name, 0) > 1:
                row[name] -= 1
            else:
                row.pop(name, None)

    def place(self, element: Mapping[str, Any]) -> tuple[int, int]:
        """Its place among those of its role and tag, from 1, and how many they are; (0, 0) where it
        is not known."""
        one, name = shown_element(element), standing(element)
        at = 0
        row = self.order.get((one.role, one.tag), {})
        for other, count in row.items():
            if other == name:
                return (at + 1, sum(row.values())) if count == 1 else (0, 0)
            at += count
        return 0, 0

    def _count(self, what: object, by: int) -> None:
        self.size += by
        self.mark = (self.mark + by * hash(what)) & _WHOLE

    def _text(self, data: Mapping[str, Any]) -> None:
        self.told = True
        for line in str(data["text"]).split("\n"):
            if len(self.lines) < MAX_ELEMENTS:
                self._line(plain(line))

    def _text_gone(self, data: Mapping[str, Any]) -> None:
        for line in map(plain, str(data["text"]).split("\n")):
            if line in self.lines:
                _less(self.lines, line)
                self._count(line, -1)
                for word in () if line in self.lines else line.split():
                    self.places[word].discard(line)

    def _line(self, line: str) -> None:
        if line not in self.lines:
            for word in line.split():
                self.places.setdefault(word, set()).add(line)
        self.lines[line] += 1
        self._count(line, 1)

    def fill(self, data: Mapping[str, Any]) -> None:
        """A field's value is now this."""
        element = data["element"]
        one, key = shown_element(element), (str(data.get("frame")), str(data["field"]))
        value, checked = data.get("value"), data.get("checked")
        parts = (
            list(map(str, value))
            if isinstance(value, list)
            else []
            if value is None
            else [str(value)]
        )
        secret = value is None and checked is None and bool(data.get("filled"))
        known = self.fields.get(key)
        if secret:
            parts = [self.typing] if self.typing else [known.text] if known and known.text else []
        text = ", ".join(parts) if parts else None if value is None else ""
        name, place = one.name or plain(str(data["field"])), self.place(element)[0]
        values = tuple(filter(None, map(plain, parts)))
        kind = str(element.get("type") or "")
        same = (
            known is not None
            and known.given
            and known.parts == tuple(parts)
            and known.checked == checked
        )
        given = same or bool(data.get("baseline"))
        self.fields[key] = Filled(
            name, one.role, text, checked, secret, tuple(parts), values, place, one.tag, kind, given
        )
        if len(self.fields) > MAX_ELEMENTS:
            self.fields.pop(next(iter(self.fields)))

    def _navigate(self, data: Mapping[str, Any]) -> None:
        if not data.get("main"):
            return
        self.url = str(data["url"])
        if not data.get("same_document"):
            self.elements.clear()
            self.lines.clear()
            self.places.clear()
            self.fresh.clear()
            self.order.clear()
            self.size = self.mark = 0
            self.fields.clear()


def _less(counted: Counter[Any], key: Any) -> None:
    if counted[key] > 1:
        counted[key] -= 1
    else:
        del counted[key]


_TAKES = {
    "element.appeared": Screen._appeared,
    "element.disappeared": Screen._disappeared,
    "text.appeared": Screen._text,
    "text.disappeared": Screen._text_gone,
    "field.filled": Screen.fill,
    "page.navigated": Screen._navigate,
}
