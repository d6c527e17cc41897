"""One session of an agent that writes files, calls tools and answers, whose rewards without a fault
are known.

The same deeds in every run, so that what a fault changed shows in the rewards.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from milestoned_client import Episode, PeerUnreachableError, Reward, ServiceFaultError

from tests.support.stack import Stack

T = TypeVar("T")
STEPS = 12
PATIENCE_S = 90.0
"""How long a reward may take while what is needed for it is killed and started again."""
FULL = 507
"""The daemon's answer while its journal can keep nothing."""


def nothing(*_: object) -> None:
    """No fault."""


def task(steps: int = STEPS) -> dict[str, Any]:
    """A file is wanted in every second step, the answer at the end; one file must never be
    there."""
    forbidden = {"none_of": {"of": [{"file_created": {"name": "forbidden.txt"}}]}}
    files = [
        {"id": f"note-{n}", "when": {"file_created": {"name": f"note-{n}.txt"}}}
        for n in range(0, steps, 2)
    ]
    return {
        "id": "test/notes",
        "version": str(steps),
        "instruction": "Write the notes and say 42.",
        "weights": {"file": 0.5, "answer": 0.2, "goal": 0.3},
        "settings": {"quiet_ms": 150, "settle_ms": 5000},
        "milestones": [
            *files,
            {"id": "said", "when": {"answer_matches": {"text": {"number": 42}}}},
            {
                "id": "clean",
                "component": "goal",
                "when": {"all_of": {"of": [forbidden, _answered()]}},
            },
            {"id": "all", "when": {"goal": {"requires": [*(one["id"] for one in files), "said"]}}},
        ],
    }


def _answered() -> dict[str, Any]:
    return {"answer_matches": {"text": {"number": 42}}}


def said_again(say: Callable[[], T]) -> T:
    """Say what is answered alike when it is heard twice, until it is answered."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return say()
        except (PeerUnreachableError, ServiceFaultError) as error:
            if time.monotonic() > until or getattr(error, "status", FULL) != FULL:
                raise
            time.sleep(0.05)


def walk(
    episode: Episode,
    folder: Path,
    steps: int = STEPS,
    between: Callable[[int], None] = nothing,
    within: Callable[[int, Episode], None] = nothing,
) -> list[Reward]:
    """The whole session. ``between`` is told each step before it begins, ``within`` when its file
    is written.

    Gives all final rewards.
    """
    for step in range(steps):
        between(step)
        said_again(partial(episode.step, {"write": step}, step=step))
        said_again(partial(episode.tool_called, f"c{step}", "editor", {"note": step}))
        (folder / f"note-{step}.txt").write_text(f"note {step}")
        within(step, episode)
        said_again(partial(episode.tool_returned, f"c{step}", ok=True))
        if step == steps - 1:
            said_again(partial(episode.answer, "42"))
        said_again(partial(episode.end_step, step))
        sealed = said_again(partial(episode.reward, step, wait_s=PATIENCE_S))
        assert sealed.settled, sealed
    closing = said_again(partial(episode.close, "done", wait_s=PATIENCE_S))
    assert closing.status == "closed"
    return list(closing.rewards)


def run(
    stack: Stack,
    folder: Path,
    steps: int = STEPS,
    between: Callable[[int], None] = nothing,
    within: Callable[[int, Episode], None] = nothing,
    *,
    beside: bool = True,
) -> list[Reward]:
    """Open an episode, watch ``folder``, walk. ``beside``: steps go straight to the daemon, not
    through the service."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        left.unlink()
    through_the_service = stack.open(task(steps))
    direct = stack.watch(files=[folder])
    return walk(direct if beside else through_the_service, folder, steps, between, within)
