"""kill -9 of the accessibility child at twenty random moments, while an editor is typed into."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from milestoned_client import Reward

from tests.faults.checks import as_without_the_fault, whole
from tests.faults.moments import MOMENTS, Moments
from tests.faults.script import PATIENCE_S, nothing
from tests.support.desktop import Desktop, listener_of, missing
from tests.support.stack import Stack


@pytest.fixture
def desktop() -> Iterator[Desktop]:
    if lacking := missing("mousepad"):
        pytest.skip(f"missing: {', '.join(lacking)}")
    with Desktop() as one:
        yield one


def task(steps: int) -> dict[str, Any]:
    """A word of its own is typed in every step."""
    words = [
        {
            "id": f"word-{n}",
            "when": {"widget_text": {"role": "text", "text": {"contains": f"w{n}."}}},
        }
        for n in range(steps)
    ]
    return {
        "id": "test/typing", "version": str(steps), "instruction": "Type.", "weights": {"ax": 1.0, "ui": 0.0},
        "settings": {"quiet_ms": 300, "settle_ms": 5000},
        "milestones": [{**one, "component": "ax"} for one in words],
    }  # fmt: skip


def typing(stack: Stack, desktop: Desktop, steps: int, between: Any = nothing) -> list[Reward]:
    """An editor with an empty file, a word a step."""
    note = desktop.folder / "note.txt"
    note.write_text("")
    editor = desktop.start("mousepad", "--disable-server", note)
    desktop.window("note.txt")
    stack.open(task(steps))
    episode = stack.watch(("--desktop",))
    for step in range(steps):
        between(step)
        episode.step({"type": step}, step=step)
        desktop.type(f"w{step}.")
        episode.end_step(step)
        assert episode.reward(step, wait_s=PATIENCE_S).settled
    closing = stack.episode.close(wait_s=PATIENCE_S)
    assert closing.status == "closed"
    desktop.end({editor.pid})
    return list(closing.rewards)


@pytest.mark.slow
def test_the_accessibility_child_killed(desktop: Desktop, tmp_path: Path) -> None:
    """What was typed unseen is null and masked; what the next child finds there is nobody's
    merit."""
    inside = ("env", *(f"{name}={value}" for name, value in desktop.environ.items()))
    steps = MOMENTS + 2
    with Stack(tmp_path, watch_with=inside) as stack:
        calm = typing(stack, desktop, steps)
        assert all(reward.reward for reward in calm[:steps])

        def kill() -> None:
            while (child := listener_of(stack.daemon.part.pid)) is None:
                pass
            os.kill(child, signal.SIGKILL)

        with Moments(10, kill, MOMENTS) as faults:
            shaken = typing(stack, desktop, steps, faults.step)
        assert faults.done == MOMENTS
        events = whole(stack, shaken, task(steps))
        reasons = [e.data["reason"] for e in events if e.kind == "gap.began"]
        assert 0 < reasons.count("the accessibility child ended with -9") <= MOMENTS, (
            "one that is not ready is no loss"
        )
        as_without_the_fault(calm, shaken, events, {"ax"})
