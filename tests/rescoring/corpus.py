"""A corpus of small recordings: each buys something, some forget a thing, one was not wholly
seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from api.cli.main import main
from tests.api.service import TASK, events, frames
from tests.support.logs import Said, clicked, episode, filled, titled, went

BUYING = (
    [went("/"), titled("Shop")],
    [went("/cart"), filled("Name", "Ann")],
    [clicked("Buy")],
)
GAP: Said = ("gap.began", {"source": "cdp", "reason": "lost"})

Make = Callable[..., Path]


def changed(**milestones: Any) -> dict[str, Any]:
    """The task with some conditions (id → when) replaced, or left out (None); a version of its
    own."""
    kept = [{**m, "when": milestones.get(m["id"], m["when"])} for m in TASK["milestones"]]
    return {**TASK, "version": "2", "milestones": [m for m in kept if m["when"] is not None]}


def said(n: int) -> list[Said]:
    """What happened in the nth episode: every third never buys, every seventh is blind in its
    second step."""
    first, second, last = BUYING
    return episode(first, [GAP, *second] if n % 7 == 6 else second, [] if n % 3 == 2 else last)


def record(folder: Path, count: int, sizes: tuple[int, ...] = (3, 4)) -> Path:
    """A folder of ``count`` recordings, some of them in folders below it."""
    for n in range(count):
        path = folder / f"{n % 5}" / f"{n:05}.mrec"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(frames(events(f"ep_{n:05}", *said(n)), sizes)))
    return folder


def written(path: Path, task: dict[str, Any]) -> Path:
    """A task as a file."""
    path.write_text(yaml.safe_dump(task, sort_keys=False))
    return path


def rescore(*arguments: object) -> int:
    """Run the command in this process."""
    return main(["rescore", *map(str, arguments)])
