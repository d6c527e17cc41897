"""Masks by cause: views of rewards in which what a trainer does not want to learn from is null.

Sealed rewards stay as they are, and a view shows no number that was not sealed. Where something was
taken (a penalty), the reward stands: whoever is scored can provoke many a refusal (docs/blame.md).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, get_args

from api.blame.causes import BlameJson, StepBlameJson
from api.core.errors import InvalidError
from detectors.model.rewards import RewardJson

MaskCause = Literal[
    "site_refused",
    "captcha",
    "login_wall",
    "rate_limited",
    "infrastructure",
    "unknown",
    "start_state",
]
START_STATE = "start_state"
"""What masks every step of an episode that began unlike the others of its task; no step's own
cause."""
MASK_CAUSES: tuple[MaskCause, ...] = get_args(MaskCause)
"""The causes that may be masked. What the agent did, or only declares, spares it nothing."""


def parse_mask_causes(name: str, text: str) -> frozenset[MaskCause]:
    """The causes that a parameter names, with commas between them. Raises `InvalidError`."""
    causes: set[MaskCause] = set()
    for part in filter(None, text.split(",")):
        cause = next((cause for cause in MASK_CAUSES if cause == part.strip()), None)
        if cause is None:
            raise InvalidError(
                f"{name}: expected some of {', '.join(MASK_CAUSES)}, got {part[:40]!r}"
            )
        causes.add(cause)
    return frozenset(causes)


def describe_mask(cause: StepBlameJson | BlameJson) -> str:
    """Why a reward is masked: its cause, and the events that show it."""
    events = ", ".join(map(str, cause["evidence"]))
    return f"masked by its cause {cause['cause']} (events {events}): {cause['reason']}"


def mask_reward(reward: RewardJson, step: StepBlameJson, causes: Collection[str]) -> RewardJson:
    """The reward as it is, or null where its cause is one of ``causes`` and it took nothing.

    A reward that is null anyway keeps its status and reason.
    """
    if step["cause"] not in causes:
        return reward
    return mask_with_reason(reward, describe_mask(step), at_first_contact=step["at_first_contact"])


def mask_with_reason(
    reward: RewardJson, reason: str, *, at_first_contact: bool = False
) -> RewardJson:
    """The reward as null for a ``reason``, or as it is where it is null anyway or took
    something."""
    if reward["reward"] is None or has_penalty(reward, at_first_contact=at_first_contact):
        return reward
    masked: RewardJson = {
        **reward,
        "status": "masked",
        "reward": None,
        "mask": True,
        "reason": reason,
        "components": dict.fromkeys(reward["components"]),
        "decided_by": None,
    }
    if "objectives" in reward:
        masked["objectives"] = dict.fromkeys(reward["objectives"])
    return masked


def mask_steps(
    rewards: Sequence[RewardJson],
    causes: Sequence[StepBlameJson],
    masked: Collection[str],
    dropped: Collection[str],
) -> tuple[list[RewardJson], set[int]]:
    """Mask the steps of the causes ``masked`` or ``dropped``; the second part of the result names
    those that a view leaves out, since they are null for one of ``dropped``."""
    both = {*masked, *dropped}
    viewed = [mask_reward(*pair, both) for pair in zip(rewards, causes, strict=True)]
    left_out = {
        cause["step"]
        for reward, cause in zip(viewed, causes, strict=True)
        if cause["cause"] in dropped and reward["reward"] is None
    }
    return viewed, left_out


def is_episode_masked(
    rewards: Sequence[RewardJson], blame: BlameJson, causes: Collection[str]
) -> bool:
    """Whether a whole episode is masked: its cause is one of ``causes``, and no step took
    anything."""
    is_first = blame["at_first_contact"]
    return blame["cause"] in causes and not any(
        has_penalty(reward, at_first_contact=is_first) for reward in rewards
    )


def has_penalty(reward: RewardJson, *, at_first_contact: bool) -> bool:
    """Whether something below 0 was paid, of which no mask takes anything away.

    What a failure is worth counts too, unless the site refused at first contact: no deed of the
    agent's can have brought that about. A penalty that was seen in a step whose reward is not known
    counts as well: the fold `known` pays it.
    """
    return any(
        m["worth"] < 0 and not (at_first_contact and m["id"] == "(outcome)")
        for m in reward["milestones"]
    )
