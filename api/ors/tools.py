"""The tools of a session: how they are described, what they take, and the answers of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from detectors.model.types import Json

MAX_TEXT = 65_536
"""Characters of an answer."""
Reason = Literal["not_found", "input_validation", "episode_finished"]
"""Why a call was refused, in the standard's words."""


class ToolInput(BaseModel):
    """What a tool takes: members that it does not have are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class StepInput(ToolInput):
    """The step's action, any JSON."""

    action: Annotated[
        Any, Field(description="What the agent is about to do, as text or any JSON.")
    ] = None


class EndStepInput(ToolInput):
    """Nothing."""


class AnswerInput(ToolInput):
    """The agent's final answer."""

    text: Annotated[str, Field(max_length=MAX_TEXT, description="The agent's final answer.")]


class Tool(NamedTuple):
    """A tool; ``takes`` is the model of its input."""

    name: str
    description: str
    takes: type[ToolInput]

    def spec(self) -> dict[str, Json]:
        """Return the tool as it is listed."""
        schema = self.takes.model_json_schema() if self.takes.model_fields else None
        return {"name": self.name, "description": self.description, "input_schema": schema}


STEP = Tool(
    "step",
    "Begin a step of the agent, before its action. A step that runs ends first, and the call's"
    " reward is that step's.",
    StepInput,
)
END_STEP = Tool(
    "end_step",
    "End the step that runs, after its action. The call's reward is the step's.",
    EndStepInput,
)
ANSWER = Tool(
    "answer",
    "Give the agent's final answer, which ends the episode. The call's reward is that of the last"
    " step and of the end.",
    AnswerInput,
)
TOOLS = {tool.name: tool for tool in (STEP, END_STEP, ANSWER)}
LISTED = (STEP, END_STEP)


def list_tools(is_observed: bool = True) -> dict[str, Json]:
    """Return the tools as the standard lists them; ``is_observed``: the session has an episode."""
    return {
        "tools": [tool.spec() for tool in LISTED] if is_observed else [],
        "terminal_tool": {"name": ANSWER.name, "arg": "text", "description": ANSWER.description},
        "supports_score_group": True,
        "message_block_types": ["text"],
    }


def text_block(text: str) -> dict[str, Json]:
    """Return a text as a block of the standard."""
    return {"text": text, "detail": None, "type": "text"}


def encode_output(
    text: str, reward: float | None, metadata: Mapping[str, Any], *, is_finished: bool
) -> bytes:
    """Return what a call answers. ``text`` is for the agent, ``metadata`` for the trainer."""
    output = {
        "blocks": [text_block(text)],
        "metadata": metadata,
        "reward": reward,
        "finished": is_finished,
    }
    return orjson.dumps({"ok": True, "output": output})


def encode_refusal(reason: Reason, error: str) -> bytes:
    """Return what a call that was not run answers."""
    return orjson.dumps({"ok": False, "error": error, "reason": reason})


def describe_problems(error: ValidationError) -> str:
    """Return every problem of a tool's input: path, what was expected, value."""
    problems = [
        f"{'.'.join(map(str, problem['loc'])) or 'input'}: expected {problem['msg']}, got"
        f" {repr(problem.get('input'))[:120]}"
        for problem in error.errors(include_url=False)
    ]
    return "Tool input validation error: " + "; ".join(problems)


class Payment(NamedTuple):
    """What a call pays: the reward or None, why, the rewards of its steps as the service tells
    them, and of an episode that ended what is blamed for its failure."""

    reward: float | None
    status: str
    reason: str | None
    rewards: Sequence[Mapping[str, Any]]
    blame: Mapping[str, Any] | None = None

    def metadata(self, episode: str | None, step: int | None) -> dict[str, Any]:
        """Return the metadata of the call; ``step``: the one that runs after it."""
        return {
            "episode": episode,
            "step": step,
            "status": self.status,
            "reason": self.reason,
            "mask": self.reward is None,
            "rewards": list(self.rewards),
            "blame": self.blame,
        }


def no_payment(reason: str) -> Payment:
    """Return the payment of a call that completed no step."""
    return Payment(None, "running", reason, ())
