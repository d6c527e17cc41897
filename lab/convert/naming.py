"""Role and name of a serialised element, as far as its markup tells them: an honest part of what
the live page says.

Live, a library computes both in the page, with styles; here only attributes, labels and texts are
at hand.
"""

from __future__ import annotations

import re

from detectors.model.json_value import JsonValue
from detectors.model.optional_values import without_none
from lab.convert.dom import DomNode

MAX_NAME_LENGTH = 400
MAX_TEXT_LENGTH = 200
MAX_VALUE_LENGTH = 10_000
MAX_KEY_LENGTH = 300

INTERACTIVE = frozenset(
    "button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option"
    " treeitem textbox searchbox combobox listbox spinbutton slider".split()
)
_FROM_CONTENT = frozenset(
    "button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option"
    " treeitem heading cell columnheader rowheader tooltip".split()
)
_TAG_ROLES = {
    "button": "button", "summary": "button", "textarea": "textbox", "option": "option",
    "nav": "navigation", "main": "main", "aside": "complementary", "article": "article",
    "form": "form", "table": "table", "tr": "row", "td": "cell", "th": "columnheader", "ul": "list",
    "ol": "list", "li": "listitem", "img": "img", "hr": "separator", "h1": "heading",
    "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
    "dialog": "dialog", "details": "group", "fieldset": "group", "p": "paragraph",
    "progress": "progressbar", "meter": "meter", "output": "status", "figure": "figure",
}  # fmt: skip
_INPUT_ROLES = {
    "checkbox": "checkbox", "radio": "radio", "range": "slider", "number": "spinbutton",
    "search": "searchbox", "button": "button", "submit": "button", "reset": "button",
    "image": "button", "file": "button", "color": "button",
}  # fmt: skip
_SECRET_FILL = re.compile(
    r"(^|\s)(current-password|new-password|one-time-code|cc-number|cc-csc)(\s|$)"
)
_WITHOUT_TEXT = ("input", "textarea", "select", "html", "body")
"""Tags whose text is none that is told of the element."""
_BUTTON_NAMES = {"submit": "Submit", "reset": "Reset", "button": ""}
"""What a browser writes on an input that is a button."""
_LISTED_TYPES = ("text", "search", "tel", "url", "email")
"""Types of an input that a list makes a combobox."""
_DEFAULT_TYPES = {"input": "text", "button": "submit"}
_FIELD_TAGS = ("input", "textarea", "select", "meter", "progress", "output")
_NO_ROLES = ("none", "presentation")
_NO_FIELD = frozenset(("submit", "button", "reset", "image", "hidden"))


def element_of(node: DomNode) -> dict[str, str]:
    """Describe an element: ``{role, name, tag, id?, attr_name?, type?, text?}``."""
    element = {"role": role_of(node), "name": name_of(node), "tag": node.tag}
    more = {
        "id": node.get("id")[:MAX_NAME_LENGTH],
        "attr_name": node.get("name")[:MAX_NAME_LENGTH],
        "type": type_of(node)[:MAX_NAME_LENGTH],
        "text": "" if node.tag in _WITHOUT_TEXT else node.content()[:MAX_TEXT_LENGTH],
    }
    return element | {key: value for key, value in more.items() if value}


def clicked_of(node: DomNode) -> DomNode:
    """The element that a person would say was clicked: the nearest that one can act on."""
    here = node
    if node.tag.startswith("#"):
        here = node.parent or node
    path = [here, *here.ancestors()]
    elements = [above for above in path if not above.tag.startswith("#")]
    for element in elements:
        if role_of(element) in INTERACTIVE:
            return element
    return here


def role_of(node: DomNode) -> str:
    """The element's own role, else what its tag means, else ``generic``."""
    own = (token for token in node.get("role").lower().split() if token not in _NO_ROLES)
    return next(own, "") or _tag_role(node)


def _tag_role(node: DomNode) -> str:
    """The role that a tag means with its attributes."""
    has = node.attrs.keys()
    match node.tag:
        case "input":
            own = type_of(node)
            has_list = "list" in has and own in _LISTED_TYPES
            return "combobox" if has_list else _INPUT_ROLES.get(own, "textbox")
        case "select":
            takes_several = "multiple" in has
            shows_several = node.get("size") not in ("", "0", "1")
            return "listbox" if takes_several or shows_several else "combobox"
        case "a" | "area":
            return "link" if "href" in has else "generic"
    if is_editable(node):
        return "textbox"
    return _TAG_ROLES.get(node.tag, "generic")


def name_of(node: DomNode) -> str:
    """The accessible name, by the commonest of its sources."""
    return " ".join(_name(node).split())[:MAX_NAME_LENGTH]


def _name(node: DomNode) -> str:
    """The name before white space is folded, from the first source that gives one."""
    referenced = _by_id(node, node.get("aria-labelledby").split())
    if referenced:
        texts = [label.get("aria-label") or label.content() for label in referenced]
        return " ".join(texts)
    own = node.get("aria-label")
    if own.strip():
        return own
    if node.tag in _FIELD_TAGS:
        return _field_name(node)
    alternative = ""
    if node.tag in ("img", "area"):
        alternative = node.get("alt")
    return alternative or _content_name(node) or node.get("title")


def _content_name(node: DomNode) -> str:
    """The name that an element has from what is in it, "" for one whose role takes none."""
    if role_of(node) not in _FROM_CONTENT:
        return ""
    return node.content() or _images(node)


def _field_name(node: DomNode) -> str:
    """The name of a field: a button's own words, else its labels, else what is written in it."""
    kind = type_of(node)
    if kind in _BUTTON_NAMES:
        return _first_attribute(node, "value", "title") or _BUTTON_NAMES[kind]
    if kind == "image":
        return _first_attribute(node, "alt", "title") or "Submit"
    texts = [
        label.text_without(("select", "textarea", "script", "style"))
        for label in node.all("label")
        if labels(label, node)
    ]
    label = " ".join(texts).strip()
    return label or _first_attribute(node, "title", "placeholder", "aria-placeholder")


def _first_attribute(node: DomNode, *names: str) -> str:
    """The first of these attributes that is not empty; "" where none is."""
    values = map(node.get, names)
    return next(filter(None, values), "")


def labels(label: DomNode, node: DomNode) -> bool:
    """Whether ``label`` is a label of the field ``node``."""
    if "for" not in label.attrs:
        return label in node.ancestors()
    named = label.get("for")
    return named != "" and named == node.get("id")


def _images(node: DomNode) -> str:
    """The alternative texts of the images below."""
    images = (below.get("alt") for below in node.walk() if below.tag == "img")
    return " ".join(filter(None, images))


def _by_id(node: DomNode, ids: list[str]) -> list[DomNode]:
    """The nodes of the tree that have these ids, in this order."""
    if not ids:
        return []
    by_id = {other.get("id"): other for other in node.root().walk()}
    found = map(by_id.get, ids)
    return without_none(found)


def type_of(node: DomNode) -> str:
    """The type of an input or a button, as the page's script would read it; "" for anything
    else."""
    default = _DEFAULT_TYPES.get(node.tag)
    if default is not None:
        return node.get("type").lower() or default
    if node.tag != "select":
        return ""
    takes_several = "multiple" in node.attrs
    return "select-multiple" if takes_several else "select-one"


def is_editable(node: DomNode) -> bool:
    """Whether the element itself can be written in like a document."""
    return node.attrs.get("contenteditable", "false").lower() != "false"


def is_field(node: DomNode) -> bool:
    """Whether a person fills it in."""
    if node.tag == "input":
        return type_of(node) not in _NO_FIELD
    return node.tag in ("textarea", "select") or is_editable(node)


def is_secret(node: DomNode) -> bool:
    """Whether what is filled in is nobody else's business."""
    filled = node.get("autocomplete")
    if type_of(node) == "password":
        return True
    return _SECRET_FILL.search(filled) is not None


def field_key(node: DomNode) -> str:
    """The key under which the field is known within its frame, made as the page's script makes
    it."""
    own = _first_attribute(node, "name", "id") or name_of(node) or node.tag
    option = ""
    if type_of(node) in ("radio", "checkbox"):
        value = node.get("value") or "on"
        option = f"={value}"
    key = f"{form_key(node)}/{own}{option}"
    return key[:MAX_KEY_LENGTH]


def form_key(node: DomNode) -> str:
    """The id or the name of the form that the field is in."""
    form = node.closest("form")
    if form is None:
        return ""
    return _first_attribute(form, "id", "name")


def filled_data(
    node: DomNode, value: str | list[str], checked: bool | None
) -> dict[str, JsonValue]:
    """The data of a `field.filled` about ``node``, but for where it is; a secret's value is kept
    back."""
    data: dict[str, JsonValue] = {"element": element_of(node), "field": field_key(node)}
    form = form_key(node)
    if form:
        data["form"] = form
    if is_secret(node):
        data["value"] = None
        data["has_value"] = bool(value)
        return data
    if checked is not None:
        data["checked"] = checked
    is_text = isinstance(value, str)
    texts = [value] if isinstance(value, str) else value
    bounded = [text[:MAX_VALUE_LENGTH] for text in texts]
    if bounded != texts:
        data["cut"] = True
    data["value"] = bounded[0] if is_text else bounded
    return data
