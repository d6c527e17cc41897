"""Settings of desktop programs: ini and its relatives, Mozilla's prefs.js, GIMP's gimprc."""

from __future__ import annotations

import configparser
import re
from typing import Any, BinaryIO

import orjson

from agentd.readers.bounds import DamagedError
from agentd.readers.texts import decoded

_PREF = re.compile(
    r'^\s*(?:user_|sticky_|lock)?[pP]ref\(\s*"((?:[^"\\]|\\.)*)"\s*,\s*(.*?)\s*\)\s*;\s*$',
    re.MULTILINE,
)
_TOKEN = re.compile(r'\s+|#[^\n]*|"((?:[^"\\]|\\.)*)"|([()])|([^\s()"#]+)')
_HEAD = "\0"
"""Stands for the section of what comes before the first one."""


def read_ini(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{value: {section: {key: text}}}``; keys before the first section stand at the top
    themselves."""
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, delimiters=("=",), default_section="\1"
    )
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(f"[{_HEAD}]\n" + decoded(file))
    except configparser.Error as error:
        raise DamagedError(f"no ini file: {error}") from None
    sections = {name: dict(parser.items(name)) for name in parser.sections()}
    return {"value": {**sections.pop(_HEAD, {}), **sections}}


def read_prefs(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{value: {name: value}}`` of Mozilla's ``user_pref("name", value);``."""
    found: dict[str, Any] = {}
    for name, said in _PREF.findall(decoded(file)):
        try:
            found[name] = orjson.loads(said)
        except orjson.JSONDecodeError:
            raise DamagedError(f"{name}: {said[:80]} is no text, number, true or false") from None
    return {"value": found}


def read_gimprc(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{value: {name: text}}`` of GIMP's ``(name value)``; a longer list as its words, a nested
    one as a list."""
    stack: list[list[Any]] = [[]]
    for text, bracket, word in _tokens(decoded(file)):
        if bracket == "(":
            stack.append([])
        elif bracket == ")":
            if len(stack) < 2:
                raise DamagedError("a bracket that nothing opened")
            done = stack.pop()
            stack[-1].append(done)
        elif word or text is not None:
            stack[-1].append(word or text)
    if len(stack) != 1:
        raise DamagedError("a bracket that nothing closes")
    entries = [one for one in stack[0] if isinstance(one, list) and one and isinstance(one[0], str)]
    return {"value": {name: _parse_value(rest) for name, *rest in entries}}


def _tokens(text: str) -> Any:
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise DamagedError(f"a text that nothing closes, at character {at}")
        at = token.end()
        yield token[1], token[2], token[3]


def _parse_value(rest: list[Any]) -> Any:
    return (
        rest[0]
        if len(rest) == 1
        else " ".join(rest)
        if all(isinstance(one, str) for one in rest)
        else rest
    )
