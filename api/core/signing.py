"""The service's signing key: what leaves the database signed can be checked by anybody who has the
public half.

Ed25519 (RFC 8032). The key's name and its short hash are those of C2SP's signed-note, so that one
key signs checkpoints and tombstones alike.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from api.core.keys import KeyFileError, read_or_create
from api.core.settings import Settings

NAME = "milestoned"
KEY_FILE = "signing.key"
_SEED_BYTES = 32
_ED25519 = b"\x01"
"""The signature type of Ed25519 in signed-note."""


class SigningKeyError(KeyFileError):
    """The signing key is not what was wanted; never shows the key."""


class Signer:
    """Signs with the private key whose 32-byte seed is ``seed``."""

    def __init__(self, seed: bytes, name: str = NAME) -> None:
        if len(seed) != _SEED_BYTES:
            raise SigningKeyError(f"signing key: {len(seed)} bytes, wanted {_SEED_BYTES}")
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.name = name
        self.public = self._private.public_key().public_bytes_raw()

    @classmethod
    def load(cls, settings: Settings) -> Signer:
        """The key in MILESTONED_SIGNING_KEY, else the one in the data folder, made on the first
        start (mode 0600).

        Both hold the seed in base64. Raises `SigningKeyError`, `KeyFileError`.
        """
        file = settings.data / KEY_FILE
        text = settings.signing_key or read_or_create(file, new_key)
        where = "MILESTONED_SIGNING_KEY" if settings.signing_key else file
        try:
            seed = base64.b64decode(text.strip(), validate=True)
            return cls(seed)
        except binascii.Error:
            raise SigningKeyError(
                f"signing key: {where}: not base64, wanted that of 32 bytes"
            ) from None
        except SigningKeyError as error:
            raise SigningKeyError(f"{error}: {where}") from None

    @classmethod
    def load_existing(cls, settings: Settings) -> Signer:
        """The same, where there is one: a key that a command makes for itself verifies nothing.
        Raises as `load`."""
        if settings.signing_key is None and not (settings.data / KEY_FILE).exists():
            raise SigningKeyError(
                f"signing key: there is none in {settings.data}; wanted the service's data folder,"
                " or MILESTONED_SIGNING_KEY"
            )
        return cls.load(settings)

    @property
    def hash(self) -> bytes:
        """The four bytes by which a signed note names its key."""
        return key_hash(self.name, self.public)

    def sign(self, message: bytes) -> bytes:
        """The signature of ``message``, 64 bytes."""
        return self._private.sign(message)


def new_key() -> str:
    """A fresh private key, as its file has it."""
    return base64.b64encode(Ed25519PrivateKey.generate().private_bytes_raw()).decode()


def key_hash(name: str, public: bytes) -> bytes:
    """signed-note's key ID: the first four bytes of SHA-256(name, newline, type, public key)."""
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + public).digest()[:4]


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether ``signature`` is that of ``message`` under the public key ``public`` (32 bytes)."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
