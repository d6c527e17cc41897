"""A recording carries what was said beyond the rules: whoever replays it gets what was sealed, and
asks nobody."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.pages.viewer import COOKIE
from api.replay.recordings import RecordingError, read_frames, read_said
from api.verdicts.recording_verdicts import MAGIC, frame_of
from detectors.model.codec import GENESIS, canonical, sha256, with_checksum
from tests.api.service import ADMIN, Store
from tests.api.test_recording_command import WHOLE
from tests.cascade.judged import milestoned, recorded, save
from tests.cascade.stage import Endpoint
from tests.cascade.test_escalation import SILENT, answering, endpoint, judged, task, verdicts
from tests.support.logs import episode, went

__all__ = ["answering", "endpoint"]
STEPS = ([*SILENT], [went("/nowhere")], [went("/cart")])


@pytest.fixture
async def file(tmp_path: Path, endpoint: Endpoint) -> Path:
    """A judged episode's recording, and its rewards beside it."""
    path = tmp_path / "it.mrec"
    async with judged(Store(tmp_path / "service"), endpoint) as service:
        rewards = await recorded(service, task(escalate=["unscored", "goal"]), path, *STEPS)
    path.with_suffix(".rewards").write_bytes(b"".join(one + b"\n" for one in rewards))
    return path


def test_a_replay_gives_what_was_sealed(
    file: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The very bytes, with no service and no judge."""
    assert milestoned("replay", file, "--task", file.with_suffix(".yaml"), "--json") == 0
    shown = capfdbinary.readouterr().out
    assert shown == file.with_suffix(".rewards").read_bytes()
    assert [orjson.loads(line)["decided_by"] for line in shown.splitlines()] == [
        "judge",
        "judge",
        "rule",
    ]
    assert milestoned("replay", file, "--task", file.with_suffix(".yaml")) == 0
    assert b"total 1.02 of 1; goal reached" in capfdbinary.readouterr().out


def test_without_its_verdicts_it_says_that_it_was_asked(file: Path, capsysbinary: Any) -> None:
    """Nobody knows what would have been said: null, masked, and never the rules' 0."""
    packed = file.read_bytes()
    file.write_bytes(packed[: packed.index(MAGIC.to_bytes(4, "little"))])
    assert milestoned("replay", file, "--task", file.with_suffix(".yaml"), "--json") == 0
    told = [orjson.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert [(one["status"], one["reward"]) for one in told] == [
        ("escalating", None),
        ("escalating", None),
        ("sealed", 0.4 + 0.6),
    ]
    assert milestoned("replay", file, "--task", file.with_suffix(".yaml")) == 0
    assert (
        b"total not known (seen: 1) of 1, 2 masked; goal reached" in capsysbinary.readouterr().out
    )


def test_a_rescore_reads_them_too(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of recordings as of stored episodes; nobody is asked, whatever the environment names."""
    out = tmp_path / "out.jsonl"
    spec = file.with_suffix(".yaml")
    assert (
        milestoned("rescore", file, "--task", spec, "--against", spec, "--out", out, "--workers", 1)
        == 0
    )
    (told,) = map(orjson.loads, out.read_bytes().splitlines()[1:])
    given = file.with_suffix(".rewards").read_bytes().splitlines()
    assert [canonical(one) for one in told["result"]["rewards"]] == given
    assert (told["result"]["total"], told["result"]["success"], "said" in told) == (
        1.02,
        True,
        False,
    )
    store = ["--stored", "--data", tmp_path / "service", "--workers", 1]
    assert milestoned("rescore", *store) == 0
    assert capsys.readouterr().out.endswith("1 episode: 1 the same\n")


def test_an_oracle_that_was_judged_is_tested_by_what_was_decided(file: Path, capsys: Any) -> None:
    """`task test` of a task with the recording beside it, as a file and bundled for the wire."""
    spec = file.with_suffix(".yaml")
    spec.write_text(
        spec.read_text() + "tests:\n- {oracle: it.mrec, total: 1.02}\n- {adversarial: it.mrec}\n"
    )
    assert milestoned("task", "test", spec) == 1  # it is no adversary: it reached the goal
    shown = capsys.readouterr().out
    assert "oracle it.mrec: ok, total 1.02 of 1" in shown
    assert "adversarial it.mrec: reached the goal" in shown


def test_the_tables_say_who_decided(file: Path, tmp_path: Path) -> None:
    """`milestoned export` of the recording and of the stored episode: the same rewards."""
    pq = pytest.importorskip("pyarrow.parquet")
    tables = []
    for name, given in (
        ("a", [file, "--task", file.with_suffix(".yaml")]),
        ("b", ["--stored", "--data", tmp_path / "service"]),
    ):
        assert milestoned("export", *given, "--out", tmp_path / name) == 0
        tables.append(pq.read_table(tmp_path / name / "rewards.parquet").to_pylist())
    assert tables[0] == tables[1]
    assert [one["decided_by"] for one in tables[0]] == ["judge", "judge", "rule"]


async def test_pages_export_them_and_compare_by_them(tmp_path: Path, endpoint: Endpoint) -> None:
    """The list's recordings are the wire's; another version of the task is compared with what was
    said read back."""
    async with judged(Store(tmp_path / "service"), endpoint) as service:
        path = tmp_path / "wire.mrec"
        await recorded(service, task(), path, *STEPS)
        logged_in = {"cookie": f"{COOKIE}={ADMIN}"}
        answer = await service.get(
            "/episodes/export", params={"format": "recordings"}, headers=logged_in
        )
        with zipfile.ZipFile(io.BytesIO(answer.content)) as made:
            (name,) = made.namelist()
            id = name.removesuffix(".mrec")
            assert made.read(name) == path.read_bytes()
        shown = (
            await service.get(
                "/compare", params={"a": id, "version": task()["version"]}, headers=logged_in
            )
        ).text
        assert "escalating" not in shown
        assert "(judge)" in shown


async def test_a_recording_without_verdicts_is_what_it_was(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    """The frames and their checksum, where nobody was asked; what still waits is said to wait."""
    async with judged(Store(tmp_path / "service"), endpoint) as service:
        id, token = await service.open(task(escalate="never"))
        made = await service.tell(id, token, *episode(*STEPS), sizes=[3])
        await save(service, id, tmp_path / "plain.mrec")
        assert (tmp_path / "plain.mrec").read_bytes() == with_checksum(b"".join(made))
        endpoint.say(hold=True)
        id, token = await service.open(task())
        made = await service.tell(id, token, *episode([went("/waits")]))
        await save(service, id, tmp_path / "waits.mrec")
        assert (tmp_path / "waits.mrec").read_bytes() == with_checksum(b"".join(made))
        endpoint.say(hold=False)
    assert frame_of([]) == b""


def said_in(path: Path) -> list[dict[str, Any]]:
    """The events of a recording's log of verdicts."""
    return read_said(path.read_bytes(), path)


def test_show_and_verify_tell_of_them(file: Path, capsysbinary: Any) -> None:
    """Who said how much, the head of their chain, and the bodies as they are stored."""
    bodies = said_in(file)
    assert [one["kind"] for one in bodies] == ["verdict.given", "step.decided"] * 2
    assert milestoned("recording", "show", file) == 0
    shown = capsysbinary.readouterr().out.decode()
    head = sha256(canonical(bodies[-1]))
    assert f"verdicts  2 words: judge 2; 2 steps decided, digest {head}" in shown
    assert milestoned("recording", "show", "--verdicts", file) == 0
    assert capsysbinary.readouterr().out == b"".join(canonical(one) + b"\n" for one in bodies)
    assert milestoned("recording", "verify", file, "--verdicts-head", head) == 0
    assert f"; 4 verdicts, digest {head}".encode() in capsysbinary.readouterr().out
    assert milestoned("recording", "verify", file, "--verdicts-head", "0" * 64) == 1
    assert b"wanted 0000" in capsysbinary.readouterr().err


async def test_the_service_s_own_log_is_what_is_exported(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    """The bodies, their digests and their order: a signed statement's head holds for the file."""
    async with judged(Store(tmp_path / "service"), endpoint) as service:
        id, token = await service.open(task())
        await service.tell(id, token, *episode([went("/own")]))
        await service.reward(id, 0, wait_ms=20_000)
        await save(service, id, tmp_path / "own.mrec")
        logged = await verdicts(service, id)
    said = said_in(tmp_path / "own.mrec")
    assert [{**one, "digest": sha256(canonical(one))} for one in said] == logged


def given(number: int, prev: str, **changed: Any) -> bytes:
    """One word of a log of verdicts."""
    verdict = {"stage": "judge", "score": 1.0, "confidence": 0.9, "why": "", "by": "m", "cost": 0.0}
    told = {"kind": "verdict.given", "item": "step", "audit": False, "evidence": [2], "record": {}}
    told |= {"episode": "E", "seq": number, "prev": prev, "step": 0}
    verdict |= {name: value for name, value in changed.items() if name in verdict}
    return canonical(
        {**told, "verdict": verdict, **{k: v for k, v in changed.items() if k not in verdict}}
    )


ONE = given(1, GENESIS)
TWO = [ONE, given(2, sha256(ONE))]


def altered(find: bytes, put: bytes) -> bytes:
    """The frame with as many other bytes in it."""
    whole = frame_of(TWO)
    assert find in whole
    assert len(find) == len(put)
    return whole.replace(find, put)


DAMAGED: list[tuple[str, Callable[[], bytes], str]] = [
    ("cut", lambda: frame_of(TWO)[:-9], "it was cut short"),
    ("cut in its head", lambda: frame_of(TWO)[:6], "it was cut short"),
    ("the last one changed", lambda: altered(b'"by":"m"', b'"by":"n"'), "verdict 2: prev is"),
    ("one changed", lambda: frame_of([ONE]).replace(b"0.9", b"0.8"), "verdict 1: its digest is"),
    ("one gone", lambda: frame_of(TWO[1:]), "verdict 1: seq is 2, wanted 1"),
    ("swapped", lambda: frame_of(TWO[::-1]), "verdict 1: seq is 2, wanted 1"),
    ("fewer than it says", lambda: altered(b'"count":2', b'"count":3'), "count is 3, but 2 verdicts follow"),
    ("another format", lambda: altered(b'"format":1', b'"format":7'), "wanted verdicts of format 1"),
    ("no header", lambda: altered(b'{"count"', b'"count"}'), "the verdicts' header: not JSON"),
    ("another's frame", lambda: b"\x50" + frame_of(TWO)[1:], "a frame with the magic number 0x184d2a50"),
    ("twice", lambda: frame_of(TWO) * 2, "a frame after the verdicts"),
    ("of another episode", lambda: frame_of([given(1, GENESIS, episode="F")]), "its verdicts are of 'F'"),
    ("of two", lambda: frame_of([ONE, given(2, sha256(ONE), episode="F")]), "verdict 2: episode is 'F', wanted 'E'"),
    ("a score of 7", lambda: frame_of([given(1, GENESIS, score=7)]), "verdict 1: the judge's score is 7"),
    ("money back", lambda: frame_of([given(1, GENESIS, cost=-1)]), "verdict 1: the judge's cost is -1"),
    ("nobody", lambda: frame_of([given(1, GENESIS, stage="rule")]), "wanted an item, audit, and a stage"),
    ("no item", lambda: frame_of([given(1, GENESIS, item=None)]), "wanted an item"),
    ("another kind", lambda: frame_of([given(1, GENESIS, kind="so")]), "kind is 'so'"),
    ("no step", lambda: frame_of([given(1, GENESIS, step=None)]), "step is None"),
    ("no events", lambda: frame_of([given(1, GENESIS, evidence=["e1"])]), "events' numbers as evidence"),
    ("no verdict", lambda: frame_of([given(1, GENESIS, verdict={})]), "verdict 1: TypeError"),
    ("an object", lambda: frame_of([given(1, GENESIS, verdict={"stage": "judge"})]), "verdict 1: TypeError"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "says"), [row[1:] for row in DAMAGED], ids=[row[0] for row in DAMAGED]
)
def test_a_damaged_one_is_refused_by_name(
    make: Callable[[], bytes], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By every reader: what was said is part of what it was worth."""
    packed = b"".join(WHOLE) + make()
    with pytest.raises(RecordingError) as refused:
        list(read_frames(packed, "it"))
    assert says in str(refused.value)
    path = tmp_path / "it.mrec"
    path.write_bytes(packed)
    assert milestoned("recording", "verify", path) == 1
    assert says in capsys.readouterr().err


SAID: list[tuple[str, dict[str, Any], str]] = [
    ("a step that was not", {"step": 9}, "verdict 1: of step 9, which the events do not have"),
    (
        "an event that was not",
        {"evidence": [77]},
        "verdict 1: rests on event 77; the last one is 10",
    ),
]


@pytest.mark.parametrize(
    ("changes", "says"), [row[1:] for row in SAID], ids=[row[0] for row in SAID]
)
def test_verify_holds_them_against_the_events(
    changes: dict[str, Any], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their chain holds, and yet they are not of this log."""
    path = tmp_path / "it.mrec"
    path.write_bytes(b"".join(WHOLE) + frame_of([given(1, GENESIS, **changes)]))
    assert milestoned("recording", "verify", path) == 1
    assert says in capsys.readouterr().err


def test_verify_holds_decisions_against_what_was_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step is decided once, by all that was said of it."""
    decided = {"kind": "step.decided", "episode": "E", "step": 0}
    first = canonical({**decided, "seq": 2, "prev": sha256(ONE), "verdicts": [1]})
    second = canonical({**decided, "seq": 3, "prev": sha256(first), "verdicts": []})
    path = tmp_path / "it.mrec"
    path.write_bytes(with_checksum(b"".join(WHOLE) + frame_of([ONE, first])))
    assert milestoned("recording", "verify", path) == 0
    path.write_bytes(b"".join(WHOLE) + frame_of([ONE, first, second]))
    assert milestoned("recording", "verify", path) == 1
    shown = capsys.readouterr().err
    assert "verdict 3: step 0 is decided again" in shown
    assert "verdict 3: rests on []; of step 0 are [1]" in shown
