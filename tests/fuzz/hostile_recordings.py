"""Recordings of every writer, broken in many ways; run as a program within time and memory.

`python -m tests.fuzz.hostile_recordings SEED` takes one recording of each converter, one as the
daemon's journal cuts them, and one with verdicts, and breaks each: bits flipped, bytes changed, cut
short, spliced with another, foreign frames, frames in another order, and texts that were changed
under a right checksum. Each mutant is read to its end and scored, or refused by a `RecordingError`,
in at most `MAX_SECONDS` of processor time; all together take at most `MAX_GROWTH` bytes. What else
is raised ends the program with the mutant's name.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

from agentd.journal.recordings import segments
from api.replay.recording_check import findings, findings_of_said
from api.replay.recordings import RecordingError, layout_of, read_frames, read_said
from api.rewards.event_text import line
from api.verdicts.recorded import Playback
from api.verdicts.recording_verdicts import frame_of
from common.frames import Packer
from detectors.model.codec import encode_event, with_checksum
from lab.convert import Conversion, convert
from tests.cascade.test_recordings import TWO
from tests.convert.hand_made import one_of_each
from tests.support.logs import clicked, episode, log, ruleset, went

MAX_SECONDS = 2.0
MAX_GROWTH = 256 << 20
ROUNDS = 120
"""Mutants of each recording."""
CHECKSUM_BYTES = 40
DAEMON = Path(__file__).parents[2] / "benchmarks" / "fleet" / "shop.mrec"


def finding(packed: bytes) -> str:
    """What `verify`, `show` and `replay` do with the bytes: the words of the refusal, or what is
    found in them."""
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


def sound(folder: Path) -> dict[str, bytes]:
    """A recording of each writer, by its name."""
    found: dict[str, bytes] = {}
    for name, path in one_of_each(folder).items():
        out = folder / f"{name}.mrec"
        convert(Conversion(input=path, out=out))
        found[name] = out.read_bytes()
    events = log(*episode([went("/cart")], *[[clicked("Buy")]] * 400))
    lines = [encode_event(one.seq, one.source, one.kind, one.at, one.data) for one in events]
    found["journal"] = with_checksum(
        b"".join(Packer().pack(text) for text in segments("ep_1", lines))
    )
    frames = b"".join(Packer().pack(text) for text in segments("E", lines))
    found["verdicts"] = with_checksum(frames + frame_of(TWO))
    found["daemon"] = with_checksum(DAEMON.read_bytes())
    return found


PIECES = (
    b"",
    b"[" * 3_000,
    b'"',
    b"\n",
    b"1e999",
    b"NaN",
    b"\xff",
    b"9" * 400,
    b"null",
    b"{}",
    b"[]",
)


def _flipped(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def _changed(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 64)) + data[at + rng.randint(0, 64) :]


def _cut(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    return data[: rng.randrange(len(data))]


def _spliced(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    other = rng.choice(others)
    return data[: rng.randrange(len(data))] + other[rng.randrange(len(other)) :]


def _with_foreign(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    content, at = (
        rng.randbytes(rng.randrange(64)),
        rng.choice([0, len(data) - CHECKSUM_BYTES, len(data)]),
    )
    size = rng.choice([len(content), len(content), 0, 0xFFFFFFFF])
    frame = (
        (0x184D2A50 | rng.randrange(16)).to_bytes(4, "little")
        + size.to_bytes(4, "little")
        + content
    )
    return data[:at] + frame + data[at:]


def _reordered(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    frames = [data[at:end] for at, end, _ in layout_of(data, "it").segments]
    rng.shuffle(frames)
    return with_checksum(b"".join(rng.choices(frames, k=rng.randint(1, len(frames) + 2))))


def _text_changed(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    at, end, _ = rng.choice(layout_of(data, "it").segments)
    text = bytearray(zstandard.decompress(data[at:end]))
    for _ in range(rng.randint(1, 8)):
        place = rng.randrange(len(text))
        piece = rng.choice(
            [
                b"",
                b"[" * 3_000,
                b'"',
                b"\n",
                b"1e999",
                b"NaN",
                b"\xff",
                b"9" * 400,
                b"null",
                b"{}",
                b"[]",
            ]
        )
        text[place : place + rng.randint(0, 4)] = piece
    return with_checksum(data[:at] + zstandard.compress(bytes(text)) + data[end:-CHECKSUM_BYTES])


WAYS: dict[str, Callable[[bytes, random.Random, list[bytes]], bytes]] = {
    "bits flipped": _flipped,
    "bytes changed": _changed,
    "cut short": _cut,
    "spliced": _spliced,
    "a foreign frame": _with_foreign,
    "frames in another order": _reordered,
    "a text changed under a right checksum": _text_changed,
}


def mutants(found: dict[str, bytes], rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of every mutant."""
    others = list(found.values())
    for name, data in found.items():
        for number in range(ROUNDS):
            way = list(WAYS)[number % len(WAYS)]
            yield f"{name}: {way}, {number}", WAYS[way](data, rng, others)


def main(seed: int) -> int:
    """Read every mutant; prints how many, and what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        found = sound(Path(folder))
    for data in found.values():
        assert finding(data) in ("sound", "no checksum"), finding(data)
    with open("/proc/self/statm") as file:
        limit = int(file.read().split()[0]) * resource.getpagesize() + MAX_GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    said, wrong, count = set[str](), [], 0
    for name, data in mutants(found, random.Random(seed)):
        began = time.process_time()
        try:
            said.add(finding(data))
        except BaseException as error:
            error.add_note(f"mutant: {name}")
            raise
        count += 1
        if (took := time.process_time() - began) > MAX_SECONDS:
            wrong.append(f"{name}: took {took:.1f} s")
    print(f"{count} mutants of {len(found)} recordings, {len(said)} findings", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
