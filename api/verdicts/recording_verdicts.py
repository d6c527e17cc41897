"""The log of verdicts in a recording: a zstd skippable frame at the file's end, which any zstd
reader passes over.

Without it a recording is what it always was. In it are JSON lines: a header (`milestoned`,
`format`, `episode`, `count`, `head`), then the bodies of the episode's log of verdicts as the
service stores them, so that their chain can be checked. ``head`` is the digest of the last one,
which no other line names. They are not packed: the same episode gives the same file, whatever the
version of zstd.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from api.verdicts.recorded import DECIDED, GIVEN, words_of
from api.verdicts.words import wrong
from detectors.model.codec import GENESIS, canonical, sha256

MAGIC = 0x184D2A5B
SKIPPABLE = 0x184D2A50
"""The first of sixteen magic numbers of frames that zstd passes over (RFC 8878, 3.1.2)."""
HEAD_BYTES = 8
MAX_BYTES = 1 << 28
"""Of verdicts that a recording may hold."""
FORMAT = 1
_STAGES = ("model", "judge", "person")


class VerdictsError(ValueError):
    """A recording's verdicts are damaged, or no log of verdicts; the message says which and how."""


def frame_of(bodies: Sequence[bytes]) -> bytes:
    """The frame that holds these bodies, to be put behind an episode's segments; nothing where
    there are none."""
    if not bodies:
        return b""
    episode = orjson.loads(bodies[0])["episode"]
    header = {"milestoned": "verdicts", "format": FORMAT, "episode": episode, "count": len(bodies)}
    text = b"\n".join((canonical({**header, "head": sha256(bodies[-1])}), *bodies, b""))
    if len(text) > MAX_BYTES:
        raise VerdictsError(
            f"{episode}: its verdicts are {len(text)} bytes, wanted at most {MAX_BYTES}"
        )
    return MAGIC.to_bytes(4, "little") + len(text).to_bytes(4, "little") + text


def is_skippable(packed: bytes, at: int) -> bool:
    """Whether the frame at ``at`` is one that zstd passes over."""
    return (
        int.from_bytes(packed[at : at + 4], "little") & ~0xF == SKIPPABLE and len(packed) - at >= 4
    )


def bodies_of(packed: bytes, at: int) -> list[bytes]:
    """The bodies in the whole frame at ``at``, checked. Raises `VerdictsError`."""
    magic = int.from_bytes(packed[at : at + 4], "little")
    if magic != MAGIC:
        raise VerdictsError(
            f"byte {at}: a frame with the magic number {magic:#x}; wanted segments, or verdicts"
        )
    size = int.from_bytes(packed[at + 4 : at + HEAD_BYTES], "little")
    if size > MAX_BYTES:
        raise VerdictsError(f"byte {at}: verdicts of {size} bytes, wanted at most {MAX_BYTES}")
    first, *bodies = packed[at + HEAD_BYTES : at + HEAD_BYTES + size].split(b"\n")
    last = bodies.pop() if bodies else None
    header = _object(first, "the verdicts' header")
    if header.get("milestoned") != "verdicts" or header.get("format") != FORMAT:
        raise VerdictsError(
            f"the verdicts' header: got {first[:120]!r}, wanted verdicts of format {FORMAT}"
        )
    if last != b"" or header.get("count") != len(bodies) or not bodies:
        raise VerdictsError(
            f"the verdicts' header: count is {header.get('count')!r}, but {len(bodies)} verdicts"
            " follow"
        )
    prev = GENESIS
    for number, body in enumerate(bodies, 1):
        _check(body, number, {"seq": number, "prev": prev, "episode": header.get("episode")})
        prev = sha256(body)
    if header.get("head") != prev:
        raise VerdictsError(
            f"verdict {len(bodies)}: its digest is {prev}, wanted {header.get('head')!r:.80}:"
            " changed"
        )
    return bodies


def _check(body: bytes, number: int, chained: Mapping[str, object]) -> None:
    """Its place in the chain, and that it says what a fold can read: numbers that are none decide
    nothing."""
    event = _object(body, f"verdict {number}")
    for name, wanted in chained.items():
        if event.get(name) != wanted:
            said = f"{name} is {event.get(name)!r:.80}, wanted {wanted!r}"
            raise VerdictsError(f"verdict {number}: {said}: one was changed, swapped or removed")
    if type(event.get("step")) is not int:
        raise VerdictsError(f"verdict {number}: step is {event.get('step')!r:.80}, wanted a number")
    if event.get("kind") == GIVEN:
        _check_given(event, number)
    elif event.get("kind") != DECIDED:
        raise VerdictsError(
            f"verdict {number}: kind is {event.get('kind')!r:.80}, wanted {GIVEN} or {DECIDED}"
        )


def _check_given(event: Mapping[str, Any], number: int) -> None:
    """Raise `VerdictsError` for a verdict whose parts are not what they must be."""
    try:
        audit, evidence = event["audit"], event["evidence"]
        (word,) = words_of([event], audit=audit)
        fault = wrong(word.verdict)
    except (KeyError, TypeError, ValueError) as error:
        raise VerdictsError(f"verdict {number}: {type(error).__name__}: {error}"[:200]) from None
    if type(audit) is not bool or type(word.item) is not str or word.verdict.stage not in _STAGES:
        fault = f"wanted an item, audit, and a stage of {', '.join(_STAGES)}"
    if not all(type(seq) is int for seq in evidence) or not all(
        type(v) is str for v in (word.verdict.why, word.verdict.by)
    ):
        fault = "wanted events' numbers as evidence, and texts in why and by"
    if fault is not None:
        raise VerdictsError(f"verdict {number}: {fault}")


def _object(line: bytes, what: str) -> dict[str, object]:
    """Read a line as an object. Raises `VerdictsError`."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise VerdictsError(f"{what}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise VerdictsError(f"{what}: got {line[:80]!r}, wanted an object")
    return found
