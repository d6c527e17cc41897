"""Changes in the text of a task file that leave the rest of it as its author wrote it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import orjson
import yaml

from common.yaml_text import read_yaml

MAX_VERSION_DIGITS = 9


class NotEditableError(ValueError):
    """A file whose text cannot be changed in place; the message says why."""


class TaskText:
    """The text of a task file with places to change. ``text`` has to be one that `read_yaml`
    takes, and a task."""

    def __init__(self, text: str) -> None:
        read_yaml(text)  # bounds it, before anything recurses
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        self._text = text
        self._top = _read_mapping(node, "the task")
        listed = self._top.get("milestones")
        if not isinstance(listed, yaml.SequenceNode):
            raise NotEditableError("milestones: expected a list in the file itself")
        self._milestones = [_read_mapping(one, "a milestone") for one in listed.value]
        self._nodes = {
            _scalar_of(fields, "id").value: (one, fields)
            for one, fields in zip(listed.value, self._milestones, strict=True)
        }
        self._edits: list[tuple[int, int, str]] = []

    def set_version(self) -> str:
        """Give the task the next version, and return it."""
        node = _scalar_of(self._top, "version")
        version = str(node.value)
        is_number = version.isdecimal() and len(version) <= MAX_VERSION_DIGITS
        following = str(int(version) + 1) if is_number else f"{version}-refined"
        self._replace(node, orjson.dumps(following).decode())
        return following

    def set_weight(self, id: str, weight: float) -> None:
        """Give a milestone a weight, in place of the one that it has."""
        milestone, fields = self._find(id)
        old = fields.get("weight")
        if isinstance(old, yaml.ScalarNode):
            is_inside = (
                milestone.start_mark.index <= old.start_mark.index < milestone.end_mark.index
            )
            if not is_inside:
                raise NotEditableError(f"milestone {id}: its weight is an alias")
            self._replace(old, f"{weight!r}")
            return
        name = _scalar_of(fields, "id")
        if milestone.flow_style:
            self._insert(name.end_mark.index, f", weight: {weight!r}")
        else:
            indent = " " * milestone.start_mark.column
            self._insert(self._line_end(name.end_mark.index), f"\n{indent}weight: {weight!r}")

    def comment(self, id: str, lines: Sequence[str]) -> None:
        """Put comments above a milestone, one a line."""
        milestone, _ = self._find(id)
        begin = self._text.rfind("\n", 0, milestone.start_mark.index) + 1
        indent = re.match(r"[ ]*", self._text[begin:])
        spaces = indent[0] if indent is not None else ""
        self._insert(begin, "".join(f"{spaces}# {line}\n" for line in lines))

    def set_key(self, key: str, value: str) -> None:
        """Give a key of the task another value, written as YAML in one line."""
        node = self._top.get(key)
        if node is None:
            raise NotEditableError(f"{key}: expected it in the file itself")
        is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style
        if is_block:
            raise NotEditableError(f"{key}: expected a value in one line, in the file itself")
        self._edits.append((node.start_mark.index, node.end_mark.index, value))

    def remove(self, id: str) -> None:
        """Take a milestone out, with the comments above it."""
        milestone, _ = self._find(id)
        order = [node for node, _ in self._nodes.values()]
        place = order.index(milestone)
        begin = self._begin_of(milestone)
        last = place + 1 == len(order)
        end = self._end_of_list() if last else self._begin_of(order[place + 1])
        if begin >= end or milestone.start_mark.column == 0:
            raise NotEditableError(f"milestone {id}: expected it in lines of its own")
        self._edits.append((begin, end, ""))

    def _find(self, id: str) -> tuple[yaml.MappingNode, Mapping[str, yaml.Node]]:
        """Return a milestone's place in the text, with its keys."""
        found = self._nodes.get(id)
        if found is None:
            raise NotEditableError(f"milestone {id}: expected it in the file itself")
        return found

    def _begin_of(self, milestone: yaml.Node) -> int:
        """Return where the lines of a milestone begin: the comments above it belong to it."""
        begin = self._text.rfind("\n", 0, milestone.start_mark.index) + 1
        if self._text[begin : milestone.start_mark.index].strip() not in ("", "-"):
            raise NotEditableError("milestones: expected each in lines of its own")
        while begin > 0:
            before = self._text.rfind("\n", 0, begin - 1) + 1
            if not self._text[before:begin].lstrip().startswith("#"):
                break
            begin = before
        return begin

    def _end_of_list(self) -> int:
        """Return where the lines of the last milestone end."""
        listed = self._top["milestones"]
        end = listed.end_mark.index
        return self._text.rfind("\n", 0, end) + 1 if end < len(self._text) else end

    def apply(self, head: Sequence[str], tests: Sequence[str] = ()) -> str:
        """Return the changed text, with comments before all of it, and lines of ``tests`` at its
        end."""
        text = self._text
        for begin, end, new in sorted(self._edits, key=lambda one: one[:2], reverse=True):
            text = text[:begin] + new + text[end:]
        ending = "" if text.endswith("\n") else "\n"
        listed = "".join(f"{line}\n" for line in tests)
        if tests and "tests" in self._top:
            raise NotEditableError("tests: expected none in a draft")
        below = f"{ending}tests:\n{listed}" if tests else ""
        return "".join(f"# {line}\n" for line in head) + text + below

    def _replace(self, node: yaml.ScalarNode, new: str) -> None:
        self._edits.append((node.start_mark.index, node.end_mark.index, new))

    def _insert(self, at: int, new: str) -> None:
        self._edits.append((at, at, new))

    def _line_end(self, index: int) -> int:
        end = self._text.find("\n", index)
        return len(self._text) if end < 0 else end


def _read_mapping(node: yaml.Node | None, what: str) -> Mapping[str, yaml.Node]:
    """Return an object's members as nodes of the file. Raises `NotEditableError` for anything
    else."""
    if not isinstance(node, yaml.MappingNode):
        raise NotEditableError(f"{what}: expected an object in the file itself")
    return {str(key.value): value for key, value in node.value}


def _scalar_of(fields: Mapping[str, yaml.Node], key: str) -> yaml.ScalarNode:
    node = fields.get(key)
    if not isinstance(node, yaml.ScalarNode):
        raise NotEditableError(f"{key}: expected a plain value in the file itself")
    return node
