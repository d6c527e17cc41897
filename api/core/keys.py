"""The service's own secrets: made once, kept in files that only it can read, never printed.

An append token is derived from the secret and the episode's id, so that opening an episode again
under the same Idempotency-Key gives the same token without the token ever being stored.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from datetime import date
from pathlib import Path

from api.core.settings import Settings
from common.regular_file import read_regular


def token_hash(token: str) -> str:
    """What is stored of a token. Tokens are 256 random bits, so a plain hash can't be searched."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_token(prefix: str) -> str:
    """A fresh token, such as ``mt_…``."""
    return f"{prefix}_{_text(secrets.token_bytes(32))}"


MAX_TOKEN = 1 << 16
"""Bytes of a file that holds a token or a key."""
MIN_LETTERS = 32
"""Letters of a token, secret or key in a file: fewer can be guessed, or the file was cut off."""


class KeyFileError(ValueError):
    """A file that should hold a token, secret or key does not; the message names it and never shows
    what is in it."""


class Keys:
    """Everything that follows from the secret."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def append_token(self, episode: str) -> str:
        """The token that may append to ``episode`` and do nothing else."""
        return f"ma_{_text(self._mac(f'append:{episode}'))}"

    def episode_id(self, day: date) -> str:
        """A new episode's id: the day on which it is opened, and 128 bits that nobody can guess."""
        return f"ep_{day:%Y%m%d}{_text(secrets.token_bytes(16))}"

    def signature(self, text: str) -> str:
        """Proof that this service, or a replica with its secret, gave out ``text``."""
        return _text(self._mac(f"session:{text}"))

    def signed(self, text: str, signature: str) -> bool:
        """Whether ``signature`` is that of ``text``."""
        return hmac.compare_digest(self.signature(text).encode(), signature.encode())

    def derived(self, purpose: str, size: int) -> bytes:
        """A key of ``size`` bytes, at most 64, for one purpose: the same at each replica."""
        return hmac.new(self._secret, f"key:{purpose}".encode(), hashlib.sha512).digest()[:size]

    def fingerprint(self) -> str:
        """What tells this secret from another one, and nothing else of it; 52 letters."""
        return _text(self._mac("fingerprint"))

    def _mac(self, what: str) -> bytes:
        return hmac.new(self._secret, what.encode(), hashlib.sha256).digest()


def load_keys(settings: Settings) -> Keys:
    """The keys of this installation, made on the first start. Raises `KeyFileError`."""
    secret = settings.secret or read_or_create(secret_file(settings), new_secret)
    return Keys(secret)


def secret_file(settings: Settings) -> Path:
    """Where the secret is kept, unless the environment has it."""
    return settings.data / "secret"


def new_secret() -> str:
    """A fresh secret, as its file has it."""
    return secrets.token_hex(32)


def admin_token_file(settings: Settings) -> Path:
    """Where the first admin token is kept."""
    return settings.token_file or settings.data / "admin.token"


def first_admin_token(settings: Settings) -> str:
    """The first admin token: the operator's own, or one made on the first start. Raises
    `KeyFileError`."""
    return settings.admin_token or read_or_create(
        admin_token_file(settings), lambda: new_token("mt")
    )


def write_private(path: Path, text: str) -> None:
    """Write ``text`` so that no other user could read it, not even for a moment, and nobody sees
    half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())  # else a lost machine may leave an empty file of that name
    part.replace(path)


def read_or_create(path: Path, make: Callable[[], str]) -> str:
    """What the file at ``path`` holds; where there is none, what ``make`` gives, kept for the next
    time. Raises `KeyFileError` where that is no line of `MIN_LETTERS` letters or more."""
    try:
        if not path.exists():
            write_private(path, make() + "\n")
        text = read_regular(path, MAX_TOKEN).decode("ascii", "replace").strip()
    except OSError as error:
        raise KeyFileError(f"{path}: can't be read: {error.strerror}") from None
    if len(text) < MIN_LETTERS or not text.isascii() or not text.isprintable() or " " in text:
        raise KeyFileError(
            f"{path}: got {len(text)} characters, expected one line of {MIN_LETTERS} or more ASCII"
            " letters; put the file of a backup there, or remove it to have a new one made"
        )
    return text


def _text(data: bytes) -> str:
    return base64.b32encode(data).decode().rstrip("=").lower()
