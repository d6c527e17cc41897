"""Evidence: events, the trajectory, the recording."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from api.blame.masking import MASK_CAUSES, parse_mask_causes
from api.cascade.store import Verdicts
from api.core.errors import GoneError
from api.episodes.store import Episodes
from api.http.answer_shapes import EventsShape, TrajectoryShape, VerdictsShape
from api.http.authorization import requires
from api.http.dependencies import (
    EpisodesPart,
    FollowerPart,
    FollowersPart,
    LimitsPart,
    OutlinesPart,
)
from api.http.describe import problems
from api.http.parameters import DIGITS, EpisodeId
from api.http.streams import AuthorizedStreamPart
from api.http.support import MAX_SEQ, READ, answer, parts_of, whole
from api.log.reader import Follower
from api.log.rows import SegmentRow
from api.log.segments import StoredSegments
from api.rewards.credits import Credits
from api.rewards.ledger import Ledger
from api.rewards.potentials import ShapingTier, scores_of, shape_steps, shaping_scale
from api.rewards.trajectory import transitions
from api.scoring.cause_masks import CauseMasks
from api.tasks.store import Tasks
from api.timeline.pictures import MEDIA_TYPES, load_picture
from api.verdicts.escalations import Escalations
from api.verdicts.recording_verdicts import frame_of
from detectors.engine.attribution import Credit
from detectors.model.codec import checksum_frame

router = APIRouter(tags=["evidence"])
MASKED = (
    f"Causes, with commas between them: {', '.join(MASK_CAUSES)}. A step that failed for one of"
    " them is null, with the status `masked`, unless a penalty was observed; `start_state`: every"
    " step of an episode that began unlike the others of its task."
)


@dataclass(frozen=True, slots=True)
class VerdictParts:
    """What reading the log of verdicts uses of the service."""

    episodes: Episodes
    verdicts: Verdicts
    escalations: Escalations


async def _verdict_parts(request: Request) -> VerdictParts:
    parts = parts_of(request)
    return VerdictParts(parts.episodes, parts.verdicts, parts.escalations)


@dataclass(frozen=True, slots=True)
class TrajectoryParts:
    """What making transitions uses of the service."""

    episodes: Episodes
    ledger: Ledger
    follower: Follower
    credits: Credits
    masks: CauseMasks
    verdicts: Verdicts
    tasks: Tasks


async def _trajectory_parts(request: Request) -> TrajectoryParts:
    parts = parts_of(request)
    return TrajectoryParts(
        episodes=parts.episodes,
        ledger=parts.ledger,
        follower=parts.follower,
        credits=parts.credits,
        masks=parts.masks,
        verdicts=parts.verdicts,
        tasks=parts.tasks,
    )


@dataclass(frozen=True, slots=True)
class RecordingParts:
    """What making a recording uses of the service."""

    episodes: Episodes
    verdicts: Verdicts
    segments: StoredSegments


async def _recording_parts(request: Request) -> RecordingParts:
    parts = parts_of(request)
    return RecordingParts(parts.episodes, parts.verdicts, parts.segments)


@router.get(
    "/v1/episodes/{episode}/events",
    summary="The log",
    response_model=EventsShape,
    responses=problems(401, 403, 404, 422),
    dependencies=[requires(READ)],
)
async def events(
    episode: EpisodeId,
    limits: LimitsPart,
    episodes: EpisodesPart,
    follower: FollowerPart,
    followers: FollowersPart,
    after: Annotated[
        int, Query(ge=0, le=MAX_SEQ, description="Events with a higher number."), DIGITS
    ] = 0,
    limit: Annotated[
        int, Query(ge=0, le=5_000, description="The most events to give."), DIGITS
    ] = 500,
    kind: Annotated[
        Sequence[str],
        Query(description="Only events of this kind; may be given several times."),
    ] = (),
) -> Response:
    """A page of the log. With `kind`, a page may be short though more follows: `next` says where to
    go on."""
    limit = max(1, whole("limit", str(limit), limits.page))
    row = await episodes.get(episode)
    if row.status == "open":
        followers.note(episode)
    kinds = frozenset(kind)
    page, following = await follower.page(episode, after, limit, kinds)
    return answer({"events": page, "through": row.through, "next": following})


@router.get(
    "/v1/episodes/{episode}/verdicts",
    summary="What was said beyond the rules",
    response_model=VerdictsShape,
    responses=problems(401, 403, 404, 422),
    dependencies=[requires(READ)],
)
async def verdicts(
    episode: EpisodeId,
    parts: Annotated[VerdictParts, Depends(_verdict_parts)],
    after: Annotated[
        int, Query(ge=0, le=MAX_SEQ, description="Those with a higher number."), DIGITS
    ] = 0,
) -> Response:
    """The episode's log of verdicts: each names its stage, model, prompt, evidence, votes and cost,
    and the one before.

    With what the episode still waits for.
    """
    await parts.episodes.get(episode)
    log = await parts.verdicts.read_log(episode, after)
    waiting = [
        {"step": row.step, "item": row.item, "audit": row.audit}
        for row in await parts.escalations.list_for(episode)
    ]
    return answer({"verdicts": log, "waiting": waiting})


@router.get(
    "/v1/episodes/{episode}/trajectory",
    summary="The episode as transitions",
    response_model=TrajectoryShape,
    responses=problems(401, 403, 404, 422),
    dependencies=[requires(READ)],
)
async def trajectory(
    episode: EpisodeId,
    parts: Annotated[TrajectoryParts, Depends(_trajectory_parts)],
    credit_to: Annotated[
        Credit,
        Query(
            description=(
                "Which step a milestone is credited to: the one it was paid in, the one that set"
                " it in motion, or evenly those that led to it; or `siblings`: the step by what"
                " other episodes earned from the same point on."
            )
        ),
    ] = "as_paid",
    shape_by: Annotated[
        ShapingTier, Query(description="Whose scores of steps shape the rewards, as a potential.")
    ] = "none",
    gamma: Annotated[
        float, Query(ge=0.0, le=1.0, description="The discount γ of the trainer, for `shape_by`.")
    ] = 1.0,
    mask_causes: Annotated[str, Query(description=MASKED)] = "",
    drop_causes: Annotated[
        str, Query(description="The same, and such steps are left out as a whole.")
    ] = "",
) -> Response:
    """(o, a, r, o') tuples: a pure function of the log and its sealed rewards.

    `credit_to=cause` credits what a milestone with `credit_to: cause` paid to the step that set it
    in motion, `credit_to=spread` shares each positive reward with the steps that led to it, once
    the episode is closed; the sealed reward stands beside it as it was paid. `credit_to=siblings`
    credits a step with what it changed of the expected return, estimated from other episodes.

    `shape_by=model` gives each step `shaping`, γ·Φ(s') - Φ(s) of the model's recorded scores, which
    changes no best policy; the trainer adds it to the reward or to the credit.

    `mask_causes=site_refused,captcha` makes null what failed for these causes
    (`GET /v1/episodes/{episode}/blame`), unless a penalty was observed.
    """
    masked = parse_mask_causes("mask_causes", mask_causes)
    dropped = parse_mask_causes("drop_causes", drop_causes)
    row = await parts.episodes.get(episode)
    rewards = [orjson.loads(body) for body in await parts.ledger.all(row.id)]
    events = [event async for event in parts.follower.events(row.id)]
    left_out: set[int] = set()
    if masked or dropped:
        rewards, left_out = await parts.masks.of_steps(row, rewards, masked, dropped)
    view = await parts.credits.by_step(row, rewards, credit_to)
    reward_by_step = {reward["step"]: reward for reward in rewards}
    steps = await asyncio.to_thread(transitions, events, reward_by_step, view.credit, view.siblings)
    if shape_by != "none":
        verdicts = await parts.verdicts.read_log(row.id)
        shaping = shape_steps(
            [step["step"] for step in steps],
            scores_of(verdicts, shape_by),
            gamma,
            shaping_scale(await parts.tasks.ruleset(row.task_number)),
            is_closed=row.status == "closed",
        )
        for step in steps:
            step["shaping"] = shaping[step["step"]]
    kept = [step for step in steps if step["step"] not in left_out]
    return answer({"episode": row.id, "steps": kept})


@router.get(
    "/v1/episodes/{episode}/screenshots/{sha256}",
    summary="A screenshot",
    response_class=Response,
    responses={
        200: {
            "content": {media_type: {} for media_type in MEDIA_TYPES.values()},
            "description": "The picture as the daemon took it.",
        },
        **problems(401, 403, 404),
    },
    dependencies=[requires(READ)],
)
async def screenshot(
    episode: EpisodeId,
    sha256: Annotated[str, Path(description="As `screenshot` of an observation has it.")],
    episodes: EpisodesPart,
    outlines: OutlinesPart,
    follower: FollowerPart,
) -> Response:
    """The picture of the screen that an observation names, where its daemon put it into the log
    (`--visual` with `--screen`)."""
    picture = await load_picture(await episodes.get(episode), sha256, outlines, follower)
    kept = {"cache-control": "private, max-age=86400, immutable"}
    return Response(picture.content, headers=kept, media_type=picture.media_type)


@router.get(
    "/v1/episodes/{episode}/recording",
    summary="The recording",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"application/zstd": {}},
            "description": "The stored segments and verdicts, a recording file.",
        },
        **problems(401, 403, 404),
    },
    dependencies=[requires(READ)],
)
async def recording(
    episode: EpisodeId,
    parts: Annotated[RecordingParts, Depends(_recording_parts)],
    authorized: AuthorizedStreamPart,
) -> Response:
    """The stored zstd frames one after the other, what was said beyond the rules, a checksum: it
    replays anywhere."""
    row = await parts.episodes.get(episode)
    headers = {"content-disposition": f'attachment; filename="{row.id}.mrec"'}
    # Read first: of a step that is decided meanwhile the file then says that it waits, and never
    # the reverse.
    verdict_rows = await parts.verdicts.rows(row.id)
    verdict_frame = frame_of([bytes(verdict.body) for verdict in verdict_rows])
    body = _with_checksum(parts.segments.rows(row.id), verdict_frame, row.through)
    return authorized.file(body, headers, "application/zstd")


async def _with_checksum(
    rows: AsyncIterator[SegmentRow], last: bytes, through: int
) -> AsyncIterator[bytes]:
    """The frames of ``rows``, which reach event ``through`` at least, then ``last`` and a checksum.

    Raises `GoneError` where the episode is deleted meanwhile: its beginning would be a sound
    recording.
    """
    digest = hashlib.sha256()
    reached = 0
    async for row in rows:
        digest.update(row.frame)
        reached = row.last
        yield row.frame
    if reached < through:
        raise GoneError(f"recording: deleted while it was sent, after event {reached}")
    digest.update(last)
    yield last + checksum_frame(digest.digest())
