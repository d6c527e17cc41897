"""What is told only once it rested: texts, values, labels, whether a widget is sensitive. Floods
end here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentd.masking import MASK, Masker
from agentd.sources.ax.messages import Message
from agentd.sources.ax.model import Model, Node, handle
from agentd.sources.ax.observation import AxObservation

SECRET = "password text"
TEXTS = frozenset(
    ("text", "entry", "paragraph", "terminal", "document text", "editbar", "spin button", "combo box", "table cell",
     "document web", "section", "heading", "block quote", "list item", SECRET)
)  # fmt: skip
LABELS = frozenset(
    ("label", "static", "status bar", "info bar", "tool tip", "notification", "caption")
)
"""Roles whose name is their text."""
VALUES = frozenset(("slider", "spin button", "progress bar", "level bar", "dial", "rating"))
"""Roles whose value means something; that of others is a splitter's place, or nothing."""
CELL = "table cell"
MAX_TEXT_LENGTH = 10_000
MAX_PENDING = 500
"""Objects that are due at once; where there are more, the oldest are left out until they change again."""


class Holding:
    """Objects whose content changed and was not told yet, the oldest first."""

    def __init__(self, model: Model, masker: Masker) -> None:
        self._model = model
        self._masker = masker
        self._due: dict[str, None] = {}
        self._asked: dict[str, None] = {}
        self._learning: set[str] = set()
        self._typed = False
        """Whether something was typed since the focus came into the last cell."""

    @property
    def due(self) -> bool:
        return bool(self._due)

    def take(self) -> list[str]:
        """The ids of what is due, which is asked for from now on."""
        taken, self._due = list(self._due), {}
        self._asked |= dict.fromkeys(taken)
        return taken

    def describe(self, node: Node) -> dict[str, Any]:
        """The fields of an event about a widget."""
        window = self._model.window_of(node)
        return {
            "app": self._model.app(node.bus).name,
            "window": handle(window),
            "widget": self._model.widget(node),
        }

    # -- what changed

    def edited(self, node: Node, how: str, message: Message) -> Iterator[AxObservation]:
        """A text was inserted or deleted, as the toolkit tells it."""
        if node.role not in TEXTS and node.role not in LABELS:
            return
        offset, text = int(message["d1"]), message["any"] or ""
        app = self._model.app(node.bus)
        if how == "insert" and (app.shifted or offset < 0):
            app.shifted = True
            offset += len(text)
        self._apply(node, how, max(offset, 0), message["d2"], text)
        if node.role in TEXTS:
            self._typed = (
                self._typed
                or node.role == "paragraph"
                or "table" in {one.role for one in self._model.line(node)}
            )
            said = MASK if node.role == SECRET else self._masker.mask_value(node.name, _plain(text))
            kind = "widget.text_inserted" if how == "insert" else "widget.text_deleted"
            yield AxObservation(
                kind, self.describe(node) | {"text": said, "offset": max(offset, 0)}
            )
        self._want(node)

    def _apply(self, node: Node, how: str, offset: int, length: int, text: str) -> None:
        """Follow the text by its edits: what remains of it when its widget is gone."""
        if node.live is None:
            if how != "insert" or offset != 0:
                return
            node.live = ""
        head, tail = node.live[:offset], node.live[offset:]
        node.live = head + text + tail if how == "insert" else head + tail[length:]
        node.live = node.live[: 2 * MAX_TEXT_LENGTH]

    def named(self, node: Node) -> None:
        """An object has another name; of some that is their text."""
        if node.role in LABELS:
            node.live = node.name
            self._want(node)

    def valued(self, node: Node) -> None:
        """An object has another value."""
        if node.role in VALUES:
            self._want(node)

    def sensed(self, node: Node, was: bool) -> None:
        """A widget became sensitive, or not; toolkits say so again and again while one types."""
        if node.sensitive is None:
            node.sensitive = was
        self._want(node)

    def moved_on(self, left: Node | None, entered: Node) -> None:
        """The focus went from one object to another: a spreadsheet's cell is told when it is
        left."""
        if left is not None and left.role == CELL:
            self._want(left)
            if self._typed:
                self._learning.discard(left.id)
        if entered.role == CELL and left is not None and left.role == CELL:
            self._typed = False
        if entered.role == CELL and entered.told is None:
            self._learning.add(entered.id)
            self._want(entered)

    def _want(self, node: Node) -> None:
        self._due[node.id] = None
        if len(self._due) > MAX_PENDING:
            del self._due[next(iter(self._due))]

    # -- what is told

    def read(self, message: Message, unasked: dict[str, bool]) -> Iterator[AxObservation]:
        """What an object holds now; ``unasked``: what is added where nobody asked, for its window
        just opened."""
        node = self._model.nodes.get(message["id"])
        asked = message["id"] in self._asked or message["id"] in self._due
        self._asked.pop(message["id"], None)
        if node is None:
            return
        if message.get("late"):
            self._want(node)
            return
        if message.get("dead"):
            yield from self._settle(node)
            return
        node.states = set(message["states"] or node.states)
        flags = {} if asked else unasked
        if node.id in self._learning:
            self._learning.discard(node.id)
            node.told = node.live = message.get("text")
            return
        text = message.get("text")
        if node.role in LABELS:
            text = node.name or text
        elif text is not None:
            node.live = text
        if node.role == SECRET:
            text = None if flags else MASK
            node.told = None
        yield from self._emit_text(node, text, bool(message.get("cut")), flags)
        yield from self._told_value(node, message.get("value"), flags)

    def settle(self, window: str | None = None) -> list[AxObservation]:
        """Tell what is due by the events alone: of a window that closes, or of all."""
        said = []
        for one in [*self._asked, *self._due]:
            node = self._model.nodes.get(one)
            if node is not None and window not in (None, self._model.window_of(node)):
                continue
            self._due.pop(one, None)
            self._asked.pop(one, None)
            if node is not None:
                if window is not None:
                    node.sensitive = (
                        None  # a program that ends greys out its buttons; nobody sees that
                    )
                said += list(self._settle(node))
        return said

    def _settle(self, node: Node) -> Iterator[AxObservation]:
        self._learning.discard(node.id)
        text = MASK if node.role == SECRET else node.live
        yield from self._emit_text(node, text, text is not None and len(text) > MAX_TEXT_LENGTH, {})

    def _emit_text(
        self, node: Node, text: str | None, cut: bool, flags: dict[str, bool]
    ) -> Iterator[AxObservation]:
        if text is not None and (
            node.role in TEXTS or (node.role in LABELS and self._model.is_visible(node))
        ):
            text = _plain(text)[:MAX_TEXT_LENGTH]
            before, node.told = node.told, text
            if text != (before or "") or (before is not None and node.role == SECRET):
                said = (
                    text
                    if text == MASK
                    else self._masker.mask_value(node.name if node.role in TEXTS else "", text)
                )
                more: dict[str, Any] = {"text": said} | ({"cut": True} if cut else {})
                yield AxObservation("widget.text_changed", self.describe(node) | more | flags)
        if node.sensitive is not None:
            now = "sensitive" in node.states
            before_sensitive, node.sensitive = node.sensitive, None
            if now != before_sensitive and self._model.is_visible(node):
                yield AxObservation(
                    "widget.state_changed",
                    self.describe(node) | {"state": "sensitive", "on": now} | flags,
                )

    def _told_value(
        self, node: Node, value: float | None, flags: dict[str, bool]
    ) -> Iterator[AxObservation]:
        if value is None or value == node.value or node.role not in VALUES:
            return
        node.value = value
        yield AxObservation("widget.value_changed", self.describe(node) | {"value": value} | flags)


def _plain(text: str) -> str:
    """Qt ends paragraphs with a character of its own."""
    return text.replace("\u2029", "\n")
