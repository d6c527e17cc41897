"""The signing key: made once, private, and its signatures are checked by whoever has the public half."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from api.settings import Settings
from api.signing import Signer, SigningKeyError, verify

# RFC 8032, 7.1, test 2.
SEED = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_it_signs_as_the_standard_says() -> None:
    signer = Signer(SEED)
    assert (signer.public, signer.sign(b"\x72")) == (PUBLIC, SIGNATURE)
    assert verify(PUBLIC, b"\x72", SIGNATURE)


@pytest.mark.parametrize(
    ("public", "message", "signature"),
    [
        (PUBLIC, b"\x73", SIGNATURE),
        (PUBLIC, b"\x72", bytes(64)),
        (PUBLIC, b"\x72", SIGNATURE[:-1]),
        (PUBLIC[:-1], b"\x72", SIGNATURE),
        (Signer(bytes(32)).public, b"\x72", SIGNATURE),
    ],
    ids=["other message", "other signature", "short signature", "short key", "other key"],
)
def test_what_is_not_its_signature(public: bytes, message: bytes, signature: bytes) -> None:
    assert not verify(public, message, signature)


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    made = Signer.load(Settings(tmp_path))
    assert (tmp_path / "signing.key").stat().st_mode & 0o777 == 0o600
    assert Signer.load(Settings(tmp_path)).public == made.public


def test_the_operators_own_key_is_used_and_nothing_is_kept(tmp_path: Path) -> None:
    own = Settings(tmp_path, signing_key=base64.b64encode(SEED).decode())
    assert Signer.load(own).public == PUBLIC
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["nonsense!", base64.b64encode(SEED[1:]).decode(), SEED.hex()])
def test_a_wrong_key_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(SigningKeyError) as refused:
        Signer.load(Settings(tmp_path, signing_key=text))
    assert text not in str(refused.value)
