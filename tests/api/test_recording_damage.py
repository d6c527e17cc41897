"""A recording that was damaged, forged or made to harm: every command ends in a named finding, and
soon."""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from agentd.journal.recordings import segments, write_recording
from api.cli.main import main
from api.cli.recording import run_verify
from common.frames import Packer
from detectors.model.codec import (
    GENESIS,
    checksum_frame,
    encode_event,
    join_segment,
    sha256,
    with_checksum,
)
from tests.fuzz.hostile_recordings import finding
from tests.support.bounded import in_bounds

ROUNDS = 400
MAX_MEMORY = 100 << 20
"""Of the whole process; a command that reads nothing takes some 25 MB of it."""
TASK = Path(__file__).parents[2] / "examples" / "shop" / "task.yaml"
CLICK = {
    "tab": "T",
    "frame": "T",
    "trusted": True,
    "element": {"role": "button", "name": "Go", "tag": "button"},
}
EVENTS = [
    ("journal", "episode.opened", {"task": "t", "digest": ""}),
    ("steps", "step.began", {"step": 0}),
    *[("cdp", "element.clicked", CLICK)] * 5,
    ("steps", "step.sealed", {"step": 0, "reason": "quiet"}),
    ("journal", "episode.closed", {"reason": "done"}),
]
LINES = [
    encode_event(seq, source, kind, seq * 1000, data)
    for seq, (source, kind, data) in enumerate(EVENTS, 1)
]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of one segment, as a conversion writes it."""
    out = tmp_path / "it.mrec"
    write_recording(segments("cnv-1", LINES), out, force=False)
    return out


def run(*arguments: object) -> int:
    return main([str(one) for one in arguments])


def test_every_single_flipped_bit_is_found(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them, one after the other: in frames, in their heads, in the checksum itself."""
    sound = recording.read_bytes()
    assert run("recording", "verify", recording) == 0
    for bit in range(8 * len(sound)):
        damaged = bytearray(sound)
        damaged[bit // 8] ^= 1 << bit % 8
        recording.write_bytes(damaged)
        # The command's own function: to read the same command line each time is all but all of
        # the time.
        assert run_verify(recording) == 1, bit
    capsys.readouterr()


def test_no_flipped_bit_changes_a_reward(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = recording.read_bytes()
    chance = random.Random(1)
    for bit in chance.sample(range(8 * len(sound)), 40):
        damaged = bytearray(sound)
        damaged[bit // 8] ^= 1 << bit % 8
        recording.write_bytes(damaged)
        assert (
            run("replay", recording, "--task", TASK, "--set", "origin=http://shop.test", "--json")
            != 0
        ), bit
        assert capsys.readouterr().out == ""


def _foreign(magic: int, content: bytes = b"other") -> bytes:
    return magic.to_bytes(4, "little") + len(content).to_bytes(4, "little") + content


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (_foreign(0x184D2A50), "a frame after the checksum"),
        (_foreign(0x184D2A5B, b""), "a frame after the checksum"),
        (_foreign(0x184D2A5B), "a frame after the checksum"),
        (checksum_frame(b"\0" * 32), "a frame after the checksum"),
        (b"\x28\xb5", "cut short"),
        (b"garbage that is no frame", "not zstd"),
    ],
)
@pytest.mark.parametrize("command", ["verify", "show", "replay"])
def test_what_stands_behind_a_recording_is_named(
    recording: Path, tail: bytes, said: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    recording.write_bytes(recording.read_bytes() + tail)
    argv = (
        ["replay", recording, "--task", TASK]
        if command == "replay"
        else ["recording", command, recording]
    )
    if command == "replay":
        argv += ["--set", "origin=http://shop.test"]
    assert run(*argv) != 0
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("magic", [0x184D2A50, 0x184D2A5A, 0x184D2A5F])
def test_a_foreign_frame_in_place_of_ours_is_named(
    recording: Path, magic: int, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = recording.read_bytes()
    recording.write_bytes(whole[:-40] + _foreign(magic))
    assert run("recording", "verify", recording) == 1
    assert "wanted segments, verdicts or the checksum" in capsys.readouterr().err


def test_a_foreign_frame_that_bears_the_number_of_ours_is_named(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line ends in it."""
    recording.write_bytes(recording.read_bytes()[:-40] + _foreign(0x184D2A5B))
    for command in ("verify", "show"):
        assert run("recording", command, recording) == 1
        assert "the verdicts' header: not JSON" in capsys.readouterr().err


def _bomb(sizes: list[int]) -> bytes:
    frames = b"".join(zstandard.ZstdCompressor(level=3).compress(b"\n" * size) for size in sizes)
    return frames + checksum_frame(hashlib.sha256(frames).digest())


@pytest.mark.parametrize("sizes", [[1 << 29], [1 << 26] * 6, [1 << 20] * 300])
@pytest.mark.parametrize("command", ["verify", "show"])
def test_a_bomb_is_refused_before_it_is_unpacked(
    sizes: list[int], command: str, tmp_path: Path
) -> None:
    bomb = tmp_path / "bomb.mrec"
    bomb.write_bytes(_bomb(sizes))
    code, said, peak = in_bounds("recording", command, bomb, module="api.cli.main")
    assert (code, "Traceback" in said) == (1, False), said
    assert "would unpack" in said
    assert peak < MAX_MEMORY


def _chained(value: bytes, count: int) -> bytes:
    """A recording whose chain and checksum hold, with ``count`` segments of one event that holds
    ``value``."""
    begun = [
        encode_event(1, *EVENTS[0][:2], 0, EVENTS[0][2]),
        encode_event(2, *EVENTS[1][:2], 0, EVENTS[1][2]),
    ]
    lines = [begun] + [
        [b'[%d,%d,"cdp","element.clicked",{"x":%s}]' % (n, n, value)] for n in range(3, 3 + count)
    ]
    frames, first, head = b"", 1, GENESIS
    for some in lines:
        text = join_segment("ep_bomb", first, some, head)
        frames, first, head = frames + Packer().pack(text), first + len(some), sha256(text)
    return with_checksum(frames)


def _list_of(item: bytes, size: int) -> bytes:
    return b"[" + (item + b",") * (size // (len(item) + 1)) + item + b"]"


def _long_text() -> bytes:
    return b'"\xf0\x9f\x98\x80' + b"a" * (4 << 20) + b'"'


BOMBS: dict[str, tuple[Callable[[], bytes], int]] = {
    "empty lists, 60 MiB of text": (partial(_list_of, b"[]", 60 << 20), 1),
    "empty lists, beyond what an event may be": (partial(_list_of, b"[]", 4 << 20), 8),
    "objects, beyond what an event may be": (partial(_list_of, b'{"":0}', 4 << 20), 8),
    "empty lists, as many as an event may hold": (partial(_list_of, b"[]", 1 << 20), 4),
    "objects, as many as an event may hold": (partial(_list_of, b'{"":0}', 1 << 20), 4),
    "texts, as many as an event may hold": (partial(_list_of, b'"ab"', 1 << 20), 4),
    "four bytes a letter": (_long_text, 8),
}
"""Values of a few kilobytes that pack well, in segments that are all as they should be."""


COMMANDS = ("verify", "show", "replay")


def _by_turns() -> Iterator[Any]:
    """Each bomb with each command that reads recordings: one command of each in `make test`, by
    turns, for each is a process."""
    for number, what in enumerate(BOMBS):
        for turn, command in enumerate(COMMANDS):
            marks = () if turn == number % len(COMMANDS) else pytest.mark.slow
            yield pytest.param(what, command, id=f"{what}-{command}", marks=marks)


@pytest.mark.parametrize(("what", "command"), list(_by_turns()))
def test_a_bomb_whose_frames_look_right_takes_no_memory(
    what: str, command: str, tmp_path: Path
) -> None:
    """Read or refused: 128 MB were a segment's values once, and all segments were kept."""
    bomb = tmp_path / "bomb.mrec"
    make_value, count = BOMBS[what]
    bomb.write_bytes(_chained(make_value(), count))
    assert bomb.stat().st_size < 1_000_000
    task = ["--task", TASK, "--set", "origin=http://shop.test"]
    argv = ["replay", bomb, *task] if command == "replay" else ["recording", command, bomb]
    code, said, peak = in_bounds(*argv, module="api.cli.main")
    assert (code in (0, 1), "Traceback" in said) == (True, False), said
    assert peak < MAX_MEMORY


def test_a_window_that_nobody_needs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The frame asks its reader for a gigabyte before it holds a byte."""
    parameters = zstandard.ZstdCompressionParameters(
        window_log=30, compression_level=1, write_content_size=0
    )
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path = tmp_path / "window.mrec"
    path.write_bytes(stream.compress(b"x" * 100) + stream.flush())
    assert run("recording", "verify", path) == 1
    assert "does not state its size" in capsys.readouterr().err


def test_only_a_regular_file_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe.mrec"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        assert run("recording", "verify", path) == 1
        assert run("replay", path, "--task", TASK, "--set", "origin=http://shop.test") != 0
        assert run("task", "check", path) != 0
        assert "regular file" in capsys.readouterr().err


def test_whatever_the_bytes_are_a_recording_is_read_or_refused(recording: Path) -> None:
    """Mutated, cut, spliced, with foreign frames, hundreds from one seed;
    `tests/fuzz/test_recordings.py` goes on."""
    chance = random.Random(7)
    sound = recording.read_bytes()
    found = {finding(_spoilt(sound, chance)) for _ in range(ROUNDS)}
    assert len(found) > 5


def _spoilt(sound: bytes, chance: random.Random) -> bytes:
    data, body = bytearray(sound), sound[:-40]
    match chance.randrange(6):
        case 0:
            for _ in range(chance.randint(1, 8)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        case 1:
            del data[chance.randrange(len(data)) :]
        case 2:
            at = chance.randrange(len(data))
            data[at:at] = sound[chance.randrange(len(sound)) :]
        case 3:
            data = bytearray(
                body
                + _foreign(
                    0x184D2A50 | chance.randrange(16), chance.randbytes(chance.randrange(64))
                )
            )
        case 4:  # a whole frame, its text spoilt, under a right checksum
            text = bytearray(zstandard.ZstdDecompressor().decompress(body))
            for _ in range(chance.randint(1, 8)):
                text[chance.randrange(len(text))] = chance.randrange(256)
            frame = zstandard.ZstdCompressor().compress(bytes(text))
            data = bytearray(frame + checksum_frame(hashlib.sha256(frame).digest()))
        case _:
            data = bytearray(chance.randbytes(chance.randrange(200)))
    return bytes(data)
