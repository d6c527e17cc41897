"""Groups of episodes of one task, ranked: the call of `POST /v1/groups:score`."""

from __future__ import annotations

from collections.abc import Iterable

from milestoned_client.calls import Call, decode_as, milliseconds, post
from milestoned_client.models import Basis, Fold, Group, MaskCause, Scale


def score_group(
    episodes: Iterable[str],
    wait_s: float,
    *,
    fold: Fold,
    gamma: float,
    min_known: float,
    advantages: Basis,
    scale: Scale,
    ask_tiers: bool,
    mask_causes: Iterable[MaskCause],
) -> Call[Group]:
    """Make the call that ranks episodes of one task; `AsyncRewardClient.score_group` has the
    options."""
    return post(
        "/v1/groups:score",
        decode_as(Group),
        wait_s,
        episodes=list(episodes),
        wait_ms=milliseconds(wait_s),
        fold=fold,
        gamma=gamma,
        min_known=min_known,
        advantages=advantages,
        scale=scale,
        ask_tiers=ask_tiers,
        mask_causes=list(mask_causes) or None,
    )
