"""`milestoned replay` in words: what it says beside a reward that is null, or that may be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard

from api.cli.main import main
from detectors.model.codec import GENESIS, encode_segment
from tests.support.logs import ORIGIN, Said, clicked, episode, log, went

GO: dict[str, Any] = {"element_clicked": {"name": "Go"}}
HELLO: dict[str, Any] = {"text_visible": {"text": "Hello"}}
SWITCHED: dict[str, Any] = {"element_state": {"name": "On", "checked": True}}
GAP: Said = ("gap.began", {"source": "cdp", "reason": "the browser is gone"})


def replay(
    folder: Path,
    when: dict[str, Any],
    *said: Said,
    opened: dict[str, Any] | None = None,
    more: Sequence[dict[str, Any]] = (),
) -> list[str]:
    """Replay one step under a task of one milestone, and of those in ``more``; return the file
    names of task and recording. ``opened``: what the recording says of its episode, where that is
    not the usual."""
    recording, task = folder / "it.mrec", folder / "task.yaml"
    lines = episode(said)
    if opened is not None:
        lines[0] = ("episode.opened", opened)
    text = encode_segment(log(*lines), GENESIS)
    recording.write_bytes(zstandard.ZstdCompressor().compress(text))
    spec = {"id": "t", "version": "1", "instruction": "Do it.", "origin": "http://other.test"}
    milestones = [{"id": "m", "when": when}, *more]
    task.write_text(yaml.safe_dump({**spec, "milestones": milestones}))
    change = f"origin={ORIGIN}"
    assert main(["replay", str(recording), "--task", str(task), "--set", change]) == 0
    return [str(task), str(recording)]


def test_a_null_step_names_the_command_that_explains_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the same files and changes, and what came true in the step is not shown as paid."""
    task, recording = replay(tmp_path, GO, GAP, clicked("Go"))
    out, err = capsys.readouterr()
    assert "events 4; not paid, since the step is null)" in out
    command = f"milestoned task explain {task} {recording} --set origin={ORIGIN}"
    assert f"{command}; what to do about each reason: docs/how-to/null-rewards.md" in err
    assert main(command.split()[1:]) == 0
    assert "not paid, since the step is null: cdp saw nothing" in capsys.readouterr().out


def test_what_came_true_beside_a_penalty_in_a_step_that_is_not_known_was_not_paid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of such a step the penalty alone is known."""
    rude: dict[str, Any] = {
        "id": "rude",
        "when": {"element_clicked": {"name": "Rude"}},
        "penalty": 0.5,
    }
    back: Said = ("gap.ended", {"source": "cdp"})
    replay(tmp_path, GO, GAP, back, clicked("Rude"), clicked("Go"), more=[rude])
    out, _ = capsys.readouterr()
    assert "events 6; not paid, since only a penalty is known of the step)" in out
    assert "rude (element_clicked; events 5)" in out


def test_a_known_step_has_neither(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay(tmp_path, GO, clicked("Go"))
    out, err = capsys.readouterr()
    assert "not paid" not in out
    assert "task explain" not in err


def test_a_milestone_that_did_not_pay_is_named_with_the_command_that_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task, recording = replay(tmp_path, GO, clicked("Gone"))
    command = f"milestoned task explain {task} {recording} --set origin={ORIGIN}"
    note = f"note: not paid: m. What came nearest: {command}\n"
    assert capsys.readouterr().err.endswith(note)
    assert main(command.split()[1:]) == 0
    assert "name is “Gone”, wanted “Go”" in capsys.readouterr().out


@pytest.mark.parametrize("is_reported", [False, True])
def test_a_kind_that_a_recording_was_perhaps_never_asked_for_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_reported: bool
) -> None:
    """The recording is of another task, and has no event of the kind that this one needs."""
    other = ("text.appeared", {"tab": "T", "frame": "T", "text": "Bye"})
    replay(tmp_path, HELLO, *([other] if is_reported else []))
    noted = "note: no text.appeared is in the recording" in capsys.readouterr().err
    assert noted is not is_reported


def test_a_kind_that_the_daemon_did_not_know_is_null_and_noted_as_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither command says that the recording's task might have asked for it."""
    opened = {"task": "t", "digest": "another"}
    old = replay(tmp_path, SWITCHED, clicked("On"), opened=opened)
    command = f"milestoned task explain {' '.join(old)}"
    out, err = capsys.readouterr()
    assert "null  cdp:element.state_changed saw nothing from event 1: the daemon of" in out
    assert "element.state_changed" not in err
    main([*command.split()[1:], "--set", f"origin={ORIGIN}"])
    explained = capsys.readouterr().out
    assert "element_state: no event that this rule reads is in the log" in explained
    assert "asks for it" not in explained


@pytest.mark.parametrize("digest", [{}, {"digest": "another"}], ids=["of no task", "of another"])
def test_a_recording_of_no_task_and_of_another_site_is_named_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], digest: dict[str, str]
) -> None:
    """As a converted one is, or one that `agentd record` made without a task."""
    replay(tmp_path, GO, went("http://shop.test:8000/"), opened=digest)
    err = capsys.readouterr().err
    assert f"of the task's origin {ORIGIN}" in err
    assert "not paid" not in err, "another task's site says why"


@pytest.mark.parametrize("is_own", [False, True])
def test_a_recording_of_another_site_is_named_with_the_option_that_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_own: bool
) -> None:
    """Rules about pages pay 0 there, which is no fault of the agent's."""
    pages = [went("http://shop.test:8000/"), *([went("/")] if is_own else [])]
    command = f"milestoned task explain {' '.join(replay(tmp_path, GO, *pages))}"
    noted = f"of the task's origin {ORIGIN}, so that rules about pages pay 0; its pages are of"
    assert (noted in capsys.readouterr().err) is not is_own
    main([*command.split()[1:], "--set", f"origin={ORIGIN}"])
    err = capsys.readouterr().err
    assert (err == "") is is_own
    assert err.rstrip().endswith("" if is_own else "--set origin=http://shop.test:8000")
