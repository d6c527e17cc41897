"""Settings of desktop programs: ini and its relatives, Mozilla's prefs.js, GIMP's gimprc."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias

import orjson

from agentd.readers.bounds import DamagedError
from agentd.readers.request import Facts, ReadRequest
from agentd.readers.texts import decode_text

_PREF = re.compile(
    r'^\s*(?:user_|sticky_|lock)?[pP]ref\(\s*"((?:[^"\\]|\\.)*)"\s*,\s*(.*?)\s*\)\s*;\s*$',
    re.MULTILINE,
)
_TOKEN = re.compile(r'\s+|#[^\n]*|"((?:[^"\\]|\\.)*)"|([()])|([^\s()"#]+)')
_Item: TypeAlias = "str | list[_Item]"
_HEAD = "\0"
"""The name of the section that holds what comes before the first one."""


def read_ini(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{value: {section: {key: text}}}``; keys before the first section are at the top."""
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, delimiters=("=",), default_section="\1"
    )
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(f"[{_HEAD}]\n" + decode_text(file))
    except configparser.Error as error:
        raise DamagedError(f"no ini file: {error}") from None
    sections = {name: dict(parser.items(name)) for name in parser.sections()}
    return {"value": {**sections.pop(_HEAD, {}), **sections}}


def read_prefs(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{value: {name: value}}`` of Mozilla's ``user_pref("name", value);``."""
    prefs: Facts = {}
    for name, value in _PREF.findall(decode_text(file)):
        try:
            prefs[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            raise DamagedError(f"{name}: {value[:80]} is no text, number, true or false") from None
    return {"value": prefs}


def read_gimprc(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{value: {name: text}}`` of GIMP's ``(name value)``; a longer list is its words, a
    nested one a list."""
    entries = [
        entry for entry in _parse_lists(decode_text(file)) if isinstance(entry, list) and entry
    ]
    return {"value": {name: _parse_value(rest) for name, *rest in entries if isinstance(name, str)}}


def _parse_lists(text: str) -> list[_Item]:
    """Parse texts and bracketed lists of them, lists within lists too."""
    stack: list[list[_Item]] = [[]]
    for bracket, word in _tokens(text):
        if bracket == "(":
            stack.append([])
        elif bracket == ")":
            if len(stack) < 2:
                raise DamagedError("a bracket that nothing opened")
            done = stack.pop()
            stack[-1].append(done)
        elif word is not None:
            stack[-1].append(word)
    if len(stack) != 1:
        raise DamagedError("a bracket that nothing closes")
    return stack[0]


def _tokens(text: str) -> Iterator[tuple[str | None, str | None]]:
    """Yield a bracket or a word for each token, neither for white space and comments."""
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise DamagedError(f"a text that nothing closes, at character {at}")
        at = token.end()
        quoted, bracket, word = token.groups()
        yield bracket, word or quoted


def _parse_value(items: list[_Item]) -> object:
    """Return a lone item itself, several words as one text, anything else as the list."""
    if len(items) == 1:
        return items[0]
    words = [item for item in items if isinstance(item, str)]
    return " ".join(words) if len(words) == len(items) else items
