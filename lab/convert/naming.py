"""Role and name of a serialised element, as far as its markup tells them: an honest part of what
the live page says.

Live, a library computes both in the page, with styles; here only attributes, labels and texts are
at hand.
"""

from __future__ import annotations

import re
from typing import Any

from lab.convert.dom import Node

MAX_NAME_LENGTH = 400
MAX_TEXT_LENGTH = 200
MAX_VALUE_LENGTH = 10_000

INTERACTIVE = frozenset(
    (
        "button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option"
        " treeitem textbox searchbox combobox listbox spinbutton slider"
    ).split()
)
_FROM_CONTENT = frozenset(
    (
        "button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option"
        " treeitem heading cell columnheader rowheader tooltip"
    ).split()
)
_TAG_ROLES = {
    "button": "button", "summary": "button", "textarea": "textbox", "option": "option", "nav": "navigation",
    "main": "main", "aside": "complementary", "article": "article", "form": "form", "table": "table", "tr": "row",
    "td": "cell", "th": "columnheader", "ul": "list", "ol": "list", "li": "listitem", "img": "img", "hr": "separator",
    "h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "dialog": "dialog", "details": "group", "fieldset": "group", "p": "paragraph", "progress": "progressbar",
    "meter": "meter", "output": "status", "figure": "figure",
}  # fmt: skip
_INPUT_ROLES = {
    "checkbox": "checkbox", "radio": "radio", "range": "slider", "number": "spinbutton", "search": "searchbox",
    "button": "button", "submit": "button", "reset": "button", "image": "button", "file": "button", "color": "button",
}  # fmt: skip
_SECRET_FILL = re.compile(
    r"(^|\s)(current-password|new-password|one-time-code|cc-number|cc-csc)(\s|$)"
)
_NO_FIELD = frozenset(("submit", "button", "reset", "image", "hidden"))


def element_of(node: Node) -> dict[str, str]:
    """What is told of an element: ``{role, name, tag, id?, attr_name?, type?, text?}``."""
    found = {"role": role_of(node), "name": name_of(node), "tag": node.tag}
    for key, value in (
        ("id", node.get("id")),
        ("attr_name", node.get("name")),
        ("type", type_of(node)),
    ):
        if value:
            found[key] = value[:MAX_NAME_LENGTH]
    if node.tag not in ("input", "textarea", "select", "html", "body") and (text := node.content()):
        found["text"] = text[:MAX_TEXT_LENGTH]
    return found


def clicked_of(node: Node) -> Node:
    """The element that a person would say was clicked: the nearest that one can act on."""
    here = node if not node.tag.startswith("#") else node.parent or node
    above = [here, *(one for one in here.ancestors() if not one.tag.startswith("#"))]
    return next((one for one in above if role_of(one) in INTERACTIVE), here)


def role_of(node: Node) -> str:
    """The element's own role, else what its tag means, else ``generic``."""
    for token in node.get("role").lower().split():
        if token not in ("none", "presentation"):
            return token
    if node.tag == "input":
        if "list" in node.attrs and type_of(node) in ("text", "search", "tel", "url", "email"):
            return "combobox"
        return _INPUT_ROLES.get(type_of(node), "textbox")
    if node.tag == "select":
        return (
            "listbox"
            if "multiple" in node.attrs or node.get("size") not in ("", "0", "1")
            else "combobox"
        )
    if node.tag in ("a", "area"):
        return "link" if "href" in node.attrs else "generic"
    if is_editable(node):
        return "textbox"
    return _TAG_ROLES.get(node.tag, "generic")


def name_of(node: Node) -> str:
    """The accessible name, by the commonest of its sources."""
    return " ".join(_name(node).split())[:MAX_NAME_LENGTH]


def _name(node: Node) -> str:
    if referenced := _by_id(node, node.get("aria-labelledby").split()):
        return " ".join(one.get("aria-label") or one.content() for one in referenced)
    if node.get("aria-label").strip():
        return node.get("aria-label")
    if node.tag in ("input", "textarea", "select", "meter", "progress", "output"):
        return _field_name(node)
    if node.tag in ("img", "area") and node.get("alt"):
        return node.get("alt")
    if role_of(node) in _FROM_CONTENT and (said := node.content() or _images(node)):
        return said
    return node.get("title")


def _field_name(node: Node) -> str:
    kind = type_of(node)
    if kind in ("submit", "button", "reset"):
        return (
            node.get("value")
            or node.get("title")
            or {"submit": "Submit", "reset": "Reset"}.get(kind, "")
        )
    if kind == "image":
        return node.get("alt") or node.get("title") or "Submit"
    of_node = [one for one in node.all("label") if labels(one, node)]
    if said := " ".join(_label_text(label) for label in of_node).strip():
        return said
    return node.get("title") or node.get("placeholder") or node.get("aria-placeholder")


def labels(label: Node, node: Node) -> bool:
    """Whether ``label`` is a label of the field ``node``."""
    if "for" in label.attrs:
        return bool(label.get("for")) and label.get("for") == node.get("id")
    return label in node.ancestors()


def _label_text(label: Node) -> str:
    """A label without the values of the fields in it."""
    parts: list[str] = []
    stack = [label]
    while stack:
        one = stack.pop()
        if one.tag == "#text":
            parts.append(one.text)
        elif one.tag not in ("select", "textarea", "script", "style"):
            stack.extend(reversed(one.children))
    return " ".join(" ".join(parts).split())


def _images(node: Node) -> str:
    return " ".join(one.get("alt") for one in node.walk() if one.tag == "img" and one.get("alt"))


def _by_id(node: Node, ids: list[str]) -> list[Node]:
    if not ids:
        return []
    found = {one.get("id"): one for one in node.root().walk() if one.get("id") in ids}
    return [found[one] for one in ids if one in found]


def type_of(node: Node) -> str:
    """The type of an input or a button, as the page's script would read it; "" for anything
    else."""
    if node.tag == "input":
        return node.get("type").lower() or "text"
    if node.tag == "button":
        return node.get("type").lower() or "submit"
    if node.tag == "select":
        return "select-multiple" if "multiple" in node.attrs else "select-one"
    return ""


def is_editable(node: Node) -> bool:
    """Whether the element itself can be written in like a document."""
    return node.attrs.get("contenteditable", "false").lower() != "false"


def is_field(node: Node) -> bool:
    """Whether a person fills it in."""
    if node.tag == "input":
        return type_of(node) not in _NO_FIELD
    return node.tag in ("textarea", "select") or is_editable(node)


def is_secret(node: Node) -> bool:
    """Whether what is filled in is nobody else's business."""
    return type_of(node) == "password" or _SECRET_FILL.search(node.get("autocomplete")) is not None


def field_key(node: Node) -> str:
    """The key under which the field is known within its frame, made as the page's script makes
    it."""
    own = node.get("name") or node.get("id") or name_of(node) or node.tag
    option = f"={node.get('value') or 'on'}" if type_of(node) in ("radio", "checkbox") else ""
    return f"{form_key(node)}/{own}{option}"[:300]


def form_key(node: Node) -> str:
    """The id or the name of the form that the field is in."""
    form = node.closest("form")
    return (form.get("id") or form.get("name")) if form is not None else ""


def filled(node: Node, value: Any, checked: bool | None) -> dict[str, Any]:
    """The data of a `field.filled` about ``node``, but for where it is; a secret's value is kept
    back."""
    data: dict[str, Any] = {"element": element_of(node), "field": field_key(node)}
    if form := form_key(node):
        data["form"] = form
    if is_secret(node):
        return data | {"value": None, "filled": bool(value)}
    if checked is not None:
        data["checked"] = checked
    texts = [str(one) for one in value] if isinstance(value, list) else [str(value)]
    if max(map(len, texts), default=0) > MAX_VALUE_LENGTH:
        data["cut"] = True
    told = [text[:MAX_VALUE_LENGTH] for text in texts]
    return data | {"value": told if isinstance(value, list) else told[0]}
