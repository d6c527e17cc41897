"""The recorded scene: a rule can tell what was copied where and which programs ran; played again it
tells the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.desktop_machine.copying import GOLDEN, TEXT, scene, story
from tests.support.desktop import needs
from tests.support.logs import ruleset, run, worth


def golden() -> list[tuple[str, dict[str, Any]]]:
    return [tuple(orjson.loads(line)) for line in GOLDEN.read_bytes().splitlines()]


def observed(kind: str, **arguments: Any) -> dict[str, Any]:
    return {"observed": {"kind": kind, **arguments}}


COPIED = {"text": TEXT, "selection": "clipboard"}
RULES: dict[str, tuple[dict[str, Any], int | None]] = {
    # the condition, and the step that it is paid in
    "copied in the editor": (observed("clipboard.changed", app="Mousepad", where=COPIED), 1),
    "the other editor was started": (observed("process.started", where={"name": "featherpad"}), 2),
    "it was closed": (observed("process.ended", where={"name": "featherpad"}), 3),
    "a third of the screen changed": (
        observed("screen.captured", where={"changed": {"min": 0.3}, "step": 1}),
        2,
    ),
    "copied elsewhere": (observed("clipboard.changed", app="FeatherPad", where=COPIED), None),
    "another text": (observed("clipboard.changed", app="Mousepad", where={"text": "Quest"}), None),
    "a program that did not run": (observed("process.started", where={"name": "gedit"}), None),
    "the one that ran before": (
        observed("process.started", where={"name": "sh", "baseline": True}),
        None,
    ),
}


@pytest.mark.parametrize("what", RULES)
def test_rules_lean_on_the_recording(what: str) -> None:
    """Each pays in the step in which it was told: a step's picture comes after its seal, so in the
    next one."""
    condition, step = RULES[what]
    rewards = run(
        ruleset({"id": "it", "when": condition}),
        ("episode.opened", {"task": "t", "digest": "d"}),
        *golden(),
        ("episode.closed", {"reason": "done"}),
    )
    paid = [number for number, value in enumerate(worth(rewards)) if value]
    assert paid == ([] if step is None else [step])


def test_secrets_are_not_in_the_recording() -> None:
    assert b"geheim" not in GOLDEN.read_bytes()


@needs("mousepad", "featherpad")
def test_the_scene_played_again_tells_the_same(tmp_path: Path) -> None:
    """By the real daemon on the real programs; the pictures lie beside the recording."""
    events = scene(tmp_path)
    now, then = story((event.kind, event.data) for event in events), story(golden())
    for kind in ("process.started", "process.ended", "clipboard.changed", "screen.captured"):
        assert [told for told in now if told[0] == kind] == [
            told for told in then if told[0] == kind
        ]
    pictures = {event.data["sha256"] for event in events if event.kind == "screen.captured"}
    assert {file.stem for file in (tmp_path / "copying.mrec.screens").iterdir()} == pictures
    assert not (tmp_path / "copying.mrec.state").exists()
    for event in events:
        if event.kind == "screen.captured" and "step" in event.data:
            sealed = [
                e.seq
                for e in events
                if e.kind == "step.sealed" and e.data["step"] == event.data["step"]
            ]
            assert sealed[0] < event.seq
