"""Tasks that the service drafts from an instruction: by the judge's endpoint, as the command does,
and with a reason for what it refuses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from api.auth.rates import Rates
from api.auth.store import Terms
from api.cascade.draft_bills import CALLS
from api.cascade.stages import Stages
from api.core.errors import TooManyError
from api.core.settings import Limits, StageSettings
from api.proposal.drafting import DRAFT_MARK
from api.tasks.task_files import load_task_yaml
from api.verdicts.tables import budgets
from detectors.task.language import Budget
from tests.api.service import Service, Store, running
from tests.judge.serving import Served, judge_at, serving

INSTRUCTION = "At http://shop.test order 2 of the lamp."
PROPOSED = {
    "milestones": [
        {"id": "cart", "why": "It is bought there", "when": {"url_reached": {"url": "/cart"}}},
        {"id": "sent", "why": "", "when": {"request_accepted": {"method": "POST", "url": "/o/*"}}},
    ],
    "goal": ["sent"],
}
ASKED = {"instruction": INSTRUCTION, "id": "shop/order"}
OFF = {"model": "the model is off: a test left it out"}


@pytest.fixture(scope="module")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The scripted endpoint, a process of its own."""
    with serving(tmp_path_factory.mktemp("standin")) as served:
        yield served


@pytest.fixture
async def drafting(standin: Served, tmp_path: Path) -> AsyncIterator[Service]:
    """A service whose judge is the scripted endpoint."""
    (standin.folder / "draft.json").write_text(json.dumps(PROPOSED))
    judge = judge_at(standin.url, "honest")
    async with running(Store(tmp_path), stages=Stages({"judge": [judge]}, OFF)) as service:
        yield service


async def test_a_draft_is_a_task_that_can_be_registered_and_is_not_stored(
    drafting: Service,
) -> None:
    sent = await drafting.post("/v1/tasks:draft", ASKED)
    assert sent.status_code == 200, sent.text
    told = sent.json()
    assert (told["status"], told["by"]) == ("draft", "honest")
    assert told["yaml"].startswith(DRAFT_MARK)
    task = load_task_yaml(told["yaml"])
    assert (task.id, task.version, task.instruction) == ("shop/order", "1-draft", INSTRUCTION)
    assert task.origin == "http://shop.test", "the site that the instruction names"
    assert [one.id for one in task.milestones] == ["cart", "sent", "done"]
    assert await drafting.rows("tasks") == 0


async def test_the_site_that_the_caller_names_goes_before_the_instruction_s(
    drafting: Service,
) -> None:
    sent = await drafting.post("/v1/tasks:draft", {**ASKED, "origin": "http://other.test"})
    assert load_task_yaml(sent.json()["yaml"]).origin == "http://other.test"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"instruction": ""}, "instruction"),
        ({"instruction": "a\x00b"}, "instruction"),
        ({"id": "no id/"}, "id"),
        ({"origin": "shop"}, "origin"),
        ({"recordings": []}, "recordings"),
    ],
)
async def test_what_is_no_request_is_refused_by_its_field(
    drafting: Service, standin: Served, change: dict[str, Any], place: str
) -> None:
    before = len(standin.requests)
    sent = await drafting.post("/v1/tasks:draft", {**ASKED, **change})
    assert sent.status_code == 422
    assert sent.json()["errors"][0]["path"] == place
    assert len(standin.requests) == before, "no model is asked"


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        ("/v1/tasks:draft", ASKED, PROPOSED),
        ("/v1/rubrics:draft", {"instruction": INSTRUCTION}, {"criteria": []}),
    ],
    ids=["a task", "a rubric"],
)
async def test_drafts_of_a_tenant_are_bounded_by_the_hour(
    standin: Served, tmp_path: Path, path: str, body: dict[str, str], answer: dict[str, Any]
) -> None:
    """Beyond that the endpoint, which costs, is not asked; another tenant's drafts are its own."""
    (standin.folder / "draft.json").write_text(json.dumps(answer))
    judges = Stages({"judge": [judge_at(standin.url, "honest")]}, OFF)
    async with running(Store(tmp_path), stages=judges, drafts_per_hour=2) as service:
        invalid = await service.post(path, {**body, "instruction": ""})
        assert invalid.status_code == 422, "nobody was asked: it does not count"
        answers = [await service.post(path, body) for _ in range(2)]
        before = len(standin.requests)
        refused = await service.post(path, body)
        assert 429 not in [one.status_code for one in answers]
        assert refused.status_code == 429
        assert refused.json()["type"] == "urn:milestoned:problem:too-many"
        assert "draft: more than 2 an hour of a tenant" in refused.json()["detail"]
        assert 800 < int(refused.headers["retry-after"]) <= 900, "half of the time between two"
        assert len(standin.requests) == before
        tokens = service.app.state.parts.tokens
        _, other = await tokens.create("tasks", "other", Terms("other"))
        assert (await service.post(path, body, token=other)).status_code != 429


@pytest.mark.parametrize(
    ("path", "body", "answer", "calls"),
    [
        ("/v1/tasks:draft", ASKED, PROPOSED, 2),
        ("/v1/rubrics:draft", {"instruction": INSTRUCTION}, {"criteria": []}, 3),
    ],
    ids=["a task, after one question how to ask", "a rubric, whose answer is none twice"],
)
@pytest.mark.parametrize("scope", ["tenant", "day"])
async def test_drafts_are_charged_to_the_operator_s_budget(
    standin: Served,
    tmp_path: Path,
    path: str,
    body: dict[str, str],
    answer: dict[str, Any],
    calls: int,
    scope: str,
) -> None:
    """What a draft took is charged, whether it came to anything or not; where the rest may not
    suffice, nobody is asked, and another tenant's budget is its own."""
    (standin.folder / "draft.json").write_text(json.dumps(answer))
    judges = Stages({"judge": [judge_at(standin.url, "honest", price_out=1e6)]}, OFF)
    limits = StageSettings(budgets={scope: Budget(calls=calls + CALLS - 1)})
    async with running(Store(tmp_path), stages=judges, cascade=limits) as service:
        assert (await service.post(path, body)).status_code != 409
        rows = await service.app.state.parts.database.all(select(budgets))
        spent = {row.scope: (row.calls, row.cost > 0, row.held) for row in rows}
        assert spent == {
            "tenant": (calls, True, 0.0),
            "day": (calls, True, 0.0),
            "stage": (0, True, 0.0),
        }
        before = len(standin.requests)
        refused = await service.post(path, body)
        assert refused.status_code == 409
        assert f"the {scope}'s budget of {calls + CALLS - 1} calls is spent" in refused.text
        assert len(standin.requests) == before
        tokens = service.app.state.parts.tokens
        _, other = await tokens.create("tasks", "other", Terms("other"))
        assert (await service.post(path, body, token=other)).status_code != 409


async def test_money_of_drafts_is_bounded(standin: Served, tmp_path: Path) -> None:
    (standin.folder / "draft.json").write_text(json.dumps(PROPOSED))
    judges = Stages({"judge": [judge_at(standin.url, "honest", price_out=1e6)]}, OFF)
    limits = StageSettings(budgets={"day": Budget(cost=1.0)})
    async with running(Store(tmp_path), stages=judges, cascade=limits) as service:
        assert (await service.post("/v1/tasks:draft", ASKED)).status_code == 200
        refused = await service.post("/v1/tasks:draft", ASKED)
    assert refused.status_code == 409
    assert "draft: the day's budget of 1 is spent" in refused.json()["detail"]


def test_a_bound_of_none_is_none() -> None:
    rates = Rates(replace(Limits(), drafts_per_hour=0))
    for _ in range(1_000):
        rates.draft("one")


def test_drafts_are_granted_again_as_the_hour_passes() -> None:
    now = 1e6
    rates = Rates(replace(Limits(), drafts_per_hour=4), lambda: now)
    for _ in range(4):
        rates.draft("one")
    with pytest.raises(TooManyError):
        rates.draft("one")
    now += 900
    rates.draft("one")
    with pytest.raises(TooManyError):
        rates.draft("one")
    now += 3_600
    for _ in range(4):
        rates.draft("one")
    with pytest.raises(TooManyError):
        rates.draft("one")


async def test_an_answer_that_is_no_task_is_refused_with_what_is_wrong(
    drafting: Service, standin: Served
) -> None:
    (standin.folder / "draft.json").write_text(json.dumps({**PROPOSED, "goal": ["nothing"]}))
    sent = await drafting.post("/v1/tasks:draft", ASKED)
    assert sent.status_code == 422
    assert "instruction: no task can be drafted from it" in sent.json()["detail"]
    assert "goal: ['nothing'], expected a list of ids" in sent.json()["detail"]


async def test_a_service_without_a_judge_names_the_option(tmp_path: Path) -> None:
    async with running(Store(tmp_path), stages=Stages({}, OFF)) as service:
        sent = await service.post("/v1/tasks:draft", ASKED)
    assert sent.status_code == 409
    assert "start it with --judge" in sent.json()["detail"]


async def test_an_endpoint_that_is_not_there_is_named(tmp_path: Path) -> None:
    judge = judge_at("http://127.0.0.1:9/v1", "honest", retries=0)
    async with running(Store(tmp_path), stages=Stages({"judge": [judge]}, OFF)) as service:
        sent = await service.post("/v1/tasks:draft", ASKED)
    assert sent.status_code == 503
    assert "the judge's endpoint can't be asked" in sent.json()["detail"]
