"""What one snapshot of a trace says that matters here: title, fields, the element that the call
acts on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lab.convert.dom import Node
from lab.convert.naming import (
    clicked_of,
    element_of,
    field_key,
    filled,
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

    state: tuple[Any, bool | None]
    data: dict[str, Any]
    secret: bool

    @property
    def is_empty(self) -> bool:
        """Whether nobody filled it in."""
        value, checked = self.state
        return not checked if checked is not None else not value


class Target(NamedTuple):
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
class Facts:
    """``same``: the document is the one of the frame's snapshot before."""

    title: str | None
    fields: dict[str, Field]
    target: Target | None
    same: bool


@dataclass(slots=True)
class Reader:
    """Reads a trace's snapshots in their order. ``secrets``: names and values of all fields that
    are secret."""

    secrets: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    _frames: dict[str, FrameHistory] = field(default_factory=dict)

    def facts(self, snapshot: Snapshot) -> Facts:
        """The next snapshot's facts."""
        tree, same = self._frames.setdefault(snapshot.frame, FrameHistory()).tree(snapshot.html)
        tree.found = {}
        titles = [one.content() for one in tree.all("title")[:1]]
        fields: dict[str, Field] = {}
        marked: Node | None = None
        for node in tree.walk():
            if node.attrs.get(TARGET) in ("", snapshot.call):
                marked = node
            if is_field(node) and len(fields) < MAX_FIELDS:
                self._field(fields, node)
        return Facts(titles[0] if titles else None, fields, _target(marked), same)

    def _field(self, fields: dict[str, Field], node: Node) -> None:
        checked = node.get(CHECKED) == "true" if CHECKED in node.attrs else _checked(node)
        value = _value(node)
        names, values = self.secrets
        secret = is_secret(node) or bool(names & {node.get("name"), node.get("id")})
        data = filled(node, value, checked)
        if secret:
            data |= {"value": None, "filled": bool(value)}
            data.pop("checked", None)
            names.update(name for name in (node.get("name"), node.get("id")) if name)
            if value and isinstance(value, str):
                values.add(value)
        key = data["field"]
        number = 2
        while key in fields:
            key, number = f"{data['field']}~{number}", number + 1
        fields[key] = Field((value, checked), data | {"field": key}, secret)


def _checked(node: Node) -> bool | None:
    return "checked" in node.attrs if type_of(node) in ("checkbox", "radio") else None


def _value(node: Node) -> Any:
    if node.tag == "select":
        chosen = [
            option
            for option in node.walk()
            if option.tag == "option" and option.get(SELECTED) == "true"
        ]
        values = [option.attrs.get("value", option.content()) for option in chosen]
        return values if "multiple" in node.attrs else (values[-1] if values else "")
    if VALUE in node.attrs:
        return node.get(VALUE)
    return node.get("value") if node.tag == "input" else node.content()


def _target(marked: Node | None) -> Target | None:
    if marked is None:
        return None
    keys = {field_key(marked)} if is_field(marked) else set()
    label = marked.closest("label")
    if label is not None:
        near = [one for tag in ("input", "select", "textarea") for one in marked.all(tag)]
        keys |= {field_key(one) for one in near if is_field(one) and labels(label, one)}
    clicked, own = element_of(clicked_of(marked)), element_of(marked)
    return Target(
        clicked, own, frozenset(keys), is_secret(marked), _pressed(marked), _submits(marked)
    )


def _pressed(node: Node) -> frozenset[str]:
    """The keys with which a browser clicks the element that has the focus."""
    if "disabled" in node.attrs:
        return frozenset()
    if node.tag in ("button", "summary") or (node.tag == "input" and type_of(node) in _BUTTONS):
        return frozenset(("Enter", "Space"))
    if node.tag in ("a", "area") and "href" in node.attrs:
        return frozenset(("Enter",))
    return frozenset(("Space",)) if type_of(node) in ("checkbox", "radio") else frozenset()


def _submits(node: Node) -> bool:
    """Whether Enter in the field may send its form, for which browsers click the form's first
    button."""
    if node.tag != "input" or type_of(node) in _BUTTONS:
        return False
    form = node.closest("form")
    if form is None:
        return "form" in node.attrs
    near = [
        one
        for tag in ("button", "input")
        for one in node.all(tag)
        if type_of(one) in ("submit", "image")
    ]
    return any(form in one.ancestors() or one.get("form") for one in near)
