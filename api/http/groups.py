"""Groups of episodes of one task, ranked for trainers that compare (GRPO, RLOO, RULER)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from api.auth.store import Principal
from api.core.notify import Deadline
from api.http.authorization import requires
from api.http.dependencies import GroupsPart, OwnersPart
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.shapes import MaskCauses, Wait
from api.http.support import READ, Body, answer
from api.scoring.fold import MIN_KNOWN, Fold, RewardFolding
from api.scoring.groups import GroupOptions, GroupResult
from api.scoring.ranking import Basis, Scale

router = APIRouter(tags=["rewards"], route_class=JsonRoute)
MAX_EPISODES = 256
"""Of one group: trainers compare 4 to 64 rollouts of a prompt."""


class GroupBody(Body):
    """Episodes of one task under the same rules.

    `fold`, `gamma`, `min_known`, `mask_causes` as in `/v1/score`. `ask_tiers`: false leaves ties
    as they are.
    """

    episodes: Annotated[
        list[Annotated[str, Field(max_length=64)]], Field(min_length=2, max_length=MAX_EPISODES)
    ]
    fold: Fold = "sum"
    gamma: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    min_known: Annotated[float, Field(ge=0.0, le=1.0)] = MIN_KNOWN
    advantages: Basis = "rank"
    """What advantages are computed from: the score of the rank, in which ties that a tier broke
    differ, or the reward alone."""
    scale: Scale = "std"
    """`std` divides advantages by the group's standard deviation, `none` does not."""
    ask_tiers: bool = True
    mask_causes: MaskCauses = ()
    wait_ms: Wait = 0


@router.post(
    "/v1/groups:score",
    summary="Rank the episodes of a group",
    response_model=GroupResult,
    responses=problems(401, 403, 404, 410, 413, 422),
)
async def score_group(
    who: Annotated[Principal, requires(READ)],
    groups: GroupsPart,
    owners: OwnersPart,
    body: GroupBody,
) -> Response:
    """Rank episodes of one task by what the rules paid, ties by the task's tiers. Sealed rewards
    stay as they are. May be repeated: equal questions are asked once."""
    folding = RewardFolding(body.fold, body.gamma, body.min_known, frozenset(body.mask_causes))
    options = GroupOptions(folding, body.advantages, body.scale, body.ask_tiers)
    owners.hear(who, body.episodes)
    group = await groups.score(who.tenant, body.episodes, options, Deadline(body.wait_ms))
    return answer(group.model_dump())
