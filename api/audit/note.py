"""Checkpoints as text that other people's tools read: C2SP's tlog-checkpoint in a signed-note.

    ORIGIN                       which tree
    SIZE                         its leaves
    BASE64 OF THE ROOT

    — KEY-NAME BASE64(KEY HASH, SIGNATURE)

A public key is handed out in signed-note's one-line form, ``NAME+HASH+BASE64(1, KEY)``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from api.core.signing import key_hash, verify

_MARK = "— "
_ED25519 = b"\x01"
_KEY_BYTES, _HASH_BYTES, _SIGNATURE_BYTES = 32, 4, 64
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")


class NoteError(ValueError):
    """A note or a key is not one; the message says what was wanted."""


class Signing(Protocol):
    """What signs: `api.core.signing.Signer`."""

    name: str
    public: bytes

    @property
    def hash(self) -> bytes: ...

    def sign(self, message: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The head of one tree: which, how many leaves, its root (32 bytes)."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """Render the text that is signed: origin, size, root."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A name and the key (32 bytes) that signs under it."""

    name: str
    key: bytes

    def text(self) -> str:
        """The key as signed-note writes it: name, hash and key."""
        encoded_key = base64.b64encode(_ED25519 + self.key).decode()
        return f"{self.name}+{key_hash(self.name, self.key).hex()}+{encoded_key}"


def parse_key(text: str) -> PublicKey:
    """The key in ``NAME+HASH+BASE64``. Raises `NoteError`."""
    name, hashed, packed = (*text.strip().split("+", 2), "", "")[:3]
    raw = _base64(packed)
    if not name or len(raw) != 1 + _KEY_BYTES or raw[:1] != _ED25519:
        raise NoteError(f"key: got {text[:80]!r}, wanted NAME+HASH+BASE64 of an Ed25519 key")
    found = PublicKey(name, raw[1:])
    if key_hash(name, found.key).hex() != hashed:
        raise NoteError(
            f"key: the hash is {hashed[:20]!r}, wanted {key_hash(name, found.key).hex()}: it was"
            " mistyped"
        )
    return found


def sign_note(text: str, signer: Signing) -> str:
    """The note: ``text``, which ends in a newline, a blank line and the signature."""
    packed = base64.b64encode(signer.hash + signer.sign(text.encode())).decode()
    return f"{text}\n{_MARK}{signer.name} {packed}\n"


def open_note(note: str, key: PublicKey) -> str:
    """The text of a note that ``key`` signed; other signatures do not matter. Raises
    `NoteError`."""
    text, mark, tail = note.rpartition("\n\n")
    if not mark or not note.endswith("\n"):
        raise NoteError("note: wanted a text, a blank line and signatures, each line ended")
    text += "\n"
    wanted = key_hash(key.name, key.key)
    for line in tail.splitlines():
        name, _, packed = line.removeprefix(_MARK).partition(" ")
        raw = _base64(packed)
        if not line.startswith(_MARK) or len(raw) <= _HASH_BYTES:
            raise NoteError(f"note: got {line[:80]!r}, wanted a signature line")
        if name == key.name and raw[:_HASH_BYTES] == wanted:
            signature = raw[_HASH_BYTES:]
            if len(signature) == _SIGNATURE_BYTES and verify(key.key, text.encode(), signature):
                return text
            raise NoteError(f"note: the signature of {name} does not fit the text")
    raise NoteError(f"note: no signature of {key.name}+{wanted.hex()}")


def parse_checkpoint(text: str) -> Checkpoint:
    """The checkpoint in a note's text; further lines do not matter. Raises `NoteError`."""
    origin, size, root, *_ = (*text.splitlines(), "", "", "")
    packed = _base64(root)
    if not origin or not _SIZE.fullmatch(size) or len(packed) != 32:
        raise NoteError(
            f"checkpoint: got {text[:120]!r}, wanted lines of origin, size and base64 of 32 bytes"
        )
    return Checkpoint(origin, int(size), packed)


def split(text: str) -> Iterator[str]:
    """Cut a file of notes, written one after the other with a blank line between, back into
    notes."""
    lines: list[str] = []
    signatures = False
    for line in text.splitlines(keepends=True):
        if signatures and not line.startswith(_MARK):
            yield "".join(lines)
            lines, signatures = [], False
        if not lines and line == "\n":
            continue
        signatures = line.startswith(_MARK)
        lines.append(line)
    if lines:
        yield "".join(lines)


def _base64(text: str) -> bytes:
    """Decode base64; empty for what is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
