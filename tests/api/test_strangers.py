"""An episode that another build opened, or of whose rules a plug-in is gone: it ends, and nothing
of it is made up."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from api.ingest.strangers import Strangers
from api.tasks.store import Tasks
from detectors.engine.engine import Engine
from detectors.engine.state import STATE_VERSION
from detectors.model.rewards import encode_reward
from tests.api.audit.audited import differences, sign, tamper, told
from tests.api.daemon import OPENED
from tests.api.service import TASK, Service, Store, events, frames, running
from tests.api.test_fleet import LOST_S, eyes, joined, lose_everybody
from tests.api.test_fleet import opened as leased
from tests.support.logs import clicked, went

OTHER = "of another build".ljust(64, ".")
SEALED = (
    OPENED,
    ("step.began", {"step": 0}),
    went("/cart"),
    ("step.sealed", {"step": 0, "reason": "quiet"}),
)


async def upgraded(service: Service, id: str) -> None:
    """As if the episode had been opened, and so far kept, by another build."""
    await tamper(service, f"UPDATE episodes SET digest = '{OTHER}' WHERE id = :id", id=id)
    forgotten(service)


def forgotten(service: Service) -> None:
    """A process of another build remembers nothing of this one's."""
    parts = service.app.state.parts
    parts.log._engines.forget()
    parts.ledger.forget()
    parts.tasks.compiled.clear()


async def strange(service: Service) -> int:
    database = service.app.state.parts.database
    return await Strangers(database, Tasks(database)).count()


def masked(reward: dict[str, Any]) -> None:
    assert (reward["status"], reward["reward"], reward["mask"]) == ("unobserved", None, True)
    assert reward["digest"] == OTHER
    assert "this build has not the rules under which the episode was opened" in reward["reason"]


async def test_a_lost_one_ends_with_what_was_sealed_and_the_rest_masked(service: Service) -> None:
    one = await joined(service)
    episode = await leased(service)
    id = episode["episode"]
    await one.beat()
    await service.tell(id, episode["token"], *SEALED, ("step.began", {"step": 1}), went("/else"))
    before = (await service.reward(id, 0)).content
    assert (
        await service.post(f"/v1/episodes/{id}/steps", {"step": 2, "wait_ms": 0})
    ).status_code == 202
    await upgraded(service, id)
    assert await strange(service) == 1
    await lose_everybody(service)
    assert (await service.reward(id, 0)).content == before
    said = (await service.get(f"/v1/episodes/{id}")).json()
    assert (said["status"], said["step"], said["total"], said["success"]) == (
        "closed",
        2,
        None,
        None,
    )
    rewards = [(await service.reward(id, step)).json() for step in (1, 2)]
    for reward in rewards:
        masked(reward)
    assert [reward["done"] for reward in rewards] == [False, True]
    closed = (await service.post(f"/v1/episodes/{id}:close")).json()
    assert (closed["status"], len(closed["rewards"])) == ("closed", 3)
    assert await strange(service) == 0


async def test_its_rewards_have_the_components_of_the_task_though_none_was_sealed(
    service: Service,
) -> None:
    ours, theirs = [await service.open() for _ in range(2)]
    for id, token in (ours, theirs):
        await service.tell(id, token, *SEALED[:3])
    dropped = ("events.dropped", {"source": "journal", "reason": "gone"})
    first = frames(events(ours[0], dropped, ("episode.closed", {"reason": "gone"}), first=4), prev=(
        await service.get(f"/v1/episodes/{ours[0]}")
    ).json()["head"])  # fmt: skip
    assert (await service.append(ours[0], first[0], ours[1])).status_code == 200
    await upgraded(service, theirs[0])
    assert (
        await service.post(f"/v1/episodes/{theirs[0]}:close", {"wait_ms": 0})
    ).status_code == 202
    watch = eyes(service)
    await watch.look(0.0)
    await watch.look(LOST_S)
    with_rules, without = [
        (await service.reward(id, 0)).json()["components"] for id, _ in (ours, theirs)
    ]
    assert without == with_rules == {"goal": None, "nav": None, "ui": None}


async def test_one_that_a_trainer_closes_ends_without_its_daemon(service: Service) -> None:
    id, token = await service.open()
    made = await service.tell(id, token, *SEALED)
    await upgraded(service, id)
    late = frames(
        events(id, went("/else"), first=5),
        prev=(await service.get(f"/v1/episodes/{id}")).json()["head"],
    )
    assert (await service.append(id, late[0], token)).json()["type"].endswith(":ruleset-changed")
    assert (await service.post(f"/v1/episodes/{id}:close", {"wait_ms": 0})).status_code == 202
    watch = eyes(service)
    await watch.look(0.0)
    assert (await service.get(f"/v1/episodes/{id}")).json()["status"] == "closing", (
        "another replica may be of that build"
    )
    await watch.look(LOST_S)
    assert (await service.get(f"/v1/episodes/{id}")).json()["status"] == "closed"
    masked((await service.reward(id, 1)).json())
    assert len(made) == 1


async def test_one_that_nobody_closes_is_left_alone(service: Service) -> None:
    ours, token = await service.open()
    theirs, _ = await service.open()
    await upgraded(service, theirs)
    assert (await service.post(f"/v1/episodes/{ours}:close", {"wait_ms": 0})).status_code == 202
    watch = eyes(service)
    for n in range(4):
        await watch.look(n * LOST_S)
    for id, stands in ((ours, "closing"), (theirs, "open")):
        assert (await service.get(f"/v1/episodes/{id}")).json()["status"] == stands
    assert (await service.append(ours, frames(events(ours, OPENED))[0], token)).status_code == 200


async def test_a_rule_that_is_gone_with_its_plug_in_is_the_same(service: Service) -> None:
    one = await joined(service)
    episode = await leased(service)
    id = episode["episode"]
    await one.beat()
    await service.tell(id, episode["token"], *SEALED, ("step.began", {"step": 1}))
    body = orjson.dumps({**orjson.loads(await task_body(service)), "milestones": GONE})
    await tamper(service, "UPDATE tasks SET body = :body", body=body)
    forgotten(service)
    assert await strange(service) == 1
    await lose_everybody(service)
    assert (await service.get(f"/v1/episodes/{id}")).json()["status"] == "closed"
    assert (await service.reward(id, 1)).json()["mask"] is True
    again = await service.post("/v1/episodes", {"task": TASK["id"]})
    assert (again.status_code, again.json()["type"]) == (
        409,
        "urn:milestoned:problem:ruleset-changed",
    )


GONE = [{"id": "gone", "when": {"rule_of_a_plug_in": {}}}]


async def task_body(service: Service) -> bytes:
    return bytes((await service.app.state.parts.audits.task(1)).body)


async def test_the_build_that_opened_an_episode_still_verifies_it_after_another_opened_one(
    store: Store,
) -> None:
    async with running(store) as service:
        assert (await service.post("/v1/tasks", TASK)).status_code == 201
        await tamper(service, f"UPDATE tasks SET digest = '{OTHER}'")  # another build registered it
        await told(service)
        await sign(service)
        await service.open()
        await told(service)
        await sign(service)
        assert await differences(service) == []
        assert (await service.get("/v1/tasks/" + TASK["id"])).json()["digest"] == OTHER


async def test_a_task_of_an_older_build_opens_episodes_under_the_rules_of_this_one(
    store: Store,
) -> None:
    async with running(store) as service:
        assert (await service.post("/v1/tasks", TASK)).status_code == 201
        digest = (await service.get("/v1/tasks/" + TASK["id"])).json()["digest"]
        await tamper(service, f"UPDATE tasks SET digest = '{OTHER}'")
        id, token = await service.open()
        assert (await service.get(f"/v1/episodes/{id}")).json()["digest"] == digest
        await service.tell(id, token, *SEALED)
        assert (await service.reward(id, 0)).json()["digest"] == digest


@pytest.mark.parametrize("at", [2, 4], ids=["in the middle of the segment", "at its end"])
async def test_a_stored_state_in_the_middle_of_a_segment_is_not_used(
    service: Service, at: int
) -> None:
    """An engine can't go on from there: all is fed again."""
    parts = service.app.state.parts
    id, token = await service.open()
    await service.tell(id, token, *SEALED)
    row = await parts.episodes.get(id)
    engine = Engine(await parts.tasks.ruleset(row.task_number), id)
    engine.feed(events(id, *SEALED)[:at])
    statement = "INSERT INTO engine_states (episode, through, body) VALUES (:id, :at, :body)"
    await tamper(service, statement, id=id, at=at, body=engine.dump())
    forgotten(service)
    end = frames(events(id, ("episode.closed", {"reason": "done"}), first=5), prev=row.head)[0]
    assert (await service.append(id, end, token)).status_code == 200
    said = (await service.get(f"/v1/episodes/{id}")).json()
    assert (said["status"], said["step"]) == ("closed", 1)


@pytest.mark.parametrize(
    ("version", "is_used"),
    [(STATE_VERSION, True), (STATE_VERSION - 1, False), (STATE_VERSION + 1, False), (None, False)],
)
async def test_a_stored_state_of_another_version_is_made_again_from_the_log(
    service: Service, version: int | None, is_used: bool
) -> None:
    """The rewards are those of the log then, whatever the state says: this one has forgotten what
    was reached."""
    parts = service.app.state.parts
    id, token = await service.open()
    await service.tell(id, token, *SEALED)
    row = await parts.episodes.get(id)
    rules = await parts.tasks.ruleset(row.task_number)
    engine = Engine(rules, id)
    rewards = engine.feed(events(id, *SEALED)).rewards
    stored = {**orjson.loads(engine.dump()), "awards": [], "v": version}
    if version is None:
        del stored["v"]
    statement = "INSERT INTO engine_states (episode, through, body) VALUES (:id, 4, :body)"
    await tamper(service, statement, id=id, body=orjson.dumps(stored))
    forgotten(service)
    rest = [("step.began", {"step": 1}), clicked("Buy"), ("episode.closed", {"reason": "done"})]
    frame = frames(events(id, *rest, first=5), prev=row.head)[0]
    assert (await service.append(id, frame, token)).status_code == 200
    rewards += engine.feed(events(id, *rest, first=5)).rewards
    paid = [(await service.reward(id, step)).content for step in (0, 1)]
    assert (paid != [encode_reward(reward) for reward in rewards]) is is_used
    assert (await service.get(f"/v1/episodes/{id}")).json()["success"] is not is_used
