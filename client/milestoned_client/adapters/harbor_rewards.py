"""What a trial of Harbor is worth, and what its verifier's keyword arguments say; without Harbor's
own code."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from milestoned_client.adapters.scoring import Found, UnknownRewardError, number
from milestoned_client.adapters.settings import AdapterSettings, GivenSettings, settings
from milestoned_client.json_values import JsonObject
from milestoned_client.models import Blame, Closing, Milestone, Reward, Score

SETTINGS = ("url", "fold", "gamma", "min_known", "wait_s", "mask_causes")
OPTIONS = ("task_id", "version", "sandbox", "watch", "ready_s")
"""Keyword arguments of the verifier; `task` is Harbor's own."""
TOTAL = "reward"


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """How trials are scored. ``task_id``: None for the name of each trial's own task; ``sandbox``:
    of the fleet, any or one with these labels; ``watch``: what starts the daemon of an episode, as
    module:function; ``ready_s``: how many seconds it may take to observe, 0 for no wait."""

    settings: AdapterSettings
    task_id: str | None
    version: str | None
    sandbox: Literal["any"] | Mapping[str, str] | None
    watch: str | None
    ready_s: float


def read_options(given: Mapping[str, object]) -> TrialOptions:
    """Read the verifier's keyword arguments; what is missing comes from the environment.

    Raises `TypeError` for a name that there is not, `ValueError` for a wrong value. There is no
    fall-back: Harbor's own table says what becomes of a trial whose reward is not known.
    """
    for name in given:
        if name == "token":
            raise ValueError(
                "token: Harbor writes verifier kwargs into the job's files; expected"
                " MILESTONED_TOKEN in the environment"
            )
        if name not in (*SETTINGS, *OPTIONS):
            expected = ", ".join((*SETTINGS, *OPTIONS))
            raise TypeError(f"{name}: there is no such verifier kwarg; expected one of {expected}")
    if urlsplit(str(given.get("url") or "")).password:
        raise ValueError(
            "url: got one with a token, which Harbor writes into the job's files; expected"
            " MILESTONED_TOKEN in the environment"
        )
    chosen = {name: given.get(name) for name in SETTINGS}
    asked = settings(**cast(GivenSettings, chosen))
    return TrialOptions(
        dataclasses.replace(asked, fallback=None),
        _read_text("task_id", given),
        _read_text("version", given),
        _read_sandbox(given.get("sandbox")),
        _read_text("watch", given),
        _read_seconds(given.get("ready_s")),
    )


def _read_text(name: str, given: Mapping[str, object]) -> str | None:
    """Return a text; Harbor reads a value that looks like a number as one."""
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{name}: expected a text, got {value!r:.80}")
    return str(value)


def _read_sandbox(value: object) -> Literal["any"] | Mapping[str, str] | None:
    if value is None:
        return None
    if value == "any":
        return "any"
    if isinstance(value, Mapping) and all(isinstance(label, str) for label in value.values()):
        return {str(name): str(label) for name, label in value.items()}
    raise ValueError(f"sandbox: expected any, or labels as JSON, got {value!r:.80}")


def _read_seconds(value: object) -> float:
    if value is None:
        return 60.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 86_400:
        raise ValueError(f"ready_s: expected seconds, 0 to 86,400, got {value!r:.80}")
    return float(value)


def load_function(path: str) -> object:
    """Import ``module:function``. Raises `ValueError` naming what is not there."""
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"watch: expected module:function, got {path!r}: {error}") from error


def reward_dictionary(found: Found, closing: Closing, asked: AdapterSettings) -> dict[str, float]:
    """Return a trial's rewards: the total, each component, and each milestone that was paid.

    ``found``: the episode's score, folded as ``asked`` says. Raises `UnknownRewardError` with the
    reason where the total is not known, or a part of it; a refusal is raised as it is.
    """
    total = number(found, asked)
    if not isinstance(found, Score):  # `number` has raised what it is
        raise TypeError(f"found: expected a score, got {found!r:.80}")
    if closing.status != "closed":
        raise UnknownRewardError("the reward is not known: the episode is still closing")
    rewards: dict[str, float] = {TOTAL: total}
    for name, part in found.reward_components.items():
        if part is None:
            raise UnknownRewardError(f"the reward is not known: nor is its component {name}")
        rewards[f"component.{name}" if name == TOTAL else name] = part
    for reward in closing.rewards:
        for milestone in reward.milestones:
            if _is_paid(milestone, reward):
                name = f"milestone.{milestone.id}"
                rewards[name] = rewards.get(name, 0.0) + milestone.worth
    return rewards


def _is_paid(milestone: Milestone, reward: Reward) -> bool:
    """Whether a milestone was paid. Of a step that is not known only a penalty is; a reward with a
    ``reason`` is such a penalty, and beside it what others earned is not known: their worth is
    0."""
    if reward.mask:
        return milestone.worth < 0
    return reward.reason is None or milestone.worth != 0


def evidence_of(closing: Closing, blame: Blame | None = None) -> JsonObject:
    """Return all that the service says of a closed episode, as JSON; ``blame``: why it failed."""
    said: dict[str, Any] = dataclasses.asdict(closing)
    said["blame"] = None if blame is None else dataclasses.asdict(blame)
    for reward in said["rewards"]:
        del reward["body"]  # its bytes once more
    return said
