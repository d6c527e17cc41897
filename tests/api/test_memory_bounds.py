"""What the service keeps in memory is bounded in bytes, and as large as it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from api.core.settings import Limits
from api.ingest.engine_size import EngineSize
from api.timeline.timeline import Outline
from detectors.engine.engine import Engine
from detectors.engine.footprint import footprint
from detectors.model.memory import size_of
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.filled_service import ENGINES_BYTES, FIELDS, SAID
from tests.api.processes import ROOT
from tests.api.service import TASK, Store, events, frames, running, texts
from tests.support.logs import Said, began, clicked, created, episode, filled, went

RULES = compile_task(task_from_json(TASK))
MEGABYTE = 1 << 20


def fill(folder: Path, small: int, large: int, patience_s: float) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.api.filled_service", folder, str(small), str(large)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=patience_s, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    assert told["bytes"] <= told["max_bytes"] == ENGINES_BYTES
    return told


@pytest.mark.slow
def test_a_service_full_of_episodes_takes_what_it_may(tmp_path: Path) -> None:
    """Their engines would take 145 MB."""
    told = fill(tmp_path, 300, 200, 300)
    assert told["large"] - told["before"] < 120 * MEGABYTE


@pytest.mark.slow
def test_20_000_small_and_300_large_episodes(tmp_path: Path) -> None:
    """The small ones' engines would take 210 MB, those of the large ones as much again."""
    told = fill(tmp_path, 20_000, 300, 3_000)
    assert told["small"] - told["before"] < 100 * MEGABYTE
    assert told["large"] - told["small"] < 120 * MEGABYTE


async def test_an_engine_larger_than_all_may_be_is_paid_as_any_other(store: Store) -> None:
    async with running(store, engines_bytes=50_000) as service:
        id, token = await service.open()
        said = episode([*FIELDS, went("/cart")], [clicked("Buy")])
        made = frames(events(id, *said), [200] * 6)
        for frame in made:
            assert (await service.append(id, frame, token)).status_code == 200
        rewards = [(await service.reward(id, step)).json()["reward"] for step in range(2)]
        metrics = await service.metrics()
    engine = Engine(RULES, id)
    assert rewards == [one.reward for one in engine.feed(events(id, *said)).rewards]
    assert all(one > 0 for one in rewards)
    assert footprint(engine) > 50_000
    assert metrics['milestoned_cache_bytes{cache="engines"}'] <= 50_000


LOGS: dict[str, list[Said]] = {
    "one page": SAID,
    "many fields": [began(0), *FIELDS],
    "short values": [
        began(0),
        *(filled(f"F{n}", "x", tab=f"T{tab}") for n in range(40) for tab in range(40)),
    ],
    "long values": [
        began(0),
        *(
            filled(f"F{n}", "字" * 900 + str(tab), tab=f"T{tab}")
            for n in range(20)
            for tab in range(9)
        ),
    ],
    "steps": episode(*[[clicked(f"B{n}"), created(f"f{n}.txt")] for n in range(150)], close=False),
    "gaps": [
        began(0),
        *(
            ("gap.began", {"source": "cdp", "part": f"frame{n}", "reason": "gone " * 20})
            for n in range(400)
        ),
    ],
}


@pytest.mark.parametrize("said", LOGS.values(), ids=LOGS)
@pytest.mark.parametrize("many", [1, 7, 60])
def test_between_two_measures_an_engine_is_no_larger_than_it_is_taken_for(
    said: list[Said], many: int
) -> None:
    engine, size = Engine(RULES, "ep_1"), EngineSize()
    told = events("ep_1", *said)
    starts = range(0, len(told), many)
    # To measure an engine walks through all of it: at some fifty moments, which are no multiples
    # of the service's own.
    measured = {*starts[:: len(starts) // 53 + 1], starts[-1]}
    for at in starts:
        part = told[at : at + many]
        (text,) = texts(part)
        engine.feed(part)
        size.grow(engine, len(text))
        if at in measured:
            assert footprint(engine) <= size.bytes <= 2 * footprint(engine) + 64_000, at


def test_an_outline_is_no_larger_than_it_is_taken_for() -> None:
    outline = Outline()
    said = episode(*[[clicked(f"B{n}")] for n in range(3_000)])
    for event in events("ep_1", *said):
        outline.take(event)
    for n in range(500):
        picture: Said = ("visual.screenshot_taken", {"sha256": f"{n:064}"})
        (event,) = events("ep_1", picture, first=outline.through + 1)
        outline.take(event)
    assert size_of([outline]) <= outline.bytes <= 3 * size_of([outline])


def test_the_default_leaves_room_for_a_thousand_replicas_episodes() -> None:
    """docs/scale.md: 500 episodes each."""
    assert Limits().engines_bytes / footprint(Engine(RULES, "ep_1")) > 10_000
