"""Fuzzes recording files as a stranger could make them, with atheris: `python -m tests.fuzz.recordings -runs=100000`.

Whatever the bytes are, a recording is read to its end or refused by a `RecordingError`, with bounds on time and memory
(libFuzzer's `-timeout` and `-rss_limit_mb`); what was read is scored by a task, too.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

import zstandard

from api.cascade.recorded import Playback
from api.recording_check import findings, findings_of_said
from api.recording_text import line
from api.recordings import RecordingError, layout_of, read_frames, read_said
from detectors.codec import checksum_frame
from tests.support.logs import clicked, episode, ruleset, went

BOUNDS = ("-timeout=5", "-rss_limit_mb=512", "-max_len=65536")


def finding(packed: bytes) -> str:
    """What `verify`, `show` and `replay` do with the bytes: the words of the refusal, or what is found in them."""
    rules = ruleset({"id": "m", "when": {"url_reached": {"url": "/cart"}}})
    try:
        layout = layout_of(packed, "it")
        said = read_said(packed, "it")
        segments = list(read_frames(packed, "it"))
    except RecordingError as error:
        return str(error)[:40]
    events = [event for segment in segments for event in segment.events]
    steps = {event.data.get("step") for event in events if event.kind == "step.began"}
    found = [
        *findings(events),
        *findings_of_said(said, {n for n in steps if type(n) is int}, events[-1].seq),
    ]
    for event in events:
        line(event)
    playback = Playback(rules, segments[0].episode, said)
    for segment in segments:
        playback.take(segment.events)
    return found[0][:40] if found else "sound" if layout.checksum is not None else "no checksum"


def fuzz(data: bytes) -> None:
    """Read ``data`` as a file, as frames under a right checksum, and as the text of a segment in one."""
    frame = zstandard.ZstdCompressor(level=1).compress(data)
    for packed in (data, frame, *(one + checksum_frame(hashlib.sha256(one).digest()) for one in (data, frame))):
        finding(packed)


def main() -> int:
    """Run libFuzzer with the command line's options, from real recordings on; 0 where nothing was found."""
    if any(Path(argument).is_dir() for argument in sys.argv[1:]):
        import atheris

        atheris.instrument_all()
        atheris.Setup(sys.argv, fuzz)
        atheris.Fuzz()  # ends the process, so nobody could clear up after it here
    from tests.api.service import events, frames, texts

    with tempfile.TemporaryDirectory(prefix="milestoned-fuzz-") as seeds:
        said = events("ep_fuzzed", *episode([went("/cart")], [clicked("Buy")]))
        for n, seed in enumerate((*frames(said, [2]), b"".join(frames(said, [2])), *texts(said, [2]))):
            Path(seeds, str(n)).write_bytes(seed)
        argv = [sys.executable, "-m", __spec__.name, *BOUNDS, *sys.argv[1:], seeds]
        return subprocess.run(argv, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
