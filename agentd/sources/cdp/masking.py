"""Keeps passwords out of addresses and request bodies, by the fields' names and by the values' salted hashes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, unquote_plus

import orjson

MASK = "***"
MOST = 1000
"""Names, and hashes, kept; a page that names more fields is not believed."""

_TELLING = re.compile(r"passw(or)?d|pwd|passphrase", re.IGNORECASE)
_USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#@]*@", re.IGNORECASE)
_PART_NAME = re.compile(r'\bname="([^"]*)"', re.IGNORECASE)
_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)', re.IGNORECASE)


@dataclass(slots=True)
class Secrets:
    """What the page script told of password fields: names in clear, values only as hashes of salt + value."""

    salt: str = ""
    names: set[str] = field(default_factory=set)
    hashes: set[int] = field(default_factory=set)

    def add_name(self, name: str) -> None:
        """Remember a password field's HTML name or id."""
        if len(self.names) < MOST:
            self.names.add(name)

    def add_hash(self, value: int) -> None:
        """Remember the salted hash of a password field's value."""
        if len(self.hashes) < MOST:
            self.hashes.add(value)

    def is_secret(self, name: str, value: str) -> bool:
        """Whether a body's or an address's field is a password, by its name or its value."""
        if name in self.names or _TELLING.search(name):
            return True
        return bool(self.hashes) and value != "" and hash53(self.salt + value) in self.hashes


def mask_url(url: str, secrets: Secrets) -> str:
    """``url`` without user and password before the host and without passwords in query and fragment."""
    clean = _USERINFO.sub(r"\1", url)
    head, hash_mark, fragment = clean.partition("#")
    head, mark, query = head.partition("?")
    return head + mark + mask_pairs(query, secrets) + hash_mark + mask_pairs(fragment, secrets)


def mask_pairs(text: str, secrets: Secrets) -> str:
    """A query or an urlencoded body with passwords masked; everything else stays as it was written."""
    return "&".join(_mask_pair(pair, secrets) for pair in text.split("&"))


def _mask_pair(pair: str, secrets: Secrets) -> str:
    name, mark, value = pair.partition("=")
    if mark and value and secrets.is_secret(unquote_plus(name), unquote_plus(value)):
        return f"{name}={quote_plus(MASK, safe='*')}"
    return pair


def mask_body(text: str, mime: str, secrets: Secrets) -> str:
    """A request's body with passwords masked, whatever of JSON, urlencoded or multipart it is."""
    if "multipart/" in mime:
        return _mask_multipart(text, mime, secrets)
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return mask_pairs(text, secrets)
        masked = _mask_json(value, secrets)
        return text if masked == value else orjson.dumps(masked).decode()
    return mask_pairs(text, secrets)


def _mask_json(value: Any, secrets: Secrets, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _mask_json(item, secrets, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_mask_json(item, secrets, name) for item in value]
    if value is None or isinstance(value, bool):
        return value
    return MASK if secrets.is_secret(name, str(value)) else value


def _mask_multipart(text: str, mime: str, secrets: Secrets) -> str:
    found = _BOUNDARY.search(mime)
    if found is None:
        return MASK  # without its boundary nobody can say where a password is
    return _map_parts(text, f"--{found[1]}", lambda name, value: MASK if secrets.is_secret(name, value) else value)


def _map_parts(text: str, boundary: str, change: Callable[[str, str], str]) -> str:
    parts = text.split(boundary)
    for index, part in enumerate(parts):
        head, gap, value = part.partition("\r\n\r\n")
        name = _PART_NAME.search(head)
        if gap and name:
            content = value.removesuffix("\r\n")
            parts[index] = head + gap + change(name[1], content) + value[len(content) :]
    return boundary.join(parts)


def hash53(text: str) -> int:
    """The page script's hash of ``text`` (page/secrets.js), over UTF-16 units as JavaScript sees them."""
    a, b = 0xDEADBEEF, 0x41C6CE57
    units = text.encode("utf-16-le", "surrogatepass")
    for index in range(0, len(units), 2):
        unit = units[index] | units[index + 1] << 8
        a = _times(a ^ unit, 2654435761)
        b = _times(b ^ unit, 1597334677)
    # In this order, each line with the other's new value, as in the page.
    a = _times(a ^ (a >> 16), 2246822507) ^ _times(b ^ (b >> 13), 3266489909)
    b = _times(b ^ (b >> 16), 2246822507) ^ _times(a ^ (a >> 13), 3266489909)
    return 4294967296 * (2097151 & b) + a


def _times(left: int, right: int) -> int:
    return (left * right) & 0xFFFFFFFF
