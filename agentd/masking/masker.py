"""The one mask that every source puts over what it saw, before the journal: by names, by shapes, by
told values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

import orjson

from agentd.masking.cards import is_card, mask_cards
from agentd.masking.programs import Command
from agentd.masking.tokens import mask_tokens
from common.secret_names import is_telling, words

MASK = "***"
MAX_DEPTH = 64
"""Levels of a JSON value that are read; what lies deeper is masked as a whole."""

_USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#@]*@", re.IGNORECASE)
_URL = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HEADER = re.compile(r"^([A-Za-z][\w-]*):\s*(.*)$", re.DOTALL)
_SCHEME = re.compile(r"^([A-Za-z][\w-]*)\s+\S")
_SPACE = re.compile(r"(\s+)")
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*:/)?/[^\s?#;]*[?#;@]", re.IGNORECASE)
_PATH_PARAMETER = re.compile(r";([^;=/]{1,200})=([^;/]+)")
_MAX_ADDRESS_DEPTH = 5
"""Addresses within an address's parameters that are read; a deeper one is masked as a whole."""

SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "set-cookie2", "cookie2"}
)
"""Headers that are masked whatever they hold; others by the lists of common.secret_names.py."""
_ADDRESS_HEADERS = frozenset(
    {"location", "content-location", "referer", "refresh", "link", "origin"}
)
_USER_OPTIONS = frozenset({"-u", "--user", "--proxy-user", "-U"})


class Masker:
    """What counts as a secret: the documented names and shapes, and the further ``names`` that task
    and operator gave; ``shown``: cookies that are none by the word of the task's author (messages,
    settings).

    A source that learns of more (the browser's, of password fields' values) extends `is_secret`.
    """

    def __init__(self, names: Iterable[str] = (), *, shown: Collection[str] = ()) -> None:
        self._names = frozenset(parts for name in names if (parts := words(name)))
        self._shown = frozenset(shown)

    def is_secret_name(self, name: str) -> bool:
        """Return whether a field, parameter, key, header or option of this name holds a secret."""
        if is_telling(name):
            return True
        if not self._names:
            return False
        parts = words(name)
        return any(parts[-len(ending) :] == ending for ending in self._names)

    def is_secret(self, name: str, value: str) -> bool:
        """Return whether ``value``, which stands under ``name`` (may be ""), is all secret."""
        return bool(name) and self.is_secret_name(name)

    def mask_text(self, text: str) -> str:
        """Mask card numbers in running text, and tokens that show by their shape."""
        return mask_tokens(mask_cards(text, MASK), MASK)

    def mask_value(self, name: str, value: str) -> str:
        """Mask ``value``, which stands under ``name``; one that is JSON itself is read as such."""
        return self._mask_value(name, value, depth=0, within=0)

    def mask_url(self, url: str) -> str:
        """Mask an address in path, query and fragment; user and password before the host go."""
        return self._mask_url(url, 0)

    def mask_pairs(self, text: str) -> str:
        """Mask a query or an urlencoded body; everything else in it stays as it was written."""
        return self._mask_pairs(text, 0)

    def mask_header(self, name: str, value: str) -> str:
        """Mask a header's value: Authorization keeps its scheme, cookies names and attributes."""
        low = name.lower()
        if low in ("cookie", "cookie2"):
            return "; ".join(self._mask_cookie(part) for part in value.split(";"))
        if low in ("set-cookie", "set-cookie2"):
            return "\n".join(self._mask_set_cookie(line) for line in value.split("\n"))
        if low in SECRET_HEADERS:
            scheme = _SCHEME.match(value)
            return f"{scheme[1]} {MASK}" if scheme else MASK
        if self.is_secret_name(low):
            return MASK
        if low in _ADDRESS_HEADERS:
            return self.mask_url(value)
        return self.mask_text(value)

    def _mask_cookie(self, part: str) -> str:
        """Mask one cookie; only those that a task shows keep their value, and secrets in it are
        masked there too."""
        name, mark, value = part.strip().partition("=")
        if name in self._shown and not self.is_secret_name(name):
            return f"{name}={self.mask_text(value)}"
        return f"{name}={MASK}" if mark else MASK

    def _mask_set_cookie(self, line: str) -> str:
        cookie, mark, attributes = line.partition(";")
        return self._mask_cookie(cookie) + mark + attributes

    def mask_headers(self, headers: dict[str, str]) -> dict[str, str]:
        """Mask the value of every header; see `mask_header`."""
        return {name: self.mask_header(name, value) for name, value in headers.items()}

    def mask_json(self, value: object, name: str = "") -> Any:
        """Mask a JSON value that stands under ``name``: by its keys, and what shows by itself.

        Numbers that are cards become text.
        """
        return self._mask_json(value, name, 0)

    def mask_arguments(self, arguments: Sequence[str]) -> list[str]:
        """Mask a command line: ``--password X``, ``--token=X``, ``KEY=X``, ``-u user:X``, headers,
        addresses, cards, and the short options of agentd/masking/programs.py."""
        masked: list[str] = []
        before = ""
        command = Command(MASK)
        for argument in arguments:
            known = command.mask(argument)
            masked.append(self._mask_argument(argument, before) if known is None else known)
            before = argument
        return masked

    def _mask_json(self, value: object, name: str, depth: int) -> object:
        """Mask a value that stands under ``name``, and all within it. ``depth`` counts containers
        around it."""
        if isinstance(value, str):
            return self._mask_value(name, value, depth, within=0)
        if isinstance(value, dict | list):
            return self._mask_container(value, name, depth)
        if value is None or isinstance(value, bool):
            return value
        if self.is_secret(name, str(value)):
            return MASK
        if isinstance(value, int) and value > 0 and is_card(str(value)):
            return MASK
        return value

    def _mask_container(
        self, value: dict[str, object] | list[object], name: str, depth: int
    ) -> object:
        """Mask what is in an object or a list; a list's items stand under the list's own name."""
        if depth >= MAX_DEPTH:
            return MASK
        if isinstance(value, dict):
            return {key: self._mask_json(item, key, depth + 1) for key, item in value.items()}
        return [self._mask_json(item, name, depth + 1) for item in value]

    def _mask_value(self, name: str, value: str, depth: int, within: int) -> str:
        """Mask a text ``depth`` levels deep in a JSON value and ``within`` so many addresses."""
        if value == "":
            return value
        if self.is_secret(name, value):
            return MASK
        if value.lstrip()[:1] in ("{", "["):
            return self._mask_inner_json(name, value, depth)
        if _ADDRESS.match(value):
            return self._mask_url(value, within + 1) if within < _MAX_ADDRESS_DEPTH else MASK
        return self.mask_text(value)

    def _mask_inner_json(self, name: str, value: str, depth: int) -> str:
        """Mask a text that is JSON itself; any other as a text. What holds no secret comes back as
        it was written."""
        try:
            inner = orjson.loads(value)
        except orjson.JSONDecodeError:
            return self.mask_text(value)
        masked = self._mask_json(inner, name, depth + 1)
        return value if masked == inner else orjson.dumps(masked).decode()

    def _mask_argument(self, argument: str, before: str) -> str:
        """Mask one argument of a command line; ``before``: the one that stands before it."""
        is_url = _URL.match(argument) is not None
        is_user = before in _USER_OPTIONS and ":" in argument
        if is_user and not is_url:
            user = argument.partition(":")[0]
            return f"{user}:{MASK}"
        if self._is_secret_of(before, argument):
            return MASK
        name, _, value = argument.partition("=")
        if value and not is_url and self.is_secret(name, value):
            return f"{name}={MASK}"
        if _URL.match(value):
            return f"{name}={self.mask_url(value)}"
        header = self._mask_header_argument(argument)
        if header is not None:
            return header
        if is_url:
            return self.mask_url(argument)
        return self._mask_plain_argument(argument, value)

    def _mask_plain_argument(self, argument: str, value: str) -> str:
        """Mask an argument that is no address, no header; ``value``: what stands behind its =."""
        if argument[:1] not in ("{", "[") and _SPACE.search(argument):
            return self._mask_script(argument)
        if "&" in value:
            return self.mask_pairs(argument)
        return self.mask_value("", argument)

    def _is_secret_of(self, option: str, argument: str) -> bool:
        """Return whether ``argument`` is the value of an option whose name means a secret."""
        if not option.startswith("-") or "=" in option or argument.startswith("-"):
            return False
        return self.is_secret_name(option)

    def _mask_header_argument(self, argument: str) -> str | None:
        """Mask ``Name: value`` or ``--header=Name: value``; None where it is neither."""
        text = argument.removeprefix("--header=")
        header = _HEADER.match(text)
        if header is None or header[2].startswith("//"):
            return None
        option = argument[: len(argument) - len(text)]
        return option + text[: header.start(2)] + self.mask_header(header[1], header[2])

    def _mask_script(self, script: str) -> str:
        """Mask a command line within an argument, as a shell's -c takes it: word by word."""
        masked: list[str] = []
        before = ""
        open_mark = ""
        command = Command(MASK)
        for word in _SPACE.split(script):
            if not word or word.isspace():
                masked.append(word)
                continue
            if open_mark:  # still in the value of a header that is a secret
                masked.append(MASK)
                if word.rstrip(";)").endswith(open_mark):
                    open_mark = ""
                continue
            known = command.mask(word)
            if known is not None:
                masked.append(known)
                open_mark = _left_open(word)
            else:
                masked.append(self._mask_argument(word, before))
                open_mark = self._opens_secret_header(word)
            before = word
        return self.mask_text("".join(masked))

    def _opens_secret_header(self, word: str) -> str:
        """Return the quotation mark of a word like ``'Authorization:``; "" for any other."""
        if word[:1] in ("'", '"') and word.endswith(":") and self.is_secret_name(word):
            return word[0]
        return ""

    def _mask_url(self, url: str, within: int) -> str:
        clean = _USERINFO.sub(r"\1", url)
        head, hash_mark, fragment = clean.partition("#")
        head, mark, query = head.partition("?")
        masked = self._mask_path(head) + mark + self._mask_pairs(query, within)
        return masked + hash_mark + self._mask_pairs(fragment, within)

    def _mask_pairs(self, text: str, within: int) -> str:
        """Mask each pair of a query; ``within`` counts the addresses around it."""
        return "&".join(self._mask_pair(pair, within) for pair in text.split("&"))

    def _mask_path(self, path: str) -> str:
        """Mask a path, with parameters in it; what holds no secret keeps its percent-encoding."""
        if ";" in path:  # as in /cart;jsessionid=...
            path = _PATH_PARAMETER.sub(self._mask_path_parameter, path)
        plain = unquote(path)
        masked = self.mask_text(plain)
        return path if masked == plain else quote(masked, safe="/:*@!$&'()+,;=~-._[]")

    def _mask_path_parameter(self, parameter: re.Match[str]) -> str:
        """Mask the value of one parameter of a path, where its name or its looks say that it is
        secret."""
        name, value = parameter[1], parameter[2]
        if self.is_secret(unquote(name), unquote(value)):
            return f";{name}={MASK}"
        return parameter[0]

    def _mask_pair(self, pair: str, within: int) -> str:
        """Mask one pair of a query, or a query that is one value; what holds no secret keeps its
        encoding."""
        name, mark, value = pair.partition("=")
        if not mark:
            name, value = "", pair
        plain = unquote_plus(value)
        masked = self._mask_value(unquote_plus(name), plain, 0, within)
        return pair if masked == plain else name + mark + quote_plus(masked, safe="*")


def _left_open(word: str) -> str:
    """Return the quotation mark that a word opens and does not close; "" where there is none."""
    return next((mark for mark in "'\"" if word.count(mark) == 1), "")
