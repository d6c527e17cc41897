"""What was said beyond the rules is signed, recomputed and explained like everything else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from api.audit.explaining import as_text
from api.rescoring.corpus import Corpus
from api.rescoring.stored import material
from api.rescoring.work import outcome
from detectors.model.codec import canonical
from detectors.task.task_json import task_from_json, task_to_json
from tests.api.audit.audited import differences, sign, tamper
from tests.api.service import Service, Store, running
from tests.cascade.stage import Endpoint, stages
from tests.cascade.test_escalation import SILENT, STAKE, endpoint, final, task
from tests.support.logs import Said, episode, went

__all__ = ["endpoint"]


@pytest.fixture
async def judged(tmp_path: Path, endpoint: Endpoint) -> AsyncIterator[Service]:
    """A service with a judge."""
    endpoint.say(
        status=200, answer={"score": 1.0, "confidence": 0.9, "cost": 0.01}, ms=0, hold=False
    )
    async with running(Store(tmp_path), stages=stages(endpoint.url, "judge")) as service:
        yield service


def named(said: list[Said]) -> list[Said]:
    """Without the word of which ruleset it was recorded under."""
    return [("episode.opened", {"task": "shop/judged"}), *said[1:]]


async def told(service: Service, **escalation: Any) -> str:
    """An episode with a judged step and a judged goal."""
    id, token = await service.open(task(escalate=["unscored", "goal"], **escalation))
    await service.tell(id, token, *named(episode([went("/nowhere")], SILENT)))
    await final(service, id, 1)
    return id


async def test_what_was_decided_is_recomputed(judged: Service) -> None:
    """Rewards, total and success follow from the log and the verdicts; signed is what they were."""
    await told(judged)
    await sign(judged)
    assert await differences(judged) == []


async def test_nothing_is_signed_while_a_step_waits(judged: Service, endpoint: Endpoint) -> None:
    """The statement of an episode is about final rewards."""
    endpoint.say(hold=True)
    id, token = await judged.open(task())
    await judged.tell(id, token, *named(episode([went("/unsigned")])))
    await sign(judged)
    assert await judged.rows("leaves") == 0
    assert await differences(judged) == []
    endpoint.say(hold=False)
    await final(judged, id)
    await sign(judged)
    assert await judged.rows("leaves") == 1
    assert await differences(judged) == []


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        pytest.param(
            "UPDATE verdicts SET body = CAST(replace(CAST(body AS TEXT), 'judge', 'model') AS"
            " BLOB)",
            "verdict 1.digest",
            id="a word",
        ),
        pytest.param("DELETE FROM verdicts WHERE seq = 1", "verdict 2.seq", id="a word taken out"),
        pytest.param("DELETE FROM verdicts", "reward of step 1.status", id="all taken out"),
        pytest.param(
            "UPDATE rewards SET reward = 5 WHERE step = 1",
            "reward of step 1.reward",
            id="the reward",
        ),
        pytest.param(
            "UPDATE episodes SET success = NOT success", "episode.success", id="the success"
        ),
    ],
)
async def test_tampering_is_named(judged: Service, statement: str, named: str) -> None:
    """Whoever changes the database behind the service's back."""
    await told(judged)
    await sign(judged)
    assert await tamper(judged, statement) >= 1
    assert named in [one.what for one in await differences(judged)]


async def test_an_explanation_leads_to_the_votes(judged: Service) -> None:
    """Model, prompt digest, evidence, votes and cost of every word."""
    id = await told(judged)
    said = (await judged.get(f"/v1/episodes/{id}/steps/1/explanation")).json()
    words = [one for one in said["said"] if one["kind"] == "verdict.given"]
    assert {one["item"] for one in words} == {"step", "goal"}
    for one in words:
        assert all(one["record"][name] for name in ("model", "prompt", "votes"))
        assert (one["evidence"], one["verdict"]["cost"], len(one["question"])) == ([3], 0.01, 64)
    assert "judge 1 for 0.01, asked, prompt pppppppppppp, evidence [3]" in as_text(said)


async def test_a_deleted_episode_leaves_no_word(judged: Service) -> None:
    """Verdicts, kept answers and questions go with it."""
    id = await told(judged)
    assert (
        await judged.call("DELETE", f"/v1/episodes/{id}", params={"reason": "test"})
    ).status_code == 200
    for table in ("verdicts", "opinions", "escalations"):
        assert await judged.rows(table) == 0


async def test_a_rescore_reads_what_was_said_and_asks_nobody(
    judged: Service, endpoint: Endpoint
) -> None:
    """Under the same rules the result is the same; a step that the new rules ask about and nobody
    judged is null."""
    id = await told(judged)
    came = endpoint.calls()["came"]
    (stored,) = await Corpus(judged.app.state.parts.database).whole(
        [await judged.app.state.parts.episodes.get(id)]
    )
    assert outcome(material(stored, None, keep=True))["status"] == "same"
    changed = canonical(
        task_to_json(task_from_json(task(share=0.25, escalate=["unscored", "goal"])))
    )
    new = outcome(material(stored, changed, keep=True))
    assert (new["status"], [one["reward"] for one in new["result"]["rewards"]]) == (
        "changed",
        [0.5 * STAKE, 0.595],
    )
    assert endpoint.calls()["came"] == came
