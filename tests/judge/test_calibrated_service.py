"""From people's labels of a service's own episodes to a judge that is as sure as it was found to be,
over a real database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.auth.store import OPERATOR
from api.cascade.stages import Stages
from api.labelling.store import LabelWord
from api.stages.judge.calibration import load_calibration
from api.stages.judge.judge import Judge
from tests.api.service import Service, Store, eventually, running
from tests.cascade.judged import milestoned
from tests.judge.sessions import PROOF
from tests.support.logs import Said, episode

OFF = {"model": "the model is off: a test left it out"}
SHOWN: Said = ("text.appeared", {"tab": "T", "frame": "T", "text": PROOF})


def task(group: str) -> dict[str, Any]:
    """Its steps are judged; no rule pays in them."""
    return {
        "id": f"{group}/order",
        "version": "1",
        "instruction": "Order the blue lamp.",
        "origin": "http://shop.test",
        "milestones": [
            {"id": "cart", "when": {"url_reached": {"url": "/cart"}}},
            {"id": "done", "when": {"goal": {"requires": ["cart"]}}},
        ],
        "escalation": {
            "audit": 0,
            "tiers": ["judge"],
            "rubric": {"step": ["An order number is confirmed."]},
        },
    }


async def work(service: Service, groups: range) -> list[str]:
    """An episode a group, with a step that the judge calls a success."""
    found = []
    for n in groups:
        id, token = await service.open(task(f"group-{n}"))
        await service.tell(id, token, *episode([SHOWN]))
        found.append(id)
    await eventually(lambda: _is_idle(service))
    return found


async def _is_idle(service: Service) -> bool:
    return await service.rows("escalations") == 0


async def reward(service: Service, id: str) -> dict[str, Any]:
    return dict((await service.reward(id, 0)).json())


async def test_labels_of_a_service_calibrate_its_judge(
    judge: Callable[..., Judge], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With few labels the judge is not sure enough for the stated risk: its verdict abstains, and
    people are asked; at a risk that the labels bear it decides."""
    data = tmp_path / "data"
    async with running(Store(data), stages=Stages({"judge": [judge("honest")]}, OFF)) as service:
        ids = await work(service, range(12))
        assert (await reward(service, ids[0]))["decided_by"] == "judge"
        for id in ids:
            said = LabelWord("t", id, "", 0, "step", "yes")
            await service.app.state.parts.preferences.say(OPERATOR, "anna", said)
    statuses = {}
    for risk in ("0.05", "0.4"):
        out = tmp_path / f"{risk}.json"
        arguments = ["--stored", "--data", data, "--risk", risk, "--out", out]
        statuses[risk] = await asyncio.to_thread(milestoned, "cascade", "calibrate", *arguments)
        made = load_calibration(out)
        assert (made.model, made.facts["cases"], made.facts["groups"]) == ("honest", 12, 12)
        calibrated = judge("honest", calibration=made)
        store = Store(tmp_path / f"data-{risk}")
        async with running(store, stages=Stages({"judge": [calibrated]}, OFF)) as service:
            (id,) = await work(service, range(50, 51))
            found = await reward(service, id)
            waiting = await service.app.state.parts.preferences.unsettled(OPERATOR)
        if risk == "0.05":
            assert (found["status"], found["reward"]) == ("unscored", None)
            assert "not sure enough" in found["reason"]
            assert [one[:3] for one in waiting] == [(id, 0, "step")]
        else:
            assert (found["status"], found["decided_by"]) == ("sealed", "judge")
            assert waiting == []
    assert statuses == {"0.05": 1, "0.4": 0}
    assert "12 items of 12 groups, 0 wrong" in capsys.readouterr().out
