"""`python -m benchmarks.dictionary FOLDER…`: train the dictionary that segments are compressed with.

The folders hold recordings that `benchmarks.desktop.record` and `benchmarks.miniwob.record` made.
Beside them it learns from the catalogue of event kinds, so that it knows the fields of what no
recording has. Prints what a half of the recordings costs under a dictionary of the other half, and
what the golden scenes and the shop cost, of which it sees nothing. ``--write ID`` puts the
dictionary of all folders into the package: a new one has a new number, since what an older one
compressed is read by that one for ever (docs/decisions/0037-one-dictionary.md).
"""

from __future__ import annotations

import argparse
import random
import string
import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import zstandard

from api.replay.recordings import read_recording
from benchmarks.rescore import golden_lines
from common.frames import DICTIONARIES, LEVEL, Packer
from detectors.model.codec import encode_event, join_segment, sha256
from detectors.model.kinds import KINDS

SIZE = 112_640
"""Bytes of a dictionary, zstd's own default: half of it costs a hundredth more a segment."""
SEGMENTS = (3, 10, 50)
"""Events in the segments that it learns from: as live steps make them, and as a backlog does."""
ROUNDS = 6
"""How often each kind of the catalogue is made up."""
SHOP = Path("benchmarks/fleet/shop.mrec")
Lines = Sequence[bytes]


def main() -> None:
    """Train, print, and write where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--write", metavar="ID", type=int)
    options = parser.parse_args()
    recordings = [
        lines_of(path)
        for folder in options.folders
        for path in sorted(folder.glob("*.mrec"), key=lambda path: sha256(path.name.encode()))
    ]
    rng = random.Random(1)
    half = train(recordings[::2], rng)
    whole = train(recordings, rng)
    print(f"trained on {len(recordings)} recordings, {sum(map(len, recordings))} events")
    for name, unseen, dictionary in (
        ("the other half of the recordings", recordings[1::2], half),
        ("golden scenes", [golden_lines()], whole),
        ("the shop", [lines_of(SHOP)], whole),
    ):
        for size in (500, 10, 3):
            plain, packed = (cost(unseen, size, rng, each) for each in (None, dictionary))
            print(f"  {name}, {size} events a segment: {plain:.1f} -> {packed:.1f} bytes an event")
    if options.write is not None:
        content = train(recordings, random.Random(1), options.write).as_bytes()
        (DICTIONARIES / f"{options.write}.zdict").write_bytes(content)


def lines_of(path: Path) -> Lines:
    """Read the event lines of a recording."""
    return [
        encode_event(event.seq, event.source, event.kind, event.at, event.data)
        for segment in read_recording(path)
        for event in segment.events
    ]


def train(
    recordings: Iterable[Lines], rng: random.Random, number: int = 0
) -> zstandard.ZstdCompressionDict:
    """Train a dictionary with this ``number`` (0: any) from recordings and the catalogue."""
    samples: list[bytes | bytearray | memoryview] = [
        text
        for lines in [*made_up(rng), *recordings]
        for size in SEGMENTS
        for text in segments(lines, size, rng)
    ]
    return zstandard.train_dictionary(SIZE, samples, level=LEVEL, dict_id=number)


def segments(lines: Lines, size: int, rng: random.Random) -> Iterator[bytes]:
    """Cut lines into segments of ``size`` events, of an episode with an id of its own."""
    letters = "".join(rng.choices(string.ascii_lowercase + "234567", k=24))
    episode = f"ep_2026{rng.randrange(1, 13):02}{rng.randrange(1, 29):02}{letters}"
    prev = sha256(episode.encode())
    for start in range(0, len(lines), size):
        text = join_segment(episode, start + 1, lines[start : start + size], prev)
        yield text
        prev = sha256(text)


def cost(
    recordings: Sequence[Lines],
    size: int,
    rng: random.Random,
    dictionary: zstandard.ZstdCompressionDict | None,
) -> float:
    """Return the compressed bytes an event in segments of ``size`` events."""
    packer = Packer(dictionary)
    texts = [text for lines in recordings for text in segments(lines, size, rng)]
    return sum(len(packer.pack(text)) for text in texts) / sum(map(len, recordings))


def made_up(rng: random.Random) -> Iterator[Lines]:
    """Make up episodes of every kind of the catalogue, in every order of kinds."""
    for _ in range(ROUNDS):
        kinds = list(KINDS.items())
        rng.shuffle(kinds)
        at = 0
        lines = []
        for seq, (name, kind) in enumerate(kinds, 1):
            at += rng.randrange(100, 400_000) * 10_000
            lines.append(encode_event(seq, kind.source, name, at, made_object(kind.payload, rng)))
        yield lines


def made_object(declared: Any, rng: random.Random) -> dict[str, Any]:
    """Make up an object with all required fields and some of the others."""
    hints = get_type_hints(declared)
    names = [name for name in hints if name in declared.__required_keys__ or rng.random() < 0.5]
    return {name: made_value(name, hints[name], rng) for name in names}


def made_value(name: str, hint: Any, rng: random.Random) -> Any:
    """Make up a value of the type ``hint`` for the field ``name``."""
    if is_typeddict(hint):
        return made_object(hint, rng)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return rng.choice(arguments)
    if origin in (Union, types.UnionType):
        return made_value(name, rng.choice(arguments), rng)
    if origin in (list, tuple) or origin is Sequence:
        return [made_value(name, arguments[0], rng)]
    if origin is not None and arguments:
        return {} if len(arguments) > 1 else made_value(name, arguments[0], rng)
    return _made_scalar(name, hint, rng)


def _made_scalar(name: str, hint: Any, rng: random.Random) -> Any:
    if hint is bool:
        return rng.random() < 0.5
    if hint is int:
        return rng.randrange(1 << rng.randrange(1, 16))
    if hint is float:
        return round(rng.random(), 2)
    if hint is str:
        return "http://127.0.0.1/" if "url" in name else ""
    return None


if __name__ == "__main__":
    main()
