"""Agent-Lightning: an agent calls `report(episode)` at its end, with
`milestoned_client.adapters.agent_lightning.report`.

The rollout's events are posted to where Agent-Lightning says (AGL_EVENT_URL, AGL_KEY): one
`milestoned.step` a step, then one `reward`, of which its trainer takes the last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Unpack

import httpx

from milestoned_client.adapters.carried import label_of
from milestoned_client.adapters.graded import GradedRollout, grade_rollout_now
from milestoned_client.adapters.scoring import certain, unknown_payout
from milestoned_client.adapters.settings import GivenSettings, settings
from milestoned_client.errors import PeerUnreachableError
from milestoned_client.plain_answers import HEADERS, HOOKS

SOURCE = "milestoned"
TIMEOUT_S = 60.0
RolloutEvent = dict[str, object]


def report(
    episode: object,
    answer: str = "",
    *,
    event_url: str | None = None,
    key: str | None = None,
    **given: Unpack[GivenSettings],
) -> float:
    """Post the rollout's events and return its reward.

    ``episode``: an episode of the client, its id, or a label that names an episode or a task.
    What nobody can know is posted as `milestoned.unknown` and not as a reward, unless a fall-back
    is configured. Raises `UnknownRewardError` then, refusals, and what Agent-Lightning's server
    raises: `PeerUnreachableError`, or `httpx.HTTPStatusError` where it refuses an event.
    """
    url = event_url or os.environ.get("AGL_EVENT_URL")
    if not url:
        raise ValueError("event_url: expected AGL_EVENT_URL or event_url=, got none")
    asked = settings(**given)
    graded = grade_rollout_now(label_of(getattr(episode, "id", episode)), answer, asked)
    reward, reason = graded.paid.reward, graded.paid.reason
    value = reward if reward is not None else unknown_payout(str(reason), asked)
    token = key or os.environ.get("AGL_KEY")
    headers = {**HEADERS, "authorization": f"Bearer {token}"} if token else HEADERS
    try:
        with httpx.Client(headers=headers, event_hooks=HOOKS, timeout=TIMEOUT_S) as http:
            for event in rollout_events(graded, value):
                http.post(url, json=event).raise_for_status()
    except httpx.TransportError as error:
        raise PeerUnreachableError(f"Agent-Lightning's event URL, {url}: {error}") from error
    return certain(value, reason)


def rollout_events(graded: GradedRollout, value: float | None) -> Iterator[RolloutEvent]:
    """The events of a rollout, in order; ``value`` None: there is no `reward` among them."""
    for step in graded.steps:
        data = {
            "step": step.step,
            "reward": step.reward,
            "mask": step.mask,
            "status": step.status,
            "reason": step.reason,
            "milestones": [
                {"id": one.id, "worth": one.worth, "evidence": list(one.evidence)}
                for one in step.milestones
            ],
        }
        yield {"event_type": "milestoned.step", "data": data}
    paid = graded.paid
    if value is None:
        yield {"event_type": "milestoned.unknown", "data": graded.info()}
        return
    message = paid.reason or f"{paid.milestones} milestones in {paid.steps} steps"
    known = None if paid.reward is not None else "fallback"
    data = {"value": value, "message": message, "source": SOURCE, "reason": known}
    yield {"event_type": "reward", "data": data}
