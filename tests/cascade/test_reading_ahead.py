"""Logs are read by the model while they grow, where the task asks it and one service has the
database; whoever asks then finds them read."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.cascade import reading_ahead
from api.cascade.reading_ahead import let_read
from api.cascade.stages import Stages, stages_of
from api.core.settings import StageSettings
from api.episodes.rows import EpisodeRow
from api.episodes.store import Episodes
from api.stages.base import Question
from api.stages.model.folder import BUILTIN, load
from api.stages.model.stage import AT_ONCE, ModelStage
from detectors.model.types import Event
from tests.api.service import Store, running, until
from tests.cascade.test_escalation import final, task, verdicts
from tests.support.logs import episode, log, went

TIERS = {"model": True, "model judge": True, "judge": False, "": False}
"""Tiers of a task's policy (none: it has no policy), and whether its logs are read ahead."""
WANTED = "Put it into the cart."


async def test_a_log_is_read_ahead_where_the_task_asks_the_model(store: Store) -> None:
    """Before a step is over, so that nobody can have asked; the others' logs are not looked at, nor
    any where another replica may be the one that asks."""
    stage, stages = serve_builtin()
    opening = episode([went("/elsewhere")], close=False)
    async with running(store, stages=stages) as service:
        ids = {}
        for tiers in reversed(TIERS):  # the one that is waited for is told last
            spec = {**task(tiers=tiers.split() or ["judge"]), "id": f"shop/{tiers or 'none'}"}
            if not tiers:
                del spec["escalation"]
            ids[tiers], token = await service.open({**spec, "id": spec["id"].replace(" ", "-")})
            await service.tell(ids[tiers], token, *opening)
        if not store.url:
            await until(lambda: has_read(stage, ids["model"]) == len(opening))
        read = {tiers: has_read(stage, id) > 0 for tiers, id in ids.items()}
        assert read == (dict.fromkeys(TIERS, False) if store.url else TIERS)


def serve_builtin() -> tuple[ModelStage, Stages]:
    """The package's model, alone and as the stages of a service."""
    stages = stages_of(StageSettings(model="builtin"), {})
    stage = stages.by_tier["model"][0]
    assert isinstance(stage, ModelStage)
    return stage, stages


def has_read(stage: ModelStage, id: str) -> int:
    """How many events of an episode the model has read."""
    log = stage.readers.get((id, WANTED))
    return 0 if log is None else log.reader.seq


async def test_a_question_about_a_log_that_was_read_ahead_is_answered(store: Store) -> None:
    """By the model, with its digest, as if it had read nothing before."""
    stage, stages = serve_builtin()
    async with running(store, stages=stages) as service:
        id, token = await service.open(task(tiers=["model"]))
        await service.tell(
            id, token, *episode([went("/elsewhere")], [went("/other")]), sizes=[2, 2]
        )
        for step in range(2):
            assert (await final(service, id, step))["status"] in ("sealed", "unscored")
        said = [one["verdict"] for one in await verdicts(service, id) if "verdict" in one]
        assert {one["by"] for one in said} == {stage.signature}


async def test_a_stage_reads_in_parts_and_is_asked_only_once_all_is_read() -> None:
    """And says the same as one that reads all at once."""
    stage, stages = serve_builtin()
    events: list[Event] = log(*episode(*[[went(f"/{n}")] * (2 * AT_ONCE) for n in range(2)]))
    asked = Question("ep_1", 1, "goal", True, {"instruction": WANTED}, (), events, ())
    before = ModelStage(load(BUILTIN)).digest(asked)
    await let_read(stages.by_tier["model"][0], "ep_1", asked.task, events)
    assert stage.readers.get(("ep_1", WANTED)).reader.seq == len(events)  # type: ignore[union-attr]
    assert stage.digest(asked) == before


async def test_what_waits_is_read_on_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing is appended any more: an error in reading one log costs no other."""
    monkeypatch.setattr(reading_ahead, "RETRY_S", 0.0)
    stage, stages = serve_builtin()
    opening = episode([went("/elsewhere")], close=False)
    async with running(Store(tmp_path), stages=stages) as service:
        parts = service.app.state.parts
        await parts.reading_ahead.stop()
        waiting = []
        for _ in range(2):
            id, token = await service.open(task(tiers=["model"]))
            await service.tell(id, token, *opening)
            waiting.append(id)
        episodes: Episodes = parts.episodes
        get = episodes.get
        failed: list[str] = []

        async def fail_once(id: str) -> EpisodeRow:
            if not failed:
                failed.append(id)
                raise OSError("the disk does not answer")
            return await get(id)

        monkeypatch.setattr(episodes, "get", fail_once)
        parts.reading_ahead.start()
        await until(lambda: has_read(stage, waiting[1]) == len(opening))
        assert failed == waiting[:1]
