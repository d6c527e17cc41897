"""Kinds that hold what was seen, for people: no rule hears them, and nothing is paid for them."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from detectors.model.kinds.kind import KindTable

LOOKS = KindTable("visual")


@LOOKS.kind("visual.dom_recorded")
class VisualDomRecorded(TypedDict):
    """What a page looked like, with `--visual`: `text` is a list of rrweb's events as JSON, or
    `part` of `parts` of one; `sequence` counts the messages of one document's `stream`, `sent_ms`
    is the browser's time as it was sent, in ms."""

    tab: str
    stream: str
    sequence: int
    sent_ms: int
    part: NotRequired[int]
    parts: NotRequired[int]
    text: str


@LOOKS.kind("visual.screenshot_taken")
class VisualScreenshotTaken(TypedDict):
    """A screenshot itself, with `--visual` and `--screen`; `screen.captured` names it by its
    sha256."""

    sha256: str
    format: str
    base64: str


class TreeNode(TypedDict):
    """An element by ARIA role and accessible name, or a piece of text (role `text`); ``depth`` in
    the tree, of which the nodes stand in the order of reading. Of a secret field ``has_value``
    stands for its ``value``."""

    depth: int
    role: str
    name: NotRequired[str]
    field: NotRequired[str]
    value: NotRequired[str]
    options: NotRequired[list[str]]
    has_value: NotRequired[bool]
    checked: NotRequired[bool]
    selected: NotRequired[bool]
    expanded: NotRequired[bool]
    pressed: NotRequired[bool]
    disabled: NotRequired[bool]
    focused: NotRequired[bool]


@LOOKS.kind("visual.tree_recorded", since=2)
class VisualTreeRecorded(TypedDict):
    """A document as a tree of roles and names, where the task has `observations`: when a step was
    complete, and before the first one. `sha256` of the tree: without `tree` it is the one that was
    recorded under that digest before. `cut`: more did not fit, or took too long. `reason`: why
    there is none."""

    tab: str
    frame: str
    main: bool
    sha256: NotRequired[str]
    tree: NotRequired[list[TreeNode]]
    cut: NotRequired[bool]
    reason: NotRequired[str]
