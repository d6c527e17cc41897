"""Documents as trees of roles and names (page/tree.js): checked node by node, masked, bounded.

They are there to train on and evidence of nothing: no rule hears them. A tree that was recorded
already goes by its digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import orjson

from agentd.masking import MASK, Masker
from detectors.model.codec import canonical, sha256
from detectors.model.kinds.looks import TreeNode, VisualTreeRecorded

MAX_REMEMBERED = 32
"""Trees that go by their digest when they are met again."""
MAX_NODES = 4_000
MAX_DEPTH = 200
MAX_TEXT = 1_000
MAX_OPTIONS = 30
_FLAGS = (
    "has_value", "checked", "selected", "expanded", "pressed", "disabled", "focused",
)  # fmt: skip


class FrameAddress(NamedTuple):
    """Where a document stands; ``main``: in its tab's top frame."""

    tab: str
    frame: str
    main: bool


class PageTrees:
    """The trees of one attachment. ``max_bytes``: of all documents together, at each look."""

    def __init__(self, max_bytes: int, secrets: Masker) -> None:
        self.max_bytes = max_bytes
        self._secrets = secrets
        self._left = max_bytes
        self._recorded: dict[str, None] = {}

    def begin(self) -> None:
        """Begin a look at all documents."""
        self._left = self.max_bytes

    def record(self, where: FrameAddress, answer: object) -> VisualTreeRecorded:
        """Return what is recorded of a document whose script gave ``answer``: the text of
        page/tree.js, or false where it is not there."""
        nodes, is_cut = self._read(answer)
        if nodes is None:
            return unread_document(where, "the page gave no tree")
        digest = sha256(canonical(nodes))
        data: VisualTreeRecorded = {**_address(where), "sha256": digest}
        if is_cut:
            data["cut"] = True
        if digest not in self._recorded:
            self._recorded[digest] = None
            if len(self._recorded) > MAX_REMEMBERED:
                del self._recorded[next(iter(self._recorded))]
            data["tree"] = nodes
        return data

    def _read(self, answer: object) -> tuple[list[TreeNode] | None, bool]:
        """Return the nodes that fit, and whether there are more; None: it is no tree."""
        try:
            given = orjson.loads(answer) if isinstance(answer, str) else None
        except orjson.JSONDecodeError:
            given = None
        if not isinstance(given, dict) or not isinstance(given.get("nodes"), list):
            return None, False
        kept: list[TreeNode] = []
        for item in given["nodes"][:MAX_NODES]:
            node = self._node(item)
            if node is None:
                continue
            self._left -= len(orjson.dumps(node))
            if self._left < 0:
                return kept, True
            kept.append(node)
        return kept, given.get("cut") is True or len(given["nodes"]) > MAX_NODES

    def _node(self, item: object) -> TreeNode | None:
        """Return a node with the fields that it may have, its texts masked; None: it is none."""
        if not isinstance(item, dict):
            return None
        depth, role = item.get("depth"), item.get("role")
        if type(depth) is not int or not 0 <= depth <= MAX_DEPTH or not isinstance(role, str):
            return None
        node: TreeNode = {"depth": depth, "role": role[:40]}
        if isinstance(item.get("name"), str):
            node["name"] = self._masked(item["name"])
        field = item.get("field")
        if isinstance(field, str):
            node["field"] = self._masked(field)
        if isinstance(item.get("value"), str):
            node["value"] = self._masked_value(field, item["value"])
        if isinstance(item.get("options"), list):
            node["options"] = [
                self._masked(option)
                for option in item["options"][:MAX_OPTIONS]
                if isinstance(option, str)
            ]
        _copy_flags(item, node)
        return node

    def _masked(self, text: str) -> str:
        return self._secrets.mask_text(text[:MAX_TEXT])

    def _masked_value(self, field: object, value: str) -> str:
        """Mask what a field holds, by the field's name or by its looks."""
        if isinstance(field, str) and value and self._secrets.is_secret(field, value):
            return MASK
        return self._masked(value)


def unread_document(where: FrameAddress, reason: str) -> VisualTreeRecorded:
    """Return what is recorded of a document that could not be read."""
    return {**_address(where), "reason": reason}


def _address(where: FrameAddress) -> VisualTreeRecorded:
    return {"tab": where.tab, "frame": where.frame, "main": where.main}


def _copy_flags(item: Mapping[str, object], node: TreeNode) -> None:
    """Copy the flags that are true or false; anything else is none."""
    for name in _FLAGS:
        value = item.get(name)
        if isinstance(value, bool):
            node[name] = value  # type: ignore[literal-required]
