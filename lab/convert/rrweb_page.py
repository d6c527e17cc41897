"""One page of an rrweb stream while its events are told in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

from agentd.sources.cdp.state.masking import Secrets
from lab.convert.dom import Node
from lab.convert.naming import clicked_of, element_of, filled, labels, type_of
from lab.convert.page_state import MAIN, Pages
from lab.convert.rrweb_dom import Mirror, frame_of, is_hidden, set_attribute, texts
from lab.convert.tape import Tape

REST_NS = 200_000_000
MAX_TEXT_LENGTH = 2000
MAX_TEXTS = 200
"""Texts told of one change."""
MUTATION, POINTER, SCROLL, INPUT, SELECTION = 0, 2, 3, 5, 14
"""Sources of rrweb's incremental events; others change nothing that is told here."""
DOWN, CLICK, MENU, DOUBLE, FOCUS, TOUCH = 1, 2, 3, 4, 5, 7
"""Types of its pointer events."""
_WRITTEN = ("", "text", "search", "email", "tel", "url", "number", "password", "date", "time")


class RrwebPage:
    """``tape`` gets what is told; see `lab.convert.rrweb` for what counts as the user's."""

    def __init__(self, tape: Tape, masker: Secrets) -> None:
        self._tape = tape
        self._masker = tape.secrets = masker
        self._mirror = Mirror()
        self._pages = Pages()
        self._fresh = True
        self._title = ""
        self._pointed: set[int] = set()
        self._step: tuple[str, int] = ("", 0)
        self._scroll: tuple[int, int, dict[str, Any]] | None = None
        self._down: Node | None = None
        self._clicked: Node | None = None
        self._sources: dict[Any, Callable[[int, dict[str, Any]], None]] = {
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
        """A snapshot's address."""
        url = self._masker.mask_url(href)
        if url == self._pages.url(MAIN):
            return
        within = not self._fresh and bool(self._pages.url(MAIN))
        for told in self._pages.navigated(at, MAIN, MAIN, url, same_document=within):
            self._tape.tell(at, told.kind, told.data | self._baseline())

    def snapshot(self, at: int, root: Any) -> None:
        """A whole document; one that is only told again is no news."""
        known = bool(self._mirror.nodes) and not self._fresh
        self._mirror.reset(root)
        if not known:
            self._pointed.clear()
            self._appeared(at, [self._mirror.top], self._baseline())
            for document in [one for one in self._mirror.top.walk() if one.tag == "#document"]:
                self._framed(at, document)
        self._fresh = False
        self._named(at)

    def _baseline(self) -> dict[str, bool]:
        return {"baseline": True} if self._tape.step < 0 else {}

    def _framed(self, at: int, document: Node) -> None:
        frame, holder = frame_of(document)
        if holder is None:
            return
        src = holder.get("src") or holder.get("rr_src")
        url = self._masker.mask_url(urljoin(self._pages.url(MAIN), src)) if src else "about:blank"
        for told in self._pages.navigated(at, MAIN, frame, url):
            self._tape.tell(at, told.kind, told.data | self._baseline())

    def _named(self, at: int) -> None:
        titles = [one for one in self._mirror.top.walk() if one.tag == "title"]
        title = titles[0].content() if titles else ""
        if title and title != self._title:
            self._title = title
            about = {"tab": MAIN, "title": title[:1000], "url": self._pages.url(MAIN)}
            self._tape.tell(at, "page.titled", about | self._baseline())

    # -- changes

    def changed(self, at: int, data: dict[str, Any]) -> None:
        """An incremental event."""
        tell = self._sources.get(data.get("source"))
        if tell is not None:
            tell(at, data)

    def _mutated(self, at: int, data: dict[str, Any]) -> None:
        for item in _objects(data.get("removes")):
            node = self._mirror.nodes.get(item.get("id", 0))
            if node is not None:
                self._disappeared(at, node)
                self._mirror.remove(item.get("id"))
        added = self._mirror.add(data.get("adds") or [])
        for item in _objects(data.get("attributes")):
            self._attributes(at, item)
        for item in _objects(data.get("texts")):
            node = self._mirror.nodes.get(item.get("id", 0))
            if node is not None and node.text != item.get("value"):
                self._disappeared(at, node)
                node.text = str(item.get("value") or "")
                added.append(node)
        tops = {id(node) for node in added}
        self._appeared(
            at,
            [one for one in added if not any(id(above) in tops for above in one.ancestors())],
            {},
        )
        for node in added:
            for document in [one for one in node.walk() if one.tag == "#document"]:
                self._framed(at, document)
        self._named(at)

    def _attributes(self, at: int, item: dict[str, Any]) -> None:
        node = self._mirror.nodes.get(item.get("id", 0))
        changes = item.get("attributes")
        if node is None or not isinstance(changes, dict):
            return
        was, was_hidden = "open" in node.attrs, is_hidden(node)
        for name, value in changes.items():
            set_attribute(node, str(name), value)
        now = "open" in node.attrs
        if node.tag in ("dialog", "details") and was != now:
            users = (
                self._clicked is not None
                and node in self._clicked.ancestors()
                and node.tag == "details"
            )
            self._tape.tell(
                at, "element.toggled", self._describe(node) | {"on": now, "trusted": users}
            )
        if was_hidden and not is_hidden(node):
            self._appeared(at, [node], {})

    def _appeared(self, at: int, nodes: list[Node], flags: dict[str, bool]) -> None:
        """Tell of texts by the element that they are in, as a person reads them."""
        found: dict[int, Node] = {}
        for node in nodes:
            for text in texts(node):
                if text.parent is not None:
                    found[id(text.parent)] = text.parent
        for element in list(found.values())[:MAX_TEXTS]:
            self._text(at, "text.appeared", element, element.content(), flags)

    def _disappeared(self, at: int, node: Node) -> None:
        for text in list(texts(node))[:MAX_TEXTS]:
            self._text(at, "text.disappeared", text, " ".join(text.text.split()), {})

    def _text(self, at: int, kind: str, node: Node, text: str, flags: dict[str, bool]) -> None:
        frame, _ = frame_of(node)
        if text:
            said = {"tab": MAIN, "frame": frame, "text": text[:MAX_TEXT_LENGTH]}
            self._tape.tell(at, kind, said | flags)

    # -- the user

    def _pointer(self, at: int, data: dict[str, Any]) -> None:
        node, kind = self._mirror.nodes.get(data.get("id", 0)), data.get("type")
        if node is None:
            return
        if kind in (DOWN, TOUCH):
            if kind == DOWN or self._step != ("pointer", node.key):
                self._act(at, "pointer", node, "touch" if kind == TOUCH else "click")
            self._pointed.add(node.key)
            self._down = node
        elif kind == FOCUS:
            self._tape.tell(
                at, "element.focused", self._describe(node) | {"trusted": node.key in self._pointed}
            )
            self._pointed.add(node.key)
        elif kind in (CLICK, MENU, DOUBLE):
            name = {CLICK: "clicked", MENU: "right_clicked", DOUBLE: "double_clicked"}[kind]
            trusted = self._is_users(node, kind)
            self._tape.tell(
                at, f"element.{name}", self._describe(clicked_of(node)) | {"trusted": trusted}
            )
            if kind == CLICK:
                self._clicked, self._down = (node if trusted else None), None

    def _is_users(self, node: Node, kind: int) -> bool:
        """Whether the pointer went down there, or on the label whose click the browser hands on."""
        if self._down is not None:
            return node is self._down or node in self._down.ancestors()
        last = self._clicked
        if last is None or kind == MENU:
            return False
        label = last.closest("label")
        return (node is last and kind == DOUBLE) or (
            label is not None and node is not last and labels(label, node)
        )

    def _input(self, at: int, data: dict[str, Any]) -> None:
        node, number = self._mirror.nodes.get(data.get("id", 0)), data.get("id", 0)
        if node is None:
            return
        written = node.tag == "textarea" or (node.tag == "input" and type_of(node) in _WRITTEN)
        same = self._step == ("input", number) or (not written and self._step[0] == "pointer")
        if not same:
            self._act(at, "input", node, "input")
        checked = bool(data.get("isChecked")) if type_of(node) in ("checkbox", "radio") else None
        text = str(data.get("text") or "")
        told = filled(node, text, checked)
        if "data-rr-is-password" in node.attrs or (text and not text.strip("*")):
            told |= {"value": None, "filled": bool(text)}  # rrweb itself kept it back
        users = data.get("userTriggered")
        trusted = (
            users
            if isinstance(users, bool)
            else bool(self._pointed & {number, *(a.key for a in _around(node))})
        )
        self._tape.tell(
            at, "field.filled", {"tab": MAIN, "frame": frame_of(node)[0], "trusted": trusted} | told
        )

    def _act(self, at: int, kind: str, node: Node, what: str) -> None:
        self._tape.end(at)
        self._step = (kind, node.key)
        self._clicked = None
        found = element_of(clicked_of(node) if kind == "pointer" else node)
        found |= {
            name: self._masker.mask_text(found[name]) for name in ("name", "text") if name in found
        }
        self._tape.begin(at, {"do": what, "element": found})

    def _selected(self, at: int, data: dict[str, Any]) -> None:
        for found in _objects(data.get("ranges"))[:1]:
            first, last = (self._mirror.nodes.get(found.get(name, 0)) for name in ("start", "end"))
            if first is None or last is None:
                continue
            start, end = (int(found.get(name) or 0) for name in ("startOffset", "endOffset"))
            text = _between(self._mirror.top, first, start, last, end)
            if text:
                said = {"tab": MAIN, "frame": frame_of(first)[0], "text": text[:MAX_TEXT_LENGTH]}
                self._tape.tell(at, "text.selected", said)

    # -- scrolling

    def _scrolled(self, at: int, data: dict[str, Any]) -> None:
        if self._scroll is not None and self._scroll[1] != data.get("id", 0):
            self._rested()
        self._scroll = (at, data.get("id", 0), data)

    def flush_scroll(self, at: int) -> None:
        """Tell of a scrolling that came to rest before ``at``."""
        if self._scroll is not None and at >= self._scroll[0] + REST_NS:
            self._rested()

    def _rested(self) -> None:
        assert self._scroll is not None
        at, number, data = self._scroll
        self._scroll = None
        node = self._mirror.nodes.get(number)
        if node is None:
            return
        where: dict[str, Any] = {
            "tab": MAIN,
            "frame": frame_of(node)[0],
            "x": data.get("x", 0),
            "y": data.get("y", 0),
        }
        if node.tag not in ("#document", "html"):
            where["element"] = element_of(node)
        self._tape.tell(at + REST_NS, "page.scrolled", where)

    # -- elements

    def _describe(self, node: Node) -> dict[str, Any]:
        return {"tab": MAIN, "frame": frame_of(node)[0], "element": element_of(node)}


def _objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _around(node: Node) -> list[Node]:
    """What a pointer may meet when a field is meant: the field's label, or an option in it."""
    label = node.closest("label")
    return [*node.walk(), *(label.walk() if label is not None else ())]


def _between(top: Node, first: Node, start: int, last: Node, end: int) -> str:
    """The text from one place to another."""
    parts: list[str] = []
    inside = False
    for node in top.walk():
        if node is first:
            inside = True
        if inside and node.tag == "#text":
            piece = node.text[: end if node is last else None]
            parts.append(piece[start:] if node is first else piece)
        if node is last:
            break
    return " ".join("".join(parts).split())
