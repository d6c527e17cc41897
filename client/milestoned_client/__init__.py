"""What an RL trainer imports to read milestoned's rewards, step by step.

with RewardClient("http://127.0.0.1:8420", token) as client:
    episode = client.open("shop/buy-lamp", seed=7)
    episode.step(action={"click": "Add to cart"})
    episode.end_step()
    print(episode.reward(0).reward)
"""

from milestoned_client.async_client import AsyncEpisode, AsyncRewardClient
from milestoned_client.control import Control, ControlDir
from milestoned_client.curriculum import CurriculumSampler
from milestoned_client.errors import (
    ClientError,
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    NotReadyError,
    PeerUnreachableError,
    ProblemError,
    ServiceFaultError,
    TooLargeError,
    TooManyRequestsError,
    UnauthorizedError,
    UnexpectedAnswerError,
)
from milestoned_client.exchange import Retry
from milestoned_client.json_values import Json, JsonObject
from milestoned_client.models import (
    Blame,
    Closing,
    CreditTo,
    DrawnEpisodes,
    EpisodePage,
    EpisodeStatus,
    Event,
    FirstFailure,
    Fold,
    Group,
    GroupMember,
    Lease,
    ListedEpisode,
    MaskCause,
    Milestone,
    Noted,
    Opened,
    Readiness,
    Registered,
    Reward,
    Sample,
    Score,
    SiblingCredit,
    SourceReadiness,
    StartFinding,
    StartState,
    StepBlame,
    TaskProgress,
    Tie,
    TierScore,
    Transition,
    Verdict,
)
from milestoned_client.results import StreamItem
from milestoned_client.sync_client import Episode, RewardClient

__version__ = "0.1.0"

__all__ = [
    "AsyncEpisode",
    "AsyncRewardClient",
    "Blame",
    "ClientError",
    "Closing",
    "ConflictError",
    "Control",
    "ControlDir",
    "CreditTo",
    "CurriculumSampler",
    "DrawnEpisodes",
    "Episode",
    "EpisodePage",
    "EpisodeStatus",
    "Event",
    "FirstFailure",
    "Fold",
    "ForbiddenError",
    "Group",
    "GroupMember",
    "InvalidRequestError",
    "Json",
    "JsonObject",
    "Lease",
    "ListedEpisode",
    "MaskCause",
    "Milestone",
    "NotFoundError",
    "NotReadyError",
    "Noted",
    "Opened",
    "PeerUnreachableError",
    "ProblemError",
    "Readiness",
    "Registered",
    "Retry",
    "Reward",
    "RewardClient",
    "Sample",
    "Score",
    "ServiceFaultError",
    "SiblingCredit",
    "SourceReadiness",
    "StartFinding",
    "StartState",
    "StepBlame",
    "StreamItem",
    "TaskProgress",
    "Tie",
    "TierScore",
    "TooLargeError",
    "TooManyRequestsError",
    "Transition",
    "UnauthorizedError",
    "UnexpectedAnswerError",
    "Verdict",
]
