"""`POST /v1/reward-model/preferences`: what of a service's episodes a reward model is trained on."""

from __future__ import annotations

import httpx
from milestoned_client import AsyncRewardClient
from milestoned_client.models import PreferenceLines

from api.auth.store import OPERATOR
from api.labelling.store import LabelWord
from tests.api.service import ADMIN, TASK, Service
from tests.api.test_search import four
from tests.api.test_tenants import tenant


async def test_closed_episodes_as_lines_by_the_client(service: Service) -> None:
    """Rules and people, each with its weight; what is open or not known is no line; another tenant
    has none."""
    found = await four(service)
    word = LabelWord(TASK["id"], found["half"], "", 1, "goal", "yes")
    await service.app.state.parts.preferences.say(OPERATOR, "anna", word)
    stranger = await tenant(service, "stranger")
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        made = await client.preferences(TASK["id"], weights={"rule": 0.25})
        labelled = await client.preferences(labels={"policy": "8"})
        nothing = await client.preferences("shop/other")
    async with AsyncRewardClient("http://service.test", stranger, transport=transport) as client:
        theirs = await client.preferences()
    assert made.episodes == 3  # the blind one is among them
    assert outcomes(made) == {
        f"{found['full']}/rule": True, f"{found['half']}/rule": False,
        "person-1": True,
    }  # fmt: skip
    pairs = [line for line in made.lines if line["kind"] == "pair"]
    assert [(line["source"], line["weight"]) for line in pairs] == [("rule", 0.25)]
    assert outcomes(labelled).keys() == {f"{found['half']}/rule", "person-1"}
    assert (nothing.episodes, nothing.lines) == (theirs.episodes, theirs.lines) == (0, ())


def outcomes(made: PreferenceLines) -> dict[str, bool]:
    """Whether each labelled trajectory is said to be a success, by the id of its line."""
    return {
        str(line["id"]): line["success"] is True for line in made.lines if line["kind"] == "outcome"
    }
