"""One tenant neither sees nor guesses what is another's, on any route that the service has."""

from __future__ import annotations

import re
from typing import Any

import pytest

from api.auth.store import OPERATOR, Terms
from tests.api.service import ADMIN, TASK, Service, eventually
from tests.api.test_access import ALLOWED, OK
from tests.api.walk import Call, Named, calls
from tests.support.logs import clicked, episode, went

CANARY = "canary7391"
THEIRS = {
    **TASK,
    "id": f"{CANARY}/cart",
    "instruction": f"Put the {CANARY} into the cart.",
    "milestones": [{"id": f"{CANARY}-cart", "when": {"url_reached": {"url": "/cart"}}}],
}


async def tenant(service: Service, name: str, scope: Any = "admin") -> str:
    """A token of the tenant ``name``."""
    _, token = await service.app.state.parts.tokens.create(scope, "", Terms(name))
    return str(token)


async def worked(service: Service) -> dict[str, str]:
    """What the first tenant has: a task, a closed episode, a rescore of it and a sandbox, with the
    canary in all."""
    id, token = await service.open(THEIRS)
    said = episode([went(f"/cart?{CANARY}")], [clicked(f"Buy {CANARY}")])
    await service.tell(id, token, *said)
    sandbox = await service.post(
        "/v1/sandboxes",
        {"name": f"{CANARY}-box", "instance": "i" * 16, "agentd": service.app.version, "wire": 1},
    )
    assert sandbox.status_code == 200, sandbox.text
    asked = await service.post("/v1/rescores", {"select": {"episodes": [id]}})
    assert asked.status_code == 201, asked.text
    rescore = asked.json()["rescore"]

    async def is_done() -> bool:
        return bool((await service.get(f"/v1/rescores/{rescore}")).json()["status"] == "done")

    await eventually(is_done)
    return {
        "episode": id,
        "task": THEIRS["id"],
        "rescore": rescore,
        "sandbox": sandbox.json()["sandbox"],
    }


def nobodys(id: str) -> str:
    """An id of the same shape that was never given."""
    return id[:-4] + ("2222" if not id.endswith("2222") else "3333")


def without_id(text: str, id: str) -> str:
    """A text without ``id`` and `nobodys`; an answer may repeat what was sent cut short, within the
    last characters too."""
    return re.sub(re.escape(id[:-4]) + "[^\\W_]{0,4}", "ID", text)


async def pairs(service: Service, theirs: dict[str, str]) -> list[tuple[Call, Call, str]]:
    """Every operation with each of their ids, and the same with one that nobody has."""
    document = (await service.get("/openapi.json", None)).json()
    return [
        (one, other, id)
        for name, id in theirs.items()
        for one, other in zip(
            calls(document, Named(name, id)), calls(document, Named(name, nobodys(id))), strict=True
        )
    ]


async def test_no_route_answers_for_another_tenants_id_but_as_for_nobodys(service: Service) -> None:
    theirs = await worked(service)
    stranger = await tenant(service, "stranger")
    before = [(await service.get(path)).json() for path in views(theirs)]
    seen = 0
    for real, fake, id in await pairs(service, theirs):
        found, wanted = await real.by(service, stranger), await fake.by(service, stranger)
        assert found[0] < 500, (real, found)
        assert CANARY not in found[2].replace(id, ""), (real, found)
        assert found[:2] == wanted[:2], (real, found, wanted)
        assert without_id(found[2], id) == without_id(wanted[2], id), (real, found, wanted)
        seen += real.names(id)
    assert seen > 60
    assert [(await service.get(path)).json() for path in views(theirs)] == before


async def test_the_same_walk_finds_everything_for_its_owner(service: Service) -> None:
    """The walk above would be no proof if it asked in vain."""
    theirs = await worked(service)
    blind = set()
    for real, fake, id in await pairs(service, theirs):
        if (
            real.names(id)
            and f"{{{real_name(theirs, id)}}}" in real.path
            and ALLOWED.get((real.method, real.path)) == OK
        ):
            found, wanted = await real.by(service, ADMIN), await fake.by(service, ADMIN)
            if found[2].replace(id, "ID") == wanted[2].replace(nobodys(id), "ID"):
                blind.add(real.path)
    for path in (
        "/v1/rewards:query",
        "/v1/score",
        "/v1/groups:score",
        "/adapters/slime/score",
        "/nemo/seed_session",
        "/nemo/verify",
    ):
        for real, fake, id in await pairs(service, {"episode": theirs["episode"]}):
            if real.path == path:
                found, wanted = await real.by(service, ADMIN), await fake.by(service, ADMIN)
                if found[2].replace(id, "ID") == wanted[2].replace(nobodys(id), "ID"):
                    blind.add(path)
    assert blind == set()


def real_name(theirs: dict[str, str], id: str) -> str:
    """What an id is the id of."""
    return next(name for name, one in theirs.items() if one == id)


def views(theirs: dict[str, str]) -> list[str]:
    """Where the first tenant sees its own."""
    of = f"/v1/episodes/{theirs['episode']}"
    return [
        of,
        f"{of}/trajectory",
        f"{of}/blame",
        f"{of}/start",
        f"{of}/events",
        "/v1/tasks",
        f"/v1/tasks/{theirs['task']}",
        f"/v1/rescores/{theirs['rescore']}",
    ]


async def test_a_task_of_the_same_name_is_anothers(service: Service) -> None:
    await worked(service)
    stranger = await tenant(service, "stranger")
    other = {**THEIRS, "instruction": "Something else."}
    assert (await service.post("/v1/tasks", other, stranger)).status_code == 201
    assert (await service.get(f"/v1/tasks/{THEIRS['id']}")).json()["task"]["instruction"] == THEIRS[
        "instruction"
    ]
    mine = await service.get(f"/v1/tasks/{THEIRS['id']}", stranger)
    assert mine.json()["task"]["instruction"] == "Something else."
    assert len((await service.get("/v1/tasks", stranger)).json()["tasks"]) == 1


async def test_another_tenants_key_answers_nothing_of_the_firsts(service: Service) -> None:
    stranger = await tenant(service, "stranger")
    for token in (ADMIN, stranger):
        assert (await service.post("/v1/tasks", TASK, token)).status_code == 201
    key = {"headers": {"idempotency-key": "the same"}}
    mine = await service.post("/v1/episodes", {"task": TASK["id"]}, **key)
    theirs = await service.post("/v1/episodes", {"task": TASK["id"]}, stranger, **key)
    assert "idempotency-replayed" not in theirs.headers
    assert mine.json()["episode"] != theirs.json()["episode"]
    assert mine.json()["token"] != theirs.json()["token"]
    refused = await service.get(f"/v1/episodes/{mine.json()['episode']}", stranger)
    assert refused.status_code == 404


async def test_a_cookie_of_another_tenants_rollout_opens_nothing(service: Service) -> None:
    theirs = await worked(service)
    stranger = await tenant(service, "stranger")
    seeded = await service.post("/nemo/seed_session", {"episode": theirs["episode"]})
    cookie = {"cookie": f"milestoned_session={seeded.cookies['milestoned_session']}"}
    service.http.cookies.clear()
    body = {"response": {"output": []}}
    assert (await service.post("/nemo/verify", body, headers=cookie)).json()["mask_sample"] is False
    answer = (await service.post("/nemo/verify", body, stranger, headers=cookie)).json()
    assert (answer["mask_sample"], answer["failure_kind"]) == (True, "session_lost")
    for name in ("close", "step"):
        assert (
            await service.post(f"/nemo/{name}", body, stranger, headers=cookie)
        ).status_code == 404


@pytest.mark.parametrize("scope", ["admin", "metrics"])
async def test_counters_over_all_tenants_are_the_operators(service: Service, scope: str) -> None:
    assert (
        await service.get("/metrics", await tenant(service, OPERATOR, scope))
    ).status_code == 200
    assert (
        await service.get("/metrics", await tenant(service, "stranger", scope))
    ).status_code == 403


async def test_ids_are_not_guessed(service: Service) -> None:
    """Past the day there are 128 bits, none of which follows from the others."""
    await service.post("/v1/tasks", TASK)
    ids = [
        (await service.post("/v1/episodes", {"task": TASK["id"]})).json()["episode"]
        for _ in range(64)
    ]
    tails = [id[len("ep_20261121") :] for id in ids]
    assert {len(tail) for tail in tails} == {
        26
    }  # of base 32: 130 bits, the last two of which are always 0
    for place in range(25):
        assert len({tail[place] for tail in tails}) > 12, place
