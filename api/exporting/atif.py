"""Closed episodes as trajectories of ATIF 1.8 (RFC 0001 of Harbor), one JSON document each.

The format has no place for rewards: they stand in `extra.milestoned` of the step that earned them,
null where they are not known. A step of the episode is a step of the agent. The task's instruction
comes first, as the user's; the close comes last, as the system's, with what it decided.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import orjson

from api.exporting.chats import OPEN
from api.exporting.rows import Exported, scored_result
from api.replay.recordings import read_frames
from api.rewards.observation import is_blank
from api.rewards.scored_episode import Result
from api.rewards.trajectory import TransitionJson, transitions
from detectors.model.codec import canonical, text_or_json
from detectors.model.json_value import object_or_empty
from detectors.model.optional_values import entries_without_none, pick_keys
from detectors.model.rewards import RewardJson
from detectors.model.types import Event

VERSION = "ATIF-v1.8"
BEFORE = -1
"""Stands for the number of a step where something was said before the first one."""
MAX_NAME = 100
_OF_EPISODE = ("episode", "task", "version", "ruleset", "head", "through", "closed", "success")
_OF_REWARD = (
    "status",
    "reward",
    "mask",
    "reason",
    "components",
    "milestones",
    "decided_by",
    "success",
    "through",
)
_FACTS = ("labels", "seed", "opened_at", "closed_at")
Document = dict[str, object]


@dataclass(slots=True)
class _Acts:
    """What the harness reported in one step."""

    calls: list[Mapping[str, object]] = field(default_factory=list)
    results: list[Mapping[str, object]] = field(default_factory=list)
    answer: str | None = None


@dataclass(slots=True)
class AtifExport:
    """What is exported, and what was left out of it, by reason."""

    left_out: Counter[str] = field(default_factory=Counter)

    def write(self, folder: Path, episodes: Iterable[Exported]) -> int:
        """Write a file for each closed episode; each appears whole or not at all, and replaces one
        of an earlier export. Returns how many. Raises `RecordingError`, `TaskError`."""
        folder.mkdir(parents=True, exist_ok=True)
        written: Counter[str] = Counter()
        for name, document in self._trajectories(episodes):
            written[name] += 1
            count = written[name]
            number = "" if count == 1 else f"-{count}"
            file = folder / f"{name}{number}.json"
            part = file.with_name(f"{file.name}.part")
            part.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
            part.replace(file)
        return written.total()

    def _trajectories(self, episodes: Iterable[Exported]) -> Iterator[tuple[str, Document]]:
        """Yield each closed episode as a trajectory with its file's name; open ones are counted as
        left out."""
        for exported in episodes:
            document = trajectory_of(exported)
            if document is None:
                self.left_out[OPEN] += 1
            else:
                yield file_stem(str(document["session_id"])), document


def file_stem(episode: str) -> str:
    """Return the name of an episode's file. A recording's episode can be called anything: its name
    is no path."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", episode)[:MAX_NAME] or "episode"


def trajectory_of(exported: Exported) -> Document | None:
    """Return an episode as a trajectory, None for one that is open. Raises `RecordingError`,
    `TaskError`."""
    assert exported.task is not None, "recordings and stored episodes come with their task"
    segments = list(read_frames(exported.content, exported.name))
    result = scored_result(exported, segments)
    if not result["closed"]:
        return None
    events = [event for segment in segments for event in segment.events]
    instruction = str(orjson.loads(exported.task)["instruction"])
    steps: list[Document] = [{"source": "user", "message": instruction}]
    steps += _steps(events, result, exported.facts.get("opened_at"))
    return {
        "schema_version": VERSION,
        "session_id": result["episode"],
        "trajectory_id": result["episode"],
        "agent": {"name": _agent_name(exported), "version": "unknown"},
        "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
        "final_metrics": {
            "total_steps": len(steps),
            "extra": {"reward": result["total"], "success": result["success"]},
        },
        "extra": {"milestoned": _about_episode(exported, result)},
    }


def _agent_name(exported: Exported) -> str:
    """Return the episode's label `agent`; `unknown` without one."""
    labels = exported.facts.get("labels")
    name = object_or_empty(labels).get("agent")
    return str(name or "unknown")


def _about_episode(exported: Exported, result: Result) -> Document:
    """Return what stands of the episode as a whole in `extra.milestoned`."""
    about: Document = {name: result[name] for name in _OF_EPISODE}  # type: ignore[literal-required]
    about["total"] = result["total"]
    about["baseline"] = result["baseline"]
    about |= entries_without_none(pick_keys(exported.facts, _FACTS))
    return about


def _steps(events: Sequence[Event], result: Result, opened_at: object) -> Iterator[Document]:
    """Yield the steps of the agent in order, then the close."""
    rewards = {reward["step"]: reward for reward in result["rewards"]}
    acts = _acts(events)
    times = {event.seq: event.at for event in events}
    began = {event.data["step"] for event in events if event.kind == "step.began"}
    if BEFORE in acts:
        yield _agent_step(None, acts[BEFORE], {"step": BEFORE}, {})
    for transition in transitions(events, rewards):
        step = transition["step"]
        about: Document = {"step": step, **_reward(rewards.get(step), result)}
        timed = _timestamp(opened_at, times[transition["first"]])
        if step in began:
            yield _agent_step(transition, acts.get(step, _Acts()), about, timed)
        else:
            yield {
                "source": "system",
                "message": "The episode was closed.",
                **timed,
                "extra": {"milestoned": about},
            }


def _acts(events: Iterable[Event]) -> dict[int, _Acts]:
    """Return what the harness reported, by the step that ran or had run last."""
    acts: dict[int, _Acts] = {}
    step = BEFORE
    for event in events:
        match event.kind:
            case "step.began":
                step = event.data["step"]
            case "agent.tool_called":
                acts.setdefault(step, _Acts()).calls.append(event.data)
            case "agent.tool_returned":
                acts.setdefault(step, _Acts()).results.append(event.data)
            case "agent.answered":
                acts.setdefault(step, _Acts()).answer = str(event.data.get("text"))
    return acts


def _agent_step(
    transition: TransitionJson | None, acts: _Acts, about: Document, timed: Mapping[str, str]
) -> Document:
    """Return a step of the agent; ``about``: what stands of it in `extra.milestoned`.

    The message is the answer or the action's text; an action that is another one, or none, stands
    in `extra` as the harness gave it.
    """
    action = transition["action"] if transition is not None else None
    if acts.answer is not None:
        message = acts.answer
        about["answer"] = acts.answer
    else:
        message = _message(action, acts)
    if transition is not None and action != message:
        about["action"] = action
    step: Document = {"source": "agent", "message": message, **timed}
    calls = [_call(data) for data in acts.calls]
    if calls:
        step["tool_calls"] = calls
    results = _results(transition, acts, calls)
    if results:
        step["observation"] = {"results": results}
    step["extra"] = {"milestoned": about}
    return step


def _results(
    transition: TransitionJson | None, acts: _Acts, calls: Sequence[Document]
) -> list[Document]:
    """Return what a step's calls came back with, then what was observed after the step."""
    known = {str(call["tool_call_id"]) for call in calls}
    results = [_returned(data, known) for data in acts.results]
    if transition is not None:
        results += _observed(transition)
    return results


def _message(action: object, acts: _Acts) -> str:
    """Return the text of an action: its own, its member `message`, else its JSON, or nothing beside
    the calls that it made."""
    if isinstance(action, str):
        return action
    if isinstance(action, Mapping) and isinstance(action.get("message"), str):
        return str(action["message"])
    if action is None or acts.calls:
        return ""
    return canonical(action).decode()


def _call(data: Mapping[str, object]) -> Document:
    arguments = data.get("arguments")
    return {
        "tool_call_id": str(data.get("call")),
        "function_name": str(data.get("tool")),
        "arguments": arguments if isinstance(arguments, Mapping) else {"value": arguments},
    }


def _returned(data: Mapping[str, object], known: set[str]) -> Document:
    """Return what a call came back with. The call of an earlier step is named in `extra` alone:
    ATIF ties a result to a call of its own step."""
    call, ok = str(data.get("call")), data.get("ok")
    content = data.get("result") if ok else data.get("error")
    text = text_or_json(content)
    about: Document = {"ok": ok}
    if call in known:
        return {"source_call_id": call, "content": text, "extra": {"milestoned": about}}
    return {"content": text, "extra": {"milestoned": {**about, "call": call}}}


def _observed(transition: TransitionJson) -> list[Document]:
    """Return what was observed after a step, as JSON; nothing where nothing was."""
    observation = transition["next_observation"]
    if observation is None or is_blank(observation):
        return []
    return [{"content": canonical(observation).decode()}]


def _reward(reward: RewardJson | None, result: Result) -> Document:
    """Return what stands in `extra.milestoned` of a step's reward."""
    if reward is None:
        return {}
    told: Document = {name: reward[name] for name in _OF_REWARD}  # type: ignore[literal-required]
    return {**told, "ruleset": result["ruleset"]}


def _timestamp(opened_at: object, at: int) -> dict[str, str]:
    """Return the member `timestamp`, where it is known when the episode was opened."""
    if not isinstance(opened_at, str):
        return {}
    moment = datetime.fromisoformat(opened_at) + timedelta(microseconds=at // 1000)
    return {"timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
