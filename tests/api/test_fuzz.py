"""Whatever is sent as a segment: nothing crashes, and what is accepted is exactly the next of the
chain."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from common.frames import unpack
from detectors.model.codec import GENESIS, sha256
from detectors.model.wire_versions import WIRE
from tests.api.processes import ROOT
from tests.api.service import Service, Store, events, running, texts
from tests.support.logs import clicked, episode, went

SAID = episode([went("/cart")], [clicked("Buy"), went("/done")])
SIZES = [2, 2]
STORED = 1
"""Segments that are in the log before; what is sent is made of the next."""

HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "wire": st.sampled_from([0, WIRE, WIRE + 1, str(WIRE), None, True, 1.0]),
        "episode": st.sampled_from(["ep_1", "", None, 3]),
        "first": st.one_of(st.integers(-1, 9), st.sampled_from([None, "3", 2**63, 3.0])),
        "count": st.one_of(st.integers(-1, 9), st.sampled_from([None, "2", 2**63])),
        "prev": st.sampled_from([GENESIS, "", "0" * 63, "f" * 64, None]),
        "more": st.just(1),
    },
)
EDITS = st.lists(
    st.tuples(
        st.integers(0, 10_000), st.sampled_from(["flip", "drop", "double"]), st.integers(1, 255)
    ),
    max_size=3,
)
LINES = st.sampled_from(
    ["as they are", "swapped", "one less", "one twice", "one empty", "crlf", "none"]
)
FRAMES = st.sampled_from(["one", "two", "with tail", "cut", "no size", "plain", "empty"])


def _edited(data: bytes, edits: list[tuple[int, str, int]]) -> bytes:
    out = bytearray(data)
    for where, how, value in edits:
        if not out:
            break
        at = where % len(out)
        if how == "flip":
            out[at] ^= value
        elif how == "drop":
            del out[at : at + value]
        else:
            out[at:at] = out[at : at + value]
    return bytes(out)


def _relined(text: bytes, how: str) -> bytes:
    header, *lines = text.split(b"\n")[:-1]
    if how == "swapped":
        lines.reverse()
    elif how == "one less":
        lines = lines[:-1]
    elif how == "one twice":
        lines = [*lines, lines[-1]]
    elif how == "one empty":
        lines = [*lines, b""]
    elif how == "none":
        lines = []
    ending = b"\r\n" if how == "crlf" else b"\n"
    return ending.join((header, *lines, b""))


def _framed(text: bytes, how: str) -> bytes:
    whole = zstandard.compress(text)
    if how == "no size":
        return zstandard.ZstdCompressor(write_content_size=False).compress(text)
    return {
        "one": whole,
        "two": whole + whole,
        "with tail": whole + b"x",
        "cut": whole[:-1],
        "plain": text,
        "empty": b"",
    }[how]


@pytest.mark.parametrize("examples", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_what_is_accepted_is_exactly_the_next_of_the_chain(store: Store, examples: int) -> None:
    with asyncio.Runner() as runner:
        service: Any = running(store)
        there: Service = runner.run(service.__aenter__())
        accepted: list[bytes] = []

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @example(which=STORED, header={}, lines="as they are", edits=[], frame="one", late=[])
        @given(
            which=st.integers(0, 2),
            header=HEADERS,
            lines=LINES,
            edits=EDITS,
            frame=FRAMES,
            late=EDITS,
        )
        def sent(
            which: int, header: dict[str, Any], lines: str, edits: Any, frame: str, late: Any
        ) -> None:
            def make(told: list[bytes]) -> bytes:
                first, _, rest = _relined(told[which], lines).partition(b"\n")
                head = json.dumps({**json.loads(first), **header}).encode() if header else first
                return _edited(_framed(_edited(head + b"\n" + rest, edits), frame), late)

            runner.run(_send(there, make, accepted))

        try:
            sent()
        finally:
            runner.run(service.__aexit__(None, None, None))
    assert accepted, "nothing was ever accepted, so nothing was shown"


async def _send(service: Service, make: Any, accepted: list[bytes]) -> None:
    id, token = await service.open()
    told = texts(events(id, *SAID), SIZES)
    for text in told[:STORED]:
        assert (await service.append(id, zstandard.compress(text), token)).status_code == 200
    before = (await service.get(f"/v1/episodes/{id}")).json()
    frame = make(told)
    answer = await service.append(id, frame, token)
    after = (await service.get(f"/v1/episodes/{id}")).json()
    if answer.status_code != 200:
        assert answer.status_code in (409, 413, 422), answer.text
        assert after == before
        return
    text = unpack(frame)
    header = json.loads(text.split(b"\n")[0])
    if text == told[0]:
        assert after == before
        return
    accepted.append(text)
    assert (header["episode"], header["first"], header["prev"]) == (
        id,
        before["through"] + 1,
        before["head"],
    )
    rows = [json.loads(line) for line in text.split(b"\n")[1:-1]]
    assert [row[0] for row in rows] == list(
        range(header["first"], header["first"] + header["count"])
    )
    assert (after["through"], after["head"]) == (rows[-1][0], sha256(text))


@pytest.mark.slow
def test_a_coverage_guided_fuzz_finds_nothing(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.segments",
        "-runs=200000",
        "-max_total_time=120",
        "-seed=1",
    ]
    found = subprocess.run(
        [*command, f"-artifact_prefix={tmp_path}/"], cwd=ROOT, capture_output=True, check=False
    )
    assert found.returncode == 0, found.stderr.decode(errors="replace")[-4_000:]
