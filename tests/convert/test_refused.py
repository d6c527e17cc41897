"""Files that can't be converted: what the message names, exit code 2, and nothing left behind."""

from __future__ import annotations

import gzip
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.cli.main import main
from common.regular_file import NotRegularError, read_regular
from lab.convert import Conversion, convert
from lab.convert.errors import ConvertError
from tests.convert.hand_made import (
    A_CAPTURE,
    A_HAR,
    A_LOG,
    A_STREAM,
    A_TRAJECTORY,
    asked,
    called,
    came_back,
    cdp,
    entry,
    har,
    lines,
    trace_rows,
    trace_zip,
    trajectory,
    turn,
    write,
)
from tests.support.bounded import in_bounds

Make = Callable[[Path], Path]


def bytes_of(content: bytes, name: str = "input") -> Make:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def json_of(value: Any) -> Make:
    return lambda folder: write(folder / "input.json", value)


def raw_of(content: bytes) -> Make:
    return bytes_of(content, "input.json")


def cut_zip(folder: Path) -> Path:
    path = trace_zip(folder / "cut.zip", trace_rows(8))
    path.write_bytes(path.read_bytes()[:-30])
    return path


def rotten_zip(folder: Path) -> Path:
    path = trace_zip(folder / "rotten.zip", trace_rows(8))
    raw = bytearray(path.read_bytes())
    at = raw.index(b"context-options")
    raw[at : at + 4] = b"XXXX"
    path.write_bytes(raw)
    return path


def trace_of(rows: list[dict[str, Any]]) -> Make:
    return lambda folder: trace_zip(folder / "trace.zip", rows)


A_GZIP = gzip.compress(orjson.dumps(A_LOG))

REFUSED: list[tuple[str, Make, str, list[str]]] = [
    ("missing", lambda folder: folder / "nowhere", "", ["nowhere", "No such file"]),
    ("a folder", lambda folder: folder, "", ["Is a directory"]),
    ("empty", bytes_of(b""), "", ["the file is empty", "wanted a HAR"]),
    ("blank", bytes_of(b" \n"), "", ["the file is empty"]),
    ("empty gzip", bytes_of(gzip.compress(b"")), "", ["the file is empty"]),
    ("cut gzip", bytes_of(A_GZIP[:-20]), "", [f"byte {len(A_GZIP) - 20}", "cut short"]),
    ("no gzip", bytes_of(b"\x1f\x8bnonsense"), "", ["no sound gzip"]),
    ("no JSON", bytes_of(b'{"log": \n  oops}'), "", ["line 2 column 3", "no JSON"]),
    ("bytes", bytes_of(b"\xff\xfe\x00"), "", ["no JSON"]),
    ("another object", json_of({"name": "x"}), "", ["an object with the keys ['name']", "--from FORMAT"]),
    ("another array", json_of([1, 2]), "", ["an array of 1"]),
    ("a number", json_of(7), "", ["7; wanted a HAR"]),
    ("a line that is none", lambda f: bytes_of(b'{"t":1,"src":"mark"}\n{"t":2,')(f), "", ["line 2"]),
    ("a cut zip", cut_zip, "", ["no sound zip"]),
    ("a rotten zip", rotten_zip, "", ["trace.trace", "cannot be unpacked"]),
    ("another zip", lambda f: _zip(f, "readme.txt"), "", ["a zip with ['readme.txt']"]),
    ("HAR of another version", json_of({"log": {"version": "2.0", "entries": []}}), "", ["log.version", "'2.0'"]),
    ("HAR without entries", json_of({"log": {"version": "1.2"}}), "", ["log.entries", "wanted a list"]),
    ("HAR with a bad entry", json_of(har(entry("http://a/", 0), {})), "", ["log.entries[1].request"]),
    ("HAR with a bad address", json_of(har(entry(7, 0))), "", ["log.entries[0].request.url", "7"]),  # type: ignore[arg-type]
    ("HAR with a bad time", json_of(har({**entry("http://a/", 0), "startedDateTime": "noon"})), "",
     ["log.entries[0].startedDateTime", "'noon'", "wanted a time"]),
    ("HAR taken for a trace", json_of(A_HAR), "trace", ["is no zip"]),
    ("log taken for a HAR", json_of(A_LOG), "har", ["wanted a HAR"]),
    ("trace too old", trace_of(trace_rows(3)), "", ["Playwright trace of version 3", "wanted a trace of version 4"]),
    ("trace too new", trace_of(trace_rows(99)), "", ["Playwright trace of version 99", "not known"]),
    ("trace without a version", trace_of([{"type": "context-options"}]), "", ["version None"]),
    ("trace without its head", trace_of(trace_rows(8)[1:]), "", ["no context-options"]),
    ("trace of the runner only", trace_of([{"type": "before", "class": "Test"}]), "", ["only the test runner's steps"]),
    ("trace with a bad row", trace_of([*trace_rows(8), {"type": "before", "class": "Page"}]), "", ["trace.trace: row"]),
    ("log with an item that is none", json_of([*A_LOG, {"x": 1}]), "", ["item 10", "{'x': 1}", "wanted a CDP message"]),
    ("log with a message that is none", json_of([*A_LOG, {"method": "Network.loadingFailed", "params": {}}]), "",
     ["message 10, Network.loadingFailed", "KeyError: 'requestId'"]),
    ("HAR with headers that are none", json_of(har({**entry("http://a/", 0), "response": {"headers": 3}})), "",
     ["log.entries[0]", "TypeError"]),
    ("stream with an offset that is none",
     json_of([*A_STREAM[:2], {"type": 3, "timestamp": 3000, "data": {"source": 14, "ranges": [
         {"start": 8, "end": 12, "startOffset": "x", "endOffset": 1}]}}]), "", ["event 2 by time", "ValueError"]),
    ("log of replies", json_of([{"id": 1, "result": {}}]), "cdp", ["holds no message"]),
    ("stream with an event that is none", json_of([*A_STREAM, {"type": 3}]), "", ["event 13", "timestamp"]),
    ("packed stream", json_of([A_STREAM[0], "xœ«V"]), "", ["event 1", "packed by rrweb"]),
    ("capture with a row that is none", lambda f: lines(f / "c.jsonl", [*A_CAPTURE, {"t": 1, "src": "?"}]), "",
     ["line 13", "src"]),
    ("capture without a time", lambda f: lines(f / "c.jsonl", [*A_CAPTURE, {"t": "x", "src": "mark"}]), "",
     ["line 13: t", "wanted seconds"]),
    ("capture without a type", lambda f: lines(f / "c.jsonl", [{"t": 0, "src": "atspi"}]), "", ["line 1: type"]),
    ("log of the far future", raw_of(b'[{"method":"Page.loadEventFired","params":{"timestamp":1}},'
     b'{"method":"Page.loadEventFired","params":{"timestamp":1e300}}]'), "", ["message 1", "1e+300", "OverflowError"]),
    ("log with a frame that is missing", json_of([*A_LOG, {"method": "Page.frameNavigated", "params": {}}]), "",
     ["message 10, Page.frameNavigated"]),
    ("log with a frame that is none", json_of([*A_LOG, {"method": "Page.frameNavigated", "params": {"frame": "F"}}]),
     "", ["message 10, Page.frameNavigated"]),
    ("log with an answer that is none", json_of([*A_LOG, cdp("Network.responseReceived", 12.0, requestId="3",
     response="x")]), "", ["message 10, Network.responseReceived"]),
    ("log with a redirect that is none", json_of([*A_LOG, asked("3", "http://a/", 12.0, redirectResponse="x")]), "",
     ["message 10, Network.requestWillBeSent"]),
    ("stream of the far future", json_of([*A_STREAM, {"type": 4, "timestamp": 1e305, "data": {}}]), "",
     ["event 13 by time", "OverflowError"]),
    ("capture of the far future", lambda f: lines(f / "c.jsonl", [*A_CAPTURE, {"t": 1e302, "src": "mark"}]), "",
     ["line 13: t", "OverflowError"]),
    ("trace of the far future", trace_of([*trace_rows(8), {"type": "after", "callId": "call@2", "endTime": 1e305}]), "",
     ["OverflowError"]),
    ("trajectory of another version", json_of(A_TRAJECTORY | {"schema_version": "ATIF-v2.0"}), "",
     ["schema_version: 'ATIF-v2.0'; wanted one of ATIF-v1.0 to ATIF-v1.8"]),
    ("trajectory without steps", json_of(A_TRAJECTORY | {"steps": []}), "", ["steps: []", "at least one step"]),
    ("trajectory without an agent", json_of({**A_TRAJECTORY, "agent": None}), "", ["agent: None", "wanted an object"]),
    ("trajectory with an agent without a name", json_of(A_TRAJECTORY | {"agent": {"version": "1"}}), "", ["agent.name: None"]),
    ("trajectory with a step that is missing", json_of(trajectory(turn(1), turn(3))), "",
     ["steps[1].step_id: 3; wanted 2, the steps in order"]),
    ("trajectory with a step of nobody", json_of(trajectory(turn(1) | {"source": "tool"})), "",
     ["steps[0].source: 'tool'; wanted one of system, user, agent"]),
    ("trajectory with calls of the user", json_of(trajectory(turn(1, tool_calls=[called("c", "f")]) | {"source": "user"})),
     "", ["steps[0].tool_calls: tool calls of the user"]),
    ("trajectory with a call without arguments", json_of(trajectory(turn(1, tool_calls=[{**called("c", "f"),
     "arguments": "x"}]))), "", ["steps[0].tool_calls[0].arguments: 'x'; wanted an object"]),
    ("trajectory with a result of no call", json_of(trajectory(turn(1, tool_calls=[called("c", "f")],
     observation={"results": [came_back("d", "")]}))), "", ["steps[0].observation.results[0].source_call_id: 'd'"]),
    ("trajectory with a part that is none", json_of(trajectory(turn(1, [{"type": "video"}]))), "",  # type: ignore[arg-type]
     ["steps[0].message[0].type: 'video'; wanted one of text, image, audio"]),
    ("trajectory without a message", json_of(trajectory({**turn(1), "message": None})), "", ["steps[0].message: None"]),
    ("trajectory with a time that is none", json_of(trajectory({**turn(1), "timestamp": "noon"})), "",
     ["steps[0].timestamp: 'noon'", "wanted a time"]),
    ("trajectory with a call that no segment holds", json_of(trajectory(turn(1, tool_calls=[called("c", "f", x="y" * 5_000_000)]))),
     "", ["steps[0]: an event longer than 4128768 bytes; wanted a shorter one"]),
    ("HAR taken for a trajectory", json_of(A_HAR), "atif", ["schema_version: None"]),
    ("flow with a step that is none", json_of({"steps": [{"type": "click"}, 3]}), "", ["steps[1]", "3"]),
]  # fmt: skip


def _zip(folder: Path, name: str) -> Path:
    import zipfile

    with zipfile.ZipFile(folder / "other.zip", "w") as pack:
        pack.writestr(name, "x")
    return folder / "other.zip"


@pytest.mark.parametrize(
    ("make", "format", "named"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    make: Make, format: str, named: list[str], tmp_path: Path
) -> None:
    inputs, out = tmp_path / "in", tmp_path / "out"
    inputs.mkdir()
    out.mkdir()
    path = make(inputs)
    with pytest.raises(ConvertError) as refused:
        convert(Conversion(input=path, out=out / "a.mrec", format=format or None))
    assert refused.value.exit_code == 2
    said = str(refused.value)
    assert said.startswith(str(path))
    for part in named:
        assert part in said
    assert "wanted" in said
    assert list(out.iterdir()) == []


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a file may unpack to is bounded, in gzip and zip alike."""
    monkeypatch.setattr("lab.convert.source.MAX_BYTES", 100_000)
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b"[" + b" " * 10_000_000 + b"]"))
    with pytest.raises(ConvertError, match="bytes to more than 100000"):
        convert(Conversion(input=bomb, out=tmp_path / "a.mrec"))
    padded = trace_zip(
        tmp_path / "bomb.zip", [*trace_rows(8), {"type": "log", "x": " " * 1_000_000}], packed=True
    )
    with pytest.raises(ConvertError, match="wanted at most 100000 in all"):
        convert(Conversion(input=padded, out=tmp_path / "a.mrec"))


@pytest.mark.parametrize("packing", ["gzip", "zip"])
def test_a_bomb_is_refused_before_it_is_large(packing: str, tmp_path: Path) -> None:
    """Half a megabyte that unpacks to 400 is refused by a process that never has 100 in memory."""
    bomb = tmp_path / "bomb"
    spaces = b" " * (1 << 20)
    if packing == "gzip":
        with gzip.open(bomb, "wb", compresslevel=6) as file:
            for _ in range(400):
                file.write(spaces)
    else:
        with (
            zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open("trace.trace", "w") as entry,
        ):
            for _ in range(400):
                entry.write(spaces)
    assert bomb.stat().st_size < 3_000_000
    code, said, peak = in_bounds(
        "convert", bomb, "--out", tmp_path / "a.mrec", module="api.cli.main"
    )
    assert (code, "Traceback" in said) == (2, False), said
    assert "wanted" in said
    assert peak < 100 << 20


@pytest.mark.parametrize("what", ["device", "pipe", "folder"])
def test_only_a_regular_file_is_opened(what: str, tmp_path: Path) -> None:
    """A device has no end, a pipe may have no writer: both are refused at once."""
    path = {"device": Path("/dev/zero"), "pipe": tmp_path / "pipe", "folder": tmp_path}[what]
    if what == "pipe":
        os.mkfifo(path)
    code, said, peak = in_bounds(
        "convert", path, "--out", tmp_path / "a.mrec", module="api.cli.main"
    )
    assert (code, "Traceback" in said) == (2, False), said
    assert peak < 100 << 20


# -- the command


@pytest.fixture
def har_file(tmp_path: Path) -> Path:
    return write(tmp_path / "a.har", A_HAR)


def run(*arguments: object) -> int:
    return main(["convert", *map(str, arguments)])


@pytest.mark.usefixtures("_own_logs")
def test_the_command_converts_and_says_what_it_made(
    har_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.mrec"
    assert run(har_file, "--out", out) == 0
    assert capsys.readouterr().out.startswith(f"{out}: ")
    assert out.exists()


@pytest.mark.usefixtures("_own_logs")
def test_a_recording_that_is_there_is_not_replaced_unasked(
    har_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.mrec"
    out.write_text("mine")
    assert run(har_file, "--out", out) == 2
    assert "is there already; wanted another name, or --force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert run(har_file, "--out", out, "--force") == 0
    assert out.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert {path.name for path in tmp_path.iterdir()} == {"a.har", "a.mrec"}


@pytest.mark.usefixtures("_own_logs")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--out", "nowhere/a.mrec"], "its directory does not exist"),
        (["--out", "a.mrec", "--from", "pcap"], "--from: expected one of trace, har"),
        (["--out", "a.mrec", "--vouch", "weather"], "--vouch: expected nouns or kinds"),
        ([], "--out FILE is missing"),
    ],
)
def test_wrong_options_are_named(
    arguments: list[str], named: str, har_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(har_file, *arguments) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 3 << 20])
def test_no_more_of_a_file_is_read_than_is_wanted(tmp_path: Path, size: int) -> None:
    """By what was read, and not by what the file says of its size."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * size)
    if size > 10:
        with pytest.raises(NotRegularError, match="is larger than 10 bytes"):
            read_regular(file, 10)
    else:
        assert read_regular(file, 10) == b"x" * size
