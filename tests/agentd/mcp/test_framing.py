"""Splitting what passes: the pieces joined are the stream, whatever it is and however it is cut."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentd.mcp.framing import EventSplitter, LineSplitter

STREAMS = st.lists(st.sampled_from([b"\n", b"\r\n", b"{}", b"x" * 9, b"\xff", b"data: 1", b""]))


@given(STREAMS.map(b"".join), st.lists(st.integers(0, 60), max_size=6), st.integers(1, 90))
def test_the_pieces_are_the_stream(stream: bytes, cuts: list[int], limit: int) -> None:
    """And its lines are those that no limit cuts, wherever the chunks end."""
    splitter = LineSplitter(limit)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:end] for start, end in itertools.pairwise(edges)]
    pieces = [piece for chunk in chunks for piece in splitter.feed(chunk)]
    rest = splitter.finish()
    pieces += [rest] if rest else []
    assert b"".join(piece.raw for piece in pieces) == stream
    lines = [line for line in re.findall(rb"[^\n]*\n|[^\n]+", stream) if len(line) <= limit]
    assert [piece.raw for piece in pieces if piece.is_line] == lines


def test_nothing_of_a_long_line_is_kept_back() -> None:
    splitter = LineSplitter(8)
    assert [(piece.raw, piece.is_line) for piece in splitter.feed(b"0123456789")] == [
        (b"0123456789", False)
    ]
    assert [(piece.raw, piece.is_line) for piece in splitter.feed(b"ab\nshort\n")] == [
        (b"ab\n", False),
        (b"short\n", True),
    ]
    assert splitter.finish() is None


EVENTS: dict[str, tuple[bytes, list[tuple[bytes | None, bool]]]] = {
    "one": (b'event: message\ndata: {"id":1}\n\n', [(b'{"id":1}', False)]),
    "of a server with carriage returns": (b"data: 1\r\n\r\n", [(b"1", False)]),
    "with an id": (b"id: 7\ndata: 1\n\n", [(b"1", True)]),
    "an id alone, before a stream is cut": (b"id: 7\ndata:\n\n", [(b"", True)]),
    "of two lines": (b"data: {\ndata: }\n\n", [(b"{\n}", False)]),
    "no space": (b"data:1\n\ndata:  2\n\n", [(b"1", False), (b" 2", False)]),
    "a ping": (b": ping\n\n\n", []),
    "half": (b"data: 1\n", []),
    "too long": (b"data: " + b"x" * 99 + b"\n\ndata: 2\n\n", [(None, False), (b"2", False)]),
    "too long by lines that hold nothing": (b"data:\n" * 99 + b"\n", [(None, False)]),
    "too long by its lines": (b"data: 0123456789\n" * 9 + b"\n", [(None, False)]),
}


@pytest.mark.parametrize(("stream", "expected"), EVENTS.values(), ids=EVENTS)
@pytest.mark.parametrize("size", [1, 1_000])
def test_events(stream: bytes, expected: list[tuple[bytes | None, bool]], size: int) -> None:
    splitter = EventSplitter(64)
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert [tuple(event) for chunk in chunks for event in splitter.feed(chunk)] == expected
