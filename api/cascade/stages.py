"""The stages that a service has, by what its operator set; of those that it has not, why."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from api.core.settings import StageSettings
from api.stages.base import Stage

TIERS = ("model", "judge")
BUILTIN = "builtin"
"""The name of the package's own model."""


class StageError(ValueError):
    """A stage that was asked for can't be had; the message says which, why and what was wanted."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages by tier, each with its endpoints, and why a tier has none."""

    by_tier: Mapping[str, Sequence[Stage]]
    off: Mapping[str, str]

    async def close(self) -> None:
        """Close the connections to the model and the judge."""
        for listed in self.by_tier.values():
            for stage in listed:
                if hasattr(stage, "close"):
                    await stage.close()


def stages_of(settings: StageSettings, env: Mapping[str, str] = os.environ) -> Stages:
    """What the settings and the environment say. Raises `StageError`."""
    found: dict[str, Sequence[Stage]] = {}
    model = settings.model or env.get("MILESTONED_MODEL", "")
    urls = settings.judges or tuple(filter(None, env.get("MILESTONED_JUDGE_URL", "").split()))
    try:
        if model:
            found["model"] = [_model(model, env, settings.model_risk)]
        if urls:
            found["judge"] = [_judge(url, env) for url in urls]
    except ValueError as error:
        raise StageError(str(error)) from None
    except ImportError as error:
        raise StageError(
            f"{error.name or error}: not installed; wanted an installation with the extra [rm]"
        ) from None
    why = {"model": "started without --model", "judge": "started without --judge"}
    return Stages(
        found, {tier: f"the {tier} is off: {why[tier]}" for tier in TIERS if tier not in found}
    )


def _model(named: str, env: Mapping[str, str], risk: float) -> Stage:
    """Return the model's stage: one that is asked over the network, or that of a folder, which may
    be a link. Raises `StageError`."""
    # Extras are imported where they are asked for: the base service starts without them.
    if named.startswith(("http://", "https://")):
        scorer: Stage = import_module("api.stages.remote").remote_scorer(named, env)
        return scorer
    stages = import_module("api.stages.model.stage")
    folder = import_module("api.stages.model.folder").BUILTIN if named == BUILTIN else Path(named)
    if not folder.is_dir():
        raise StageError(
            f"--model {named}: no folder there; wanted a model's folder, an address or {BUILTIN}"
        )
    if folder.is_symlink():
        followed: Stage = import_module("api.stages.model.linked_model").FollowedModel(folder, risk)
        return followed
    loaded: Stage = stages.load_stage(folder.parent, folder.name, risk)
    return loaded


def _judge(url: str, env: Mapping[str, str]) -> Stage:
    settings = import_module("api.stages.judge.settings").judge_settings(
        {**env, "MILESTONED_JUDGE_URL": url}
    )
    judge: Stage = import_module("api.stages.judge.judge").Judge(settings)
    return judge
