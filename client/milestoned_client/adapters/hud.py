"""HUD: `yield await grade(episode)` in a task of an environment, with
`milestoned_client.adapters.hud.grade`."""

from __future__ import annotations

from typing import Unpack

from hud.graders import EvaluationResult, SubScore

from milestoned_client.adapters.carried import label_of
from milestoned_client.adapters.graded import GradedRollout, RewardPart, grade_rollout, reward_parts
from milestoned_client.adapters.scoring import unknown_payout
from milestoned_client.adapters.settings import AdapterSettings, GivenSettings, settings


async def grade(
    episode: object, answer: str = "", **given: Unpack[GivenSettings]
) -> EvaluationResult:
    """The result of an episode, or of the final answer to a task.

    ``episode``: an episode of the client, its id, or a label that names an episode or a task.
    What nobody can know has `isError` and the reason as `content`, unless a fall-back is
    configured. Raises refusals.
    """
    asked = settings(**given)
    label = label_of(getattr(episode, "id", episode))
    return _result(await grade_rollout(label, answer, asked), asked)


def _result(graded: GradedRollout, asked: AdapterSettings) -> EvaluationResult:
    reward, reason, info = graded.paid.reward, graded.paid.reason, graded.info()
    if reward is not None:
        subscores = [_subscore(part) for part in reward_parts(reward, graded.steps)]
        return EvaluationResult(reward=reward, info=info, subscores=subscores)
    fallback = unknown_payout(str(reason), asked)
    if fallback is None:
        return EvaluationResult(reward=0.0, content=reason, info=info, isError=True)
    return EvaluationResult(reward=fallback, content=reason, info=info)


def _subscore(part: RewardPart) -> SubScore:
    told = [
        {"step": one.step, "rule": one.rule, "worth": one.worth, "evidence": list(one.evidence)}
        for one in part.milestones
    ]
    info = {"component": part.milestones[0].component, "times": told} if told else None
    return SubScore(name=part.name, weight=part.weight, value=part.value, info=info)
