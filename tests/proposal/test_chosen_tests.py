"""Recordings that would fail as tests of what is proposed: they are none, and that is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from api.cli.main import main
from detectors.model.codec import encode_event
from tests.support.logs import Said, clicked, episode, finished, log, went

GAP: list[Said] = [
    ("gap.began", {"source": "cdp", "reason": "lost"}),
    ("gap.ended", {"source": "cdp"}),
]


def order(*, sent: bool = True, hidden: Sequence[Said] = ()) -> list[Sequence[Said]]:
    answer = [finished("POST", "/orders/7", 201)] if sent else []
    return [[went("/cart")], [*hidden, clicked("Buy"), *answer]]


def write(folder: Path, name: str, steps: Sequence[Sequence[Said]], *, close: bool = True) -> str:
    lines = [
        encode_event(one.seq, one.source, one.kind, one.at, one.data)
        for one in log(*episode(*steps, close=close))
    ]
    path = folder / f"{name}.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(path)


def list_named(file: Path) -> list[str]:
    """The recordings that a task file names as its tests."""
    listed = yaml.safe_load(file.read_text()).get("tests", [])
    return [one.get("oracle") or one["adversarial"] for one in listed]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "order.yaml"


def test_a_failure_that_did_all_that_successes_did_is_no_test(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would have to fail: the task pays it the goal. That nothing separates them is said."""
    good, alike = write(tmp_path, "good", order()), write(tmp_path, "alike", order())
    less = write(tmp_path, "less", order(sent=False))
    asked = ["task", "propose", "--from", good, "--against", alike, "--against", less]
    assert main([*asked, "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert "note: nothing separates the failures from the successes" in said
    assert "note: alike.jsonl reaches the goal as the successes do, and is no test of it" in said
    assert "# Note: alike.jsonl reaches the goal as the successes do" in out.read_text()
    assert list_named(out) == ["good.jsonl", "less.jsonl"]
    assert main(["task", "test", str(out)]) == 0


def test_without_another_failure_the_file_lacks_a_test_and_says_so(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, alike = write(tmp_path, "good", order()), write(tmp_path, "alike", order())
    assert main(["task", "propose", "--from", good, "--against", alike, "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "written; it lacks an adversarial test: record more, and propose again" in shown.out
    assert list_named(out) == ["good.jsonl"]


def test_a_success_that_was_not_seen_whole_is_no_test(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its step is not known, so that it does not come to the total."""
    whole = write(tmp_path, "whole", order())
    dark = write(tmp_path, "dark", order(hidden=GAP))
    less = write(tmp_path, "less", order(sent=False))
    asked = ["task", "propose", "--from", whole, "--from", dark, "--against", less]
    assert main([*asked, "--out", str(out)]) == 0
    assert "note: dark.jsonl does not earn all that the task pays" in capsys.readouterr().err
    assert list_named(out) == ["whole.jsonl", "less.jsonl"]
    assert main(["task", "test", str(out)]) == 0


def test_a_failure_that_was_cut_off_is_no_test(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it lacks may have come after the recording's end."""
    good = write(tmp_path, "good", order())
    cut, less = (
        write(tmp_path, "cut", order(sent=False), close=False),
        write(tmp_path, "less", order(sent=False)),
    )
    asked = ["task", "propose", "--from", good, "--against", cut, "--against", less]
    assert main([*asked, "--out", str(out)]) == 0
    assert "note: cut.jsonl was not recorded to its end" in capsys.readouterr().err
    assert list_named(out) == ["good.jsonl", "less.jsonl"]
    assert main(["task", "test", str(out)]) == 0
