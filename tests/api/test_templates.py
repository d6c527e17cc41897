"""Templates over the wire, by the client and by commands: registered filled, each filling on its
own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import yaml
from milestoned_client import AsyncRewardClient

from api.cli.main import main
from tests.api.service import ADMIN, Service
from tests.detectors.test_templates import TEMPLATE, VALUES
from tests.support.logs import episode, filled, went


async def test_a_template_is_registered_filled(service: Service) -> None:
    bare = await service.post("/v1/tasks", TEMPLATE)
    assert bare.status_code == 422
    assert bare.json()["errors"][0]["path"] == "values"
    first = await service.post("/v1/tasks", {**TEMPLATE, "values": VALUES})
    again = await service.post("/v1/tasks", {**TEMPLATE, "values": VALUES})
    other = await service.post("/v1/tasks", {**TEMPLATE, "values": {**VALUES, "amount": 4}})
    assert [one.status_code for one in (first, again, other)] == [201, 200, 201]
    assert first.json() == again.json()
    assert first.json()["version"] != other.json()["version"]
    stored = await service.get(
        f"/v1/tasks/{TEMPLATE['id']}", params={"version": first.json()["version"]}
    )
    assert stored.json()["task"]["instruction"] == "Order 3 of tea & cake."


@pytest.mark.parametrize(("typed", "paid"), [("3", True), ("2", False)])
async def test_an_episode_is_paid_by_its_own_values(
    service: Service, typed: str, paid: bool
) -> None:
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        task = await client.register_task(yaml.safe_dump(TEMPLATE), VALUES)
        assert task == await client.register_task(TEMPLATE, VALUES)
        opened = await client.open(task)
        log = episode([went("/search?q=tea+%26+cake"), filled("Amount", typed)])
        await service.tell(opened.id, opened.token or "", *log)
        steps = await opened.trajectory()
    reached = {one.id for step in steps for one in (step.reward.milestones if step.reward else ())}
    assert reached == ({"found", "filled", "done"} if paid else {"found"})


def write(folder: Path, **changes: Any) -> str:
    path = folder / "template.yaml"
    path.write_text(yaml.safe_dump({**TEMPLATE, **changes}))
    return str(path)


def test_commands_take_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without values a template is checked by its examples."""
    path = write(tmp_path)
    assert main(["task", "check", path]) == 0
    assert "ok: shop/order version 1+example" in capsys.readouterr().out
    given = ["--set", "values.item=7", "--set", "values.amount=3"]
    assert main(["task", "check", path, *given, "--written-out"]) == 0
    assert orjson.loads(capsys.readouterr().out)["instruction"] == "Order 3 of 7."
    assert main(["task", "check", path, "--set", "values.item=x"]) == 1
    assert "values.amount: got None, wanted a number" in capsys.readouterr().err
    assert main(["task", "check", path, *given[:2], "--set", "values.amount=many"]) == 1
    assert "values.amount: got 'many', wanted a number" in capsys.readouterr().err


def test_a_problem_of_a_filled_template_names_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(
        "id: a\nversion: '1'\ninstruction: Buy {item}.\nparameters: {item: {example: tea}}\n"
        "milestones:\n  - id: x\n    when: {url_reached: {url: 7}}\n"
    )
    assert main(["task", "check", str(path)]) == 1
    assert "line 7: milestones[0].when.url_reached.url: got 7" in capsys.readouterr().err


async def test_the_curriculum_counts_all_fillings_of_a_version(service: Service) -> None:
    for amount in (3, 4):
        spec = {**TEMPLATE, "values": {**VALUES, "amount": amount}}
        registered = (await service.post("/v1/tasks", spec)).json()
        body = {"task": registered["id"], "version": registered["version"]}
        opened = (await service.post("/v1/episodes", body)).json()
        await service.tell(opened["episode"], opened["token"], *episode([filled("Amount", "3")]))
    (progress,) = (await service.get("/v1/curriculum")).json()["tasks"]
    assert (progress["task"], progress["version"], progress["episodes"]) == ("shop/order", "1", 2)
