"""An episode as (o, a, r, o') tuples: a pure function of its events and its sealed rewards.

The observation is what the log knows, bounded (observation.py). Whoever wants more has the events
between ``first`` and ``last``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NotRequired, TypedDict

from api.rewards.observation import ObservationJson
from api.rewards.observed_state import ObservedState
from api.rewards.potentials import ShapingJson
from api.rewards.siblings import SiblingCreditJson
from detectors.model.rewards import RewardJson
from detectors.model.types import Event


class TransitionJson(TypedDict):
    """One step as the wire has it."""

    step: int
    action: object
    observation: ObservationJson
    next_observation: ObservationJson | None
    reward: RewardJson | None
    first: int
    last: int
    done: bool
    credit: NotRequired[float | None]
    siblings: NotRequired[SiblingCreditJson]
    shaping: NotRequired[ShapingJson]


def transitions(
    events: Iterable[Event],
    rewards: Mapping[int, RewardJson],
    credit: Mapping[int, float | None] | None = None,
    siblings: Mapping[int, SiblingCreditJson] | None = None,
) -> list[TransitionJson]:
    """One transition a step, in order; ``reward`` and ``next_observation`` are null while a step is
    open.

    ``credit``: what a view credits to each step; the step's own reward where it is not given.
    ``siblings``: what the view `siblings` estimated each credit from.
    """
    observed = ObservedState()
    steps: list[TransitionJson] = []
    open_step: TransitionJson | None = None
    for event in events:
        last_step = steps[-1]["step"] if steps else -1
        if open_step is not None:
            open_step["last"] = event.seq
            if _completes(event, open_step["step"]):
                open_step["next_observation"] = observed.summary()
                open_step = None
        if event.kind == "step.began" and (not steps or event.data["step"] > last_step):
            step, action = event.data["step"], event.data.get("action")
            open_step = _transition(step, action, observed.summary(), event.seq, rewards)
            steps.append(open_step)
        elif event.kind == "episode.closed" and last_step + 1 in rewards:
            closing = _transition(last_step + 1, None, observed.summary(), event.seq, rewards)
            closing["next_observation"] = observed.summary()
            steps.append(closing)
        observed.apply(event)
    _add_credits(steps, credit, siblings or {})
    return steps


def _add_credits(
    steps: Iterable[TransitionJson],
    credit: Mapping[int, float | None] | None,
    siblings: Mapping[int, SiblingCreditJson],
) -> None:
    """Put each step's credit into it, and what its siblings say."""
    for transition in steps:
        transition["credit"] = _credit_of(transition, credit)
        estimate = siblings.get(transition["step"])
        if estimate is not None:
            transition["siblings"] = estimate


def _credit_of(
    transition: TransitionJson, credit: Mapping[int, float | None] | None
) -> float | None:
    """Return a step's credit, its reward where nothing else is asked for."""
    if credit is not None:
        return credit.get(transition["step"])
    reward = transition["reward"]
    return reward["reward"] if reward else None


def _completes(event: Event, step: int) -> bool:
    """Whether an event ends all that belongs to a step."""
    if event.kind == "step.began":
        return bool(event.data["step"] > step)
    return event.kind == "episode.closed" or (
        event.kind == "step.sealed" and event.data["step"] == step
    )


def _transition(
    step: int,
    action: object,
    observation: ObservationJson,
    first: int,
    rewards: Mapping[int, RewardJson],
) -> TransitionJson:
    reward = rewards.get(step)
    return {
        "step": step,
        "action": action,
        "observation": observation,
        "next_observation": None,
        "reward": reward,
        "first": first,
        "last": first,
        "done": bool(reward and reward["done"]),
    }
