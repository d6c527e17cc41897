"""`milestoned rescore` over recordings: what is shown, how it ends, and that it matters not who
works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from detectors.sdk.registry import rules
from tests.api.service import TASK
from tests.rescoring.corpus import changed, record, rescore, written

COUNT = 23


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return record(tmp_path / "corpus", COUNT)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return written(tmp_path / "old.yaml", TASK)


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """Wants another cart, and sees the name that is filled in."""
    task = changed(cart={"url_reached": {"url": "/nowhere"}})
    name = {"id": "name", "when": {"field_filled": {"field": "Name", "value": "Ann"}}}
    return written(tmp_path / "new.yaml", {**task, "milestones": [*task["milestones"], name]})


def lines(path: Path) -> list[Any]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_nothing_changed_is_0(corpus: Path, old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rescore(corpus, "--task", old, "--against", old) == 0
    assert capsys.readouterr().out == f"{COUNT} episodes: {COUNT} the same\n"


def test_each_difference_is_shown_with_both_sides_and_ends_with_1(
    tmp_path: Path, old: Path, new: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = record(tmp_path / "one", 1)
    assert rescore(corpus, "--task", new, "--against", old) == 1
    shown = capsys.readouterr().out
    assert f"{corpus}/0/00000.mrec: total 0.5 → 0.4, success yes → no; ruleset " in shown
    assert (
        "  step 1: 0.1 → 0.2\n    lost cart\n      old: +0.100 in step 1, by url_reached"
        f" v{rules()['url_reached'].version}\n" in shown
    )
    version = rules()["field_filled"].version
    assert f"    gained name\n      new: +0.200 in step 1, by field_filled v{version}\n" in shown
    assert "page.navigated       http://shop.test/cart" in shown
    assert shown.endswith(
        "milestone cart: 1 lost\nmilestone done: 1 lost\nmilestone name: 1 gained\n1 episode: 1"
        " changed\n"
    )


def test_json_is_a_line_for_each_changed_episode_and_a_summary(
    corpus: Path, old: Path, new: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert rescore(corpus, "--task", new, "--against", old, "--json") == 1
    *told, last = map(orjson.loads, capfdbinary.readouterr().out.splitlines())
    assert {one["status"] for one in told} == {"changed"}
    assert [one["name"] for one in told] == sorted(one["name"] for one in told)
    assert last["summary"]["changed"] == len(told) > 0
    assert last["summary"]["milestones"]["cart"]["lost"] == sum(
        m["id"] == "cart"
        for one in told
        for step in one["differences"]["steps"]
        for m in step["milestones"]
    )


def test_any_number_of_workers_gives_the_same_bytes(
    corpus: Path,
    old: Path,
    new: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("api.rescoring.running.TOGETHER", 3)
    outs, shown = [], []
    for workers in (1, 2, 5):
        outs.append(tmp_path / f"{workers}.jsonl")
        assert (
            rescore(
                corpus, "--task", new, "--against", old, "--workers", workers, "--out", outs[-1]
            )
            == 1
        )
        shown.append(capfd.readouterr().out)
    assert len({out.read_bytes() for out in outs}) == 1
    assert len(set(shown)) == 1
    assert [one["name"] for one in lines(outs[0])[1:]] == sorted(
        str(path) for path in corpus.rglob("*.mrec")
    )


def test_results_are_kept_beside_and_compared_with_later(
    corpus: Path, old: Path, new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The review of a change of the code: results under the build as it was, then against them."""
    kept = tmp_path / "kept.jsonl"
    assert rescore(corpus, "--task", old, "--out", kept, "--workers", 1) == 0
    before = kept.read_bytes()
    assert rescore(corpus, "--task", old, "--against", kept, "--workers", 1) == 0
    assert (
        rescore(
            corpus,
            "--task",
            new,
            "--against",
            kept,
            "--workers",
            1,
            "--out",
            tmp_path / "new.jsonl",
        )
        == 1
    )
    assert kept.read_bytes() == before
    rulesets = {one["result"]["ruleset"] for one in lines(tmp_path / "new.jsonl")[1:]}
    assert len(rulesets) == 1
    assert rulesets != {one["result"]["ruleset"] for one in lines(kept)[1:]}
    capsys.readouterr()
    moved = corpus / "0" / "00000.mrec"
    moved.rename(corpus / "renamed.mrec")
    assert rescore(corpus, "--task", old, "--against", kept, "--workers", 1) == 0
    (corpus / "renamed.mrec").unlink()
    capsys.readouterr()
    assert rescore(corpus, "--task", old, "--against", kept, "--workers", 1) == 1
    assert f"{moved}: has an earlier result, but is not there any more" in capsys.readouterr().out


NO_RESULTS = {
    "a text": b"notes of mine\n",
    "a task": b"id: t\nversion: 1\n",
    "other JSON lines": b'{"milestoned":"trajectories","format":1}\n{"a":1}\n',
    "JSON": b"[1]",
    "a recording": b"\x28\xb5\x2f\xfd" * 9,
}


@pytest.mark.parametrize("content", NO_RESULTS.values(), ids=NO_RESULTS)
@pytest.mark.parametrize("name", ["mine.jsonl", "out.jsonl.part"])
def test_what_is_no_earlier_output_is_not_replaced(
    content: bytes,
    name: str,
    corpus: Path,
    old: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mine = tmp_path / name
    mine.write_bytes(content)
    out = mine.with_name(name.removesuffix(".part"))
    assert rescore(corpus, "--task", old, "--out", out, "--workers", 1) == 2
    assert str(mine) in capsys.readouterr().err
    assert mine.read_bytes() == content


def test_earlier_output_an_empty_file_and_with_force_any_is_replaced(
    corpus: Path, old: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    out.touch()
    assert rescore(corpus, "--task", old, "--out", out, "--workers", 1) == 0
    first = out.read_bytes()
    assert rescore(corpus, "--task", old, "--out", out, "--workers", 1) == 0
    out.write_bytes(b"notes of mine")
    assert rescore(corpus, "--task", old, "--out", out, "--workers", 1, "--force") == 0
    assert out.read_bytes() == first


def test_an_episode_without_an_earlier_result_is_no_equal_one(
    corpus: Path, old: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.jsonl"
    assert rescore(corpus, "--task", old, "--out", kept, "--workers", 1) == 0
    record(corpus, COUNT + 1)
    assert rescore(corpus, "--task", old, "--against", kept, "--workers", 1) == 1


def test_one_broken_recording_is_named_and_the_others_are_scored(
    corpus: Path, old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = corpus / "1" / "00001.mrec"
    broken.write_bytes(broken.read_bytes()[:-9])
    assert rescore(corpus, "--task", old, "--against", old) == 2
    shown = capsys.readouterr().out
    assert f"{broken}: byte" in shown
    assert shown.endswith(f"{COUNT} episodes: {COUNT - 1} the same, 1 could not be scored\n")


def test_of_several_tasks_each_episode_has_the_one_that_it_names(
    tmp_path: Path, old: Path, new: Path
) -> None:
    corpus, out = record(tmp_path / "corpus", 2), tmp_path / "out.jsonl"
    mine = written(
        tmp_path / "mine.yaml", {**TASK, "id": "t"}
    )  # what the tests' logs say they were opened for
    assert rescore(corpus, "--task", new, "--task", mine, "--out", out, "--workers", 1) == 0
    assert {one["result"]["task"] for one in lines(out)[1:]} == {"t"}
    other = written(tmp_path / "other.yaml", {**TASK, "id": "other"})
    assert (
        rescore(
            corpus, "--task", new, "--task", other, "--out", tmp_path / "no.jsonl", "--workers", 1
        )
        == 2
    )
    assert (
        "names task 't'; wanted one of other, shop/cart" in lines(tmp_path / "no.jsonl")[1]["error"]
    )


@pytest.mark.parametrize("torn", [0, 1, 700], ids=["after a line", "in a line", "far back"])
def test_a_run_goes_on_where_it_was_interrupted(
    corpus: Path,
    old: Path,
    new: Path,
    tmp_path: Path,
    torn: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Text and file of the second run are those of one that was never interrupted."""
    out, again = tmp_path / "out.jsonl", tmp_path / "again.jsonl"
    assert rescore(corpus, "--task", new, "--against", old, "--workers", 1, "--out", out) == 1
    shown = capsys.readouterr().out
    whole = out.read_bytes()
    cut = whole.index(b"\n", len(whole) // 2) + 1 - torn
    again.with_name("again.jsonl.part").write_bytes(whole[:cut])
    assert rescore(corpus, "--task", new, "--against", old, "--workers", 1, "--out", again) == 1
    assert again.read_bytes() == whole
    assert capsys.readouterr().out == shown
    assert not again.with_name("again.jsonl.part").exists()


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(old: Path, new: Path, tmp_path: Path) -> None:
    """kill -9 of the process with its workers at work; none of them stays."""
    corpus, out = record(tmp_path / "corpus", 1_500), tmp_path / "out.jsonl"
    part = out.with_name("out.jsonl.part")
    command = [
        sys.executable,
        "-m",
        "api.cli.main",
        "rescore",
        corpus,
        "--task",
        new,
        "--against",
        old,
        "--workers",
        "2",
    ]
    with subprocess.Popen([*command, "--out", out], stdout=subprocess.DEVNULL) as run:
        while not part.exists() or part.stat().st_size < 10_000:
            assert run.poll() is None, "the run was over before it could be killed"
        children = _children(run.pid)
        run.send_signal(signal.SIGKILL)
    assert children
    for child in children:
        while Path(f"/proc/{child}").exists() and _state(child) != "Z":
            os.sched_yield()
    assert not out.exists()
    done = part.read_bytes().count(b"\n")
    assert 1 < done < 1_501
    assert rescore(corpus, "--task", new, "--against", old, "--out", out) == 1
    assert (
        rescore(
            corpus,
            "--task",
            new,
            "--against",
            old,
            "--workers",
            1,
            "--out",
            tmp_path / "whole.jsonl",
        )
        == 1
    )
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def _children(pid: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in found.stdout.split()]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_a_run_over_other_rules_or_files_does_not_go_on(
    corpus: Path, old: Path, new: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    assert rescore(corpus, "--task", old, "--workers", 1, "--out", out) == 0
    part = out.with_name("out.jsonl.part")
    out.rename(part)
    assert rescore(corpus, "--task", new, "--workers", 1, "--out", out) == 2
    assert (
        f"{part}: was begun by a run over other episodes, rules or options"
        in capsys.readouterr().err
    )
    first = corpus / "0" / "00000.mrec"
    first.write_bytes((corpus / "1" / "00001.mrec").read_bytes())
    assert rescore(corpus, "--task", old, "--workers", 1, "--out", out) == 2
    assert f"{first}: has changed, or is gone, since this run began" in capsys.readouterr().err


REFUSED = {
    "nothing": ([], "nothing to score: wanted recordings"),
    "no task": (["CORPUS"], "--task: recordings do not hold the task"),
    "nothing to compare with": (
        ["CORPUS", "--task", "OLD"],
        "--against: wanted the task as it was",
    ),
    "no such file": (
        ["nowhere.mrec", "--task", "OLD", "--against", "OLD"],
        "nowhere.mrec: no recording there",
    ),
    "an empty folder": (
        ["EMPTY", "--task", "OLD", "--against", "OLD"],
        "a folder with .mrec files",
    ),
    "no such task": (["CORPUS", "--task", "nowhere.yaml"], "nowhere.yaml: No such file"),
    "a bad task": (["CORPUS", "--task", "BAD", "--out", "x.jsonl"], "milestones"),
    "a task twice": (
        ["CORPUS", "--task", "OLD", "--task", "NEW", "--out", "x.jsonl"],
        "shop/cart is given twice",
    ),
    "no results": (["CORPUS", "--task", "OLD", "--against", "NONE"], "not a results file"),
    "no workers": (
        ["CORPUS", "--task", "OLD", "--against", "OLD", "--workers", "0"],
        "--workers: expected a whole number from 1",
    ),
    "both": (["CORPUS", "--stored", "--task", "OLD"], "--stored: wanted no recordings with it"),
    "labels of files": (["CORPUS", "--task", "OLD", "--label", "a=b"], "wanted --stored with them"),
    "no database": (["--stored", "--data", "EMPTY"], "--stored: there is no database"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_asked_wrong_is_refused_with_2(
    case: str,
    corpus: Path,
    old: Path,
    new: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    none = tmp_path / "none.jsonl"
    none.write_text("{}\n")
    bad = written(tmp_path / "bad.yaml", {**TASK, "milestones": []})
    places = {
        "CORPUS": corpus,
        "OLD": old,
        "NEW": new,
        "EMPTY": tmp_path / "empty",
        "NONE": none,
        "BAD": bad,
    }
    arguments, says = REFUSED[case]
    assert rescore(*(places.get(one, one) for one in arguments)) == 2
    assert says in capsys.readouterr().err
