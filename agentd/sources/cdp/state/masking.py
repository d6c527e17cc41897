"""What the browser adds to the mask: fields that pages told to be secret, by their names and by
salted hashes.

Passwords, one-time codes, card numbers and their security codes stay in the page (page/secrets.js);
from there come the fields' names and a hash of each value, so that the value is known again in an
address or a body.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from agentd.masking import MASK, Masker
from agentd.masking.bodies import mask_body

T = TypeVar("T")
MAX_NAMES = 1000
"""Names, and hashes, kept: of a page that tells of more, those that it told last."""
MIN_WORD_LENGTH = 4
"""Characters of a value that is looked for among a text's words: shorter ones match anything."""
MAX_WORD_LENGTH = 128
MAX_HASHED = 1 << 16
"""Characters of one text that are hashed, repeated words not counted; what follows is not
recognised."""
MAX_CLEAN = 50_000
"""Words and short texts, of all texts, known not to be a value, which are not hashed again."""

HIDDEN_VALUE = "\u2022\u2022\u2022"
"""What stands for a secret field's value in a text of a page."""
_HIDDEN_BY_PAGE = re.compile("\ue0ff\u2022{0,3}")
"""The same as the page's script writes it (page/secrets.js), maybe cut off."""
_WORD = re.compile(r"\S+")
_PART = re.compile(r"""[^\s<>"'`=&,;:()\[\]{}|/\\?#]+""")
_ENDS = ".,;:!?)]}>\"'`\u2026\u201c\u201d\u2019"
_OPENS = "([{<\"'`\u201c\u201e\u2018"


class Secrets(Masker):
    """The mask of one attachment. ``salt`` goes before every value that is hashed; ``more``:
    further names that task and operator gave; ``shown``: as of `Masker`."""

    def __init__(
        self,
        salt: str = "",
        names: Iterable[str] = (),
        hashes: Iterable[int] = (),
        more: Iterable[str] = (),
        *,
        shown: Collection[str] = (),
    ) -> None:
        super().__init__(more, shown=shown)
        self.salt = salt
        self.names = dict.fromkeys(names)
        self.hashes = dict.fromkeys(hashes)
        self.news = 0
        """How often something new was told: what was masked before that may hold it."""
        self._start = _mixed(_BEGINNING, salt)
        # Only what is no secret is kept, so that none stays in memory: short texts that were
        # hashed, and words all of whose readings were.
        self._clean: set[str] = set()
        self._read: set[str] = set()

    def add_name(self, name: str) -> None:
        """Remember a secret field's HTML name or id."""
        self.news += name not in self.names
        _keep(self.names, name)

    def add_hash(self, value: int) -> None:
        """Remember the salted hash of a secret field's value."""
        if value not in self.hashes:
            self.news += 1
            self._forget()
        _keep(self.hashes, value)

    def add_field(self, data: dict[str, Any]) -> None:
        """What the page script says of a secret field: {field?: its name, hash?: of its value,
        instead?: the hash of what stood there half typed}."""
        if isinstance(data.get("field"), str):
            self.add_name(data["field"])
        self.hashes.pop(data.get("instead", -1), None)
        if isinstance(data.get("hash"), int):
            self.add_hash(data["hash"])

    def is_secret(self, name: str, value: str) -> bool:
        """Whether a body's or an address's field is a secret, by its name or its value."""
        if name in self.names or super().is_secret(name, value):
            return True
        return bool(self.hashes) and value != "" and self._is_told(value, room=True)

    def mask_text(self, text: str) -> str:
        """As `Masker`, and without the values of secret fields: as a whole, or among the words.
        What the page's script hid becomes `HIDDEN_VALUE`."""
        text = super().mask_text(_HIDDEN_BY_PAGE.sub(HIDDEN_VALUE, text))
        if not self.hashes or len(text) < MIN_WORD_LENGTH:
            return text
        if len(text) <= MAX_HASHED and self._is_told(text.strip(), room=True):
            return MASK
        return self._mask_words(text)

    def _mask_words(self, text: str) -> str:
        """Mask the words that are values, or hold one; of new ones `MAX_HASHED` characters are
        hashed."""
        values: set[str] = set()
        left = MAX_HASHED

        def is_value(reading: str) -> bool:
            """Whether a word is a secret that is known; only so many letters are looked up in one
            text."""
            nonlocal left
            if reading in values:
                return True
            if reading in self._clean:
                return False
            left -= len(reading)
            if left < 0 or not self._is_told(reading):
                return False
            values.add(reading)
            return True

        def mask_word(match: re.Match[str]) -> str:
            """Mask a word that is a secret in one of its readings, and remember one that is
            none."""
            word = match[0]
            if word in self._read:
                return word
            for reading in _readings(word):
                if is_value(reading):
                    return word.replace(reading, MASK)
            if left >= 0 and len(word) <= MAX_WORD_LENGTH:
                self._read.add(word)
            return word

        return _WORD.sub(mask_word, text)

    def _is_told(self, value: str, *, room: bool = False) -> bool:
        """``room``: between texts, where what is known of words may be forgotten: within one they
        count once."""
        if value in self._clean:
            return False
        if room and len(self._clean) + len(self._read) > MAX_CLEAN:
            self._forget()
        told = _hash(_mixed(self._start, value)) in self.hashes
        if not told and len(value) <= MAX_WORD_LENGTH:
            self._clean.add(value)
        return told

    def _forget(self) -> None:
        self._clean.clear()
        self._read.clear()


def _readings(word: str) -> Iterator[str]:
    """What of a word between spaces may be a value: all of it, without the marks around it, each of
    its parts."""
    if len(word) <= MAX_WORD_LENGTH:
        bare = word.lstrip(_OPENS)
        while len(bare) >= MIN_WORD_LENGTH:
            yield bare
            if bare[-1] not in _ENDS:
                break
            bare = bare[:-1]
        if bare != word:
            yield word
    if not word.isalnum():
        yield from (
            part
            for part in _PART.findall(word)
            if MIN_WORD_LENGTH <= len(part) <= MAX_WORD_LENGTH and part != word
        )


def _keep(known: dict[T, None], entry: T) -> None:
    """Keep an entry as the newest; of too many the oldest is let go."""
    known.pop(entry, None)
    known[entry] = None
    if len(known) > MAX_NAMES:
        del known[next(iter(known))]


_NAMES = ("attr_name", "id")
_FIELD_TEXTS = frozenset(("value", "text"))
"""Texts that are masked by the name of their field, too."""
_TEXTS = frozenset(
    ("before", "input", "message", "title", "name", "error", "around", "class", "classes")
)
_PARTS = frozenset(("element", "target", "form"))
_MAY_BE_MASKED = frozenset(("fields", *_FIELD_TEXTS, *_TEXTS, *_PARTS))
_MASKED_ALREADY = ("request.", "message.", "gap.", "alarm.", "journal.", "auth.", "frame.")


def cover(kind: str, data: dict[str, object], secrets: Masker) -> None:
    """Mask, in place, the texts of an observation of a page, a tab or a dialog: what was typed,
    shown, carried; ``masked`` names the fields in which something was."""
    if kind.startswith(_MASKED_ALREADY):
        return
    before = {name: data[name] for name in _MAY_BE_MASKED & data.keys()}
    _cover_texts(kind, data, secrets)
    if masked := sorted(name for name, value in before.items() if data[name] != value):
        data["masked"] = masked


def _cover_texts(kind: str, data: dict[str, object], secrets: Masker) -> None:
    fields = data.get("fields")
    if isinstance(fields, list):
        data["fields"] = [_field(pair, secrets) for pair in fields]
    names = _names_of(data.get("element")) if kind.startswith("field.") else ()
    for key in _FIELD_TEXTS & data.keys():
        data[key] = _text(data[key], names, secrets)
    for key in _TEXTS & data.keys():
        data[key] = _text(data[key], (), secrets)
    for key in _PARTS & data.keys():
        part = data[key]
        if isinstance(part, dict):
            data[key] = {name: _text(value, (), secrets) for name, value in part.items()}


def _names_of(element: object) -> Sequence[str]:
    """The HTML names of an element, which may say that its value is a secret."""
    if not isinstance(element, dict):
        return ()
    return [str(element[name]) for name in _NAMES if name in element]


def _field(pair: Any, secrets: Masker) -> Any:
    """Mask the value of a pair of name and value; anything else stays."""
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
        return pair
    return [pair[0], _text(pair[1], (pair[0],), secrets)]


def _text(value: object, names: Iterable[str], secrets: Masker) -> object:
    """Mask a text, or each in a list, by the names that it has or by its looks."""
    if isinstance(value, list):
        return [_text(item, names, secrets) for item in value]
    if not isinstance(value, str) or not value:
        return value
    if any(secrets.is_secret(name, value) for name in names):
        return MASK
    return secrets.mask_text(value)


def hash53(text: str) -> int:
    """The page script's hash of ``text`` (page/secrets.js), over UTF-16 units as JavaScript sees
    them."""
    return _hash(_mixed(_BEGINNING, text))


_BEGINNING = (0xDEADBEEF, 0x41C6CE57)


def _mixed(state: tuple[int, int], text: str) -> tuple[int, int]:
    """Mix a text into a hash as the page's script does, by units of UTF-16."""
    a, b = state
    units = text.encode("utf-16-le", "surrogatepass")
    for unit in struct.unpack(f"<{len(units) // 2}H", units):
        a = (a ^ unit) * 2654435761 & 0xFFFFFFFF
        b = (b ^ unit) * 1597334677 & 0xFFFFFFFF
    return a, b


def _hash(state: tuple[int, int]) -> int:
    a, b = state
    # In this order, each line with the other's new value, as in the page.
    a = _times(a ^ (a >> 16), 2246822507) ^ _times(b ^ (b >> 13), 3266489909)
    b = _times(b ^ (b >> 16), 2246822507) ^ _times(a ^ (a >> 13), 3266489909)
    return 4294967296 * (2097151 & b) + a


def _times(left: int, right: int) -> int:
    return (left * right) & 0xFFFFFFFF


__all__ = ["MASK", "Secrets", "cover", "hash53", "mask_body"]
