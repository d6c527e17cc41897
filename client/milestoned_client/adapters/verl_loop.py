"""verl's loop of tools with rewards at their turn: `rm_scores` has each step's reward on the last
token of its turn, and `response_mask` leaves out the turns that are not known.

    actor_rollout_ref.rollout.agent.agent_loop_config_path=loops.yaml

with `loops.yaml` as docs/trainers/verl.md has it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol, Unpack

import torch
from verl.experimental.agent_loop import AgentLoopOutput, ToolAgentLoop

from milestoned_client.adapters.carried import label_of, parse_label, plain
from milestoned_client.adapters.paid_turns import close_and_read_turns
from milestoned_client.adapters.rollout import begun
from milestoned_client.adapters.scoring import shared_async
from milestoned_client.adapters.settings import GivenSettings, settings
from milestoned_client.adapters.turn_rewards import place_rewards, spans_of_mask
from milestoned_client.async_client import AsyncEpisode

EPISODE, STEP_TURNS = "episode_id", "step_turns"
"""The extra fields of a rollout: its episode, and the turn in which each step was begun."""


class AgentData(Protocol):
    """What is used of the state of a rollout that verl hands to a tool as ``agent_data``."""

    extra_fields: dict[str, Any]
    assistant_turns: int


async def rollout_episode(
    agent_data: AgentData, label: object, **given: Unpack[GivenSettings]
) -> AsyncEpisode:
    """Return the episode of a rollout; the first call opens one of the task that ``label`` names.

    For the body of a tool, which starts sandbox and daemon where `AsyncEpisode.opened` is not None.
    """
    client = shared_async(settings(**given)).client
    known = agent_data.extra_fields.get(EPISODE)
    if known is not None:
        return client.episode(str(known))
    where = parse_label(label)
    episode = (
        client.episode(where.episode)
        if where.episode
        else await client.open(where.task or "", version=where.version)
    )
    agent_data.extra_fields[EPISODE] = episode.id
    return episode


@asynccontextmanager
async def acting(
    agent_data: AgentData, action: object, **given: Unpack[GivenSettings]
) -> AsyncIterator[int]:
    """Take a step in the body of a tool: it begins here, in the current turn, and ends with the
    block. Raises `PeerUnreachableError`, before anything is done, where no daemon notes it."""
    client = shared_async(settings(**given)).client
    episode = client.episode(str(agent_data.extra_fields[EPISODE]))
    step = begun(await episode.step(action=plain(action)))
    agent_data.extra_fields.setdefault(STEP_TURNS, []).append(agent_data.assistant_turns - 1)
    yield step
    await episode.end_step(step)


class TurnRewardOutput(AgentLoopOutput):  # type: ignore[misc]  # verl is not installed where this is checked
    """A rollout whose rewards stand token by token."""

    token_rewards: list[float]
    """One for each token of the response."""

    def as_dict(self) -> dict[str, Any]:
        """Return the rollout as verl's V1 trainers store it."""
        output: dict[str, Any] = super().as_dict()
        output.pop("token_rewards")
        output["rm_scores"] = torch.tensor(self.token_rewards, dtype=torch.float32)
        return output


async def pay_turns(output: AgentLoopOutput, **given: Unpack[GivenSettings]) -> AgentLoopOutput:
    """Close the episode that a rollout names and place what its turns paid; `reward_score` is their
    sum. A rollout that names no episode is returned as it is, for verl's reward function.

    Raises `UnknownRewardError` where the rollout is not known and there is no fall-back: verl then
    drops the group. Raises `TurnMismatchError` where its turns are not the steps of the episode.
    """
    label = label_of({EPISODE: output.extra_fields.get(EPISODE)})
    if label is None:
        return output
    spans = spans_of_mask(output.response_mask)
    paid = await close_and_read_turns(
        str(parse_label(label).episode),
        len(spans),
        settings(**given),
        output.extra_fields.get(STEP_TURNS),
    )
    placed = place_rewards(spans, paid.rewards, len(output.response_mask))
    values = placed.tensor_values()
    fields = {name: getattr(output, name) for name in output.model_fields_set}
    fields["response_mask"] = list(placed.mask)
    fields["extra_fields"] = {
        **output.extra_fields,
        "reward_extra_info": {"score": sum(values), **paid.whole.logs()},
    }
    fields["reward_score"] = sum(values)
    return TurnRewardOutput(**fields, token_rewards=values)


class TurnRewardLoop(ToolAgentLoop):  # type: ignore[misc]
    """verl's own loop of tools, whose rollouts are paid by turn."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Generate a rollout and place its rewards. Raises what `pay_turns` raises."""
        return await pay_turns(await super().run(sampling_params, **row))
