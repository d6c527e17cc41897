"""Calls go out as the wire wants them and answers come back as types; one table for both
clients."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import milestoned_client
import pytest
from milestoned_client import (
    AsyncEpisode,
    AsyncRewardClient,
    Control,
    ControlDir,
    Episode,
    Event,
    Milestone,
    NotFoundError,
    Reward,
    RewardClient,
    UnexpectedAnswerError,
)

from tests.client.peer import Peer

MILESTONE = {
    "id": "order", "rule": "request_accepted", "version": 1, "component": "goal", "step": 3,
    "value": 1.0, "worth": 0.2, "evidence": [17, 18], "cause_step": 2, "baseline": False,
}  # fmt: skip
REWARD = {
    "episode": "e1", "step": 3, "status": "sealed", "reward": 0.2, "mask": False, "reason": None,
    "components": {"goal": 1.0}, "milestones": [MILESTONE],
    "verdicts": [{"stage": "rule", "score": 0.2, "confidence": 1.0, "why": "x", "by": "y", "cost": 0.0}],
    "decided_by": "rule", "done": False, "success": None, "through": 20, "digest": "d",
}  # fmt: skip
SETTLING = {
    **REWARD,
    "status": "settling",
    "reward": None,
    "mask": True,
    "milestones": [],
    "verdicts": [],
}
OPENED = {
    "episode": "e1", "task": "shop/a", "version": "1", "digest": "d", "token": "append",
    "plan": {"hears": []},
}  # fmt: skip


def test_a_task_goes_as_yaml_where_it_is_text_and_as_json_where_it_is_a_mapping(
    peer: Peer, connect: Any
) -> None:
    for _ in range(2):
        peer.answer("/v1/tasks", {"id": "a", "version": "1", "digest": "d", "attainable": 1.0}, 201)
    client = connect(peer.url)
    assert client.register_task("id: a\n").attainable == 1.0
    assert client.register_task({"id": "a"}).digest == "d"
    assert [one.headers["content-type"] for one in peer.asked] == [
        "application/yaml",
        "application/json",
    ]
    assert [one.body for one in peer.asked] == ["id: a\n", {"id": "a"}]


def test_an_opened_episode_knows_its_token_and_numbers_its_steps(peer: Peer, connect: Any) -> None:
    peer.answer("/v1/episodes", OPENED, 201)
    peer.answer("/v1/episodes/e1/steps", {"step": 0, "seq": 5, "command": 1})
    peer.answer("/v1/episodes/e1/steps/0:end", {"step": 0, "seq": 9, "command": 2})
    peer.answer("/v1/episodes/e1/steps", {"command": 3, "step": 1, "status": "queued"}, 202)
    episode = connect(peer.url).open("shop/a", labels={"run": 1}, seed=7)
    assert (episode.id, episode.token, episode.plan) == ("e1", "append", {"hears": []})
    assert episode.step({"click": "Buy"}).seq == 5
    assert episode.end_step().step == 0
    assert episode.step().queued
    opened, began, ended, again = peer.asked
    assert opened.body == {"task": "shop/a", "labels": {"run": 1}, "seed": 7}
    assert opened.headers["authorization"] == "Bearer secret"
    assert began.body == {"step": 0, "action": {"click": "Buy"}, "wait_ms": 10000}
    assert ended.path == "/v1/episodes/e1/steps/0:end"
    assert again.body["step"] == 1


def test_a_step_is_ended_and_paid_in_one_request(peer: Peer, connect: Any) -> None:
    peer.answer("/v1/episodes/e1/steps", {"step": 4, "seq": 5, "command": 1})
    peer.answer(
        "/v1/episodes/e1/steps/4:seal", {"step": 4, "seq": 9, "command": 2, "reward": REWARD}
    )
    episode = connect(peer.url).episode("e1")
    episode.step("a", step=4)
    sealed = episode.seal_step(wait_s=3)
    assert (sealed.step, sealed.seq, sealed.reward.reward) == (4, 9, REWARD["reward"])
    assert peer.asked[-1].body == {"wait_ms": 3000}


def test_a_task_is_opened_in_the_version_that_was_registered(peer: Peer, connect: Any) -> None:
    """Another version may have come after it; by its id it is the newest one's episode."""
    peer.answer(
        "/v1/tasks", {"id": "shop/a", "version": "1", "digest": "d", "attainable": 1.0}, 201
    )
    for _ in range(3):
        peer.answer("/v1/episodes", OPENED, 201)
    client = connect(peer.url)
    task = client.register_task({"id": "shop/a"})
    client.open(task)
    client.open(task, version="2")
    client.open("shop/a")
    assert [one.body for one in peer.asked[1:]] == [
        {"task": "shop/a", "version": "1"},
        {"task": "shop/a", "version": "2"},
        {"task": "shop/a"},
    ]


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


async def test_an_episode_is_opened_in_the_trace_that_runs_here(peer: Peer) -> None:
    api = pytest.importorskip("opentelemetry.trace")
    for _ in range(3):
        peer.answer("/v1/episodes", OPENED, 201)
    context = api.SpanContext(int(TRACE, 16), int(SPAN, 16), False, api.TraceFlags(1))
    async with AsyncRewardClient(peer.url, "secret") as client:
        await client.open("shop/a")
        with api.use_span(api.NonRecordingSpan(context)):
            await client.open("shop/a")
            await client.open("shop/a", traceparent=f"00-{TRACE}-00f067aa0ba902b7-00")
    assert [one.headers.get("traceparent") for one in peer.asked] == [
        None,
        f"00-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-00f067aa0ba902b7-00",
    ]


def test_answers_and_tool_calls_are_reported(peer: Peer, connect: Any) -> None:
    for path in ("answers", "tools:call", "tools:return"):
        peer.answer(f"/v1/episodes/e1/{path}", {"step": 0, "seq": 1, "command": 1})
    episode = connect(peer.url).episode("e1")
    episode.answer("42", wait_s=0)
    episode.tool_called("c1", "search", {"q": "lamp"})
    episode.tool_returned("c1", ok=False, error="timeout")
    assert [one.body for one in peer.asked] == [
        {"text": "42", "wait_ms": 0},
        {"call": "c1", "tool": "search", "arguments": {"q": "lamp"}, "wait_ms": 10000},
        {"call": "c1", "ok": False, "error": "timeout", "wait_ms": 10000},
    ]


def test_a_reward_is_typed_down_to_its_evidence_and_keeps_its_bytes(
    peer: Peer, connect: Any
) -> None:
    sent = json.dumps({**REWARD, "a_newer_field": 1})
    peer.answer("/v1/episodes/e1/steps/3/reward", sent)
    reward = connect(peer.url).episode("e1").reward(3)
    assert reward.milestones == (
        Milestone("order", "request_accepted", 1, "goal", 3, 1.0, 0.2, (17, 18), 2, False),
    )
    assert (reward.reward, reward.verdicts[0].stage, reward.settled) == (0.2, "rule", True)
    assert reward.body == sent.encode()


def test_waiting_for_the_seal_asks_again_until_it_is_there(peer: Peer, connect: Any) -> None:
    for body in (SETTLING, SETTLING, REWARD):
        peer.answer("/v1/episodes/e1/steps/3/reward", body)
    assert connect(peer.url).episode("e1").reward(3, wait_s=60).reward == 0.2
    waits = [int(one.query["wait_ms"]) for one in peer.asked]
    assert len(waits) == 3
    assert max(waits) <= 25_000, "one request must not wait longer than proxies allow"


def test_a_reward_whose_seal_does_not_come_is_null_and_masked_not_zero(
    peer: Peer, connect: Any
) -> None:
    peer.answer("/v1/episodes/e1/steps/3/reward", SETTLING)
    reward = connect(peer.url).episode("e1").reward(3, wait_s=0)
    assert (reward.reward, reward.mask, reward.settled) == (None, True, False)


def test_a_batch_keeps_its_order_and_each_entry_its_own_fate(peer: Peer, connect: Any) -> None:
    problem = {
        "type": "x",
        "title": "Not Found",
        "status": 404,
        "detail": "no step 9",
        "last_step": 4,
    }
    peer.answer("/v1/rewards:query", {"rewards": [REWARD, {"error": problem}]})
    first, second = connect(peer.url).rewards([("e1", 3), ("e1", 9)])
    assert isinstance(first, Reward)
    assert isinstance(second, NotFoundError)
    assert second.members == {"last_step": 4}
    assert peer.asked[0].body["items"] == [
        {"episode": "e1", "step": 3},
        {"episode": "e1", "step": 9},
    ]


def test_closing_waits_until_the_episode_is_closed(peer: Peer, connect: Any) -> None:
    peer.answer("/v1/episodes/e1:close", {"status": "closing"}, 202)
    peer.answer(
        "/v1/episodes/e1:close",
        {
            "episode": "e1",
            "status": "closed",
            "success": True,
            "total": 0.2,
            "last_step": 3,
            "rewards": [REWARD],
        },
    )
    closing = connect(peer.url).episode("e1").close("done", truncated=True)
    assert peer.asked[0].body["truncated"] is True
    assert (closing.status, closing.total, closing.rewards[0].step) == ("closed", 0.2, 3)
    first, second = peer.asked
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"], (
        "the same key would get the same `closing` for ever"
    )


def test_events_trajectory_and_recording(peer: Peer, connect: Any, tmp_path: Path) -> None:
    event = {"seq": 1, "at": 0, "source": "journal", "kind": "episode.opened", "data": {}}
    step = {
        "step": 0, "action": "a", "observation": {}, "next_observation": {}, "reward": REWARD,
        "credit": 0.2, "first": 4, "last": 9, "done": True,
    }  # fmt: skip
    peer.answer("/v1/episodes/e1/events", {"events": [event], "through": 1})
    peer.answer("/v1/episodes/e1/trajectory", {"episode": "e1", "steps": [step]})
    peer.answer("/v1/episodes/e1/recording", b"\x28\xb5\x2f\xfd")
    peer.answer("/v1/episodes/e1/screenshots/a/b", b"RIFF")
    episode = connect(peer.url).episode("e1")
    assert episode.events(after=0, kind="episode.opened") == [
        Event(1, 0, "journal", "episode.opened", {})
    ]
    (transition,) = episode.trajectory()
    assert (transition.reward.milestones[0].id, transition.first, transition.last) == (
        "order",
        4,
        9,
    )
    assert episode.recording(tmp_path / "a.mrec") == 4
    assert episode.screenshot("a/b") == b"RIFF"
    assert (tmp_path / "a.mrec").read_bytes() == b"\x28\xb5\x2f\xfd"
    assert peer.asked[0].query == {"after": "0", "kind": "episode.opened"}


def test_steps_go_to_the_daemon_where_its_state_folder_is_known(
    peer: Peer, connect: Any, tmp_path: Path
) -> None:
    (tmp_path / "control.token").write_text("local\n")
    (tmp_path / "agentd.json").write_text(json.dumps({"port": int(peer.url.rsplit(":", 1)[1])}))
    peer.answer("/v1/steps", {"step": 0, "seq": 3})
    peer.answer("/v1/steps/0:end", {"step": 0, "seq": 4})
    episode = connect("http://127.0.0.1:9", control=ControlDir(tmp_path)).episode("e1")
    assert episode.step("a", step=0).seq == 3
    assert episode.end_step().seq == 4
    assert peer.asked[0].headers["authorization"] == "Bearer local"
    assert peer.asked[0].body == {"step": 0, "action": "a"}


def test_beside_the_daemon_the_step_ends_there_and_the_service_pays(
    peer: Peer, connect: Any
) -> None:
    peer.answer("/v1/steps/0:end", {"step": 0, "seq": 4})
    peer.answer("/v1/episodes/e1/steps/0/reward", REWARD)
    client = connect(peer.url, control=Control(peer.url, "local"))
    sealed = client.episode("e1").seal_step(0)
    assert (sealed.command, sealed.seq, sealed.reward.status) == (None, 4, "sealed")


def test_closing_beside_the_daemon_tells_it_and_still_asks_the_service(
    peer: Peer, connect: Any
) -> None:
    peer.answer("/v1/close", {})
    peer.answer("/v1/episodes/e1:close", {"episode": "e1", "status": "closed", "total": 0.0})
    client = connect(peer.url, control=Control(peer.url, "local"))
    assert client.episode("e1").close(truncated=True).status == "closed"
    assert [one.body.get("truncated") for one in peer.asked] == [True, True]


def test_a_field_that_is_missing_is_named(peer: Peer, connect: Any) -> None:
    peer.answer("/v1/episodes", {"episode": "e1"}, 201)
    with pytest.raises(UnexpectedAnswerError, match="'task'"):
        connect(peer.url).open("a")


def test_both_clients_have_the_same_surface() -> None:
    def surface(kind: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in vars(kind).items()
            if callable(member) and not name.startswith("_")
        }

    assert surface(RewardClient) == surface(AsyncRewardClient)
    assert surface(Episode) == surface(AsyncEpisode)


def test_everything_named_for_export_is_there() -> None:
    for name in milestoned_client.__all__:
        assert hasattr(milestoned_client, name)
