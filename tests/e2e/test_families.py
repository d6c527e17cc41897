"""The six families of desktop work: what their runs on real Chromium, and of e-mail in Thunderbird too,
were paid, from recordings that the daemon made, and live by `milestoned demo FAMILY`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from api.replay.task_tests import read_events
from api.tasks.task_files import load_task_file
from api.verdicts.recorded import Playback
from detectors.task.ruleset import Ruleset, compile_task
from lab.cli.demo import replay_arguments
from lab.demo.families import (
    DESKTOP_FAMILIES,
    FAMILIES,
    Family,
    family_task,
    show_side_by_side,
)
from lab.demo.needs import LackingError, find_desktop
from lab.demo.show import DemoScreen
from tests.api.service import events, frames
from tests.e2e.test_demo import _milestoned
from tests.support.chromium import needs_chromium
from tests.support.desktop import needs
from tests.support.logs import Said, clicked, episode, ruleset, went

WORTH: dict[Family, dict[str, float]] = {
    "web": {"page": 0.25, "seen": 0.25, "answered": 0.5},
    "form": {"filled": 0.2, "submitted": 0.3, "banner": 0.5},
    "files": {"created": 1.0, "content": 0.5, "folder": 0.25},
    "mail": {"addressed": 0.25, "attached": 0.5, "sent": 1.0},
    "mail-desktop": {"addressed": 0.25, "attached": 0.5, "sent": 1.0},
    "settings": {"panel": 0.25, "toggle": 0.25, "saved": 0.5},
    "search": {"query": 0.25, "results": 0.5, "opened": 0.5},
}
"""What each milestone pays, to the letter of the families' descriptions."""

LACKING: dict[Family, set[str]] = {
    "web": {"answered"},  # the yearly price
    "form": {"submitted", "banner"},  # the dialog was answered no
    "files": {"content"},  # another month's file, of the same name
    "mail": {"attached", "sent"},  # the file was forgotten
    "mail-desktop": {"attached", "sent"},  # likewise
    "settings": {"saved"},  # left without saving
    "search": {"opened"},  # another of the results
}
"""What the wrong run is not paid for."""

NEAREST: dict[Family, str] = {
    "web": "answer_matches: nearest: event",
    "form": "dialog_answered: nearest: event",
    "files": "file_matches: nearest: event",
    "mail": "requires attached, which was not reached",
    "mail-desktop": "requires attached, which was not reached",
    "settings": "request_accepted: nearest: event",
    "search": "url_reached: nearest: event",
}
"""What the demo says of why."""


LIVE = [
    pytest.param(
        family, marks=needs("thunderbird") if family in DESKTOP_FAMILIES else needs_chromium
    )
    for family in FAMILIES
]
"""The families, each with what it needs of the machine."""


def _rules(family: Family) -> Ruleset:
    return compile_task(load_task_file(family_task(family)))


def _recording(family: Family, kind: str) -> Path:
    return family_task(family).parent / "recordings" / f"{family}.{kind}.mrec"


def _paid(family: Family, kind: str) -> tuple[dict[str, Any], bool | None]:
    """What each milestone was paid in a recorded run, and whether the goal was reached."""
    playback = Playback(_rules(family), "recorded", ())
    playback.take(read_events(_recording(family, kind)))
    assert playback.total is not None, [reward.reason for reward in playback.rewards]
    paid = {
        id: pytest.approx(sum(one.worth for reward in playback.rewards for one in reward.milestones if one.id == id))
        for id in WORTH[family]
    }  # fmt: skip
    return paid, playback.success


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_pays_its_literal_weights_and_what_was_done_wrong_nothing(family: Family) -> None:
    rules = _rules(family)
    shares = {m.id: share for m, share in zip(rules.task.milestones, rules.share, strict=True)}
    assert shares == WORTH[family]
    assert _paid(family, "right") == (WORTH[family], True)
    reached = {id: 0 if id in LACKING[family] else worth for id, worth in WORTH[family].items()}
    assert _paid(family, "wrong") == (reached, False)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_runs_stand_side_by_side_with_the_reason_of_what_was_not_paid(family: Family) -> None:
    out = io.StringIO()
    recordings = {kind: _recording(family, kind) for kind in ("right", "wrong")}
    show_side_by_side(DemoScreen(out), _rules(family), recordings)
    said = out.getvalue()
    _hold(family, said)
    assert NEAREST[family] in " ".join(said.split())


def test_what_came_true_in_a_masked_step_is_not_told_as_paid(tmp_path: Path) -> None:
    """A run whose daemon was blind in the step: what the milestone was paid is not known."""
    rules = ruleset({"id": "page", "when": {"url_reached": {"url": "/a"}}, "component": "nav"})
    blind: list[Said] = [("gap.began", {"source": "cdp", "reason": "gone"}), went("/a")]
    paths = {"right": tmp_path / "right.mrec", "wrong": tmp_path / "wrong.mrec"}
    for path, step in zip(paths.values(), ([went("/a")], blind), strict=True):
        path.write_bytes(b"".join(frames(events("ep_1", *episode(step)))))
    out = io.StringIO()
    show_side_by_side(DemoScreen(out), rules, paths)
    row, *_, total, _ = (" ".join(line.split()) for line in out.getvalue().splitlines()[1:])
    assert row == "page 0.1 +0.1 in step 0 not known in step 0"
    assert total == "total 0.1 0.1 of 0.1 not known of 0.1"


def test_what_stands_beside_a_penalty_in_a_step_that_is_not_known_is_not_told_as_paid(
    tmp_path: Path,
) -> None:
    """Of such a step the penalty alone is known, and the table says so of the milestone."""
    rules = ruleset(
        {"id": "page", "when": {"url_reached": {"url": "/a"}}, "component": "nav"},
        {"id": "rude", "when": {"element_clicked": {"name": "Rude"}}, "penalty": 0.5},
    )
    gap = {"source": "cdp", "reason": "gone"}
    blind: list[Said] = [
        ("gap.began", gap),
        ("gap.ended", {"source": "cdp"}),
        clicked("Rude"),
        went("/a"),
    ]
    recording = tmp_path / "it.mrec"
    recording.write_bytes(b"".join(frames(events("ep_1", *episode(blind)))))
    out = io.StringIO()
    show_side_by_side(DemoScreen(out), rules, {"right": recording, "wrong": recording})
    rows = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert "page 0.1 not known in step 0 not known in step 0" in rows
    assert "rude -0.5 -0.5 in step 0 -0.5 in step 0" in rows


def _hold(family: Family, said: str) -> None:
    """Hold a printed table against `WORTH` and `LACKING`."""
    rows = {cells[0]: cells for line in said.splitlines() if (cells := line.split())}
    at_most = sum(WORTH[family].values())
    lacking = sum(WORTH[family][id] for id in LACKING[family])
    wrong = at_most - lacking
    assert (
        rows["total"]
        == f"total {at_most:g} {at_most:g} of {at_most:g} {wrong:g} of {at_most:g}".split()
    )
    assert rows["goal"] == "goal reached not reached".split()
    for id, worth in WORTH[family].items():
        assert rows[id][:3] == [id, f"{worth:g}", f"+{worth:g}"]
        assert (rows[id][-1] == "0") is (id in LACKING[family])


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("family", LIVE)
def test_a_family_runs_live_with_one_command(family: Family, tmp_path: Path) -> None:
    done = _milestoned("demo", family, "--out", "out", cwd=tmp_path, timeout_s=300)
    assert done.returncode == 0, done.stdout + done.stderr
    _hold(family, done.stdout[done.stdout.index("milestone ") :])
    assert done.stdout.count("the same bytes") == 2
    assert {one.name for one in (tmp_path / "out").iterdir()} == {
        f"{family}.right.mrec", f"{family}.wrong.mrec", "service",
    }  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_the_command_that_a_demo_names_replays_its_recording(family: Family) -> None:
    origin = _rules(family).task.origin
    arguments = replay_arguments(_recording(family, "right"), family_task(family), origin)
    done = _milestoned(*arguments, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr
    assert "goal reached" in done.stdout


def test_a_desktop_program_that_is_missing_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LackingError, match=r"missing: thunderbird.*") as refused:
        find_desktop("thunderbird")
    assert "sudo apt-get install thunderbird xvfb xdotool" in str(refused.value)
