"""Files of every format that `milestoned convert` reads, broken in every place; run within time and
memory.

`python -m tests.fuzz.hostile_captures FORMAT` makes mutants of a sound file: values of its JSON
replaced by some of `HOSTILE`, keys taken away, the bytes cut short and bytes changed, at places of
a fixed sequence. Each mutant converts, or is refused by a `UsageError` that names the file and what
was wanted, in at most `MAX_SECONDS` of processor time; all together take at most `MAX_GROWTH`
bytes. What else is raised ends the program with the mutant's name.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentd.core.errors import UsageError
from lab.convert import Conversion, convert
from tests.convert.hand_made import one_of_each

MAX_SECONDS = 2.0
MAX_GROWTH = 256 << 20
MAX_PLACES = 100
"""Places of one file at which values are replaced; of more, those of a fixed sequence."""
CUTS = 40
FLIPS = 60
SEED = 30
Path_ = tuple[str | int, ...]

DEEP = "@deep@"
"""Stands in a value for lists in lists, which a JSON encoder would not write."""
HOSTILE: dict[str, Any] = {
    "null": None,
    "true": True,
    "an empty text": "",
    "a text": "x",
    "a long text": "a" * 100_000,
    "half a surrogate pair": "\ud800",
    "a zero byte": "\0",
    "minus one": -1,
    "a fraction": 0.5,
    "the largest float": 1.7e308,
    "a number of 65 bits": 1 << 64,
    "a number of 400 digits": 10**400,
    "not a number": float("nan"),
    "infinity": float("inf"),
    "an empty list": [],
    "a list of lists": [[[]], [None]],
    "an empty object": {},
    "an object": {"": {"": []}},
    "deep": DEEP,
}


def text_of(value: Any) -> bytes:
    """JSON, or what looks like it: NaN, huge numbers and half surrogates are written as they
    are."""
    return json.dumps(value).replace(f'"{DEEP}"', "[" * 2000 + "]" * 2000).encode()


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every place of a JSON value, itself included."""
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in items:
        yield from places(part, (*path, key))


def replaced(value: Any, path: Path_, new: Any) -> Any:
    """A copy of ``value`` with ``new`` at ``path``."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def removed(value: Any, path: Path_) -> Any:
    """A copy of ``value`` without what stands at ``path``."""
    copy = value.copy()
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = removed(value[path[0]], path[1:])
    return copy


def mutants_of_json(value: Any, rng: random.Random) -> Iterator[tuple[str, Any]]:
    """(name, JSON value) of every mutant."""
    listed = list(places(value))
    for path in listed if len(listed) <= MAX_PLACES else rng.sample(listed, MAX_PLACES):
        for name, new in rng.sample(list(HOSTILE.items()), 4):
            yield f"{list(path)} is {name}", replaced(value, path, new)
        if path:
            yield f"{list(path)} is not there", removed(value, path)


def mutants_of_bytes(raw: bytes, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """(name, bytes): cut short, or with a few bytes changed."""
    for place in sorted(rng.sample(range(len(raw)), min(CUTS, len(raw)))):
        yield f"cut at {place}", raw[:place]
    for number in range(FLIPS):
        changed = bytearray(raw)
        for place in rng.sample(range(len(raw)), 1 + number % 4):
            changed[place] = rng.randrange(256)
        yield f"bytes changed, {number}", bytes(changed)
    yield "lists in lists", b"[" * 100_000
    yield "objects in objects", b'{"log":' * 50_000


def mutants(path: Path) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every mutant of a sound file."""
    rng = random.Random(SEED)
    raw = path.read_bytes()
    if path.suffix == ".zip":
        yield from _mutants_of_zip(path, rng)
    elif path.suffix == ".jsonl":
        for name, value in mutants_of_json([json.loads(line) for line in raw.splitlines()], rng):
            yield (
                name,
                b"\n".join(map(text_of, value)) if isinstance(value, list) else text_of(value),
            )
    else:
        for name, value in mutants_of_json(json.loads(raw), rng):
            yield name, text_of(value)
    yield from mutants_of_bytes(raw, rng)


def _mutants_of_zip(path: Path, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    for part, content in parts.items():
        if not part.endswith((".trace", ".network")) or not content.strip():
            continue
        rows = [json.loads(line) for line in content.splitlines()]
        for name, value in mutants_of_json(rows, rng):
            text = b"\n".join(map(text_of, value)) if isinstance(value, list) else text_of(value)
            yield f"{part}: {name}", _zipped(path, parts | {part: text})
        for name, text in mutants_of_bytes(content, rng):
            yield f"{part}: {name}", _zipped(path, parts | {part: text})


def _zipped(path: Path, parts: dict[str, bytes]) -> bytes:
    made = path.with_suffix(".made")
    with zipfile.ZipFile(made, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return made.read_bytes()


def check(name: str, content: bytes, suffix: str, folder: Path, given: str) -> str | None:
    """What is wrong with how a mutant is met; None where nothing is."""
    file, out = folder / f"mutant{suffix}", folder / "mutant.mrec"
    file.write_bytes(content)
    began = time.process_time()
    try:
        convert(Conversion(input=file, out=out, force=True, format=given))
    except UsageError as error:
        said = str(error)
        if "wanted" not in said or str(file) not in said or len(said) > 2000:
            return f"{name}: the message says neither file nor what is wanted: {said:.300}"
    spent = time.process_time() - began
    return f"{name}: took {spent:.1f} s" if spent > MAX_SECONDS else None


def main(format: str) -> int:
    """Convert every mutant of ``format``'s file; prints how many, or what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound = one_of_each(folder)[format]
        convert(Conversion(input=sound, out=folder / "sound.mrec"))
        with open("/proc/self/statm") as file:
            limit = int(file.read().split()[0]) * resource.getpagesize() + MAX_GROWTH
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        count, wrong = 0, []
        for number, (title, content) in enumerate(mutants(sound)):
            count += 1
            try:
                fault = check(title, content, sound.suffix, folder, format if number % 2 else "")
            except BaseException as error:
                error.add_note(f"mutant: {title}")
                raise
            wrong += [fault] if fault else []
    print(f"{count} mutants of a {format} file", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
