"""What of an untrusted text a judge is shown, and every way in which a model could still read it.

In the order of docs/judge.md: compatibility forms (NFKC), invisible and formatting characters,
confusables (UTS 39), markup, encodings. The first two change what is shown; the others only what
`views` gives to `flags`.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote_plus

import disarm

_SPACE = re.compile(r"\s+")
_TAG = re.compile(r"<[^<>]{0,200}>")
_JOINERS = re.compile(r"[_\-+./\\|:=,;~*^\"'()\[\]{}<>]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[\s:]?){12,}")
_SPELLED = re.compile(r"(?:\b\w\b[\s.\-_*]{1,3}){6,}\w\b")
_LEET = str.maketrans("013457@$!|", "oieastasil")
_TELLTALE = re.compile(
    r"instruct|verdict|success|judge|criteri|score|reward|answer|system|ignore|task", re.IGNORECASE
)
_PRINTABLE = 0.9


def clean(text: str, mark: str = "") -> str:
    """Return ``text`` as a judge may see it: NFKC, no control, formatting, private or unassigned
    character, no ``mark``."""
    kept = "".join(filter(_is_kept, unicodedata.normalize("NFKC", text)))
    if mark:
        kept = kept.replace(mark, "")
    return _SPACE.sub(" ", kept).strip()


def _is_kept(character: str) -> bool:
    return character.isspace() or not unicodedata.category(character).startswith("C")


def views(text: str) -> Iterator[str]:
    """Yield ``text`` in the ways in which it could be read, each in lower case with confusables
    folded to Latin."""
    shown = clean(text)
    # Which characters look alike depends on the language, so the text is also read unfolded.
    yield shown.casefold()
    seen = {shown.casefold()}
    for view in (*_spellings(shown), *_decoded(shown), *_turned(shown)):
        folded = _folded(view)
        if folded not in seen:
            seen.add(folded)
            yield folded


def _folded(text: str) -> str:
    return _SPACE.sub(" ", disarm.strip_obfuscation(text)).casefold()


def _spellings(shown: str) -> Iterator[str]:
    yield shown
    untagged = html.unescape(_TAG.sub(" ", html.unescape(shown)))
    yield untagged
    # Addresses and names of files have other things than spaces between words.
    yield _JOINERS.sub(" ", unquote_plus(unquote_plus(untagged)))
    yield untagged.translate(_LEET)
    if _SPELLED.search(shown):
        yield _SPELLED.sub(lambda run: re.sub(r"[\W_]", "", run[0]), shown)


def _decoded(shown: str) -> Iterator[str]:
    """Yield what texts in base64 or hex say, if it can be read."""
    for run in _BASE64.findall(shown):
        yield from _readable(_base64(run))
    for run in _HEX.findall(shown):
        yield from _readable(bytes.fromhex(re.sub(r"[\s:]", "", run)))


def _turned(shown: str) -> Iterator[str]:
    """Yield a text backwards and in rot13, where that has a telltale word."""
    # Every text can be turned; only what then has such a word is worth a search.
    for view in (shown[::-1], codecs.encode(shown, "rot13")):
        if _TELLTALE.search(view):
            yield view


def _base64(run: str) -> bytes:
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except binascii.Error:
        return b""


def _readable(data: bytes) -> Iterator[str]:
    """Yield bytes as a text, if most of it can be printed."""
    text = data.decode("utf-8", errors="replace")
    printable = sum(c.isprintable() and c != "\ufffd" for c in text)
    if text and printable >= _PRINTABLE * len(text):
        yield text
