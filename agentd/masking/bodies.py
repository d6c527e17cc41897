"""Bodies and messages, masked in the form they have: JSON, urlencoded, multipart, HTML, XML, lines
of names and values, anything else as text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable

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
    """Return a body with its secrets masked; one that holds none stays byte for byte as it was.

    ``mime``: the content type in lower case, "" where it is not known.
    """
    if "multipart/" in mime:
        return _mask_multipart(text, mime, masker)
    start = text.lstrip()[:1]
    if start in ("{", "[", '"'):
        masked = _mask_json(text, masker)
        if masked is not None:
            return masked
    if "urlencoded" in mime or _PAIRS.match(text):
        return masker.mask_pairs(text)
    if "html" in mime:
        text = _mask_tags(text, masker)
    if "html" in mime or "xml" in mime or start == "<":
        text = _mask_markup(text, masker)
    else:
        text = _mask_lines(text, mime, masker)
    return masker.mask_text(_mask_broken_json(text, masker))


def _mask_json(text: str, masker: Masker) -> str | None:
    """Mask a JSON text; None where ``text`` is no JSON."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    masked = masker.mask_json(value)
    if masked == value and not _repeats_a_key(text, value):
        return text
    return orjson.dumps(masked).decode()


def _repeats_a_key(text: str, value: object) -> bool:
    """Return whether an object of the JSON ``text``, read as ``value``, has a key twice.

    A parser keeps the last value of a repeated key alone: a secret under the first would stay.
    """
    if orjson.dumps(value) == text.encode():
        return False
    try:
        json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    except (ValueError, RecursionError):
        return True
    return False


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> None:
    """Raise ValueError for an object in which a key stands twice: parsers differ in which of them
    counts."""
    names = {name for name, _ in pairs}
    if len(names) < len(pairs):
        raise ValueError("a key stands there twice")


def _mask_lines(text: str, mime: str, masker: Masker) -> str:
    """Mask lines that are JSON each, and in plain text lines of a name and a value."""
    if "\n" in text:
        text = "\n".join(_mask_json_line(line, masker) for line in text.split("\n"))
    if not mime or "text/plain" in mime:
        text = _LINE.sub(lambda line: _mask_named_value(line, masker), text)
    return text


def _mask_json_line(line: str, masker: Masker) -> str:
    """Mask a line that is JSON, white space at its end kept; any other stays as it is."""
    if line.lstrip()[:1] not in ("{", "["):
        return line
    masked = _mask_json(line, masker)
    if masked is None:
        return line
    return masked + line[len(line.rstrip()) :]


def _mask_named_value(line: re.Match[str], masker: Masker) -> str:
    """Mask the value (group 3) behind a name (group 2) where it is a secret."""
    if masker.is_secret(line[2], line[3].strip()):
        return line[1] + MASK
    return line[0]


def boundary_of(mime: str) -> str | None:
    """Return the boundary of a multipart body, from its content type; None where it has none."""
    match = _BOUNDARY.search(mime)
    return match[1] if match else None


def map_parts(text: str, boundary: str, change: Callable[[str, str, str], str]) -> str:
    """Return a multipart body with the content of each part changed.

    ``change(name, head, content)`` returns the new content. ``name`` is "" for a part without one;
    what stands before the first part, after the last or without a head has ``head`` "" too.
    """
    parts = text.split(f"--{boundary}")
    return f"--{boundary}".join(_map_part(part, change) for part in parts)


def _map_part(part: str, change: Callable[[str, str, str], str]) -> str:
    """Change the content of one part of a form, which ``change`` gets with the field's name and the
    part's head."""
    head, gap, body = part.partition("\r\n\r\n")
    if not gap:
        return change("", "", part)
    name = _PART_NAME.search(head)
    content = body.removesuffix("\r\n")
    changed = change(name[1] if name else "", head, content)
    return head + gap + changed + body[len(content) :]


def _mask_multipart(text: str, mime: str, masker: Masker) -> str:
    """Mask each field of a form by its name, and each unnamed part as a body of its own."""
    boundary = boundary_of(mime)
    if boundary is None:
        return MASK  # without its boundary nobody can say where a password is

    def change(name: str, head: str, content: str) -> str:
        """Mask one part's content: by its field's name, or as a body where it has none."""
        return masker.mask_value(name, content) if name else mask_body(content, "", masker)

    return map_parts(text, boundary, change)


def _mask_broken_json(text: str, masker: Masker) -> str:
    """Mask values behind their quoted names in JSON that is cut, wrapped or broken."""

    def change(pair: re.Match[str]) -> str:
        """Mask the value of one pair of name and value, with the quote that a cut text lacks."""
        quoted, number = pair[3], pair[4]
        value = quoted or number
        if not value or not masker.is_secret(pair[2], value):
            return pair[0]
        closing = '"' if number else ""
        return f'{pair[1]}"{MASK}{closing}'

    return _QUOTED.sub(change, text)


def _mask_markup(text: str, masker: Masker) -> str:
    """Mask elements and attributes by name: ``<password>…</password>``, ``<user token="…">``."""

    def mask_attribute(attribute: re.Match[str]) -> str:
        """Mask one attribute's value, in the quotes that it had."""
        quotation_mark = attribute[3][0]
        value = html.unescape(attribute[3][1:-1])
        if not masker.is_secret(attribute[2], value):
            return attribute[0]
        return f"{attribute[1]}{quotation_mark}{MASK}{quotation_mark}"

    def mask_element(element: re.Match[str]) -> str:
        """Mask the text of one element, if the element's name or the text itself is secret."""
        value = html.unescape(element[3].strip())
        if not value or not masker.is_secret(element[2], value):
            return element[0]
        return element[1] + MASK

    return _NAMED.sub(mask_attribute, _ELEMENT.sub(mask_element, text))


def _mask_tags(text: str, masker: Masker) -> str:
    """Mask the values of form fields in HTML."""
    # Step by step: an expression that looks for each tag's end would read all that follows once for
    # every tag.
    pieces: list[str] = []
    done = 0
    while tag := _INPUT.search(text, done):
        end = text.find(">", tag.end()) + 1
        if not end:
            break
        pieces += (text[done : tag.start()], _mask_tag(text[tag.start() : end], masker))
        done = end
    return "".join(pieces) + text[done:]


def _mask_tag(tag: str, masker: Masker) -> str:
    """Mask what a field or a `meta` element holds, where its type, its name or its id says that it
    is secret."""
    attributes = {attribute[1].lower(): attribute for attribute in _ATTRIBUTE.finditer(tag)}
    texts = {name: _attribute_text(attribute) for name, attribute in attributes.items()}
    held = "value" if "value" in attributes else "content"
    value = texts.get(held)
    if not value:
        return tag
    is_password = texts.get("type", "").lower() == "password"
    names = (texts[name] for name in ("name", "id") if name in texts)
    if not is_password and not any(masker.is_secret(name, value) for name in names):
        return tag
    start, end = attributes[held].span(2)
    return f'{tag[:start]}"{MASK}"{tag[end:]}'


def _attribute_text(attribute: re.Match[str]) -> str:
    return html.unescape(attribute[2].strip("\"'"))
