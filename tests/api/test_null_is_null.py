"""Null is not zero, on every way out: one recording, and all that gives a number for a reward of
it.

Of five steps the first earns something; then a source is blind, a secret decides, a rule fails, a
judge is silent. The tables are closed: a route, page or command that stands in none of them fails
its test until somebody says whether it gives rewards.
"""

from __future__ import annotations

import asyncio
import csv
import io
import re
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from websockets.asyncio.client import connect

from agentd.journal.journal import Journal
from agentd.journal.recorder import Recorder
from agentd.session.local_scoring import Edge
from api.cli.main import main
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.processes import ROOT
from tests.api.service import ADMIN, Store, eventually
from tests.api.unknown import (
    MASKED,
    PAID,
    STATUS,
    STEPS,
    TASK,
    Way,
    of_rewards,
    on_a_socket,
    recorded,
)
from tests.rescoring.corpus import written
from tests.support.commands import commands_of
from tests.support.logs import Said, clicked, episode, log
from tests.support.logs import sealed as seal


@pytest.fixture
async def unknown(store: Store) -> AsyncIterator[Way]:
    """A service that has the recording."""
    async with recorded(store) as way:
        yield way


async def one_reward(way: Way, _folder: Path) -> None:
    path = f"/v1/episodes/{way.id}/steps"
    of_rewards([await way.json("GET", f"{path}/{step}/reward") for step in range(5)])


async def advanced(way: Way, _folder: Path) -> None:
    """What the reward's own route answers, of the only step that may still be advanced from."""
    path = f"/v1/episodes/{way.id}/steps"
    told = (await way.json("POST", f"{path}/3:advance", {"wait_ms": 0}))["reward"]
    assert (told["reward"], told["mask"]) == (PAID[3], MASKED[3])
    assert told == await way.json("GET", f"{path}/3/reward")


async def sealed(way: Way, _folder: Path) -> None:
    """What the reward's own route answers, of a step without an observer and of one that no rule
    could read, while each is the last one."""
    for step in (1, 3):
        other, token = await way.service.open(TASK)
        ended: list[Said] = [("step.ended", {"step": 0}), seal(0)]
        told = [*episode(STEPS[step], close=False), *ended]
        await way.service.tell(other, token, *told)
        path = f"/v1/episodes/{other}/steps/0"
        reward = (await way.json("POST", f"{path}:seal", {"wait_ms": 10_000}))["reward"]
        assert (reward["reward"], reward["mask"]) == (PAID[step], MASKED[step])
        assert reward == await way.json("GET", f"{path}/reward")


async def many_rewards(way: Way, _folder: Path) -> None:
    items = [{"episode": way.id, "step": step} for step in range(5)]
    of_rewards((await way.json("POST", "/v1/rewards:query", {"items": items}))["rewards"])


async def scores(way: Way, _folder: Path) -> None:
    samples: list[Any] = [{"episode": way.id, "step": step} for step in range(5)]
    for fold in ("sum", "last", "discounted", "known"):
        body = {"samples": [*samples, {"episode": way.id}], "fold": fold, "min_known": 0.0}
        *steps, whole = (await way.json("POST", "/v1/score", body))["results"]
        assert [one["reward"] for one in steps] == PAID
        assert [one["mask_sample"] for one in steps] == MASKED
        assert (whole["reward"], whole["mask_sample"], whole["step_rewards"]) == (None, True, PAID)
        assert set(whole["reward_components"].values()) == {None}
        assert whole["failure_kind"] in ("milestoned:unobserved", "milestoned:escalating")


async def group(way: Way, _folder: Path) -> None:
    """The episode twice, once as another: neither has a place."""
    other, token = await way.service.open(TASK)
    await way.service.tell(other, token, *episode(*STEPS))
    body = {"episodes": [way.id, other], "fold": "known", "min_known": 1.0}
    told = await way.json("POST", "/v1/groups:score", body)
    for one in told["results"]:
        values = [one[name] for name in ("reward", "rank", "score", "advantage")]
        assert (values, one["mask_sample"]) == ([None] * 4, True), one
        assert one["failure_kind"] in ("milestoned:unobserved", "milestoned:escalating")


async def listed(way: Way, _folder: Path) -> None:
    (one,) = (await way.json("GET", "/v1/episodes"))["episodes"]
    assert (one["episode"], one["total"]) == (way.id, None)


async def sampled(way: Way, _folder: Path) -> None:
    body = {"task": TASK["id"], "n": 1}
    (one,) = (await way.json("POST", "/v1/episodes:sample", body))["episodes"]
    assert (one["episode"], one["total"]) == (way.id, None)


async def curriculum(way: Way, _folder: Path) -> None:
    (one,) = (await way.json("GET", "/v1/curriculum"))["tasks"]
    assert (one["episodes"], one["known"]) == (1, 0)
    names = ("success", "low", "mean_reward", "reward_entropy", "learning_progress")
    assert [one[name] for name in names] == [None] * 5


async def openrlhf(way: Way, _folder: Path, path: str = "/adapters/openrlhf/score") -> None:
    labels: list[Any] = [{"episode_id": way.id, "step": step} for step in range(5)]
    for label, value in zip([*labels, way.id], [*PAID, None], strict=True):
        body = {"query": ["x"], "prompts": [""], "labels": [label]}
        answer = await way.service.post(path, body, params={"wait_ms": 0})
        assert (
            (answer.json()["rewards"] == [value])
            if value is not None
            else (answer.status_code == 503)
        )


async def openrlhf_alias(way: Way, folder: Path) -> None:
    await openrlhf(way, folder, "/get_reward")


async def slime(way: Way, _folder: Path) -> None:
    labels: list[Any] = [{"episode_id": way.id, "step": step} for step in range(5)]
    for label, value in zip([*labels, way.id], [*PAID, None], strict=True):
        for detail in ("0", "1"):
            asked = {"wait_ms": 0, "detail": detail}
            answer = await way.service.post(
                "/adapters/slime/score", {"response": "x", "label": label}, params=asked
            )
            assert (
                (answer.status_code == 503)
                if value is None
                else (value in (answer.json(), reward_in(answer.json())))
            )


def reward_in(document: Any) -> Any:
    """A document's reward."""
    return document["reward"] if isinstance(document, dict) else document


async def nemo(way: Way, _folder: Path, path: str = "/nemo/verify") -> None:
    """Its wire wants a number: 0.0 stands there beside `mask_sample`, and docs/trainers/nemo-gym.md
    says so."""
    row = {"response": {"output": []}, "label": {"episode_id": way.id}}
    whole = await way.json("POST", path, row, params={"wait_ms": 0})
    assert (whole["mask_sample"], whole["step_rewards"]) == (True, [])
    steps = [
        await way.json(
            "POST",
            path,
            {**row, "label": {"episode_id": way.id, "step": step}},
            params={"wait_ms": 0},
        )
        for step in range(5)
    ]
    assert [one["mask_sample"] for one in steps] == MASKED
    assert steps[0]["reward"] == PAID[0]
    means = await way.json(
        "POST", path.replace("verify", "aggregate_metrics"), {"verify_responses": [*steps, whole]}
    )
    assert means["agent_metrics"] == {"mean/reward": PAID[0], "mean/mask_sample": 5 / 6}


async def nemo_below_a_rollout(way: Way, folder: Path) -> None:
    await nemo(way, folder, "/nemo/ng-rollout/r1/verify")


async def nemo_strict(way: Way, _folder: Path) -> None:
    labels: list[Any] = [{"episode_id": way.id, "step": step} for step in range(5)]
    for label, value in zip([*labels, {"episode_id": way.id}], [*PAID, None], strict=True):
        row = {"response": {"output": []}, "label": label}
        answer = await way.service.post("/nemo/strict/verify", row, params={"wait_ms": 0})
        assert (answer.status_code == 503) if value is None else (answer.json()["reward"] == value)


async def nemo_turn(way: Way, _folder: Path, place: str = "/nemo") -> None:
    """Its step dialect has no mask: 503."""
    begun = await way.service.post(f"{place}/reset", {"label": way.id}, params={"wait_ms": 0})
    cookie = {"cookie": begun.headers["set-cookie"].partition(";")[0]}
    answer = await way.service.post(
        f"{place}/step", {"response": {"output": []}}, params={"wait_ms": 0}, headers=cookie
    )
    assert answer.status_code == 503, answer.text


async def nemo_strict_turn(way: Way, folder: Path) -> None:
    await nemo_turn(way, folder, "/nemo/strict")


async def nemo_rollout_turn(way: Way, folder: Path) -> None:
    await nemo_turn(way, folder, "/nemo/ng-rollout/r1")


async def status(way: Way, _folder: Path) -> None:
    assert (await way.json("GET", f"/v1/episodes/{way.id}"))["total"] is None


async def closing(way: Way, _folder: Path) -> None:
    told = await way.json("POST", f"/v1/episodes/{way.id}:close", {})
    assert told["total"] is None
    of_rewards(told["rewards"])


async def trajectory(way: Way, _folder: Path) -> None:
    of_rewards(
        [
            one["reward"]
            for one in (await way.json("GET", f"/v1/episodes/{way.id}/trajectory"))["steps"]
        ]
    )


async def streamed(way: Way, path: str, **headers: str) -> list[Any]:
    """The rewards of a stream that does not end, because a judge has not answered: off a real
    socket."""
    found: list[Any] = []
    async with (
        asyncio.timeout(30),
        on_a_socket(way.service.app) as url,
        httpx.AsyncClient(timeout=30) as http,
    ):
        headers |= {"authorization": f"Bearer {ADMIN}"}
        async with http.stream(
            "GET", f"{url}{path}", params={"kinds": "reward"}, headers=headers
        ) as answer:
            assert answer.status_code == 200
            kind = ""
            async for line in answer.aiter_lines():
                name, _, said = line.partition(": ")
                kind = said if name == "event" else kind
                if name == "data" and kind == "reward":
                    told = orjson.loads(said)
                    found.append(told["reward"] if isinstance(told.get("reward"), dict) else told)
                if len(found) == 5:
                    return found
    raise AssertionError(f"the stream ended after {len(found)} rewards")


async def stream(way: Way, _folder: Path) -> None:
    of_rewards(await streamed(way, f"/v1/episodes/{way.id}/stream"))


async def stream_of_all(way: Way, _folder: Path) -> None:
    of_rewards(await streamed(way, "/v1/stream", **{"last-event-id": "0"}))


async def explanation(way: Way, _folder: Path) -> None:
    for step in range(5):
        told = (await way.json("GET", f"/v1/episodes/{way.id}/steps/{step}/explanation"))["reward"]
        assert (told["reward"], told["mask"], told["status"]) == (
            PAID[step],
            MASKED[step],
            STATUS[step],
        )


async def report(way: Way, _folder: Path) -> None:
    told = await way.json("GET", "/v1/audit/report")
    assert [one["mean_total"] for one in told["tasks"]] == [None]
    assert {one["hit_rate"] for one in told["tasks"][0]["milestones"]} == {None}


async def health(way: Way, _folder: Path) -> None:
    told = await way.json("GET", "/v1/reports/health")
    assert {(one["reward"], one["mean_total"], one["components"]) for one in told["versions"]} <= {
        (None, None, None)
    }


async def evaluation(way: Way, _folder: Path) -> None:
    told = await way.json("GET", "/v1/reports/evaluation")
    for one in told["versions"]:
        assert one["reward"]["value"] is None
        known = sum(reward is not None for reward in PAID)
        actions = one["actions"]
        assert (actions["known_steps"], actions["unknown_steps"]) == (known, 5 - known)


async def rescore(way: Way, _folder: Path) -> None:
    """By rules that the processes of a rescore have too: those of others are installed in this one
    alone."""
    task = {
        **TASK,
        "id": "shop/other",
        "milestones": [one for one in TASK["milestones"] if one["id"] != "kept"],
    }
    episode_id, token = await way.service.open(task)
    await way.service.tell(episode_id, token, *episode(*STEPS))
    changed = {**task, "version": "2", "weights": {"nav": 0.5, "form": 0.25, "ui": 0.25}}
    asked = {"task": changed, "select": {"episodes": [episode_id]}}
    id = (await way.json("POST", "/v1/rescores", asked))["rescore"]

    async def done() -> bool:
        return bool((await way.json("GET", f"/v1/rescores/{id}"))["status"] == "done")

    await eventually(done)
    (one,) = (await way.json("GET", f"/v1/rescores/{id}/episodes"))["episodes"]
    assert [one["old"]["total"], one["new"]["total"]] == [None, None], one


async def ors_call(way: Way, _folder: Path) -> None:
    """An answer alone to a task of whose sources nothing was observed."""
    headers = {"x-session-id": "s"}
    await way.json(
        "POST",
        "/ors/create",
        {"task_spec": {"task": TASK["id"], "sandbox": "none"}},
        headers=headers,
    )
    environment = TASK["id"].partition("/")[0]
    body = {"name": "answer", "input": {"text": "x"}}
    answer = await way.service.post(f"/ors/{environment}/call", body, headers=headers)
    output = orjson.loads(answer.text.split("event: end\r\ndata: ")[1])["output"]
    assert (output["reward"], output["metadata"]["mask"]) == (None, True)
    assert output["metadata"]["reason"]


async def ors_group(way: Way, _folder: Path) -> None:
    """The episode beside an answer that says nothing: both are masked."""
    headers = {"x-session-id": "g"}
    spec = {"task_spec": {"task": TASK["id"], "sandbox": "none", "wait_ms": 0}}
    await way.json("POST", "/ors/create", spec, headers=headers)
    environment = TASK["id"].partition("/")[0]
    body = {"candidates": [{"messages": [], "metadata": {"episode": way.id}}, {"messages": []}]}
    answer = await way.service.post(f"/ors/{environment}/score_group", body, headers=headers)
    for score in orjson.loads(answer.text.split("event: end\r\ndata: ")[1])["scores"]:
        told = (score["reward"], score["metadata"]["mask"], score["metadata"]["total"])
        assert told == (None, True, None)
        assert score["metadata"]["reason"]


ROUTES: dict[str, Any] = {
    "GET /v1/episodes/{episode}/steps/{step}/reward": one_reward,
    "POST /v1/episodes/{episode}/steps/{step}:advance": advanced,
    "POST /v1/episodes/{episode}/steps/{step}:seal": sealed,
    "POST /v1/rewards:query": many_rewards,
    "POST /v1/score": scores,
    "POST /v1/groups:score": group,
    "GET /v1/episodes": listed,
    "GET /v1/curriculum": curriculum,
    "POST /v1/episodes:sample": sampled,
    "POST /adapters/openrlhf/score": openrlhf,
    "POST /get_reward": openrlhf_alias,
    "POST /adapters/slime/score": slime,
    "POST /nemo/verify": nemo,
    "POST /nemo/aggregate_metrics": nemo,
    "POST /nemo/step": nemo_turn,
    "POST /nemo/strict/verify": nemo_strict,
    "POST /nemo/strict/step": nemo_strict_turn,
    "POST /nemo/strict/aggregate_metrics": nemo,
    "POST /nemo/ng-rollout/{rollout}/verify": nemo_below_a_rollout,
    "POST /nemo/ng-rollout/{rollout}/aggregate_metrics": nemo_below_a_rollout,
    "POST /nemo/ng-rollout/{rollout}/step": nemo_rollout_turn,
    "POST /ors/{environment}/call": ors_call,
    "POST /ors/{environment}/score_group": ors_group,
    "GET /v1/episodes/{episode}": status,
    "POST /v1/episodes/{episode}:close": closing,
    "GET /v1/episodes/{episode}/trajectory": trajectory,
    "GET /v1/episodes/{episode}/stream": stream,
    "GET /v1/stream": stream_of_all,
    "GET /v1/episodes/{episode}/steps/{step}/explanation": explanation,
    "GET /v1/audit/report": report,
    "GET /v1/reports/health": health,
    "GET /v1/reports/evaluation": evaluation,
    "GET /v1/rescores/{rescore}": rescore,
    "GET /v1/rescores/{rescore}/episodes": rescore,
}
"""Routes that give a number for a reward, and how each is held."""
NO_REWARD = """
POST /v1/episodes/{episode}/events, GET /v1/episodes/{episode}/events, GET /v1/episodes/{episode}/commands,
GET /v1/episodes/{episode}/commands/stream,
GET /v1/episodes/{episode}/plan, POST /v1/episodes/{episode}/steps, POST /v1/episodes/{episode}/steps/{step}:end,
POST /v1/reward-model/preferences, POST /v1/rubrics:draft, POST /v1/tasks:propose, POST /v1/tasks:draft, POST /v1/tasks:confirm,
POST /v1/episodes/{episode}/answers, POST /v1/episodes/{episode}/evidence,
POST /v1/episodes/{episode}/tools:call, POST /v1/episodes/{episode}/tools:return,
POST /v1/episodes, POST /v1/episodes:heartbeat, DELETE /v1/episodes/{episode}, GET /v1/episodes/{episode}/verdicts,
GET /v1/episodes/{episode}/sandbox, GET /v1/episodes/{episode}/ready,
POST /v1/sandboxes, GET /v1/sandboxes, POST /v1/sandboxes/{sandbox}:beat, POST /v1/sandboxes/{sandbox}:leave,
GET /v1/audit/verify, GET /v1/audit/checkpoints, POST /v1/rescores, GET /v1/rescores, DELETE /v1/rescores/{rescore},
POST /v1/tasks, GET /v1/tasks, GET /v1/schemas/task, GET /v1/tasks/{id}, GET /healthz, GET /readyz, GET /metrics,
GET /v1/episodes/{episode}/blame, GET /v1/episodes/{episode}/start, GET /v1/episodes/{episode}/hints,
GET /openenv/health, GET /openenv/metadata, GET /openenv/schema, GET /v1/episodes/{episode}/recording,
GET /v1/episodes/{episode}/screenshots/{sha256},
GET /ors/health, GET /ors/version, GET /ors/list_environments, GET /ors/{environment}/tools, GET /ors/{environment}/splits,
POST /ors/{environment}/tasks, POST /ors/{environment}/num_tasks, POST /ors/{environment}/task,
POST /ors/{environment}/task_range, POST /ors/create_session, POST /ors/create, POST /ors/ping, POST /ors/delete,
POST /ors/delete_session, GET /ors/{environment}/task_tools, GET /ors/{environment}/prompt, GET /ors/{environment}/messages
"""
"""Routes that give events, names, states or a stage's word, and no number for a reward. (A recording holds none either:
what makes rewards of it are the commands below.)"""
PER_ROLLOUT = ("seed_session", "reset", "close", "close_session", "reverify_mode")
"""The ends of NeMo Gym's dialect that give no reward, at each of its places."""


async def test_every_route_is_in_a_table(unknown: Way) -> None:
    """A new one is put there by whoever makes it: into `ROUTES` with its check, or among those
    without a reward."""
    document = (await unknown.service.get("/openapi.json")).json()
    there = {f"{method.upper()} {path}" for path, of in document["paths"].items() for method in of}
    silent = {one.strip() for one in NO_REWARD.replace("\n", " ").split(",")}
    silent |= {one for one in there if "/nemo/" in one and one.rpartition("/")[2] in PER_ROLLOUT}
    assert there - silent - ROUTES.keys() == set(), "these give a reward or none: say which"
    assert (ROUTES.keys() | silent) - there == set(), "these are gone"
    assert ROUTES.keys() & silent == set()


@pytest.mark.parametrize(
    "check", list(dict.fromkeys(ROUTES.values())), ids=lambda check: check.__name__
)
async def test_no_route_gives_a_number_for_what_is_not_known(
    unknown: Way, tmp_path: Path, check: Callable[[Way, Path], Awaitable[None]]
) -> None:
    await check(unknown, tmp_path)


async def test_openenv_s_socket_gives_an_error_frame_for_what_is_not_known(unknown: Way) -> None:
    """A socket is no path of OpenAPI's: it is held off a real one."""
    async with asyncio.timeout(60), on_a_socket(unknown.service.app) as url:
        address = f"{url.replace('http', 'ws', 1)}/openenv/ws"
        async with connect(
            address, additional_headers={"authorization": f"Bearer {ADMIN}"}
        ) as socket:

            async def say(kind: str, **data: Any) -> Any:
                await socket.send(orjson.dumps({"type": kind, "data": data}).decode())
                return orjson.loads(await socket.recv())

            begun = await say("reset", episode_id=unknown.id)
            assert (begun["type"], begun["data"]["reward"]) == ("observation", None)
            for step, value in enumerate(PAID):
                told = await say("step", step=step)
                if value is None:
                    assert told["type"] == "error", told
                    assert "reward" not in told["data"]
                    assert "not known" in told["data"]["message"]
                else:
                    assert told["data"]["reward"] == value


async def test_metrics_count_what_is_not_known_by_its_status_and_sum_no_reward(
    unknown: Way,
) -> None:
    """No metric is a sum or a mean of rewards, so that none can take null for 0."""
    told = await unknown.service.metrics()
    prefix = "milestoned_rewards_sealed_total"
    counted = {name: value for name, value in told.items() if name.startswith(prefix) and value}
    wanted: dict[str, float] = {}
    for one in STATUS[:4]:  # an escalating one is counted once it is sealed
        name = f'{prefix}{{status="{one}"}}'
        wanted[name] = wanted.get(name, 0.0) + 1.0
    assert counted == wanted
    names = {name.partition("{")[0] for name in told}
    assert {name for name in names if "reward" in name} == {
        "milestoned_rewards_sealed_total",
        "milestoned_rewards_sealed_created",
        "milestoned_reward_reads_total",
        "milestoned_reward_reads_created",
    }


# -- pages and files


async def list_as_csv(way: Way) -> None:
    text = (await way.page("/episodes/export", format="csv")).text
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["total"], row["success"]) == ("", "")


async def list_as_parquet(way: Way) -> None:
    import pyarrow.parquet as pq

    answer = await way.page("/episodes/export", format="parquet")
    tables = zipfile.ZipFile(io.BytesIO(answer.content))
    held(
        {
            name: pq.read_table(io.BytesIO(tables.read(f"{name}.parquet"))).to_pylist()
            for name in TABLES
        }
    )


TABLES = ("episodes", "rewards", "milestones", "returns")


def held(tables: dict[str, list[Any]]) -> None:
    """Exported tables."""
    assert [(one["total"], one["masked"]) for one in tables["episodes"]] == [(None, 4)]
    assert [(one["reward"], one["mask"]) for one in tables["rewards"]] == list(
        zip(PAID, MASKED, strict=True)
    )
    assert all(
        value is None for one in tables["rewards"] if one["mask"] for _, value in one["components"]
    )
    assert [one["return_to_go"] for one in tables["returns"]] == [None] * 5
    assert [one["unknown"] for one in tables["returns"]] == [4, 4, 3, 2, 1]
    assert {(one["id"], one["paid"]) for one in tables["milestones"]} == {
        ("cart", True),
        ("buy", False),
    }


async def compared(way: Way) -> None:
    """The running total is not known from the first step on that is not."""
    other, token = await way.service.open(TASK)
    await way.service.tell(other, token, *episode(*STEPS))
    text = (await way.page("/compare", a=way.id, b=other)).text
    assert text.count(">null<") == 8
    assert "0.25,null,null,null,null" in text.replace(" ", "")
    steps = [STEPS[0], STEPS[1][:2], *STEPS[2:]]
    without, token = await way.service.open(TASK)
    await way.service.tell(without, token, *episode(*steps))
    text = (await way.page("/compare", a=way.id, b=without)).text
    assert f"A reached buy (+0.25{UNPAID}), B never did" in text
    rude = {"id": "rude", "when": {"element_clicked": {"name": "Rude"}}, "penalty": 0.5}
    task = {**TASK, "id": "fined", "milestones": [*TASK["milestones"], rude]}
    gap: list[Said] = [
        ("gap.began", {"source": "cdp", "reason": "gone"}),
        ("gap.ended", {"source": "cdp"}),
    ]
    ids = []
    for step in ([*gap, clicked("Rude"), clicked("Buy")], [clicked("Rude")]):
        id, token = await way.service.open(task)
        await way.service.tell(id, token, *episode(step))
        ids.append(id)
    text = (await way.page("/compare", a=ids[0], b=ids[1])).text
    assert "A reached buy (0, not paid: only a penalty is known of the step), B never did" in text


async def one_page(way: Way) -> None:
    text = (await way.page(f"/episodes/{way.id}")).text
    assert "not known" in text or "–" in text
    shown = re.sub(r"<svg.*?</svg>", "", text.partition("<main")[2], flags=re.S)
    assert "0.5" not in shown, "what was masked is in no sum"
    assert text.count('fill="url(#hatch)"') == 4, "and its curve is hatched there"
    of_the_list(text)


UNPAID = ", not paid: the step is masked"
"""Beside the worth of `buy`, which came true in a step whose reward is not known."""


def of_the_list(text: str) -> None:
    """The list of milestones and the flags of the curve: what each is worth, and which has not paid
    it."""
    assert len(re.findall(r"\+0\.25 at step 0(?!,)", text)) == 2
    said = re.findall(r"\+0\.25 at step 1(.{30})", text)
    assert said == [UNPAID] * 2, "in the list and at the flag of the curve"


async def told_more(way: Way) -> None:
    """Of a milestone and of a step whose reward is not known: what it is worth, not paid."""
    of_milestone = (await way.page(f"/episodes/{way.id}/detail", milestone="buy")).text
    assert "+0.25</strong>" in of_milestone
    assert UNPAID in of_milestone
    of_step = (await way.page(f"/episodes/{way.id}/detail", step="1")).text
    assert "<strong>Not known</strong>, masked" in of_step
    assert f"<small>{UNPAID.removeprefix(', ')}</small>" in of_step
    for asked in ({"milestone": "cart"}, {"step": "0"}):
        paid = (await way.page(f"/episodes/{way.id}/detail", **asked)).text
        assert "+0.25" in paid
        assert "not paid" not in paid


PAGES: dict[str, Any] = {
    "/episodes/export": (list_as_csv, list_as_parquet),
    "/compare": (compared,),
    "/episodes/{episode}": (one_page,),
    "/episodes/{episode}/detail": (told_more,),
}
"""Pages and files that give a reward of an episode, held here."""
ELSEWHERE = {
    "/": "leads to the list",
    "/episodes": "tests/pages/test_drawn.py: a total that is not known is a dash (`number`)",
    "/episodes/{episode}/now": "what the episode's page shows, by the same template",
    "/episodes/{episode}/window": "events",
    "/episodes/{episode}/search": "events",
    "/episodes/{episode}/conditions": "conditions, without what any is worth",
    "/episodes/{episode}/conditions/now": "conditions, without what any is worth",
    "/episodes/{episode}/live": "says that there is something new",
    "/episodes/{episode}/pictures/{sha256}": "a picture",
    "/episodes/{episode}/replay": "pictures and events",
    "/episodes/{episode}/visual": "pictures",
    "/audit": "health and differences, as /v1/audit/report",
    "/audit/report": "what /v1/audit/report gives",
    "/training": (
        "tests/pages/test_drawn.py: what a version was paid is not known where no episode has a"
        " total"
    ),
    "/tasks": "tasks",
    "/tasks/{id:path}": "rates over what is known, as /v1/audit/report",
    "/editor": "a task; tried on stored episodes as /v1/rescores",
    "/fleet": "sandboxes",
    "/fleet/live": "sandboxes",
    "/label": "milestones by name",
    "/label/preferences.zip": "people's words",
    "/login": "nothing",
    "/static/{digest}/{name}": "files",
}
"""Pages without a reward of their own, and why."""


def paths_of_pages() -> set[str]:
    """Every page, as the features declare them."""
    found: set[str] = set()
    for file in sorted((ROOT / "api/pages").glob("*.py")):
        module = import_module(f"api.pages.{file.stem}")
        router = getattr(module, "router", None)
        if router is not None:
            found |= {route.path for route in router.routes if "GET" in route.methods}
    return found


def test_every_page_is_in_a_table() -> None:
    assert paths_of_pages() == PAGES.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize(
    "check", [one for checks in PAGES.values() for one in checks], ids=lambda one: one.__name__
)
async def test_no_page_and_no_file_gives_a_number_for_what_is_not_known(
    unknown: Way, check: Callable[[Way], Awaitable[None]]
) -> None:
    await check(unknown)


# -- commands


async def replay(way: Way, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, task = await way.recording(folder)
    assert await asyncio.to_thread(main, ["replay", str(file), "--task", str(task), "--json"]) == 0
    of_rewards([orjson.loads(line) for line in capsys.readouterr().out.splitlines()])
    assert await asyncio.to_thread(main, ["replay", str(file), "--task", str(task)]) == 0
    said = capsys.readouterr().out
    assert said.count("  null  ") == 4
    assert "total not known (seen: 0.25)" in said


async def exported(way: Way, folder: Path, _capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow.parquet as pq

    assert await way.command("export", "--stored", "--out", folder / "out") == 0
    pages = folder / "pages"
    assert await way.command("export", "--stored", "--form", "html", "--out", pages) == 0
    page = (pages / f"{way.id}.html").read_text()
    assert '<dd class="big">not known</dd>' in page
    assert page.count(">Not known</strong>, masked") == sum(MASKED)
    of_the_list(page)
    assert f"buy <small>{UNPAID.removeprefix(', ')}</small>" in page
    held({name: pq.read_table(folder / "out" / f"{name}.parquet").to_pylist() for name in TABLES})
    assert await way.command("export", "--stored", "--form", "otlp", "--out", folder / "otlp") == 0
    of_evaluations((folder / "otlp" / "logs.jsonl").read_bytes())
    assert await way.command("export", "--stored", "--form", "atif", "--out", folder / "atif") == 0
    (trajectory,) = (folder / "atif").iterdir()
    of_trajectory(orjson.loads(trajectory.read_bytes()))


def of_trajectory(document: Any) -> None:
    """Each step of the agent, and the close, has its reward; so has the whole."""
    steps = [step for step in document["steps"] if "extra" in step]
    of_rewards([step["extra"]["milestoned"] for step in steps])
    assert all(datetime.fromisoformat(step["timestamp"]).tzinfo for step in steps)
    assert document["final_metrics"]["extra"]["reward"] is None


def of_evaluations(line: bytes) -> None:
    """The steps' evaluations: a score where the reward is known, none at all where it is not."""
    (resource,) = orjson.loads(line)["resourceLogs"]
    records = resource["scopeLogs"][0]["logRecords"]
    named = [{one["key"]: one["value"] for one in record["attributes"]} for record in records]
    steps = [one for one in named if one["gen_ai.evaluation.name"]["stringValue"] == "step_reward"]
    scores = [one.get("gen_ai.evaluation.score.value", {}).get("doubleValue") for one in steps]
    assert scores == list(PAID)


async def rescored(way: Way, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, task = await way.recording(folder)
    again = folder / "again.yaml"
    written(again, {**TASK, "weights": {"nav": 0.5, "form": 0.2, "file": 0.2, "ui": 0.1}})
    asked = [
        "rescore",
        str(file),
        "--task",
        str(again),
        "--against",
        str(task),
        "--json",
        "--workers",
        "1",
    ]
    assert await asyncio.to_thread(main, asked) == 1
    one, _ = map(orjson.loads, capsys.readouterr().out.splitlines())
    assert [one["old"]["total"], one["new"]["total"]] == [None, None]


async def explained(way: Way, _folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step, value in enumerate(PAID):
        assert await way.command("audit", "explain", way.id, step) == 0
        said = capsys.readouterr().out
        assert said.count("+0.250 ") - said.count(UNPAID.removeprefix(", ")) == (value == 0.25)
        assert said.startswith(
            f"{way.id} step {step}: {'null' if value is None else '+0.250'}, {STATUS[step]}"
        )


async def reported(way: Way, _folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await way.command("audit", "report") == 0
    assert "mean total not known of 1" in capsys.readouterr().out


GIVE: dict[str, Any] = {
    "replay": replay,
    "export": exported,
    "rescore": rescored,
    "audit explain": explained,
    "audit report": reported,
}
"""Commands that give a number for a reward, held here."""
OTHERS = {
    "serve": "the service",
    "demo": "shows what the stream gives; its total by `api.rewards.rendering.total_in_words`",
    "watch": "shows what the stream gives; its total by `api.rewards.rendering.total_in_words`",
    "task new": "a file",
    "task check": "what can be paid, not what was",
    "task explain": "milestones in words, with the replay's own words for a step",
    "task test": "whether rewards are those that the task names; null is one of its words",
    "task attack": "what adversaries are paid: null in JSON, by `total_in_words` in text"
    " (tests/attack/test_command.py)",
    "task import": "task files",
    "task propose": "task files; what failures earn is the most that a test allows",
    "task refine": "counts of episodes; a milestone that is not known, and an episode whose success"
    " is not, are counted apart (tests/proposal/test_refining.py)",
    "task schema": "a schema",
    "task rubric": "criteria",
    "coverage": "counts of tasks",
    "weights fit": "weights over pairs whose rewards are known; others are counted as left out",
    "audit verify": "differences",
    "audit key": "a key",
    "rm prefer": "preferences",
    "rm train": "a model",
    "rm eval": "accuracies",
    "rm promote": "a model's name",
    "rm gate": "areas under curves",
    "rm rollback": "a model's name",
    "rm drift": "shares of answers",
    "rm history": "what became of models",
    "rm learn": "a model",
    "rm schema": "a schema",
    "cascade eval": "precision and recall over labels",
    "cascade calibrate": "confidences of a judge",
    "recording show": "events; what they come to as `replay` says it",
    "recording verify": "whether a file is whole",
    "task register": "an id, and what the task can pay at most",
    "episode open": "an id",
    "episode recording": "a recording",
    "episode explain": "what `task explain` says of the episode's recording",
    "ors-proxy": "what another server answers; a null in it stays null, or becomes a reward of"
    " `GET …/reward` (tests/trainers/test_ors.py)",
    "mcp": "what the service answers, with null where that has it (tests/api/test_mcp.py)",
    "token create": "a token",
    "token list": "tokens",
    "token revoke": "a token",
    "db upgrade": "the schema",
    "db check": "the schema",
    "db adopt-key": "a key",
    "db adopt-secret": "a secret",
    "db prune": "tombstones",
    "db move": "copies",
    "convert": "a recording, and how many events and steps; what they come to as `replay` says it",
}
"""Commands without a reward of their own, and why."""


def test_every_command_is_in_a_table() -> None:
    there = {" ".join(command.words) for command in commands_of("milestoned")}
    assert there == GIVE.keys() | OTHERS.keys()


@pytest.mark.parametrize("check", GIVE.values(), ids=list(GIVE))
async def test_no_command_gives_a_number_for_what_is_not_known(
    unknown: Way, tmp_path: Path, capsys: pytest.CaptureFixture[str], check: Any
) -> None:
    await check(unknown, tmp_path, capsys)


# -- the daemon's commands

DAEMON = {
    "run": "with --edge each sealed step's hint, held here; else nothing",
    "join": "the same daemon without --edge",
    "record": "events and how many",
    "read": "what a file says",
    "mcp": "what an MCP server answers, unchanged; rewards go another way",
    "devtools": "a browser's DevTools",
}
"""The commands of `agentd`, and what number for a reward they give."""


def test_every_command_of_the_daemon_is_in_the_table_and_only_one_scores() -> None:
    commands = {command.words: command.arguments for command in commands_of("agentd")}
    assert commands.keys() == {(name,) for name in DAEMON}
    scoring = {
        words
        for words, arguments in commands.items()
        if any(argument.name == "--edge" for argument in arguments)
    }
    assert scoring == {("run",)}
    engines = {
        path.name
        for path in (ROOT / "agentd").rglob("*.py")
        if "detectors.engine.engine" in path.read_text()
    }
    assert engines == {"local_scoring.py"}, (
        "whoever runs the rules in the daemon gives rewards: hold it here"
    )


async def test_the_daemon_s_own_hint_is_null_where_nothing_is_known(
    unknown: Way, tmp_path: Path
) -> None:
    """`agentd run --edge`: what it says into the journal of the same events. ``unknown`` brings the
    rule of others."""
    recorder = Recorder(Journal(tmp_path / "journal.sqlite3", "ep_1"))
    Edge(recorder, compile_task(task_from_json(TASK)))
    for event in log(
        *episode(*STEPS, close=False), ("step.sealed", {"step": 4, "reason": "quiet"})
    ):
        recorder.append(event.source, event.kind, event.data)
        await asyncio.sleep(0)  # the edge computes in the loop's next turn
    recorder.flush()
    told = [data for _, kind, data in recorder.journal.rows() if kind == "reward.estimated"]
    recorder.close()
    # It is the rules' number, as `audit report` compares it: they know that the last step earns
    # nothing by them, and a judge is the service's.
    assert [(one["step"], one["reward"]) for one in told] == [*enumerate(PAID[:4]), (4, 0.0)]


# -- labels that a model is trained on


async def preferences(way: Way, folder: Path) -> list[dict[str, Any]]:
    """What `rm prefer` makes of the recording."""
    file, _ = await way.recording(folder)
    index, made = folder / "index.jsonl", folder / "preferences.jsonl"
    index.write_bytes(orjson.dumps({"id": "one", "file": file.name, "group": "g", "task": TASK}))
    assert await asyncio.to_thread(main, ["rm", "prefer", str(index), str(made)]) == 0
    return [orjson.loads(line) for line in made.read_bytes().splitlines()]


async def test_no_label_is_made_of_a_reward_that_is_not_known(unknown: Way, tmp_path: Path) -> None:
    """The episode's success is not known: no outcome, no pair, no step that failed. (Of episodes
    that succeeded with steps in the dark: tests/training/test_preferences.py.)"""
    assert await preferences(unknown, tmp_path) == []
