"""The one mask that every source puts over what it saw, before the journal: by names, by shapes, by
told values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

import orjson

from agentd.masking.cards import is_card, mask_cards
from agentd.masking.names import is_telling, words
from agentd.masking.programs import Command
from agentd.masking.tokens import mask_tokens

MASK = "***"
MAX_DEPTH = 64
"""Levels of a JSON value that are told; what lies deeper is masked as a whole."""

_USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#@]*@", re.IGNORECASE)
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HEADER = re.compile(r"^([A-Za-z][\w-]*):\s*(.*)$", re.DOTALL)
_SCHEME = re.compile(r"^([A-Za-z][\w-]*)\s+\S")
_SPACE = re.compile(r"(\s+)")
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*:/)?/[^\s?#;]*[?#;@]", re.IGNORECASE)
_PATH_PARAMETER = re.compile(r";([^;=/]{1,200})=([^;/]+)")
_MAX_ADDRESS_DEPTH = 5
"""Addresses within an address's parameters that are read; one that lies deeper is masked as a whole."""

SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "set-cookie2", "cookie2"}
)
"""Headers whose values are masked whatever they hold; others by the lists of agentd/masking/names.py."""
_ADDRESS_HEADERS = frozenset(
    {"location", "content-location", "referer", "refresh", "link", "origin"}
)
_USER_OPTIONS = frozenset({"-u", "--user", "--proxy-user", "-U"})


class Masker:
    """What counts as a secret: the documented names and shapes, and the further ``names`` that task
    and operator gave.

    A source that learns of more (the browser's, of password fields' values) extends `is_secret`.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(parts for name in names if (parts := words(name)))
        self.shown: frozenset[str] = frozenset()
        """Cookies whose values are no secrets, by the word of the task's author: messages to the user, settings."""

    def is_secret_name(self, name: str) -> bool:
        """Whether a field, parameter, key, header or option of this name holds a secret."""
        if not self._names:
            return is_telling(name)
        parts = words(name)
        return is_telling(name) or any(parts[-len(one) :] == one for one in self._names)

    def is_secret(self, name: str, value: str) -> bool:
        """Whether ``value``, which stands under ``name`` (may be ""), is a secret as a whole."""
        return bool(name) and self.is_secret_name(name)

    def mask_text(self, text: str) -> str:
        """Running text without card numbers and without tokens that show by their shape."""
        return mask_tokens(mask_cards(text, MASK), MASK)

    def mask_value(self, name: str, value: str) -> str:
        """What may be told of ``value``, which stands under ``name``; one that is JSON itself is
        read as such."""
        return self._value(name, value, 0, 0)

    def mask_url(self, url: str) -> str:
        """``url`` without user and password before the host, and masked in path, query and
        fragment."""
        return self._mask_url(url, 0)

    def mask_pairs(self, text: str) -> str:
        """A query or an urlencoded body, masked; everything else in it stays as it was written."""
        return self._mask_pairs(text, 0)

    def mask_header(self, name: str, value: str) -> str:
        """A header's value: of Authorization the scheme stays, of cookies the names and
        attributes."""
        low = name.lower()
        if low in ("cookie", "cookie2"):
            return "; ".join(self._cookie(part) for part in value.split(";"))
        if low in ("set-cookie", "set-cookie2"):
            return "\n".join(self._set_cookie(line) for line in value.split("\n"))
        if low in SECRET_HEADERS or self.is_secret_name(low):
            scheme = _SCHEME.match(value)
            return f"{scheme[1]} {MASK}" if scheme and low in SECRET_HEADERS else MASK
        return self.mask_url(value) if low in _ADDRESS_HEADERS else self.mask_text(value)

    def _cookie(self, part: str) -> str:
        name, mark, value = part.strip().partition("=")
        if name in self.shown and not self.is_secret_name(name):
            return f"{name}={self.mask_text(value)}"
        return f"{name}={MASK}" if mark else MASK

    def _set_cookie(self, line: str) -> str:
        first, mark, attributes = line.partition(";")
        return self._cookie(first) + mark + attributes

    def mask_headers(self, headers: dict[str, str]) -> dict[str, str]:
        """Every header, its value masked."""
        return {name: self.mask_header(name, value) for name, value in headers.items()}

    def mask_json(self, value: Any, name: str = "") -> Any:
        """A JSON value, masked: by its keys, and whatever shows by itself. Numbers that are cards
        become text."""
        return self._json(value, name, 0)

    def mask_arguments(self, arguments: Sequence[str]) -> list[str]:
        """A command line: ``--password X``, ``--token=X``, ``KEY=X``, ``-u user:X``, headers,
        addresses, cards, and the short options of agentd/masking/programs.py."""
        masked: list[str] = []
        before, command = "", Command(MASK)
        for argument in arguments:
            known = command.mask(argument)
            masked.append(self._mask_argument(argument, before) if known is None else known)
            before = argument
        return masked

    def _json(self, value: Any, name: str, depth: int) -> Any:
        if isinstance(value, dict | list) and depth >= MAX_DEPTH:
            return MASK
        if isinstance(value, dict):
            return {key: self._json(item, key, depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self._json(item, name, depth + 1) for item in value]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._value(name, value, depth, 0)
        secret = self.is_secret(name, str(value)) or (
            isinstance(value, int) and value > 0 and is_card(str(value))
        )
        return MASK if secret else value

    def _value(self, name: str, value: str, depth: int, within: int) -> str:
        if value == "":
            return value
        if self.is_secret(name, value):
            return MASK
        if value.lstrip()[:1] in ("{", "["):
            try:
                inner = orjson.loads(value)
            except orjson.JSONDecodeError:
                return self.mask_text(value)
            masked = self._json(inner, name, depth + 1)
            return value if masked == inner else orjson.dumps(masked).decode()
        if _ADDRESS.match(value):
            return self._mask_url(value, within + 1) if within < _MAX_ADDRESS_DEPTH else MASK
        return self.mask_text(value)

    def _mask_argument(self, argument: str, before: str) -> str:
        if before in _USER_OPTIONS and ":" in argument and not _URL.match(argument):
            return argument.partition(":")[0] + f":{MASK}"
        if (
            before.startswith("-")
            and "=" not in before
            and self.is_secret_name(before)
            and argument[:1] != "-"
        ):
            return MASK
        name, mark, value = argument.partition("=")
        if mark and value and not _URL.match(argument) and self.is_secret(name, value):
            return f"{name}={MASK}"
        if mark and _URL.match(value):
            return f"{name}={self.mask_url(value)}"
        if header := _HEADER.match(argument.removeprefix("--header=")):
            at = header.start(2) + len(argument) - len(header.string)
            if not header[2].startswith("//"):
                return argument[:at] + self.mask_header(header[1], header[2])
        if _URL.match(argument):
            return self.mask_url(argument)
        if argument[:1] not in ("{", "[") and _SPACE.search(argument):
            return self._mask_script(argument)
        return self.mask_pairs(argument) if mark and "&" in value else self.mask_value("", argument)

    def _mask_script(self, script: str) -> str:
        """A command line within an argument, as a shell's -c takes it: word by word."""
        masked: list[str] = []
        before, quote_mark, command = "", "", Command(MASK)
        for word in _SPACE.split(script):
            if not word or word.isspace():
                masked.append(word)
            elif quote_mark:  # still in the value of a header that is a secret
                masked.append(MASK)
                quote_mark = "" if word.rstrip(";)").endswith(quote_mark) else quote_mark
            elif (known := command.mask(word)) is not None:
                masked.append(known)
                quote_mark = _left_open(word)
                before = word
            else:
                masked.append(self._mask_argument(word, before))
                if word[:1] in ("'", '"') and word.endswith(":") and self.is_secret_name(word):
                    quote_mark = word[0]
                before = word
        return self.mask_text("".join(masked))

    def _mask_url(self, url: str, within: int) -> str:
        clean = _USERINFO.sub(r"\1", url)
        head, hash_mark, fragment = clean.partition("#")
        head, mark, query = head.partition("?")
        masked = self._mask_path(head) + mark + self._mask_pairs(query, within)
        return masked + hash_mark + self._mask_pairs(fragment, within)

    def _mask_pairs(self, text: str, within: int) -> str:
        return "&".join(self._mask_pair(pair, within) for pair in text.split("&"))

    def _mask_path(self, path: str) -> str:
        if ";" in path:  # as in /cart;jsessionid=...
            path = _PATH_PARAMETER.sub(self._path_parameter, path)
        plain = unquote(path)
        masked = self.mask_text(plain)
        return path if masked == plain else quote(masked, safe="/:*@!$&'()+,;=~-._[]")

    def _path_parameter(self, found: re.Match[str]) -> str:
        return (
            f";{found[1]}={MASK}"
            if self.is_secret(unquote(found[1]), unquote(found[2]))
            else found[0]
        )

    def _mask_pair(self, pair: str, within: int) -> str:
        name, mark, value = pair.partition("=")
        if not mark:
            name, value = "", pair
        plain = unquote_plus(value)
        masked = self._value(unquote_plus(name), plain, 0, within)
        return pair if masked == plain else name + mark + quote_plus(masked, safe="*")


def _left_open(word: str) -> str:
    """The quotation mark that a word opens and does not close; "" where it closes what it opens."""
    return next((mark for mark in "'\"" if word.count(mark) == 1), "")
