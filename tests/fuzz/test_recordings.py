"""Immunity 14 for recordings: whatever the bytes are, they are read and scored, or refused by name,
within bounds."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from api.cli.main import main
from api.cli.recording import run_verify
from tests.fuzz.hostile_recordings import sound


@pytest.mark.slow_where("2")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_recording_that_is_broken_anywhere_is_read_or_refused_by_name(seed: int) -> None:
    """In a process of its own, whose memory the system limits."""
    command = [sys.executable, "-m", "tests.fuzz.hostile_recordings", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert int(done.stdout.split()[0]) > 700


def test_a_flipped_bit_of_any_writers_recording_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sampled: 60 bits of each, and the last ones, which are the checksum's; and what stands behind
    it is refused."""
    chance, path = random.Random(4), tmp_path / "it.mrec"
    found = sound(tmp_path)
    assert len(found) > 5
    for name, data in found.items():
        path.write_bytes(data)
        assert run_verify(path) in (0, 3), name
        bits = 8 * len(data)
        for bit in [*chance.sample(range(bits), 60), *range(bits - 8, bits)]:
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            assert run_verify(path) == 1, (name, bit)
        path.write_bytes(data + b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc")
        for command in ("verify", "show"):
            assert main(["recording", command, str(path)]) == 1, name
        assert "a frame after the checksum" in capsys.readouterr().err
