"""What is on the screen and in the fields after each event: the small state that features are
differences of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from api.stages.model.words import plain
from detectors.model.types import Event, Json

EventData = Mapping[str, Json]
"""What an event says, and what it says of an element."""
FieldKey = tuple[str, str]
"""Frame and field."""
BOXES = frozenset(("checkbox", "radio", "switch", "option", "menuitemcheckbox", "menuitemradio"))
_WHOLE = (1 << 64) - 1
Key = TypeVar("Key")
MAX_ELEMENTS = 4_000
"""Elements and lines of text that are kept; of a page with more of them, those that came first."""


class ScreenElement(NamedTuple):
    """What the features read of an element."""

    role: str
    name: str
    tag: str


class Filled(NamedTuple):
    """A field and what it holds; ``text`` is None for a secret and for a box."""

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
    """It held this when the observation began, and nobody changed it."""

    @property
    def is_box(self) -> bool:
        """Whether it is checked rather than written into."""
        return self.checked is not None or self.role in BOXES

    @property
    def is_set(self) -> bool:
        """Whether it is checked or holds a text."""
        return bool(self.checked or self.text)

    @property
    def kinds(self) -> frozenset[str]:
        """Words for what it is: role, tag and type."""
        return frozenset((self.role, self.tag, self.type))


def identity_of(element: EventData) -> str:
    """Return what distinguishes an element from others of its role and tag."""
    parts = (element.get(part) for part in ("id", "path", "attr_name", "name", "text"))
    return "|".join(str(part or "") for part in parts)


def shown_element(element: EventData) -> ScreenElement:
    """Read an event's element; its name is as plain words."""
    name = str(element.get("name") or element.get("text") or element.get("id") or "")
    return ScreenElement(str(element.get("role") or ""), plain(name), str(element.get("tag") or ""))


def field_key(data: EventData) -> FieldKey:
    """Return the key of the field that an event is about."""
    return str(data.get("frame")), str(data["field"])


@dataclass(slots=True)
class Screen:
    """Folded from events, in order. Its size does not grow with the length of the episode."""

    elements: Counter[ScreenElement] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    fields: dict[FieldKey, Filled] = field(default_factory=dict)
    places: dict[str, set[str]] = field(default_factory=dict)
    """Of each word the lines that have it."""
    order: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    """Of each role and tag the identities in the order in which they came, each with how many
    elements have it."""
    fresh: list[ScreenElement] = field(default_factory=list)
    """Elements that came since this was last cleared, by who reads it."""
    size: int = 0
    """Elements and lines."""
    mark: int = 0
    """A sum of hashes: equal for equal elements and lines in any order; of this process alone."""
    url: str = ""
    typing: str = ""
    """What the harness says that this step types; nothing else is known of a secret field."""
    is_reported: bool = False
    """Whether this log reports text or elements at all."""

    def fold(self, event: Event) -> None:
        """Apply one more event to what the screen shows."""
        apply = _HANDLERS.get(event.kind)
        if apply is not None:
            apply(self, event.data)

    def place(self, element: EventData) -> tuple[int, int]:
        """Return an element's place among those of its role and tag, from 1, and their number;
        (0, 0) where it is not known."""
        shown = shown_element(element)
        identity = identity_of(element)
        row = self.order.get((shown.role, shown.tag), {})
        before = 0
        for other, count in row.items():
            if other == identity:
                return (before + 1, sum(row.values())) if count == 1 else (0, 0)
            before += count
        return 0, 0

    def fill(self, data: EventData) -> None:
        """Set the value that a field of the screen holds."""
        element = data["element"]
        shown, key = shown_element(element), field_key(data)
        value, checked = data.get("value"), data.get("checked")
        known = self.fields.get(key)
        secret = value is None and checked is None and bool(data.get("has_value"))
        parts = self._secret_parts(known) if secret else _value_parts(value)
        empty = None if value is None else ""
        self.fields[key] = Filled(
            name=shown.name or plain(str(data["field"])),
            role=shown.role,
            text=", ".join(parts) if parts else empty,
            checked=checked,
            secret=secret,
            parts=parts,
            values=tuple(filter(None, map(plain, parts))),
            place=self.place(element)[0],
            tag=shown.tag,
            type=str(element.get("type") or ""),
            given=bool(data.get("baseline")) or _is_as_given(known, parts, checked),
        )
        if len(self.fields) > MAX_ELEMENTS:
            self.fields.pop(next(iter(self.fields)))

    def _secret_parts(self, known: Filled | None) -> tuple[str, ...]:
        """What a secret field holds: what the harness types now, else what it typed before."""
        if self.typing:
            return (self.typing,)
        return (known.text,) if known is not None and known.text else ()

    def _add_element(self, data: EventData) -> None:
        self.is_reported = True
        if len(self.elements) >= MAX_ELEMENTS:
            return
        shown = shown_element(data["element"])
        if shown not in self.elements:
            self.fresh.append(shown)
        self.elements[shown] += 1
        self._count(shown, 1)
        row = self.order.setdefault((shown.role, shown.tag), {})
        identity = identity_of(data["element"])
        if identity in row or len(row) < MAX_ELEMENTS:
            row[identity] = row.get(identity, 0) + 1

    def _remove_element(self, data: EventData) -> None:
        shown = shown_element(data["element"])
        if shown not in self.elements:
            return
        _decrement(self.elements, shown)
        self._count(shown, -1)
        row = self.order.get((shown.role, shown.tag), {})
        identity = identity_of(data["element"])
        if identity in row:
            _decrement(row, identity)

    def _add_text(self, data: EventData) -> None:
        self.is_reported = True
        for line in str(data["text"]).split("\n"):
            if len(self.lines) < MAX_ELEMENTS:
                self._add_line(plain(line))

    def _add_line(self, line: str) -> None:
        if line not in self.lines:
            places = self.places
            for word in line.split():
                having = places.get(word)
                if having is None:
                    places[word] = {line}
                else:
                    having.add(line)
        self.lines[line] += 1
        self._count(line, 1)

    def _remove_text(self, data: EventData) -> None:
        for line in str(data["text"]).split("\n"):
            self._remove_line(plain(line))

    def _remove_line(self, line: str) -> None:
        if line not in self.lines:
            return
        _decrement(self.lines, line)
        self._count(line, -1)
        if line not in self.lines:
            for word in line.split():
                self.places[word].discard(line)

    def _navigate(self, data: EventData) -> None:
        if not data.get("main"):
            return
        self.url = str(data["url"])
        if not data.get("same_document"):
            self.elements.clear()
            self.lines.clear()
            self.places.clear()
            self.fresh.clear()
            self.order.clear()
            self.fields.clear()
            self.size = 0
            self.mark = 0

    def _count(self, item: ScreenElement | str, by: int) -> None:
        """Note that an element or a line came (1) or went (-1)."""
        self.size += by
        self.mark = (self.mark + by * hash(item)) & _WHOLE


def _value_parts(value: Json) -> tuple[str, ...]:
    """What a field holds, each choice of a list by itself."""
    if isinstance(value, list):
        return tuple(map(str, value))
    return () if value is None else (str(value),)


def _is_as_given(known: Filled | None, parts: tuple[str, ...], checked: Json) -> bool:
    """Whether a field still holds what it held when the observation began."""
    if known is None or not known.given:
        return False
    return known.parts == parts and known.checked == checked


def _decrement(counts: dict[Key, int], key: Key) -> None:
    """Count one less; what is no longer there has no entry."""
    if counts[key] > 1:
        counts[key] -= 1
    else:
        del counts[key]


_HANDLERS = {
    "element.appeared": Screen._add_element,
    "element.disappeared": Screen._remove_element,
    "text.appeared": Screen._add_text,
    "text.disappeared": Screen._remove_text,
    "field.filled": Screen.fill,
    "page.navigated": Screen._navigate,
}
