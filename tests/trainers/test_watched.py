"""The Gymnasium wrapper with a real daemon beside it: steps go to the daemon, what it sees is what
they are paid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import httpx
import numpy as np
import pytest
from milestoned_client import ControlDir, Episode, RewardClient
from milestoned_client.adapters import scoring
from milestoned_client.adapters.gymnasium import RewardServiceWrapper

from lab.demo.parts import DemoService, start_daemon, start_service
from lab.demo.processes import DemoProcesses
from tests.support.preloaded import launch
from tests.support.stack import PATIENT

TASK: dict[str, Any] = {
    "id": "desk/two-files",
    "version": "1",
    "instruction": "Write a.txt, then b.txt.",
    "weights": {"file": 0.6, "goal": 0.4},
    "settings": PATIENT,
    "milestones": [
        {"id": "a", "when": {"file_created": {"name": "a.txt"}}},
        {"id": "b", "when": {"file_created": {"name": "b.txt"}}},
        {"id": "both", "when": {"goal": {"requires": ["a", "b"]}}},
    ],
}
SEAL_S = 30.0


class Desk(gymnasium.Env[Any, Any]):
    """Writes the file that the action names (0: none), into a folder that each reset empties;
    `b.txt` is the end."""

    observation_space = gymnasium.spaces.Discrete(9)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        for path in self._folder.iterdir():
            path.unlink()
        return 0, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        name = ("", "a.txt", "b.txt")[int(action)]
        if name:
            (self._folder / name).write_text("done")
        return int(action), 0.0, name == "b.txt", False, {"RAW_REWARD_GLOBAL": 0.5}


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[DemoProcesses]:
    with DemoProcesses(tmp_path / "logs", launch) as found:
        yield found
    scoring.close_now()


@pytest.fixture
def service(parts: DemoProcesses, tmp_path: Path) -> DemoService:
    found = start_service(parts, tmp_path / "service")
    with RewardClient(found.url, found.token) as client:
        client.register_task(TASK)
    return found


def test_the_last_turn_of_a_dialect_is_paid_for_what_it_set_in_motion(
    parts: DemoProcesses, service: DemoService, tmp_path: Path
) -> None:
    """A close seals at once: the file that the last turn wrote must be in before."""
    folder = tmp_path / "watched"
    folder.mkdir()
    with RewardClient(service.url, service.token) as client:
        episode = client.open(TASK["id"])
    start_daemon(parts, tmp_path / "daemon", service.url, episode.id, episode.token, (), [folder])
    call = {"type": "function_call", "call_id": "c", "name": "write", "arguments": "{}"}
    say = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Done."}],
    }
    rewards = []
    with httpx.Client(
        base_url=f"{service.url}/nemo", headers={"authorization": f"Bearer {service.token}"}
    ) as agent:
        agent.post("/reset", json={"episode_id": episode.id}).raise_for_status()
        for name, item in (("a.txt", call), ("b.txt", say)):
            (folder / name).write_text("done")
            answer = agent.post("/step", json={"response": {"output": [item]}}, timeout=SEAL_S)
            rewards.append(answer.raise_for_status().json()["reward"])
    assert rewards == pytest.approx([0.3, 0.7])


def test_steps_are_paid_for_what_a_daemon_saw(
    parts: DemoProcesses, service: DemoService, tmp_path: Path
) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()

    def watch(episode: Episode) -> ControlDir:
        state = tmp_path / f"daemon-{episode.id}"
        start_daemon(parts, state, service.url, episode.id, episode.token, (), [folder])
        return ControlDir(state)

    at = {"url": service.url, "token": service.token, "wait_s": SEAL_S}
    env = RewardServiceWrapper(Desk(folder), TASK["id"], watch=watch, **at)
    ids = []
    for actions in ([1], [1, 0, 2]):  # the first episode is given up by the second reset
        _, info = env.reset(seed=7)
        ids.append(info["episode_id"])
        told = [env.step(np.int64(action)) for action in actions]
    env.close()
    assert [reward for _, reward, *_ in told] == pytest.approx([0.3, 0.0, 0.7])
    assert [one[4]["success"] for one in told][-1] is True
    assert told[0][4]["reward_components"] == {"file": pytest.approx(0.3), "goal": 0.0}
    assert told[0][4]["RAW_REWARD_GLOBAL"] == 0.5
    with RewardClient(service.url, service.token) as client:
        given_up, done = (client.episode(id).status() for id in ids)
        actions = [
            one.action for one in client.episode(ids[1]).trajectory() if one.action is not None
        ]
    assert (given_up.status, given_up.total) == ("closed", pytest.approx(0.3))
    assert (done.status, done.total, done.seed) == ("closed", pytest.approx(1.0), 7)
    assert actions == [1, 0, 2]
