"""YAML text as a JSON value and the line of every key, bounded before anything walks the document.

The parser's events are counted one after the other, without recursion: how deep, how many values,
aliases as often as they stand for something. Only what is within bounds is composed, which recurses
in C and would end the process.

What strangers send the service reads in a process of its own (api/core/yaml_child.py).
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

Where = tuple[str | int, ...]
Lines = dict[Where, int]

MAX_DEPTH = 64
MAX_NODES = 100_000
"""Values in one document, those that an alias stands for counted each time."""
MAX_BYTES = 4 << 20
MAX_WHOLE = 2**63 - 1
"""Whole numbers beyond this or its negative are no numbers of JSON readers."""
MAX_DIGITS = 64


class BadYamlError(ValueError):
    """No YAML document within bounds; ``line`` is None where nobody can say which."""

    def __init__(self, line: int | None, found: str, wanted: str) -> None:
        self.line, self.found, self.wanted = line, found, wanted
        super().__init__(f"{f'line {line}: ' if line else ''}got {found}, wanted {wanted}")


_PATTERNS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)\Z"),
    "tag:yaml.org,2002:float": re.compile(
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?\Z|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"
    ),
}
"""Numbers as YAML 1.1 has them, but for those with colons (base 60)."""


class _Loader(yaml.CSafeLoader):
    """Safe YAML that refuses a key given twice, where plain YAML silently keeps the last, and one
    that is no text: JSON has none such, and 2024, yes and null want quotes to be names. A date and
    a number with colons are texts."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the base class has it
        first: [
            (tag, _PATTERNS.get(tag, pattern))
            for tag, pattern in resolvers
            if not tag.endswith((":timestamp", ":merge"))
        ]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        """Make an object. Raises `BadYamlError` for a key that is no text, or that stands there
        twice."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _bad_key(key_node, f"a key is a name; {_quotes_wanted(key_node)}")
            if key in seen:
                raise _bad_key(key_node, f"the key {key[:80]!r} is given twice")
            seen.add(key)
        return super().construct_mapping(node, deep)

    def refuse_tag(self, node: yaml.Node) -> None:
        """A value that JSON has not."""
        self.construct_undefined(node)

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """A number that JSON has too."""
        text = str(node.value)
        if len(text) <= MAX_DIGITS:
            is_whole = node.tag.endswith(":int")
            number = self.construct_yaml_int(node) if is_whole else self.construct_yaml_float(node)
            is_too_large = is_whole and abs(number) > MAX_WHOLE
            if math.isfinite(number) and not is_too_large:
                return number
        shown = text if len(text) <= 80 else f"{text[:60]}… of {len(text)} characters"
        wanted = "a finite number below 2^63, or a text in quotes"
        raise BadYamlError(node.start_mark.line + 1, shown, wanted)


def _bad_key(key_node: yaml.Node, problem: str) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)


def _quotes_wanted(key_node: yaml.Node) -> str:
    """Say what has to be quoted to be a text."""
    if isinstance(key_node, yaml.ScalarNode):
        return f"{key_node.value[:80]!r} wants quotes"
    return "a value that begins with a brace wants quotes"


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_number)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_number)
for _tag in ("timestamp", "binary", "set", "omap", "pairs"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _Loader.refuse_tag)


def read_yaml(text: str) -> tuple[object, Lines]:
    """What the text says as a JSON value, and the line of every key. Raises `BadYamlError`."""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise BadYamlError(None, f"{len(text)} characters", f"at most {MAX_BYTES} bytes")
    try:
        _bound(text)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            spec = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error)
        raise BadYamlError(mark.line + 1 if mark else None, said[:300], "a YAML document") from None
    except BadYamlError:
        raise
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        # Of a value with a tag of another type.
        raise BadYamlError(None, str(error)[:200], "values that YAML knows") from None
    lines: Lines = {}
    if node is not None:
        _note_lines(node, lines)
    return spec, lines


def _bound(text: str) -> None:
    """Refuse what is too deep or too large, one event at a time."""
    # Of each that is open: its anchor, and the values in it so far.
    open_: list[tuple[str | None, int]] = [(None, 0)]
    sizes: dict[str, int] = {}
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, 1))
            if len(open_) - 1 > MAX_DEPTH:
                raise _beyond(event, f"values nested {MAX_DEPTH + 1} deep", f"at most {MAX_DEPTH}")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_.pop()
        elif isinstance(event, yaml.AliasEvent):
            _refuse_own_alias(event, open_)
            anchor, size = None, sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size = event.anchor, 1
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        parent, before = open_[-1]
        open_[-1] = parent, before + size
        if before + size > MAX_NODES:
            raise _beyond(
                event,
                f"more than {MAX_NODES} values",
                f"at most {MAX_NODES}, each alias for what it names",
            )


def _refuse_own_alias(event: yaml.AliasEvent, open_: list[tuple[str | None, int]]) -> None:
    """Refuse an alias of a value that has not ended: it would hold itself."""
    if any(anchor == event.anchor for anchor, _ in open_):
        shown = str(event.anchor)[:80]
        raise _beyond(event, f"*{shown} within itself", "nesting that ends")


def _beyond(event: Any, found: str, wanted: str) -> BadYamlError:
    return BadYamlError(event.start_mark.line + 1, found, wanted)


def _note_lines(top: yaml.Node, lines: Lines) -> None:
    """Lists are noted by their places alone: see `line_of`."""
    waiting: list[tuple[yaml.Node, Where]] = [(top, ())]
    while waiting:
        node, path = waiting.pop()
        lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                here = plain_path((*path, str(key.value)))
                lines[here] = key.start_mark.line + 1
                waiting.append((value, here))
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend((item, plain_path((*path, n))) for n, item in enumerate(node.value))


def plain_path(path: Where) -> Where:
    """A path as the lines are noted by: a composite may be written as a bare list, and its parts
    are then reported below `of`, so that the word before a place is left out."""
    if len(path) > 1 and isinstance(path[-1], int) and path[-2] == "of":
        return (*path[:-2], path[-1])
    return path


def line_of(path: Where, lines: Lines) -> int | None:
    """The line of the closest thing that has one."""
    where: Where = ()
    for part in path:
        where = plain_path((*where, part))
    while where and where not in lines:
        where = where[:-1]
    return lines.get(where)
