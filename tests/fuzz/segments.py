"""Fuzzes what a daemon may send, with atheris: `python -m tests.fuzz.segments -runs=100000`.

Whatever the bytes are, reading them gives a segment or a refusal that the wire tells of; and a
segment that was read is told again, by its own events, as one that reads the same.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import atheris
import zstandard

with atheris.instrument_imports(include=["api.core.frames", "detectors.model.codec"]):
    from api.core.errors import MalformedSegmentError, TooLargeError
    from api.core.frames import read_segment
    from api.core.settings import Limits
    from detectors.model.codec import decode_segment, encode_segment
    from tests.api.service import events, frames, texts
    from tests.support.logs import clicked, episode, went

EPISODE = "ep_fuzzed"
LIMITS = Limits(frame_bytes=64 * 1024, text_bytes=1024 * 1024, events=200)


def one(data: bytes) -> None:
    """Read ``data`` as a frame, and as the text in one."""
    for frame in (data, zstandard.compress(data)):
        try:
            segment = read_segment(frame, LIMITS)
        except (MalformedSegmentError, TooLargeError):
            continue
        assert [event.seq for event in segment.events] == list(
            range(segment.first, segment.last + 1)
        )
        assert {event.episode for event in segment.events} == {segment.episode}
        again = decode_segment(encode_segment(segment.events, segment.prev))
        assert again.events == segment.events


def main() -> int:
    """Run libFuzzer with the command line's options, from real segments on; 0 where nothing was
    found."""
    if any(Path(argument).is_dir() for argument in sys.argv[1:]):
        atheris.Setup(sys.argv, one)
        atheris.Fuzz()  # ends the process, so nobody could clear up after it here
    with tempfile.TemporaryDirectory(prefix="milestoned-fuzz-") as seeds:
        said = events(EPISODE, *episode([went("/cart")], [clicked("Buy")]))
        for n, seed in enumerate((*frames(said, [2]), *texts(said, [2]))):
            Path(seeds, str(n)).write_bytes(seed)
        return subprocess.run(
            [sys.executable, "-m", __spec__.name, *sys.argv[1:], seeds], check=False
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
