"""Both clients against the real service and a real daemon that watches a folder: the whole surface,
once each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from milestoned_client import (
    AsyncRewardClient,
    ConflictError,
    Event,
    InvalidRequestError,
    NotFoundError,
    Reward,
    Sample,
    Score,
)

from api.replay.recordings import replay
from api.tasks.task_files import check_task
from detectors.model.rewards import encode_reward
from detectors.task.ruleset import compile_task
from lab.demo.parts import DemoService
from tests.support.stack import PATIENT, SEAL_S, Stack

TASK: dict[str, Any] = {
    "id": "test/files",
    "version": "1",
    "instruction": "Write a report and say 42.",
    "weights": {"file": 0.5, "answer": 0.3, "goal": 0.2},
    "settings": PATIENT,
    "milestones": [
        {"id": "report", "when": {"file_created": {"name": "report.txt"}}},
        {"id": "said", "when": {"answer_matches": {"text": {"number": 42}}}},
        {"id": "both", "when": {"goal": {"requires": ["report", "said"]}}},
    ],
}


@pytest.fixture
def stack(service: DemoService, tmp_path: Path) -> Iterator[Stack]:
    """A daemon's place at the module's service: no test here ends it, and all register one task."""
    with Stack(tmp_path, service=service) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "watched"
    path.mkdir()
    return path


def test_an_episode_driven_through_the_service(stack: Stack, folder: Path, tmp_path: Path) -> None:
    episode = stack.open(TASK, labels={"run": 1}, seed=7)
    stack.watch(files=[folder])
    begun = episode.step({"write": "report.txt"})
    assert (begun.step, begun.queued) == (0, False)
    episode.tool_called("c1", "editor", {"file": "report.txt"})
    (folder / "report.txt").write_text("all is well")
    episode.tool_returned("c1", ok=True)
    episode.end_step()
    first = episode.reward(0, wait_s=SEAL_S)
    assert [m.id for m in first.milestones] == ["report"]
    episode.step("answer")
    episode.answer("42")
    closing = episode.close("done", wait_s=SEAL_S)
    assert (closing.status, closing.success, closing.last_step) == ("closed", True, 1)
    assert closing.total == pytest.approx(sum(r.reward or 0 for r in closing.rewards))

    status = episode.status()
    assert (status.labels, status.seed, status.status, status.success) == (
        {"run": 1},
        7,
        "closed",
        True,
    )
    one, last, beyond = stack.connect().rewards([(episode.id, 0), (episode.id, 1), (episode.id, 9)])
    assert one == first
    assert isinstance(last, Reward)
    assert last.done
    assert isinstance(beyond, NotFoundError)
    wrote, answered = episode.trajectory()
    assert (wrote.reward, wrote.action, wrote.done) == (first, {"write": "report.txt"}, False)
    assert (answered.action, answered.done) == ("answer", True)
    assert (wrote.observation["files"], wrote.next_observation["files"]) == (0, 1)
    assert [e.kind for e in episode.events(kind="agent.tool_called")] == ["agent.tool_called"]

    episode.recording(tmp_path / "a.mrec")
    _, replayed = replay(tmp_path / "a.mrec", compile_task(check_task(TASK)))
    assert [encode_reward(r) for r in replayed] == [episode.reward(step).body for step in (0, 1)]


def test_a_stream_brings_every_event_and_ends_with_the_last_reward(
    stack: Stack, folder: Path
) -> None:
    episode = stack.open(TASK)
    beside = stack.watch(files=[folder])
    beside.step()
    beside.answer("42")
    beside.close()
    items = list(episode.stream())
    events = [one.item for one in items if isinstance(one.item, Event)]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert isinstance(items[-1].item, Reward)
    assert items[-1].item.done
    middle = events[len(events) // 2].seq
    assert [one.seq for one in episode.stream(after=middle) if one.kind == "event"] == list(
        range(middle + 1, len(events) + 1)
    )


@pytest.mark.slow
def test_the_async_client_walks_the_same_way(stack: Stack, folder: Path) -> None:
    opened = stack.open(TASK)
    stack.watch(files=[folder])

    async def walk() -> list[Reward]:
        async with AsyncRewardClient(stack.service.url, stack.service.token) as client:
            episode = client.episode(opened.id)
            await episode.step(step=0)
            (folder / "report.txt").write_text("all is well")
            await episode.end_step()
            sealed = await episode.reward(0, wait_s=SEAL_S)
            closing = await episode.close(wait_s=SEAL_S)
            streamed = [one.item async for one in episode.stream() if isinstance(one.item, Reward)]
            assert streamed[0] == sealed
            return list(closing.rewards)

    assert [[m.id for m in reward.milestones] for reward in asyncio.run(walk())] == [["report"], []]


def _bad_task(stack: Stack) -> None:
    stack.connect().register_task(
        {**TASK, "milestones": [{"id": "a", "when": {"file_creatd": {}}}]}
    )


def _changed_task(stack: Stack) -> None:
    stack.connect().register_task({**TASK, "instruction": "Something else."})


def _stranger(stack: Stack) -> None:
    stack.connect().episode("ep_nobody").status()


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (_bad_task, InvalidRequestError, "file_creatd"),
        (_changed_task, ConflictError, "test/files"),
        (_stranger, NotFoundError, "ep_nobody"),
    ],
)
def test_what_the_service_refuses_it_explains(
    stack: Stack, wrong: Callable[[Stack], None], error: type[Exception], says: str
) -> None:
    stack.connect().register_task(TASK)
    with pytest.raises(error) as refused:
        wrong(stack)
    assert says in str(refused.value) + str(getattr(refused.value, "members", ""))


def test_samples_are_scored_mixed_and_in_order(stack: Stack, folder: Path) -> None:
    episode = stack.open(TASK)
    beside = stack.watch(files=[folder])
    beside.step()
    (folder / "report.txt").write_text("all is well")
    beside.answer("42")
    closing = beside.close()
    quiz = {
        **TASK,
        "id": "test/quiz",
        "weights": {"answer": 1.0},
        "milestones": TASK["milestones"][1:2],
    }
    client = stack.connect()
    client.register_task(quiz)
    samples = [
        Sample(episode.id),
        Sample(label={"task_id": "test/quiz"}, answer="42"),
        Sample("ep_nobody"),
    ]
    whole, answer, nobody = client.score(samples)
    assert isinstance(whole, Score)
    assert (whole.reward, whole.success, whole.done) == (closing.total, True, True)
    assert isinstance(answer, Score)
    assert (answer.reward, answer.mask_sample) == (1.0, False)
    assert isinstance(nobody, NotFoundError)
