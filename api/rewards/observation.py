"""What an agent could have observed at a point of an episode, as far as its log shows it: a pure
fold over events, bounded in items and in bytes.

What the log can't show is null, with the reason in ``missing``; what was too much is cut, and
``cut`` names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NotRequired, TypedDict

from detectors.model.codec import canonical
from detectors.model.optional_values import drop_keys


class TabJson(TypedDict):
    """A tab with what is known of it."""

    url: str | None
    title: str | None


class DialogJson(TypedDict):
    """An open dialog of a page."""

    type: str | None
    message: str | None


class FieldJson(TypedDict):
    """A form field and what it holds; of a secret one only whether it holds something."""

    tab: str
    frame: str
    role: str | None
    name: str | None
    value: NotRequired[str | list[str] | None]
    checked: NotRequired[bool]
    has_value: NotRequired[bool]
    cut: NotRequired[bool]


class FileJson(TypedDict):
    """A file that is there."""

    root: str
    path: str
    size: int | None
    sha256: str | None


class WindowJson(TypedDict):
    """A window of the desktop; ``active``: it has the keyboard."""

    app: str
    role: str
    title: str
    active: bool


class ClipboardJson(TypedDict, total=False):
    """What a selection holds, as its event reports it: ``text`` at most `MAX_TEXT` characters."""

    text: str
    sha256: str
    length: int
    types: list[str]
    app: str
    unread_reason: str
    cut: bool


class ScreenshotJson(TypedDict):
    """The newest picture of the screen: the step that it was taken after, null: at the start.
    ``path``: where the service has it, null where its daemon kept it (docs/export.md)."""

    sha256: str
    format: str
    width: int
    height: int
    step: int | None
    path: str | None


class PageJson(TypedDict):
    """A document as a tree of roles and names. ``tree``: null where it could not be had, for
    ``reason``."""

    tab: str
    frame: str
    main: bool
    tree: list[dict[str, Any]] | None
    cut: bool
    reason: str | None


class FocusJson(TypedDict):
    """What has the focus: an element of a page (``tab``) or a widget (``app``)."""

    role: str | None
    name: str | None
    tab: NotRequired[str]
    app: NotRequired[str]


class ObservationJson(TypedDict):
    """What is known of the screen and the disk, as the wire has it. ``missing``: why a part is null
    or may be out of date; ``cut``: parts of which only the newest are given."""

    tabs: dict[str, TabJson]
    filled_fields: int
    files: int
    dialog: DialogJson | None
    pages: list[PageJson] | None
    fields: list[FieldJson] | None
    focused: FocusJson | None
    file_list: list[FileJson] | None
    windows: list[WindowJson] | None
    clipboard: dict[str, ClipboardJson] | None
    screenshot: ScreenshotJson | None
    missing: dict[str, str]
    cut: list[str]


def is_blank(observation: ObservationJson) -> bool:
    """Whether nothing at all was observed."""
    notes = ("missing", "cut")
    return not any(value for part, value in observation.items() if part not in notes)


def outline(tree: Iterable[Mapping[str, object]]) -> str:
    """Return a page's tree as text: a line a node, indented by its depth."""
    return "\n".join(_line(node) for node in tree)


def state_as_text(observation: ObservationJson) -> str:
    """Return an observation as a language model reads it: a line of JSON, then the pages' outlines.

    Without numbers that differ from run to run (ids of tabs and frames, digests): the same state
    gives the same text.
    """
    state: dict[str, object] = {"tabs": list(observation["tabs"].values())}
    for part in ("dialog", "focused", "windows"):
        if observation[part]:
            state[part] = _without_ids(observation[part])
    fields = observation["fields"]
    if fields:
        state["fields"] = [_without_ids(known) for known in fields]
    files = observation["file_list"]
    if files:
        state["files"] = [f"{file['root']}/{file['path']}" for file in files]
    clipboard = observation["clipboard"]
    if clipboard:
        state["clipboard"] = {name: _copied(known) for name, known in clipboard.items()}
    return "\n\n".join([canonical(state).decode(), *_outlines(observation)])


def _outlines(observation: ObservationJson) -> Iterator[str]:
    """Yield the outline of each page whose tree is known."""
    yield from (outline(page["tree"]) for page in observation["pages"] or () if page["tree"])


def _copied(known: ClipboardJson) -> str | list[str]:
    """Return the text on a clipboard, or what sorts of data are there instead."""
    return known.get("text") or known.get("types") or []


def _without_ids(part: Any) -> Any:
    """Return a part of the state without the browser's own ids."""
    if isinstance(part, list):
        return [_without_ids(item) for item in part]
    return drop_keys(part, ("tab", "frame"))


def _line(node: Mapping[str, Any]) -> str:
    """Return a node of a page's tree as a line: its role, its name, and its other facts by name."""
    indent = "  " * int(node.get("depth", 0))
    words = [indent + str(node.get("role"))]
    if node.get("name"):
        words.append(canonical(node["name"]).decode())
    for name in sorted(node.keys() - {"depth", "role", "name"}):
        words.append(f"{name}={canonical(node[name]).decode()}")
    return " ".join(words)
