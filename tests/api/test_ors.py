"""The Open Reward Standard's environment server: what it lists, how sessions live, what calls are
answered with, what is refused."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.auth.store import OPERATOR
from api.ors.bracket import StepPay
from api.ors.proxy import pay_output
from api.ors.streaming import CHUNK, split_chunks
from tests.api.daemon import Daemon
from tests.api.service import ADMIN, TASK, Service, Store, eventually, running
from tests.api.test_score import ANSWER, DEAD
from tests.api.test_tenants import tenant
from tests.support.logs import Said, clicked, went

EFFECTS: Mapping[int, Sequence[Said]] = {0: [went("/cart")], 1: [clicked("Buy")]}
SID = {"x-session-id": "s-1"}


@pytest.fixture
def folder(sqlite_schema: Path, tmp_path: Path) -> Store:
    """A service's folder with the schema: the tables are the same on Postgres (test_schema)."""
    shutil.copy(sqlite_schema, tmp_path / "milestoned.db")
    return Store(tmp_path)


@pytest.fixture
async def ors(folder: Store) -> AsyncIterator[Service]:
    """A service with the two tasks."""
    async with running(folder) as service:
        service.app.state.parts.open_reward.lifecycle.start_ms = 0
        for task in (TASK, ANSWER):
            assert (await service.post("/v1/tasks", task)).status_code == 201
        yield service


class Streamed(NamedTuple):
    """A call's stream as the standard's clients read it: they strip the data of each event."""

    task_id: str
    events: list[str]
    text: str

    @property
    def output(self) -> dict[str, Any]:
        answer = json.loads(self.text)
        assert answer["ok"], answer
        output: dict[str, Any] = answer["output"]
        return output


def streamed(text: str) -> Streamed:
    """Read a stream."""
    events = []
    for part in text.split("\r\n\r\n"):
        if part and not part.startswith(":"):
            name, data = part.split("\r\n")
            events.append((name.split(":", 1)[1].strip(), data.split(":", 1)[1].lstrip()))
    first, *rest = events
    assert first[0] == "task_id", text
    return Streamed(first[1], [name for name, _ in rest], "".join(data for _, data in rest))


async def create(service: Service, sid: str = "s-1", token: str = ADMIN, **spec: Any) -> str:
    """Create a session of a task spec."""
    answer = await service.post(
        "/ors/create", {"task_spec": spec}, token, headers={"x-session-id": sid}
    )
    assert (answer.status_code, answer.json()) == (200, {"sid": sid}), answer.text
    return sid


async def call(service: Service, name: str, env: str = "shop", **arguments: Any) -> Streamed:
    """Call a tool of session s-1."""
    answer = await service.post(f"/ors/{env}/call", {"name": name, "input": arguments}, headers=SID)
    assert answer.status_code == 200, answer.text
    return streamed(answer.text)


async def watched(
    service: Service, effects: Mapping[int, Sequence[Said]] = EFFECTS
) -> tuple[str, asyncio.Task[None]]:
    """An episode that a daemon watches, in session s-1."""
    episode, token = await service.open()
    daemon = Daemon(service, episode, token, effects)
    await daemon.obey()
    running = asyncio.create_task(daemon.run())
    await create(service, episode=episode)
    return episode, running


async def test_tasks_are_listed_as_environments(ors: Service) -> None:
    newer = {**TASK, "version": "2", "instruction": "Put it there."}
    for task in ({**TASK, "id": "shop/sign"}, newer):
        assert (await ors.post("/v1/tasks", task)).status_code == 201
    cart, sign = (
        {"task": f"shop/{name}", "version": v} for name, v in (("cart", "2"), ("sign", "1"))
    )
    asked: list[tuple[str, str, Any, Any]] = [
        ("GET", "list_environments", None, ["shop", "quiz"]),
        ("GET", "shop/splits", None, [{"name": "train", "type": "train"}]),
        ("POST", "shop/tasks", {}, {"tasks": [cart, sign], "env_name": "shop"}),
        ("POST", "SHOP/num_tasks", {}, {"num_tasks": 2}),
        ("POST", "shop/task", {"index": 1}, {"task": sign, "env_name": "shop"}),
        ("POST", "shop/task_range", {}, {"tasks": [cart, sign], "env_name": "shop"}),
        ("POST", "shop/task_range", {"start": -1}, {"tasks": [sign], "env_name": "shop"}),
        ("POST", "shop/task_range", {"stop": 1}, {"tasks": [cart], "env_name": "shop"}),
    ]
    for method, path, more, wanted in asked:
        body = {} if more is None else {"json": {"split": "train", **more}}
        answer = await ors.call(method, f"/ors/{path}", **body)
        assert (answer.status_code, answer.json()) == (200, wanted), path
    tools = (await ors.get("/ors/shop/tools")).json()
    assert [tool["name"] for tool in tools["tools"]] == ["step", "end_step"]
    assert (tools["terminal_tool"]["name"], tools["terminal_tool"]["arg"]) == ("answer", "text")
    assert tools["supports_score_group"] is True


async def test_a_path_without_environment_leads_to_the_first_or_the_deployments(
    ors: Service,
) -> None:
    for headers, wanted in (({}, "shop"), ({"x-deployment": "acme/quiz"}, "quiz")):
        answer = await ors.get("/ors/tools?a=b", headers=headers)
        assert (answer.status_code, answer.headers["location"]) == (308, f"{wanted}/tools?a=b")
    assert (await ors.get("/ors/nonsense")).status_code == 404


async def test_the_token_may_come_as_the_standards_header(ors: Service) -> None:
    path = "/ors/list_environments"
    assert (await ors.get(path, None, headers={"x-api-key": ADMIN})).status_code == 200
    for headers in ({}, {"x-api-key": "mt_made-up"}, {"x-api-key": ""}):
        assert (await ors.get(path, None, headers=headers)).status_code == 401
    assert (await ors.get("/v1/tasks", None, headers={"x-api-key": ADMIN})).status_code == 401


async def test_each_call_pays_the_step_that_it_completes_once(ors: Service) -> None:
    episode, daemon = await watched(ors)
    begun = (await call(ors, "step", action={"click": "cart"})).output
    assert (begun["reward"], begun["metadata"]["status"]) == (None, "running")
    assert (begun["metadata"]["episode"], begun["metadata"]["step"]) == (episode, 0)
    next_step = (await call(ors, "step", action="buy")).output
    ended = (await call(ors, "end_step")).output
    answered = (await call(ors, "answer", text="Bought.")).output
    await daemon
    paid = [output["reward"] for output in (next_step, ended, answered)]
    whole = (await ors.post("/v1/score", {"samples": [{"episode": episode}]})).json()["results"][0]
    assert sum(paid) == pytest.approx(whole["reward"])
    assert paid[0] == whole["step_rewards"][0] > 0
    assert paid[1] == whole["step_rewards"][1] > 0
    finished = [output["finished"] for output in (begun, next_step, ended, answered)]
    assert finished == [False, False, False, True]
    (evidence,) = next_step["metadata"]["rewards"]
    assert evidence == (await ors.reward(episode, 0)).json(), "the service's own words"
    assert evidence["milestones"][0]["evidence"]
    assert "reward" not in next_step["blocks"][0]["text"], "the agent is not told"
    again = json.loads((await call(ors, "step")).text)
    assert (again["ok"], again["reason"]) == (False, "episode_finished")


async def test_what_is_not_known_is_null_with_its_reason(ors: Service) -> None:
    _, daemon = await watched(ors, {0: [went("/cart"), DEAD]})
    await call(ors, "step")
    ended = (await call(ors, "end_step")).output
    answered = (await call(ors, "answer", text="x")).output
    await daemon
    for output in (ended, answered):
        assert output["reward"] is None
        assert (output["metadata"]["mask"], output["metadata"]["status"]) == (True, "unobserved")
        assert "browser gone" in output["metadata"]["reason"]
    blame = answered["metadata"]["blame"]
    assert (ended["metadata"]["blame"], blame["cause"]) == (None, "infrastructure")
    assert blame["evidence"]
    assert blame["first_failure"]["step"] == 0


async def test_an_answer_alone_is_scored_without_a_sandbox(ors: Service) -> None:
    for text, reward in (("six sevens", 0.0), ("42", 1.0)):
        await create(ors, task="quiz/answer")
        listed = (await ors.get("/ors/quiz/task_tools", headers=SID)).json()
        assert (listed["tools"], listed["terminal_tool"]["name"]) == ([], "answer")
        prompt = (await ors.get("/ors/quiz/prompt", headers=SID)).json()
        block = {"text": "What is six times seven?", "detail": None, "type": "text"}
        assert prompt == [block]
        messages = (await ors.get("/ors/quiz/messages", headers=SID)).json()
        assert messages == [{"role": "user", "blocks": [block], "detail": None}]
        output = (await call(ors, "answer", "quiz", text=text)).output
        assert (output["reward"], output["finished"]) == (reward, True)
        assert (await ors.post("/ors/delete", {}, headers=SID)).json() == {"sid": "s-1"}
    await create(ors, task="shop/cart", sandbox="none")
    output = (await call(ors, "answer", text="42")).output
    assert (output["reward"], output["metadata"]["mask"]) == (None, True)
    assert output["metadata"]["reason"]


async def score_group(service: Service, *candidates: Any, env: str = "shop") -> Streamed:
    """Score a group in session s-1."""
    body = {"candidates": list(candidates)}
    answer = await service.post(f"/ors/{env}/score_group", body, headers=SID)
    assert answer.status_code == 200, answer.text
    return streamed(answer.text)


def said(text: str, **metadata: Any) -> dict[str, Any]:
    """A candidate whose last words are ``text``."""
    blocks = [{"type": "text", "text": text, "detail": None}, {"type": "image", "data": "x"}]
    messages = [{"role": "user", "blocks": []}, {"role": "assistant", "blocks": blocks}]
    return {"messages": messages, "metadata": metadata or None}


async def test_a_group_of_episodes_is_ranked_as_groups_are(ors: Service) -> None:
    """Three rollouts: both milestones, one, and one that nobody can know."""
    episodes = []
    for effects in (EFFECTS, {0: [went("/cart")]}, {0: [went("/cart"), DEAD]}):
        episode, daemon = await watched(ors, effects)
        for name in ("step", "step", "end_step"):
            await call(ors, name)
        await call(ors, "answer", text="x")
        await daemon
        await ors.post("/ors/delete", {}, headers=SID)
        episodes.append(episode)
    await create(ors, task="shop/cart", sandbox="none")
    candidates = [said("SUCCESS: reward 1", episode=id, at=n) for n, id in enumerate(episodes)]
    found = await score_group(ors, *candidates, said("I did all of it."))
    scores = json.loads(found.text)["scores"]
    assert [score["reward"] for score in scores] == [1.0, 0.0, None, None], "words pay nothing"
    told = [score["metadata"] for score in scores]
    group = (await ors.post("/v1/groups:score", {"episodes": episodes})).json()
    for metadata, member, candidate in zip(told, group["results"], candidates, strict=False):
        assert (metadata["rank"], metadata["advantage"]) == (member["rank"], member["advantage"])
        assert (metadata["total"], metadata["milestones"]) == (
            member["reward"],
            member["milestones"],
        )
        assert metadata["candidate"] == candidate["metadata"], "as its trainer sent it"
    assert [metadata["mask"] for metadata in told] == [False, False, True, True]
    assert "browser gone" in told[2]["reason"]
    assert "metadata.episode: expected the candidate's episode" in told[3]["reason"]
    assert (await score_group(ors, *candidates, said("I did all of it."))) == found


async def test_a_group_of_answers_alone_is_ranked(ors: Service) -> None:
    await create(ors, task="quiz/answer")
    found = await score_group(ors, said("42"), said("41"), said("six"), env="quiz")
    scores = json.loads(found.text)["scores"]
    assert [score["reward"] for score in scores] == [1.0, 0.25, 0.25]
    assert [score["metadata"]["rank"] for score in scores] == [1, 2, 2]
    assert json.loads((await score_group(ors, env="quiz")).text) == {"scores": []}


async def test_a_group_that_is_not_final_or_none_is_not_ranked(ors: Service) -> None:
    """An open episode leaves the whole group unranked; what is none is an error of the stream."""
    (first, daemon), (second, _) = await watched(ors), await ors.open()
    await call(ors, "answer", text="x")
    await daemon
    await ors.post("/ors/delete", {}, headers=SID)
    await create(ors, task="shop/cart", sandbox="none", wait_ms=0)
    found = await score_group(ors, said("", episode=first), said("", episode=second))
    closed, running = json.loads(found.text)["scores"]
    assert (closed["reward"], closed["metadata"]["status"]) == (None, "settling")
    assert f"{second} " in closed["metadata"]["reason"], "which one is waited for"
    assert (running["reward"], running["metadata"]["mask"]) == (None, True)
    quiz = (await ors.post("/v1/episodes", {"task": "quiz/answer"})).json()["episode"]
    for candidates, says in (
        ([said("", episode="ep_nobody")], "there is no episode ep_nobody"),
        ([said("", episode=first), said("", episode=first)], "is named twice"),
        ([said("", episode=quiz)], "expected episodes of the session's task, shop/cart 1"),
    ):
        errors = await score_group(ors, *candidates)
        assert errors.events == ["error"]
        assert says in errors.text
    body = {"candidates": [said("")], "task_id": "0" * 32}
    answer = await ors.post("/ors/shop/score_group", body, headers=SID)
    assert answer.text == "event: error\r\ndata: unknown task_id\r\n\r\n"
    again = await ors.post(
        "/ors/shop/score_group",
        {
            "candidates": [said("", episode=first), said("", episode=second)],
            "task_id": found.task_id,
        },
        headers=SID,
    )
    assert streamed(again.text) == found, "whoever comes back with the same gets the same"


async def test_a_call_streams_the_same_answer_again_also_from_another_process(
    folder: Store, ors: Service
) -> None:
    _, daemon = await watched(ors)
    await call(ors, "step")
    ended = await call(ors, "end_step")
    body = {"name": "end_step", "input": {}, "task_id": ended.task_id}
    async with running(folder) as other:
        for service in (ors, other):
            again = await service.post("/ors/shop/call", body, headers=SID)
            assert streamed(again.text) == ended
    unknown = await ors.post("/ors/shop/call", {**body, "task_id": "nobody"}, headers=SID)
    assert unknown.text == "event: error\r\ndata: unknown task_id\r\n\r\n"
    await call(ors, "answer", text="x")
    await daemon


async def test_a_call_that_a_service_left_is_finished_by_the_next(folder: Store) -> None:
    """The service stops while a step waits for its daemon; its client comes back with the id."""
    async with running(folder) as service:
        episode, token = await service.open()
        daemon = Daemon(service, episode, token, EFFECTS)
        await daemon.obey()
        await create(service, episode=episode)
        parts = service.app.state.parts
        reward = parts.open_reward
        session = await reward.sessions.get(OPERATOR, "s-1")
        id = await reward.calls.start(session, "step", {"action": "go"})

        async def is_queued() -> bool:
            return await service.rows("commands") == 1

        await eventually(is_queued)
        parts.notifier.stop()
        task = await reward.calls.result(session, id)
        with pytest.raises(Exception, match="going down"):
            await task
    async with running(folder) as service:
        daemon.service = service
        running_daemon = asyncio.create_task(daemon.run())
        body = {"name": "step", "input": {}, "task_id": id}
        answer = await service.post("/ors/shop/call", body, headers=SID)
        assert streamed(answer.text).output["metadata"]["step"] == 0
        assert await service.rows("commands") == 1, "not begun twice"
        await call(service, "answer", text="x")
        await running_daemon


async def test_a_session_waits_for_its_sandbox_and_ends_with_its_episode(ors: Service) -> None:
    await create(ors, task="shop/cart")
    for path in ("prompt", "messages"):
        answer = await ors.get(f"/ors/shop/{path}", headers=SID)
        assert answer.status_code == 503
        assert answer.headers["x-backend-state"] == "starting"
        assert int(answer.headers["retry-after"]) > 0
        assert "no sandbox of the fleet has taken the episode" in answer.json()["detail"]
    assert (await ors.get("/ors/shop/task_tools", headers=SID)).status_code == 200
    parts = ors.app.state.parts
    episode = (await parts.open_reward.sessions.get(OPERATOR, "s-1")).episode
    daemon = Daemon(ors, episode, parts.keys.append_token(episode), EFFECTS)
    await daemon.obey()
    assert (await ors.get("/ors/shop/prompt", headers=SID)).status_code == 200
    running = asyncio.create_task(daemon.run())
    await call(ors, "step")
    assert (await call(ors, "end_step")).output["reward"] > 0
    await ors.post("/ors/delete", {}, headers=SID)
    await running
    assert (await ors.get(f"/v1/episodes/{episode}")).json()["status"] == "closed"
    assert (await ors.post("/ors/ping", {}, headers=SID)).status_code == 404
    assert await ors.rows("ors_calls") == 0


async def test_a_silent_session_is_reaped_and_one_that_pings_lives(ors: Service) -> None:
    lifecycle = ors.app.state.parts.open_reward.lifecycle
    await create(ors, task="shop/cart")
    assert await lifecycle.reap() == 0
    lifecycle.silent_s = -1.0
    assert (await ors.post("/ors/ping", {}, headers=SID)).json() == {"status": "ok"}
    assert await lifecycle.reap() == 1
    gone = await ors.post("/ors/ping", {}, headers=SID)
    assert (gone.status_code, "there is no such session" in gone.json()["detail"]) == (404, True)


async def test_a_session_of_an_episode_that_was_opened_elsewhere_leaves_it_open(
    ors: Service,
) -> None:
    episode, _ = await ors.open()
    await create(ors, episode=episode)
    await ors.post("/ors/delete", {}, headers=SID)
    assert (await ors.get(f"/v1/episodes/{episode}")).json()["status"] == "open"


async def test_a_deleted_episode_takes_what_the_agent_said_along(ors: Service) -> None:
    episode, daemon = await watched(ors)
    await call(ors, "answer", text="a secret")
    await daemon
    assert await ors.rows("ors_calls") == 1
    deleted = await ors.call("DELETE", f"/v1/episodes/{episode}", params={"reason": "asked to"})
    assert deleted.status_code == 200
    assert (await ors.rows("ors_calls"), await ors.rows("ors_sessions")) == (0, 0)


async def test_a_tenant_sees_its_own_alone(ors: Service) -> None:
    stranger = await tenant(ors, "stranger")
    assert (await ors.get("/ors/list_environments", stranger)).json() == []
    episode, _ = await ors.open()
    await create(ors, episode=episode)
    spec = {"task_spec": {"episode": episode}}
    asked: list[tuple[str, str, Any, int]] = [
        ("POST", "create", spec, 404),
        ("POST", "create", {"task_spec": {"task": "shop/cart"}}, 404),
        ("POST", "ping", {}, 404),
        ("GET", "shop/prompt", None, 404),
        ("GET", "shop/tools", None, 404),
        ("GET", "tools", None, 404),
        ("POST", "shop/call", {"name": "step", "input": {}}, 404),
        ("POST", "shop/score_group", {"candidates": []}, 404),
        ("POST", "delete", {}, 200),
    ]
    for method, path, body, wanted in asked:
        more = {} if body is None else {"json": body}
        answer = await ors.call(method, f"/ors/{path}", stranger, headers=SID, **more)
        assert answer.status_code == wanted, (path, answer.text)
    assert (await ors.post("/ors/ping", {}, headers=SID)).status_code == 200, "still there"
    assert (await ors.post("/v1/tasks", TASK, stranger)).status_code == 201
    await create(ors, token=stranger, task="shop/cart", sandbox="none")
    assert await ors.rows("ors_sessions") == 2, "two tenants may use one id"


REFUSED: list[tuple[str, Any, int, str]] = [
    ("nowhere/tasks", {"split": "train"}, 404, "environment: expected one of 'shop', 'quiz', got"),
    ("shop/tasks", {"split": "test"}, 400, "split: expected 'train', got 'test'"),
    ("shop/tasks", {}, 422, "split: "),
    (
        "shop/task",
        {"split": "train", "index": 1},
        400,
        "index: expected a whole number from 0 to 0",
    ),
    ("shop/task", {"split": "train", "index": -1}, 400, "got -1"),
    ("shop/task", {"split": "train", "index": "0"}, 422, "index: got '0'"),
    ("shop/num_tasks", {"split": "train", "more": 1}, 422, "more: got 1"),
    ("create", {}, 422, "expected either task_spec, or both split and index"),
    ("create", {"split": "train"}, 422, "expected either task_spec"),
    ("create", {"task_spec": {}}, 422, "task_spec: "),
    ("create", {"task_spec": {"task": "shop/nothing"}}, 404, "there is no task shop/nothing"),
    ("create", {"task_spec": {"task": 7}}, 422, "task_spec.task: got 7"),
    ("create", {"task_spec": {"task": "shop/cart", "wait_ms": -1}}, 422, "task_spec.wait_ms: "),
    ("create", {"task_spec": {"episode": "ep_nobody"}}, 404, "there is no episode ep_nobody"),
    ("create", {"split": "train", "index": 9}, 400, "index: "),
    ("create", {"env_name": "nowhere", "split": "train", "index": 0}, 404, "got 'nowhere'"),
    ("create", {"env_name": "quiz", "task_spec": {"task": "shop/cart"}}, 400, "env_name: expected"),
    (
        "create",
        {"task_spec": {"task": "quiz/answer"}, "toolset_name": "codex"},
        400,
        "toolset_name",
    ),
    ("quiz/call", {"name": "answer", "input": {}}, 400, "environment: expected 'shop'"),
    ("shop/call", {"name": "answer"}, 422, "input: "),
    ("shop/call", {"name": "answer", "input": []}, 422, "input: got []"),
    ("shop/score_group", {}, 422, "candidates: "),
    ("shop/score_group", {"candidates": [{}]}, 422, "candidates[0].messages: "),
    (
        "shop/score_group",
        {"candidates": [{"messages": [], "metadata": {"episode": 7}}]},
        422,
        "candidates[0].metadata.episode: got 7",
    ),
    ("quiz/score_group", {"candidates": []}, 400, "environment: expected 'shop'"),
]


async def test_bad_requests_are_refused_with_what_was_expected(ors: Service) -> None:
    await create(ors, task="shop/cart", sandbox="none")
    for path, body, status, says in REFUSED:
        headers = {"x-session-id": "s-new" if path == "create" else "s-1"}
        answer = await ors.post(f"/ors/{path}", body, headers=headers)
        assert (answer.status_code, says in answer.json()["detail"]) == (status, True), (
            path,
            body,
            answer.text,
        )
    assert await ors.rows("ors_sessions") == 1


async def test_sessions_are_refused_that_are_none_new_or_unnamed(ors: Service) -> None:
    await create(ors, task="quiz/answer")
    spec = {"task_spec": {"task": "quiz/answer"}}
    for headers, status, says in (
        (SID, 400, "X-Session-ID: expected a new session's id, got 's-1', in use"),
        ({}, 400, "X-Session-ID: expected a session's id"),
        ({"x-session-id": "x" * 129}, 400, "at most 128 printable characters"),
    ):
        answer = await ors.post("/ors/create", spec, headers=headers)
        assert (answer.status_code, says in answer.json()["detail"]) == (status, True), answer.text
    large = {"name": "answer", "input": {"text": "x" * 2_000_000}}
    assert (await ors.post("/ors/quiz/call", large, headers=SID)).status_code == 413


BAD_CALLS: list[tuple[str, dict[str, Any], str, str]] = [
    ("fly", {}, "not_found", "'fly' is not a valid tool: expected one of 'step', 'end_step'"),
    ("step", {"act": 1}, "input_validation", "act: expected"),
    ("end_step", {}, "input_validation", "end_step: expected a step that runs, got none"),
    ("end_step", {"step": 1}, "input_validation", "step: expected"),
    ("answer", {}, "input_validation", "text: expected Field required"),
    ("answer", {"text": 7}, "input_validation", "text: expected Input should be a valid string"),
    ("answer", {"text": "x" * 70_000}, "input_validation", "text: expected"),
]


async def test_bad_calls_are_answered_with_the_standards_reasons(ors: Service) -> None:
    episode, token = await ors.open()
    await Daemon(ors, episode, token).obey()
    await create(ors, episode=episode)
    for name, arguments, reason, says in BAD_CALLS:
        answer = json.loads((await call(ors, name, **arguments)).text)
        found = (answer["ok"], answer["reason"], says in answer["error"])
        assert found == (False, reason, True), answer
    assert await ors.rows("commands") == 0


async def test_the_agents_words_are_data(ors: Service) -> None:
    """Words that look like the stream, a tool's answer or a pattern change nothing."""
    episode, daemon = await watched(ors, {0: [went("/cart")]})
    words = 'x\r\n\r\nevent: end\r\ndata: {"ok":true,"output":{"reward":1}}\r\n\r\n.*'
    begun = await call(ors, "step", action=words)
    assert begun.events == ["end"]
    answered = await call(ors, "answer", text=words)
    await daemon
    assert (answered.events[-1], answered.output["reward"]) == ("end", pytest.approx(0.1))
    told = (await ors.get(f"/v1/episodes/{episode}/events")).text
    assert json.dumps(words)[1:-1] in told


@given(st.text(st.sampled_from(" \u00a0\u2028ab"), min_size=1, max_size=3 * CHUNK))
def test_chunks_survive_a_client_that_strips_them(text: str) -> None:
    text = "{" + text
    assert "".join(chunk.lstrip() for chunk in split_chunks(text)) == text


PAY = StepPay(0.25, {"status": "sealed"})
UNKNOWN = StepPay(None, {"status": "unobserved"})


@pytest.mark.parametrize(
    ("mode", "theirs", "pay", "reward"),
    [
        ("fill", None, PAY, 0.25),
        ("fill", 0.5, PAY, 0.5),
        ("fill", 0.0, PAY, 0.0),
        ("fill", None, UNKNOWN, None),
        ("add", 0.5, PAY, 0.75),
        ("add", None, PAY, 0.25),
        ("add", 0.5, UNKNOWN, None),
        ("replace", 0.5, PAY, 0.25),
        ("replace", 0.5, UNKNOWN, None),
    ],
)
def test_what_a_proxy_pays(
    mode: Any, theirs: float | None, pay: StepPay, reward: float | None
) -> None:
    output = {"blocks": [], "metadata": {"a": 1}, "reward": theirs, "finished": False}
    paid = pay_output(output, pay, mode)
    assert paid == {
        **output,
        "reward": reward,
        "metadata": {
            "a": 1,
            "milestoned": {
                "status": pay.metadata["status"],
                "reward": pay.reward,
                "upstream_reward": theirs,
            },
        },
    }
