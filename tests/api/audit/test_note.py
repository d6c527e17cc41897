"""Notes and checkpoints, against a note that another implementation made, and tables of what is
none."""

from __future__ import annotations

import pytest

from api.audit.note import (
    Checkpoint,
    NoteError,
    PublicKey,
    open_note,
    parse_checkpoint,
    parse_key,
    sign_note,
    split,
)
from api.core.signing import Signer

# From the documentation of Go's golang.org/x/mod/sumdb/note.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
SAID = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your"
    " problem is.\n"
)
GO_NOTE = (
    SAID + "\n— PeterNeumann"
    " x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
SIGNER = Signer(bytes(range(32)), "audit.test")
KEY = PublicKey(SIGNER.name, SIGNER.public)
HEAD = Checkpoint("audit.test/episodes/ep_1", 7, bytes(range(32)))
NOTE = sign_note(HEAD.text(), SIGNER)


def test_a_note_of_gos_opens() -> None:
    assert open_note(GO_NOTE, parse_key(PETER)) == SAID
    assert parse_key(PETER).text() == PETER


def test_a_checkpoint_comes_back_out_of_its_note() -> None:
    assert parse_checkpoint(open_note(NOTE, parse_key(KEY.text()))) == HEAD
    assert NOTE.splitlines()[:4] == [
        HEAD.origin,
        "7",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "",
    ]


def test_another_signature_beside_ours_does_not_matter() -> None:
    other = sign_note(HEAD.text(), Signer(bytes(32), "witness.test"))
    assert open_note(NOTE + other.rpartition("\n\n")[2], KEY) == HEAD.text()


@pytest.mark.parametrize(
    ("note", "says"),
    [
        (NOTE.replace("\n7\n", "\n8\n"), "does not fit"),
        (NOTE.replace("ep_1", "ep_2"), "does not fit"),
        (NOTE[:-1], "each line ended"),
        (NOTE.replace("\n\n", "\n"), "a blank line"),
        (NOTE.replace("— audit.test", "— other.test"), "no signature of audit.test"),
        (sign_note(HEAD.text(), Signer(bytes(32), "audit.test")), "no signature of audit.test"),
        (NOTE.replace("— ", "- "), "wanted a signature line"),
        ("", "a blank line"),
    ],
)
def test_what_is_no_note_of_this_key(note: str, says: str) -> None:
    with pytest.raises(NoteError, match=says):
        open_note(note, KEY)


@pytest.mark.parametrize(
    "text", ["", "o\n1\n", "o\n01\nAAAA\n", "o\n-1\n" + "A" * 43 + "=\n", "o\n1\nAAAA\n"]
)
def test_what_is_no_checkpoint(text: str) -> None:
    with pytest.raises(NoteError):
        parse_checkpoint(text)


@pytest.mark.parametrize(
    "text", ["", "a+b", "PeterNeumann+00000000+" + PETER.rpartition("+")[2], KEY.text()[:-4]]
)
def test_what_is_no_key(text: str) -> None:
    with pytest.raises(NoteError):
        parse_key(text)


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_a_file_of_notes_is_cut_where_they_end(between: str) -> None:
    assert list(split(between.join([NOTE, GO_NOTE, NOTE]))) == [NOTE, GO_NOTE, NOTE]
    assert list(split("")) == []
    assert list(split(NOTE + "half a li")) == [NOTE, "half a li"]
