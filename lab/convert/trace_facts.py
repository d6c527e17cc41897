"""What one snapshot of a trace says that matters here: title, fields, the element that the call
acts on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from detectors.model.json_value import JsonObject
from lab.convert.dom import DomNode
from lab.convert.naming import (
    clicked_of,
    element_of,
    field_key,
    filled_data,
    is_field,
    is_secret,
    labels,
    type_of,
)
from lab.convert.trace_dom import CHECKED, SELECTED, TARGET, VALUE, FrameHistory
from lab.convert.trace_file import Snapshot

MAX_FIELDS = 200
_BUTTONS = frozenset(("submit", "button", "reset", "image", "file", "color"))


class Field(NamedTuple):
    """A field as it stands: ``state`` is its value and mark in clear, ``data`` what may be told of
    it."""

    state: tuple[str | list[str], bool | None]
    data: JsonObject
    secret: bool

    @property
    def is_empty(self) -> bool:
        """Whether the field is as if nobody had filled it in."""
        value, checked = self.state
        return not checked if checked is not None else not value


class CallTarget(NamedTuple):
    """What a call acts on: ``clicked`` as a person would say, ``own`` itself, ``keys`` of the
    fields that it is or labels. ``pressed``: the keys that click it; ``submits``: Enter in it may
    click a button of its form."""

    clicked: dict[str, str]
    own: dict[str, str]
    keys: frozenset[str]
    secret: bool
    pressed: frozenset[str] = frozenset()
    submits: bool = False


@dataclass(slots=True)
class SnapshotFacts:
    """``same``: the document is the one of the frame's snapshot before."""

    title: str | None
    fields: dict[str, Field]
    target: CallTarget | None
    same: bool


@dataclass(slots=True)
class SnapshotReader:
    """Reads a trace's snapshots in their order. ``secrets``: names and values of all fields that
    are secret."""

    secrets: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    _frames: dict[str, FrameHistory] = field(default_factory=dict)

    def facts(self, snapshot: Snapshot) -> SnapshotFacts:
        """Read the next snapshot, in the order of the trace."""
        tree, same = self._frames.setdefault(snapshot.frame, FrameHistory()).tree(snapshot.html)
        tree.found = {}
        titles = [title.content() for title in tree.all("title")[:1]]
        fields: dict[str, Field] = {}
        marked: DomNode | None = None
        for node in tree.walk():
            if node.attrs.get(TARGET) in ("", snapshot.call):
                marked = node
            if is_field(node) and len(fields) < MAX_FIELDS:
                self._field(fields, node)
        return SnapshotFacts(titles[0] if titles else None, fields, _target(marked), same)

    def _field(self, fields: dict[str, Field], node: DomNode) -> None:
        checked = node.get(CHECKED) == "true" if CHECKED in node.attrs else _checked(node)
        value = _value(node)
        names, values = self.secrets
        own_names = {name for name in (node.get("name"), node.get("id")) if name}
        secret = is_secret(node) or not names.isdisjoint(own_names)
        key = _free_key(fields, field_key(node))
        data = {**filled_data(node, value, checked), "field": key}
        if secret:
            data |= {"value": None, "has_value": bool(value)}
            data.pop("checked", None)
            names |= own_names
            if value and isinstance(value, str):
                values.add(value)
        fields[key] = Field((value, checked), data, secret)


def _free_key(fields: Collection[str], key: str) -> str:
    """``key``, with a number behind it where an earlier field has it."""
    free, number = key, 2
    while free in fields:
        free, number = f"{key}~{number}", number + 1
    return free


def _checked(node: DomNode) -> bool | None:
    return "checked" in node.attrs if type_of(node) in ("checkbox", "radio") else None


def _value(node: DomNode) -> str | list[str]:
    """What a field holds: a text, or of a list with several choices a list of texts."""
    if node.tag == "select":
        options = (option for option in node.walk() if option.tag == "option")
        values = [
            option.attrs.get("value", option.content())
            for option in options
            if option.get(SELECTED) == "true"
        ]
        if "multiple" in node.attrs:
            return values
        return values[-1] if values else ""
    if VALUE in node.attrs:
        return node.get(VALUE)
    return node.get("value") if node.tag == "input" else node.content()


def _target(marked: DomNode | None) -> CallTarget | None:
    if marked is None:
        return None
    keys = {field_key(marked)} if is_field(marked) else set()
    label = marked.closest("label")
    if label is not None:
        fields = filter(is_field, marked.all_of("input", "select", "textarea"))
        keys |= {field_key(field) for field in fields if labels(label, field)}
    return CallTarget(
        clicked=element_of(clicked_of(marked)),
        own=element_of(marked),
        keys=frozenset(keys),
        secret=is_secret(marked),
        pressed=_pressed(marked),
        submits=_submits(marked),
    )


def _pressed(node: DomNode) -> frozenset[str]:
    """The keys with which a browser clicks the element that has the focus."""
    kind = type_of(node)
    if "disabled" in node.attrs:
        return frozenset()
    match node.tag:
        case "button" | "summary":
            return frozenset(("Enter", "Space"))
        case "a" | "area" if "href" in node.attrs:
            return frozenset(("Enter",))
        case "input" if kind in _BUTTONS:
            return frozenset(("Enter", "Space"))
        case "input" if kind in ("checkbox", "radio"):
            return frozenset(("Space",))
    return frozenset()


def _submits(node: DomNode) -> bool:
    """Whether Enter in the field may send its form, for which browsers click the form's first
    button."""
    if node.tag != "input" or type_of(node) in _BUTTONS:
        return False
    form = node.closest("form")
    if form is None:
        return "form" in node.attrs
    buttons = (
        button
        for button in node.all_of("button", "input")
        if type_of(button) in ("submit", "image")
    )
    return any(button.get("form") or form in button.ancestors() for button in buttons)
