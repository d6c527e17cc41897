"""The dictionary that segments are compressed with: what it changes, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.cli.main import main
from api.core.settings import Limits
from api.replay.recordings import RecordingError, read_frames
from common.frames import (
    DICTIONARIES,
    NUMBER,
    Packer,
    dictionary_number,
    known_numbers,
    live_packer,
    unpack,
)
from detectors.model.codec import sha256, with_checksum
from tests.api.service import Service, events, texts
from tests.support.dictionaries import OTHER, other_build
from tests.support.logs import clicked, episode, went

SAID = episode([went("/cart")], [clicked("Buy")])
SHIPPED = {40001: "401b1a8e61e9e148a761e8dcffc098a720eccc42164867be272f26199d5f4116"}
"""Digests of the dictionaries. A log needs the bytes that compressed it: one that is here stays as
it is, a better one gets a number of its own."""
PACKERS = {"the dictionary": live_packer, "no dictionary, as before": Packer}


def test_a_dictionary_never_changes() -> None:
    content = {each: (DICTIONARIES / f"{each}.zdict").read_bytes() for each in known_numbers()}
    assert {each: sha256(text) for each, text in content.items()} == SHIPPED
    for number, text in content.items():
        assert int.from_bytes(text[4:8], "little") == number


@pytest.mark.parametrize("name", PACKERS)
async def test_what_is_read_is_what_was_sent(service: Service, tmp_path: Path, name: str) -> None:
    """Digests, events, rewards and the recording's checks are of the text."""
    id, token = await service.open()
    packer, sent = PACKERS[name](), texts(events(id, *SAID), [2, 3])
    made = [packer.pack(text) for text in sent]
    for frame, text in zip(made, sent, strict=True):
        answer = await service.append(id, frame, token)
        assert answer.json()["head"] == sha256(text)
    page = (await service.get(f"/v1/episodes/{id}/events")).json()["events"]
    assert [event["kind"] for event in page] == [kind for kind, _ in SAID]
    file = tmp_path / "it.mrec"
    file.write_bytes((await service.get(f"/v1/episodes/{id}/recording")).content)
    assert file.read_bytes() == with_checksum(b"".join(made))
    assert [segment.digest for segment in read_frames(file.read_bytes(), "it")] == [
        sha256(text) for text in sent
    ]
    assert main(["recording", "verify", str(file)]) == 0


def test_a_segment_of_a_live_step_is_shorter() -> None:
    text = texts(events("ep_1", *SAID))[0]
    live, plain = live_packer().pack(text), Packer().pack(text)
    assert (dictionary_number(live), dictionary_number(plain)) == (NUMBER, 0)
    assert unpack(live) == unpack(plain) == text
    assert len(live) < 0.75 * len(plain)


def test_a_recording_of_another_build_names_its_dictionary() -> None:
    frame = other_build(texts(events("ep_1", *SAID))[0])
    with pytest.raises(RecordingError, match=rf"byte 0: .*dictionary {OTHER}; this build has"):
        list(read_frames(with_checksum(frame), "it"))


def test_a_text_that_is_all_alike_is_no_bomb() -> None:
    text = b"[" * (1 << 20)
    frame = live_packer().pack(text)
    assert unpack(frame) == text
    assert len(text) <= Limits().ratio * len(frame)
