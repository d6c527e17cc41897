"""What is reported only once it rested: texts, values, labels, whether a widget is sensitive.
Floods end here."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.masking import MASK, Masker
from agentd.sources.ax.messages import Message
from agentd.sources.ax.model import AxModel, AxNode, handle
from agentd.sources.ax.observation import AxObservation

SECRET = "password text"
TEXTS = frozenset(
    ("text", "entry", "paragraph", "terminal", "document text", "editbar", "spin button",
     "combo box", "table cell", "document web", "section", "heading", "block quote", "list item",
     SECRET)
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
"""Objects that are due at once; of more, the oldest are left out until they change again."""


class Debouncer:
    """Objects whose content changed and was not reported yet, the oldest first."""

    def __init__(self, model: AxModel, masker: Masker) -> None:
        self._model = model
        self._masker = masker
        self._due: dict[str, None] = {}
        self._asked: dict[str, None] = {}
        self._learning: set[str] = set()
        self._typed = False
        """Whether something was typed since the focus came into the last cell."""

    @property
    def has_due(self) -> bool:
        """Whether there is something to be read when it rested."""
        return bool(self._due)

    def take_due(self) -> list[str]:
        """Return the ids of what is due, which is asked for from now on."""
        taken = list(self._due)
        self._due.clear()
        self._asked |= dict.fromkeys(taken)
        return taken

    def describe(self, node: AxNode) -> dict[str, object]:
        """Return the fields of an event about a widget."""
        window = self._model.window_of(node)
        return {
            "app": self._model.app(node.bus).name,
            "window": handle(window),
            "widget": self._model.widget(node),
        }

    # -- what changed

    def record_edit(self, node: AxNode, how: str, message: Message) -> Iterator[AxObservation]:
        """Follow a text's edit (``how``: insert or delete), as the toolkit reports it."""
        if node.role not in TEXTS and node.role not in LABELS:
            return
        text = message["any"] or ""
        offset = self._start_of_edit(node, how, int(message["d1"]), text)
        self._apply(node, how, offset, message["d2"], text)
        if node.role in TEXTS:
            self._typed = self._typed or self._is_in_document(node)
            kind = "widget.text_inserted" if how == "insert" else "widget.text_deleted"
            masked = self._mask(node, node.name, _plain(text))
            yield AxObservation(kind, self.describe(node) | {"text": masked, "offset": offset})
        self._want(node)

    def _start_of_edit(self, node: AxNode, how: str, offset: int, text: str) -> int:
        """Return where an edit begins: a program may count insertions from their end."""
        app = self._model.app(node.bus)
        if how == "insert" and (app.shifted or offset < 0):
            app.shifted = True
            offset += len(text)
        return max(offset, 0)

    def _is_in_document(self, node: AxNode) -> bool:
        """Return whether what is typed there may be a cell's: a paragraph, or within a table."""
        return node.role == "paragraph" or any(
            above.role == "table" for above in self._model.line(node)
        )

    def _mask(self, node: AxNode, name: str, text: str) -> str:
        """Mask what stands in a widget: all of a password's, else as a field of that name."""
        return MASK if node.role == SECRET else self._masker.mask_value(name, text)

    def _apply(self, node: AxNode, how: str, offset: int, length: int, text: str) -> None:
        """Follow the text by its edits: what remains of it when its widget is gone."""
        if node.live is None:
            if how != "insert" or offset != 0:
                return
            node.live = ""
        head = node.live[:offset]
        tail = node.live[offset:]
        edited = head + text + tail if how == "insert" else head + tail[length:]
        node.live = edited[: 2 * MAX_TEXT_LENGTH]

    def record_name(self, node: AxNode) -> None:
        """Follow that an object has another name; of some that is their text."""
        if node.role in LABELS:
            node.live = node.name
            self._want(node)

    def record_value(self, node: AxNode) -> None:
        """Follow that an object has another value."""
        if node.role in VALUES:
            self._want(node)

    def record_sensitivity(self, node: AxNode, was: bool) -> None:
        """Follow that a widget became sensitive, or not: toolkits repeat that while one types."""
        if node.sensitive is None:
            node.sensitive = was
        self._want(node)

    def record_focus(self, left: AxNode | None, entered: AxNode) -> None:
        """Follow the focus from one object to another: a spreadsheet's cell is reported when it is
        left."""
        has_left_cell = left is not None and left.role == CELL
        if left is not None and has_left_cell:
            self._want(left)
            if self._typed:
                self._learning.discard(left.id)
        if entered.role != CELL:
            return
        if has_left_cell:
            self._typed = False
        if entered.told is None:
            self._learning.add(entered.id)
            self._want(entered)

    def _want(self, node: AxNode) -> None:
        """Note that a widget is to be read once it rests; of too many the oldest is let go."""
        self._due[node.id] = None
        if len(self._due) > MAX_PENDING:
            del self._due[next(iter(self._due))]

    # -- reports

    def read(self, message: Message, unasked: dict[str, bool]) -> Iterator[AxObservation]:
        """Take in what an object holds now.

        ``unasked``: flags that are added where it was not asked for, as its window just opened.
        """
        node = self._model.nodes.get(message["id"])
        is_asked = message["id"] in self._asked or message["id"] in self._due
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
        if node.id in self._learning:
            self._learning.discard(node.id)
            node.told = node.live = message.get("text")
            return
        flags = {} if is_asked else unasked
        text = self._text_of(node, message.get("text"), bool(flags))
        yield from self._report_text(node, text, bool(message.get("cut")), flags)
        yield from self._report_sensitivity(node, flags)
        yield from self._report_value(node, message.get("value"), flags)

    def _text_of(self, node: AxNode, text: str | None, is_initial: bool) -> str | None:
        """Return the text to report of what an object holds; the mask for a secret."""
        if node.role in LABELS:
            return node.name or text
        if text is not None:
            node.live = text
        if node.role == SECRET:
            node.told = None
            return None if is_initial else MASK
        return text

    def settle(self, window: str | None = None) -> list[AxObservation]:
        """Report what is due by the events alone: of a window that closes, or of all."""
        observations: list[AxObservation] = []
        for id_ in [*self._asked, *self._due]:
            node = self._model.nodes.get(id_)
            if node is not None and window not in (None, self._model.window_of(node)):
                continue
            self._due.pop(id_, None)
            self._asked.pop(id_, None)
            if node is None:
                continue
            if window is not None:
                # A program that ends greys out its buttons; nobody sees that.
                node.sensitive = None
            observations += self._settle(node)
        return observations

    def _settle(self, node: AxNode) -> Iterator[AxObservation]:
        """Report what changed in a widget that came to rest: its text, and whether it can be
        used."""
        self._learning.discard(node.id)
        text = MASK if node.role == SECRET else node.live
        cut = text is not None and len(text) > MAX_TEXT_LENGTH
        yield from self._report_text(node, text, cut, {})
        yield from self._report_sensitivity(node, {})

    def _report_text(
        self, node: AxNode, text: str | None, cut: bool, flags: dict[str, bool]
    ) -> Iterator[AxObservation]:
        """Report a text that is another one than was told; a password is reported at every change,
        without its text."""
        is_label = node.role in LABELS and self._model.is_visible(node)
        if text is None or not (node.role in TEXTS or is_label):
            return
        text = _plain(text)[:MAX_TEXT_LENGTH]
        before, node.told = node.told, text
        is_secret_again = before is not None and node.role == SECRET
        if text == (before or "") and not is_secret_again:
            return
        data: dict[str, object] = self._masked_text(node, text)
        if cut:
            data["cut"] = True
        yield AxObservation("widget.text_changed", self.describe(node) | data | flags)

    def _masked_text(self, node: AxNode, text: str) -> dict[str, object]:
        """Return the fields that tell a widget's text: masked, and that it was."""
        if text == MASK:
            return {"text": text}
        told = self._masker.mask_value(node.name if node.role in TEXTS else "", text)
        return {"text": told} if told == text else {"text": told, "masked": ["text"]}

    def _report_sensitivity(self, node: AxNode, flags: dict[str, bool]) -> Iterator[AxObservation]:
        """Report that a widget can be used now, or no more, if it is seen."""
        before, node.sensitive = node.sensitive, None
        now = "sensitive" in node.states
        if before is not None and now != before and self._model.is_visible(node):
            data = self.describe(node) | {"state": "sensitive", "on": now}
            yield AxObservation("widget.state_changed", data | flags)

    def _report_value(
        self, node: AxNode, value: float | None, flags: dict[str, bool]
    ) -> Iterator[AxObservation]:
        """Report the value of a slider or the like that is another one than before."""
        if value is None or value == node.value or node.role not in VALUES:
            return
        node.value = value
        yield AxObservation("widget.value_changed", self.describe(node) | {"value": value} | flags)


def _plain(text: str) -> str:
    """Return ``text`` with newlines for the character by which Qt ends paragraphs."""
    return text.replace("\u2029", "\n")
