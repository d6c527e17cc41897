"""A parameter that a route does not have is refused: misspelt, it would leave another default."""

from __future__ import annotations

import re

import pytest

from tests.api.service import ADMIN, TASK, Service
from tests.api.test_access import ALLOWED

IN_PATHS = {"step:int": "1", "step:step": "1", "id:path": TASK["id"]}
FEWEST = 25
"""So many routes must come to the check; of others another fault of the call is told first."""


async def test_no_route_takes_a_parameter_that_it_does_not_have(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    episode = (await service.post("/v1/episodes", {"task": TASK["id"]})).json()["episode"]
    values = {**IN_PATHS, "episode": episode}
    refused = 0
    for method, path in ALLOWED:
        if not path.startswith(("/v1/", "/adapters/", "/get_reward")):
            continue
        filled = re.sub(r"\{([^}]+)\}", lambda found: values.get(found[1], "x"), path)
        content = b"" if method in ("GET", "DELETE") else b"{}"
        answer = await service.call(method, f"{filled}?no_such_option=1", ADMIN, content=content)
        # Who may not call, or what is not there, is told before how it was asked.
        assert answer.status_code in (403, 404, 422), (method, path, answer.text)
        if answer.status_code == 422:
            assert "query: got 'no_such_option', wanted" in answer.text, (method, path)
            refused += 1
    assert refused >= FEWEST


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("trajectory?credit=cause", "credit_to"),
        ("trajectory?drop_cause=gap", "drop_causes"),
        ("events?kinds=step.began", "kind"),
        ("steps/1/reward?wait=1", "wait_ms"),
    ],
)
async def test_a_misspelt_one_is_told_what_there_is(
    service: Service, path: str, wanted: str
) -> None:
    await service.post("/v1/tasks", TASK)
    episode = (await service.post("/v1/episodes", {"task": TASK["id"]})).json()["episode"]
    answer = await service.get(f"/v1/episodes/{episode}/{path}")
    assert answer.status_code == 422
    assert wanted in answer.json()["detail"].partition("wanted ")[2]
