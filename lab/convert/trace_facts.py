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
_ENTER = frozenset(("Enter",))
_SPACE = frozenset(("Space",))
_TAG_KEYS = {"button": _ENTER | _SPACE, "summary": _ENTER | _SPACE}
"""The keys that click an element with the focus, by its tag."""
_INPUT_KEYS = dict.fromkeys(_BUTTONS, _ENTER | _SPACE) | {"checkbox": _SPACE, "radio": _SPACE}
"""The keys that click an input with the focus, by its type."""


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
        history = self._frames.setdefault(snapshot.frame, FrameHistory())
        tree, same = history.tree(snapshot.html)
        tree.found = {}
        fields: dict[str, Field] = {}
        marked: DomNode | None = None
        for node in tree.walk():
            if node.attrs.get(TARGET) in ("", snapshot.call):
                marked = node
            if is_field(node) and len(fields) < MAX_FIELDS:
                self._field(fields, node)
        title = next(iter(tree.all("title")), None)
        return SnapshotFacts(
            title=None if title is None else title.content(),
            fields=fields,
            target=_target(marked),
            same=same,
        )

    def _field(self, fields: dict[str, Field], node: DomNode) -> None:
        """Add a field by a key that no other has; what a secret one holds is remembered, to be
        masked elsewhere."""
        checked = _checked(node)
        if CHECKED in node.attrs:
            checked = node.get(CHECKED) == "true"
        value = _value(node)
        names, values = self.secrets
        own_names = {node.get("name"), node.get("id")} - {""}
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
        chosen = _chosen(node)
        if "multiple" in node.attrs:
            return chosen
        return next(reversed(chosen), "")
    if VALUE in node.attrs:
        return node.get(VALUE)
    if node.tag == "input":
        return node.get("value")
    return node.content()


def _target(marked: DomNode | None) -> CallTarget | None:
    """Return what the marked element is to a call: its field or the fields that its label names,
    and the keys that click it."""
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


def _chosen(select: DomNode) -> list[str]:
    """The values of the options that are chosen in a list."""
    options = [
        node for node in select.walk() if node.tag == "option" and node.get(SELECTED) == "true"
    ]
    return [option.attrs.get("value", option.content()) for option in options]


def _pressed(node: DomNode) -> frozenset[str]:
    """The keys with which a browser clicks the element that has the focus."""
    if "disabled" in node.attrs:
        return frozenset()
    if node.tag == "input":
        return _INPUT_KEYS.get(type_of(node), frozenset())
    if node.tag in ("a", "area"):
        return _ENTER if "href" in node.attrs else frozenset()
    return _TAG_KEYS.get(node.tag, frozenset())


def _submits(node: DomNode) -> bool:
    """Whether Enter in the field may send its form, for which browsers click the form's first
    button."""
    if node.tag != "input" or type_of(node) in _BUTTONS:
        return False
    form = node.closest("form")
    if form is None:
        return "form" in node.attrs
    for button in node.all_of("button", "input"):
        sends = type_of(button) in ("submit", "image")
        names_a_form = button.get("form") != ""
        if sends and (names_a_form or form in button.ancestors()):
            return True
    return False
