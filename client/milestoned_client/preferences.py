"""The call of `POST /v1/reward-model/preferences`: what a reward model can be trained on."""

from __future__ import annotations

from collections.abc import Mapping

from milestoned_client.calls import Call, decode_as, post
from milestoned_client.models import PreferenceLines


def read_preferences(
    task: str | None,
    version: str | None,
    labels: Mapping[str, str] | None,
    weights: Mapping[str, float] | None,
) -> Call[PreferenceLines]:
    """Make the call that reads them; `AsyncRewardClient.preferences` has the options."""
    return post(
        "/v1/reward-model/preferences",
        decode_as(PreferenceLines),
        task=task,
        version=version,
        labels=None if labels is None else dict(labels),
        weights=None if weights is None else dict(weights),
    )
