"""verifiers' NeMo Gym task with our service as its resources server, and a task of its own with our
function plugged in by configuration alone. The trace is what a harness of verifiers' would leave
behind; `score` is verifiers' own."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from milestoned_client.adapters import scoring
from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.errors import TaskError
from verifiers.v1.graph import MessageNode
from verifiers.v1.task import Task, TaskConfig, TaskData
from verifiers.v1.tasksets.nemo_gym.taskset import NeMoGymData, NeMoGymTask, NeMoGymTaskConfig
from verifiers.v1.tasksets.nemo_gym.toolset import NeMoGymState
from verifiers.v1.trace import AgentInfo, Trace, TraceTask
from verifiers.v1.types import AssistantMessage, UserMessage

from tests.trainers.harness.say import TOKEN, URL, say


def trace_of(task: Task[Any, Any, Any], text: str, **more: Any) -> Trace[Any, Any, Any]:
    """A rollout in which the model said ``text``."""
    nodes = [
        MessageNode(message=UserMessage(content="What?")),
        MessageNode(message=AssistantMessage(content=text), parent=0, sampled=True),
    ]
    about = TraceTask(type=type(task).__name__, data=task.data)
    state = {"state": NeMoGymState()} if isinstance(task, NeMoGymTask) else {}
    return Trace(task=about, agent=AgentInfo(config=AgentConfig()), nodes=nodes, **state, **more)


async def scored(task: Task[Any, Any, Any], text: str, **more: Any) -> dict[str, Any]:
    """What the trace says after set-up and scoring."""
    trace = trace_of(task, text, **more)
    told: dict[str, Any] = {}
    if isinstance(task, NeMoGymTask):
        await task.setup(trace, None)  # type: ignore[arg-type]  # it asks nothing of the runtime
    try:
        await task.score(trace)
    except TaskError as error:
        told["error"] = str(error)
    rewards = {name: None if one is None else one.value for name, one in trace.rewards.items()}
    return {**told, "rewards": rewards, "metrics": trace.metrics}


def nemo(row: dict[str, Any], strict: str = "/strict") -> NeMoGymTask:
    asked = {"responses_create_params": {"input": [{"role": "user", "content": "What?"}]}, **row}
    headers = {"authorization": f"Bearer {TOKEN}"}  # not in the address, which its errors repeat
    where = NeMoGymTaskConfig(resources_url=f"{URL}/nemo{strict}", headers=headers)
    return NeMoGymTask(NeMoGymData(row=asked), where)


def plugged(id: str) -> Task[Any, Any, Any]:
    """As `[env.taskset.task.rewards.milestoned]` in a run's TOML makes it."""
    rewards = {"milestoned": {"fn": "milestoned_client.adapters.verifiers:reward"}}
    return Task(TaskData(id=id, prompt="What?"), TaskConfig.model_validate({"rewards": rewards}))


async def main(lost: str) -> dict[str, Any]:
    quiz = {"verifier_metadata": {"task_id": "quiz/answer"}}
    gone = {"verifier_metadata": {"episode_id": lost}}
    found = {
        "nemo": [await scored(nemo(quiz), text) for text in ("42", "41")],
        "strict": await scored(nemo(gone), "42"),
        "mask_ignored": await scored(nemo(gone, ""), "42"),
        "plugged": [await scored(plugged("quiz/answer"), text) for text in ("42", "41")],
        "episode": await scored(plugged("quiz/answer"), "42", info={"episode_id": lost}),
    }
    await scoring.close()
    return found


if __name__ == "__main__":
    say(result=asyncio.run(main(sys.argv[1])))
