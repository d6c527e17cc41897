"""`milestoned recording show|verify`: what is shown, what is found, how it ends."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from api.cli.main import main
from detectors.model.codec import GENESIS, checksum_frame, encode_event, join_segment, sha256

Row = tuple[int, str, str, dict[str, Any]]

EVENTS: list[Row] = [
    (0, "journal", "episode.opened", {"task": "recording", "digest": ""}),
    (0, "journal", "gap.began", {"source": "files", "reason": "not watched"}),
    (0, "journal", "gap.began", {"source": "cdp", "reason": "starting"}),
    (1_000, "journal", "gap.ended", {"source": "cdp"}),
    (2_000_000, "steps", "step.began", {"step": 0, "action": {"click": "Go"}}),
    (3_000_000, "cdp", "tab.opened", {"tab": "T", "url": "http://a.example/"}),
    (4_000_000, "cdp", "element.clicked",
     {"tab": "T", "frame": "T", "trusted": True, "element": {"role": "button", "name": "\x1b[31mGo\x07", "tag": "i"}}),
    (5_000_000, "steps", "step.ended", {"step": 0}),
    (6_000_000, "steps", "step.sealed", {"step": 0, "reason": "quiet"}),
    (7_000_000, "journal", "episode.closed", {"reason": "done"}),
]  # fmt: skip


def texts(rows: list[Row], size: int = 4) -> list[bytes]:
    """The segments of these events, ``size`` in each."""
    lines = [
        encode_event(seq, source, kind, at, data)
        for seq, (at, source, kind, data) in enumerate(rows, 1)
    ]
    made: list[bytes] = []
    head = GENESIS
    for start in range(0, len(lines), size):
        made.append(join_segment("E", start + 1, lines[start : start + size], head))
        head = sha256(made[-1])
    return made


def frames(segments: list[bytes]) -> list[bytes]:
    return [zstandard.ZstdCompressor(level=3).compress(text) for text in segments]


def write(folder: Path, parts: list[bytes]) -> Path:
    path = folder / "it.mrec"
    path.write_bytes(b"".join(parts))
    return path


def with_checksum(parts: list[bytes]) -> list[bytes]:
    """As a recording file ends."""
    return [*parts, checksum_frame(hashlib.sha256(b"".join(parts)).digest())]


def run(*arguments: object) -> int:
    return main(["recording", *map(str, arguments)])


# -- verify

WHOLE = frames(texts(EVENTS))


def altered(find: bytes, put: bytes, segment: int = 0) -> list[bytes]:
    """The recording with bytes changed in one segment, its chain as it was."""
    changed = texts(EVENTS)
    assert find in changed[segment]
    changed[segment] = changed[segment].replace(find, put)
    return frames(changed)


def changed(number: int, **fields: Any) -> list[bytes]:
    """A recording that was written like that: its chain holds."""
    rows = [*EVENTS]
    at, source, kind, data = rows[number - 1]
    data = {**data, **fields.pop("data", {})}
    for name in fields.pop("without", ()):
        del data[name]
    rows[number - 1] = (
        fields.get("at", at),
        fields.get("source", source),
        fields.get("kind", kind),
        data,
    )
    return frames(texts(rows))


FOUND: list[tuple[str, Callable[[], list[bytes]], int, str]] = [
    ("whole", lambda: WHOLE, 0, "sound and closed; 10 events in 3 segments"),
    ("open", lambda: frames(texts(EVENTS[:-1])), 3, "sound, but open: it ends before its episode does; 9 events"),
    ("open at a segment", lambda: WHOLE[:2], 3, "sound, but open"),
    ("cut in a frame", lambda: [*WHOLE[:2], WHOLE[2][:-5]], 1, "the file ends within the frame"),
    ("cut in a frame's header", lambda: [*WHOLE[:2], WHOLE[2][:5]], 1, "the file ends within the frame"),
    ("cut by one byte", lambda: [WHOLE[0][:-1]], 1, "the file ends within the frame that begins at byte 0"),
    ("cut in a segment", lambda: frames([*texts(EVENTS)[:2], texts(EVENTS)[2][:-20]]), 1, "cut short"),
    ("first segment gone", lambda: WHOLE[1:], 1, "does not follow event 0"),
    ("a segment gone", lambda: [WHOLE[0], WHOLE[2]], 1, "the segment from event 9"),
    ("swapped", lambda: [WHOLE[1], WHOLE[0], WHOLE[2]], 1, "does not follow"),
    ("twice", lambda: [*WHOLE, WHOLE[2]], 1, "does not follow"),
    ("altered", lambda: altered(b'"not watched"', b'"not witched"'), 1, "the segment from event 5"),
    ("empty", list, 1, "the file is empty"),
    ("no zstd", lambda: [b"not a recording"], 1, "not zstd"),
    ("lines of events", lambda: [b'[1,1000,"journal","episode.opened",{}]\n'], 1, "task explain TASK"),
    ("zstd of something else", lambda: frames([b"hello\n"]), 1, "header: not JSON"),
    ("rubbish behind", lambda: [*WHOLE, b"rubbish that is no frame at all"], 1, "not zstd"),
    ("clock back", lambda: changed(7, at=1), 1, "event 7: at is 1, after 3000000; wanted a clock that never goes back"),
    ("unknown kind", lambda: changed(6, kind="tab.wobbled"), 1, "event 6: kind is 'tab.wobbled'"),
    ("wrong source", lambda: changed(6, source="files"), 1, "event 6: tab.opened of source 'files'; wanted 'cdp'"),
    ("unknown field", lambda: changed(6, data={"colour": "red"}), 1, "event 6: tab.opened has colour: 'red'"),
    ("missing field", lambda: changed(6, without=["url"]), 1, "event 6: tab.opened has no url"),
    ("step back", lambda: changed(5, data={"step": -1}), 1, "event 5: step is -1; wanted a number greater than -1"),
    ("step of another", lambda: changed(8, data={"step": 7}), 1, "event 8: step.ended of step 7; wanted 0"),
    ("opened late", lambda: frames(texts([EVENTS[1], EVENTS[0], *EVENTS[2:]])), 1, "wanted episode.opened as the"),
    ("after the close", lambda: frames(texts([*EVENTS, EVENTS[5]])), 1, "event 11: tab.opened after the episode's"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "code", "says"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND]
)
def test_verify_tells_sound_open_cut_and_altered_apart(
    make: Callable[[], list[bytes]],
    code: int,
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write(tmp_path, make() if code == 1 else with_checksum(make()))
    assert run("verify", path) == code
    told = capsys.readouterr()
    assert says in (told.out if code in (0, 3) else told.err)
    assert str(path) in told.out + told.err


@pytest.mark.parametrize("size", range(1, len(WHOLE[0]), 7))
def test_a_frame_cut_anywhere_is_noticed(size: int, tmp_path: Path) -> None:
    assert run("verify", write(tmp_path, [WHOLE[0][:size]])) == 1


def test_the_last_segment_is_held_by_its_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No digest follows the last one: who wrote it down can have it compared."""
    digest = sha256(texts(EVENTS)[-1])
    path = write(tmp_path, with_checksum(WHOLE))
    assert run("verify", path, "--head", digest) == 0
    assert digest in capsys.readouterr().out
    path = write(tmp_path, with_checksum(altered(b'"quiet"', b'"quite"', segment=2)))
    assert run("verify", path) == 0
    assert run("verify", path, "--head", digest) == 1
    assert f"wanted {digest}" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_file_that_is_not_there_is_named(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, tmp_path / "nowhere.mrec") == 2
    assert "nowhere.mrec: No such file" in capsys.readouterr().err


# -- show


def test_show_prints_events_and_what_they_come_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", write(tmp_path, WHOLE)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[5].split() == ["6", "0.003", "cdp", "tab.opened", "http://a.example/"]
    assert "button “ [31mGo ”" in lines[6]
    summary = dict(line.split(maxsplit=1) for line in lines[11:] if not line.startswith(" "))
    assert summary["episode"] == "E, 0.007 s, closed"
    assert summary["events"] == "10: cdp 2, journal 5, steps 3"
    assert summary["gaps"] == "2, 1 open at the end:"
    assert "not watched: files" in "\n".join(lines)
    assert sha256(texts(EVENTS)[-1]) in summary["digest"]


def test_what_a_page_wrote_cannot_steer_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path, changed(6, data={"url": "http://a.example/\x1b]0;x\x07\r\n\u202e\u200b"})
    )
    for arguments in (["show"], ["show", "--steps"], ["verify"]):
        run(*arguments, path)
        told = capsys.readouterr()
        assert not {"\x1b", "\x07", "\r", "\u202e", "\u200b"} & set(told.out + told.err)


@pytest.mark.parametrize(
    ("kinds", "numbers"),
    [("tab", [6]), ("step", [5, 8, 9]), ("gap.ended,element", [4, 7])],
    ids=str,
)
def test_show_takes_kinds_and_nouns(
    kinds: str, numbers: list[int], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run("show", "--json", "--kinds", kinds, write(tmp_path, WHOLE)) == 0
    rows = [orjson.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == numbers
    assert [tuple(row[1:]) for row in rows] == [EVENTS[number - 1] for number in numbers]


def test_a_kind_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", "--kinds", "weather", write(tmp_path, WHOLE)) == 2
    assert "--kinds weather: is not in" in capsys.readouterr().err


def test_a_kind_that_could_be_there_and_is_not_is_no_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--kinds gap,events` finds gaps and losses of any recording, also of one without losses."""
    path = write(tmp_path, WHOLE)
    assert run("show", "--json", "--kinds", "gap,events", path) == 0
    told = capsys.readouterr()
    assert [orjson.loads(line)[0] for line in told.out.splitlines()] == [2, 3, 4]
    assert told.err == f"note: --kinds events: none in {path}\n"


def test_show_steps_is_a_line_a_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "--steps", write(tmp_path, WHOLE)) == 0
    before, step, *_ = capsys.readouterr().out.splitlines()
    assert before.startswith("before")
    assert before.endswith("gap.began 2, gap.ended 1")
    assert step.startswith("step 0")
    assert step.endswith("element.clicked 1, tab.opened 1")


@pytest.mark.parametrize(
    "data",
    [
        {"element": 7},
        {"element": None},
        {"element": {"role": ["x"]}},
        {"trusted": {"a": 1}},
        {"element": "x" * 9999},
    ],
    ids=str,
)
def test_show_bears_any_data(
    data: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", write(tmp_path, changed(7, data=data))) == 0
    assert all(len(line) < 200 for line in capsys.readouterr().out.splitlines())


def test_sizes_say_what_takes_how_much(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.mrec"
    path.write_bytes(b"".join(frames(texts(EVENTS))))
    assert main(["recording", "show", str(path), "--sizes"]) == 0
    heading, first, *_, every, packed, each = capsys.readouterr().out.splitlines()
    clicks = len(orjson.dumps(EVENTS[6][3]))
    total = sum(len(orjson.dumps(data)) for *_, data in EVENTS)
    assert heading.split() == ["kind", "events", "bytes", "share"]
    assert first.split() == ["element.clicked", "1", str(clicks), f"{clicks / total:.1%}"]
    assert every.split()[:3] == ["all", str(len(EVENTS)), str(total)]
    assert packed == f"file: {path.stat().st_size:,} bytes, compressed"
    assert each.startswith(f"a step: {total:,} bytes")
