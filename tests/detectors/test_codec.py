"""The segment: what is refused, by name, and what is read back."""

from __future__ import annotations

import time

import pytest

from detectors.model.codec import (
    GENESIS,
    CodecError,
    decode_segment,
    encode_segment,
    sha256,
    split_segments,
)
from tests.support.logs import clicked, log, went

TEXT = encode_segment(log(went("/a"), clicked("Go")), GENESIS)
HEADER, FIRST, SECOND, _ = TEXT.split(b"\n")


def test_a_segment_reads_back() -> None:
    """Numbers, digest and events."""
    segment = decode_segment(TEXT)
    assert (segment.episode, segment.first, segment.count, segment.last) == ("ep_1", 1, 2, 2)
    assert segment.digest == sha256(TEXT)
    assert list(segment.events) == log(went("/a"), clicked("Go"))


REFUSED = {
    "no newline at the end": (TEXT[:-1], "ended by a newline"),
    "empty": (b"", "a header line and at least one event line"),
    "header no JSON": (b"x" + TEXT, "header: not JSON"),
    "header no object": (b"[]\n" + FIRST + b"\n", "header: wanted an object"),
    "values that fill the memory": (
        TEXT.replace(SECOND, b'[2,0,"cdp","x",{"a":[' + b"[]," * (1 << 20) + b"[]]}]"),
        "its values would take .* wanted at most 33554432",
    ),
    "newer wire": (TEXT.replace(b'"wire":2', b'"wire":3'), "reads up to 2: upgrade"),
    "wire true": (TEXT.replace(b'"wire":2', b'"wire":true'), "wire is True"),
    "short prev": (TEXT.replace(GENESIS.encode(), b"00"), "prev a hex sha256"),
    "first 0": (TEXT.replace(b'"first":1', b'"first":0'), "integers from 1"),
    "count too high": (TEXT.replace(b'"count":2', b'"count":3'), "count is 3, but 2 event lines"),
    "event cut": (TEXT.replace(SECOND, SECOND[:-1]), "not JSON"),
    "two events in a line": (TEXT.replace(FIRST, FIRST + b"," + FIRST), "event 1: not JSON"),
    "an event over two lines": (  # which are two events, once the lines are joined
        b"\n".join((HEADER, b'[1,0,"cdp","x",{"a":1', b'"b":2}],[2,0,"cdp","x",{}]', b"")),
        "event 1: not JSON",
    ),
    "a gap": (TEXT.replace(b"\n[2,", b"\n[3,"), "event 2: seq is 3, wanted 2"),
    "an object": (TEXT.replace(SECOND, b'{"seq":2}'), r"event 2: wanted \[seq, at"),
    "data no object": (
        TEXT.replace(SECOND, b'[2,0,"cdp","x",1]'),
        r"wanted \[int, int, string, string, object\]",
    ),
    "time no number": (TEXT.replace(SECOND, b'[2,true,"cdp","x",{}]'), "event 2: wanted"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_segment_is_refused_by_name(text: bytes, said: str) -> None:
    """Each message says the place and what was wanted."""
    with pytest.raises(CodecError, match=said):
        decode_segment(text)


@pytest.mark.parametrize("cut", [len(TEXT) + 10, len(TEXT) * 2 - 1, len(TEXT) + len(HEADER) + 5])
def test_a_recording_cut_short_is_told(cut: int) -> None:
    """Not a silent end."""
    with pytest.raises(CodecError, match=r"cut short|not JSON"):
        list(split_segments((TEXT * 2)[:cut]))


def test_many_segments_take_time_in_proportion() -> None:
    """Of 16,000 each looked through all that follow: 8 s."""
    text, began = TEXT * 16_000, time.process_time()
    assert sum(1 for _ in split_segments(text)) == 16_000
    assert time.process_time() - began < 2
