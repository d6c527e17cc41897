"""One page of an rrweb stream while its events are told in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urljoin

from agentd.sources.cdp.state.masking import Secrets
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    objects_in,
    read_list,
    read_text,
    require_number,
)
from lab.convert.dom import DomNode
from lab.convert.naming import clicked_of, element_of, filled_data, labels, type_of
from lab.convert.page_state import MAIN, PageFrames, Telling
from lab.convert.rrweb_dom import Mirror, frame_of, is_hidden, set_attributes, texts
from lab.convert.tape import Tape

REST_NS = 200_000_000
MAX_TEXT_LENGTH = 2000
MAX_TITLE_LENGTH = 1000
MAX_TEXTS = 200
"""Texts told of one change."""
MUTATION, POINTER, SCROLL, INPUT, SELECTION = 0, 2, 3, 5, 14
"""Sources of rrweb's incremental events; others change nothing that is told here."""
DOWN, CLICK, MENU, DOUBLE, FOCUS, TOUCH = 1, 2, 3, 4, 5, 7
"""Types of its pointer events."""
_CLICKS = {
    CLICK: "element.clicked",
    MENU: "element.right_clicked",
    DOUBLE: "element.double_clicked",
}
_WRITTEN = ("", "text", "search", "email", "tel", "url", "number", "password", "date", "time")


class RrwebPage:
    """``tape`` gets what is told; see `lab.convert.rrweb` for what counts as the user's."""

    def __init__(self, tape: Tape, masker: Secrets) -> None:
        self._tape = tape
        self._masker = tape.secrets = masker
        self._mirror = Mirror()
        self._pages = PageFrames()
        self._fresh = True
        self._title = ""
        self._pointed: set[int] = set()
        self._step: tuple[str, int] = ("", 0)
        self._scroll: tuple[int, JsonObject] | None = None
        self._down: DomNode | None = None
        self._clicked: DomNode | None = None
        self._sources: dict[int, Callable[[int, JsonObject], None]] = {
            MUTATION: self._mutated,
            POINTER: self._pointer,
            SCROLL: self._scrolled,
            INPUT: self._input,
            SELECTION: self._selected,
        }

    # -- documents

    def began(self) -> None:
        """rrweb began anew: what comes is another document."""
        self._fresh = True

    def at_address(self, at: int, href: str) -> None:
        """Report a navigation where a snapshot has another address."""
        url = self._masker.mask_url(href)
        if url == self._pages.url(MAIN):
            return
        within = not self._fresh and bool(self._pages.url(MAIN))
        self._emit(at, self._pages.navigated(at, MAIN, MAIN, url, same_document=within))

    def snapshot(self, at: int, root: JsonValue) -> None:
        """A whole document; one that is only told again is no news."""
        known = bool(self._mirror.nodes) and not self._fresh
        self._mirror.reset(root)
        if not known:
            self._pointed.clear()
            self._appeared(at, [self._mirror.top], self._baseline())
            self._report_documents(at, self._mirror.top)
        self._fresh = False
        self._report_title(at)

    def _baseline(self) -> dict[str, bool]:
        return {"baseline": True} if self._tape.step < 0 else {}

    def _emit(self, at: int, tellings: Iterable[Telling]) -> None:
        for telling in tellings:
            self._tape.tell(at, telling.kind, {**telling.data, **self._baseline()})

    def _report_documents(self, at: int, top: DomNode) -> None:
        """Report the documents of the iframes in ``top``."""
        documents = [node for node in top.walk() if node.tag == "#document"]
        for document in documents:
            frame, holder = frame_of(document)
            if holder is None:
                continue
            address = "about:blank"
            src = holder.get("src") or holder.get("rr_src")
            if src:
                address = urljoin(self._pages.url(MAIN), src)
            url = self._masker.mask_url(address)
            self._emit(at, self._pages.navigated(at, MAIN, frame, url))

    def _report_title(self, at: int) -> None:
        """Report the page's title where it is another one than before."""
        titles = [node.content() for node in self._mirror.top.all("title")[:1]]
        title = "".join(titles)
        if title in ("", self._title):
            return
        self._title = title
        url = self._pages.url(MAIN)
        about = {"tab": MAIN, "title": title[:MAX_TITLE_LENGTH], "url": url}
        self._tape.tell(at, "page.title_changed", {**about, **self._baseline()})

    # -- changes

    def changed(self, at: int, data: JsonObject) -> None:
        """Handle an incremental event; of other sources than the known nothing is reported."""
        source = data.get("source")
        tell = self._sources.get(source) if isinstance(source, int) else None
        if tell is not None:
            tell(at, data)

    def _node_of(self, data: JsonObject) -> DomNode | None:
        """The node that an event is about."""
        return self._mirror.find(data.get("id", 0))

    def _mutated(self, at: int, data: JsonObject) -> None:
        """Play one mutation: what went, what came, changed attributes, changed texts, in this
        order."""
        for item in objects_in(data.get("removes")):
            self._remove(at, item)
        added = self._mirror.add(objects_in(read_list(data, "adds")))
        for item in objects_in(data.get("attributes")):
            self._change_attributes(at, item)
        for item in objects_in(data.get("texts")):
            added += self._change_text(at, item)
        self._appeared(at, _topmost(added), {})
        for node in added:
            self._report_documents(at, node)
        self._report_title(at)

    def _remove(self, at: int, item: JsonObject) -> None:
        node = self._node_of(item)
        if node is not None:
            self._disappeared(at, node)
            self._mirror.remove(item.get("id"))

    def _change_text(self, at: int, item: JsonObject) -> list[DomNode]:
        """Give a text its new words; returns the node if they are other ones."""
        node = self._node_of(item)
        if node is None or node.text == item.get("value"):
            return []
        self._disappeared(at, node)
        node.text = read_text(item, "value")
        return [node]

    def _change_attributes(self, at: int, item: JsonObject) -> None:
        """Set attributes, and report what that opens, closes or shows."""
        node = self._node_of(item)
        if node is None:
            return
        was_open = "open" in node.attrs
        was_hidden = is_hidden(node)
        set_attributes(node, item.get("attributes"))
        is_open = "open" in node.attrs
        if was_open != is_open:
            self._toggled(at, node, is_open)
        if was_hidden and not is_hidden(node):
            self._appeared(at, [node], {})

    def _toggled(self, at: int, node: DomNode, is_open: bool) -> None:
        """Report a dialog, or a section, that opened or closed; the user did so who clicked in a
        section."""
        if node.tag not in ("dialog", "details"):
            return
        around_click = () if self._clicked is None else self._clicked.ancestors()
        is_users = node.tag == "details" and node in around_click
        state = {"open": is_open, "trusted": is_users}
        self._tape.tell(at, "element.toggled", {**self._describe(node), **state})

    def _appeared(self, at: int, nodes: list[DomNode], flags: dict[str, bool]) -> None:
        """Report texts by the element that they are in, as a person reads them."""
        parents = [text.parent for node in nodes for text in texts(node)]
        holders = {id(parent): parent for parent in parents if parent is not None}
        for element in list(holders.values())[:MAX_TEXTS]:
            self._text(at, "text.appeared", element, element.content(), flags)

    def _disappeared(self, at: int, node: DomNode) -> None:
        for text in list(texts(node))[:MAX_TEXTS]:
            self._text(at, "text.disappeared", text, " ".join(text.text.split()), {})

    def _text(self, at: int, kind: str, node: DomNode, text: str, flags: dict[str, bool]) -> None:
        frame, _ = frame_of(node)
        if text:
            about = {"tab": MAIN, "frame": frame, "text": text[:MAX_TEXT_LENGTH]}
            self._tape.tell(at, kind, {**about, **flags})

    # -- the user

    def _pointer(self, at: int, data: JsonObject) -> None:
        """Report what the pointer did, or that an element got the focus."""
        node = self._node_of(data)
        kind = data.get("type")
        if node is None or not isinstance(kind, int):
            return
        if kind in (DOWN, TOUCH):
            self._pointer_down(at, node, kind)
        elif kind in _CLICKS:
            self._click(at, node, kind)
        elif kind == FOCUS:
            is_users = node.key in self._pointed
            focus = {**self._describe(node), "trusted": is_users}
            self._tape.tell(at, "element.focused", focus)
            self._pointed.add(node.key)

    def _click(self, at: int, node: DomNode, kind: int) -> None:
        """Tell a click; what it opens right after counts as the user's where the click itself
        does."""
        is_users = self._is_users(node, kind)
        about = {**self._describe(clicked_of(node)), "trusted": is_users}
        self._tape.tell(at, _CLICKS[kind], about)
        if kind == CLICK:
            self._clicked = node if is_users else None
            self._down = None

    def _pointer_down(self, at: int, node: DomNode, kind: int) -> None:
        """Begin a step where the pointer went down; a touch and the press that follows it are
        one."""
        if kind == DOWN:
            self._act(at, "pointer", node, "click")
        elif self._step != ("pointer", node.key):
            self._act(at, "pointer", node, "touch")
        self._pointed.add(node.key)
        self._down = node

    def _is_users(self, node: DomNode, kind: int) -> bool:
        """Whether the pointer went down there, or on the label whose click the browser hands on."""
        if self._down is not None:
            return node is self._down or node in self._down.ancestors()
        last = self._clicked
        if last is None or kind == MENU:
            return False
        if node is last:
            return kind == DOUBLE
        label = last.closest("label")
        if label is None:
            return False
        return labels(label, node)

    def _input(self, at: int, data: JsonObject) -> None:
        """Report what a field holds after an input."""
        node = self._node_of(data)
        if node is None:
            return
        if not self._continues_step(node):
            self._act(at, "input", node, "input")
        checked = None
        if type_of(node) in ("checkbox", "radio"):
            checked = bool(data.get("isChecked"))
        text = read_text(data, "text")
        value = filled_data(node, text, checked)
        is_starred = text != "" and not text.strip("*")
        if is_starred or "data-rr-is-password" in node.attrs:
            value |= {"value": None, "has_value": bool(text)}  # rrweb itself kept it back
        is_users = data.get("userTriggered")
        if not isinstance(is_users, bool):
            is_users = self._was_pointed_at(node)
        where = {"tab": MAIN, "frame": frame_of(node)[0], "trusted": is_users}
        self._tape.tell(at, "field.filled", {**where, **value})

    def _was_pointed_at(self, node: DomNode) -> bool:
        """Whether the pointer met a field, its label, or what is in it, before it was changed."""
        around = {near.key for near in (node, *_around(node))}
        return not self._pointed.isdisjoint(around)

    def _continues_step(self, node: DomNode) -> bool:
        """Whether an input belongs to the running step: to the field that is written in, or, where
        nothing is written, to the click before it."""
        kind, number = self._step
        if kind == "input":
            return number == node.key
        is_text_input = node.tag == "input" and type_of(node) in _WRITTEN
        if node.tag == "textarea" or is_text_input:
            return False
        return kind == "pointer"

    def _act(self, at: int, kind: str, node: DomNode, what: str) -> None:
        """Begin a step with what was done to which element, without secrets."""
        self._tape.end(at)
        self._step = (kind, node.key)
        self._clicked = None
        element = element_of(clicked_of(node) if kind == "pointer" else node)
        for name in ("name", "text"):
            if name in element:
                element[name] = self._masker.mask_text(element[name])
        self._tape.begin(at, {"do": what, "element": element})

    def _selected(self, at: int, data: JsonObject) -> None:
        """Tell the text of the first range that was selected; nothing where an end of it is not
        known."""
        for selection in objects_in(data.get("ranges"))[:1]:
            first = self._mirror.find(selection.get("start", 0))
            last = self._mirror.find(selection.get("end", 0))
            if first is None or last is None:
                continue
            start, end = _offset(selection, "startOffset"), _offset(selection, "endOffset")
            text = _between(self._mirror.top, first, start, last, end)
            self._text(at, "text.selected", first, text, {})

    # -- scrolling

    def _scrolled(self, at: int, data: JsonObject) -> None:
        """Note a scrolling, and tell the one of another element that ends with it."""
        if self._scroll is not None and self._scroll[1].get("id", 0) != data.get("id", 0):
            self._rested()
        self._scroll = (at, data)

    def flush_scroll(self, at: int) -> None:
        """Tell of a scrolling that came to rest before ``at``."""
        if self._scroll is not None and at >= self._scroll[0] + REST_NS:
            self._rested()

    def _rested(self) -> None:
        """Tell where the element, or the page, came to rest."""
        assert self._scroll is not None
        at, data = self._scroll
        self._scroll = None
        node = self._node_of(data)
        if node is None:
            return
        where: dict[str, JsonValue] = {
            "tab": MAIN,
            "frame": frame_of(node)[0],
            "x": data.get("x", 0),
            "y": data.get("y", 0),
        }
        if node.tag not in ("#document", "html"):
            where["element"] = element_of(node)
        self._tape.tell(at + REST_NS, "page.scrolled", where)

    # -- elements

    def _describe(self, node: DomNode) -> JsonObject:
        return {"tab": MAIN, "frame": frame_of(node)[0], "element": element_of(node)}


def _offset(selection: JsonObject, name: str) -> int:
    """A place in a text. Raises ValueError or TypeError for what is no number."""
    offset = selection.get(name) or 0
    return int(offset if isinstance(offset, str) else require_number(offset, name))


def _topmost(nodes: list[DomNode]) -> list[DomNode]:
    """Those of ``nodes`` that are not below another one of them."""
    known = {id(node) for node in nodes}
    topmost: list[DomNode] = []
    for node in nodes:
        above = map(id, node.ancestors())
        if known.isdisjoint(above):
            topmost.append(node)
    return topmost


def _around(node: DomNode) -> list[DomNode]:
    """What a pointer may meet when a field is meant: the field's label, or an option in it."""
    label = node.closest("label")
    return [*node.walk(), *(label.walk() if label is not None else ())]


def _between(top: DomNode, first: DomNode, start: int, last: DomNode, end: int) -> str:
    """The text from one place to another, white space folded. ``start`` and ``end``: letters into
    the texts ``first`` and ``last``."""
    nodes = list(top.walk())
    begins = nodes.index(first) if first in nodes else len(nodes)
    ends = nodes.index(last) if last in nodes else len(nodes)
    parts: list[str] = []
    for node in nodes[begins : ends + 1]:
        piece = node.text if node.tag == "#text" else ""
        if node is last:
            piece = piece[:end]
        if node is first:
            piece = piece[start:]
        parts.append(piece)
    return " ".join("".join(parts).split())
