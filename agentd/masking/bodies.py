"""Bodies and messages, masked in the form they have: JSON, urlencoded, multipart, HTML, XML, lines
of names and values, anything else as text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any

import orjson

from agentd.masking.masker import MASK, Masker

_PART_NAME = re.compile(r'\bname="([^"]*)"', re.IGNORECASE)
_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)', re.IGNORECASE)
_QUOTED = re.compile(r'("([^"\\]{1,200})"\s*:\s*)(?:"((?:[^"\\]|\\.)*)|(-?[0-9][0-9.eE+-]*))')
_LINE = re.compile(
    r"^([ \t]*([\w.%+*~\[\]-]{1,200})[ \t]*[=:][ \t]*)([^\s\0][^\r\n\0]*)", re.MULTILINE
)
_ELEMENT = re.compile(
    r"(<(?:[\w.-]{1,100}:)?([\w.-]{1,100})(?:\s[^<>]{0,500})?>)((?:<!\[CDATA\[.{0,500}?\]\]>|[^<])+)",
    re.DOTALL,
)
_NAMED = re.compile(
    r"""(?<![\w:.-])((?:[\w.-]{1,100}:)?([\w.-]{1,100})\s{0,9}=\s{0,9})("[^"<]+"|'[^'<]+')"""
)
_PAIRS = re.compile(r"^[\w.%+*~\[\]-]{1,200}=[^\s<>]*$")
_INPUT = re.compile(r"<(?:input|meta)\b", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""\b(type|name|id|value|content)\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+)""", re.IGNORECASE
)


def mask_body(text: str, mime: str, masker: Masker) -> str:
    """A body with its secrets masked; what holds none stays as it was written."""
    if "multipart/" in mime:
        return _mask_multipart(text, mime, masker)
    if text.lstrip()[:1] in ("{", "[", '"'):
        whole = _mask_json(text, masker)
        if whole is not None:
            return whole
    if "urlencoded" in mime or _PAIRS.match(text):
        return masker.mask_pairs(text)
    if "html" in mime:
        text = _mask_tags(text, masker)
    if "html" in mime or "xml" in mime or text.lstrip()[:1] == "<":
        text = _mask_markup(text, masker)
    else:
        text = (
            "\n".join(_mask_json_line(line, masker) for line in text.split("\n"))
            if "\n" in text
            else text
        )
        if not mime or "text/plain" in mime:
            text = _LINE.sub(lambda found: _hidden(found, masker), text)
    return masker.mask_text(_mask_quoted(text, masker))


def _mask_json(text: str, masker: Masker) -> str | None:
    """A JSON text, masked; None where it is none."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    masked = masker.mask_json(value)
    if masked == value and not _repeats_a_key(text, value):
        return text
    return orjson.dumps(masked).decode()


def _repeats_a_key(text: str, value: Any) -> bool:
    """Whether more stands in the text than was read of it: of a repeated key only the last value
    is."""
    if orjson.dumps(value) == text.encode():
        return False

    def pairs(found: list[tuple[str, Any]]) -> None:
        if len({name for name, _ in found}) < len(found):
            raise ValueError("a key stands there twice")

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return True
    return False


def _mask_json_line(line: str, masker: Masker) -> str:
    """One line of many, each of which may be JSON."""
    masked = _mask_json(line, masker) if line.lstrip()[:1] in ("{", "[") else None
    return line if masked is None else masked + line[len(line.rstrip()) :]


def _hidden(found: re.Match[str], masker: Masker) -> str:
    """A name with its value behind, masked where that is a secret."""
    return found[1] + MASK if masker.is_secret(found[2], found[3].strip()) else found[0]


def boundary_of(mime: str) -> str | None:
    """The boundary of a multipart body, from its content type."""
    found = _BOUNDARY.search(mime)
    return found[1] if found else None


def map_parts(text: str, boundary: str, change: Callable[[str, str, str], str]) -> str:
    """A multipart body with each part's content changed; ``change`` gets name ("": none), the
    part's head and its content."""
    parts = text.split(f"--{boundary}")
    for index, part in enumerate(parts):
        head, gap, value = part.partition("\r\n\r\n")
        name = _PART_NAME.search(head)
        if gap:
            content = value.removesuffix("\r\n")
            changed = change(name[1] if name else "", head, content)
            parts[index] = head + gap + changed + value[len(content) :]
        else:
            parts[index] = change(
                "", "", part
            )  # before the first part, after the last, or no part at all
    return f"--{boundary}".join(parts)


def _mask_multipart(text: str, mime: str, masker: Masker) -> str:
    boundary = boundary_of(mime)
    if boundary is None:
        return MASK  # without its boundary nobody can say where a password is

    def change(name: str, head: str, content: str) -> str:
        return masker.mask_value(name, content) if name else mask_body(content, "", masker)

    return map_parts(text, boundary, change)


def _mask_quoted(text: str, masker: Masker) -> str:
    # JSON that is cut, wrapped or broken: its secrets still stand behind their names.
    def change(found: re.Match[str]) -> str:
        told = found[3] or found[4]
        if not told or not masker.is_secret(found[2], told):
            return found[0]
        return f'{found[1]}"{MASK}' + ('"' if found[4] else "")

    return _QUOTED.sub(change, text)


def _mask_markup(text: str, masker: Masker) -> str:
    """Elements and attributes with a name that tells: ``<password>...</password>``, ``<user
    token="...">``."""

    def attribute(found: re.Match[str]) -> str:
        value, mark = found[3][1:-1], found[3][0]
        return (
            f"{found[1]}{mark}{MASK}{mark}"
            if masker.is_secret(found[2], html.unescape(value))
            else found[0]
        )

    def element(found: re.Match[str]) -> str:
        value = html.unescape(found[3].strip())
        return found[1] + MASK if value and masker.is_secret(found[2], value) else found[0]

    return _NAMED.sub(attribute, _ELEMENT.sub(element, text))


def _mask_tags(text: str, masker: Masker) -> str:
    # Step by step: an expression that looks for each tag's end would read all that follows once for
    # every tag.
    pieces, done = [], 0
    while found := _INPUT.search(text, done):
        end = text.find(">", found.end()) + 1
        if not end:
            break
        pieces += [text[done : found.start()], _mask_tag(text[found.start() : end], masker)]
        done = end
    return "".join(pieces) + text[done:]


def _mask_tag(tag: str, masker: Masker) -> str:
    found: dict[str, Any] = {
        one[1].lower(): (one, html.unescape(one[2].strip("\"'")))
        for one in _ATTRIBUTE.finditer(tag)
    }
    place = found.get("value") or found.get("content")
    if place is None or not place[1]:
        return tag
    names = [found[name][1] for name in ("name", "id") if name in found]
    secret = found.get("type", (None, ""))[1].lower() == "password" or any(
        masker.is_secret(name, place[1]) for name in names
    )
    one = place[0]
    return tag[: one.start(2)] + f'"{MASK}"' + tag[one.end(2) :] if secret else tag
