"""What the adapters of URL-only trainers share: settings in the address, and one number or none."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from fastapi import Depends, Query

from api.core.errors import ProblemError, UnavailableError
from api.core.notify import Deadline
from api.http.dependencies import LimitsPart
from api.http.parameters import WaitMs
from api.http.support import whole
from api.scoring.fold import MIN_KNOWN, Fold, RewardFolding
from api.scoring.reference import reference_of
from api.scoring.score import SampleScore
from api.scoring.scorer import ScoredSample

WAIT_MS = 10_000
"""How long a sample may settle by default: well below trainers' own limits (slime's: 15 s)."""

_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?(?:s|eos|bos|pad|eot|end_of_turn|start_of_turn)>")


class ScoreOptions(NamedTuple):
    """What the address says: how to fold, how long to wait, what to pay where nothing is known
    (None: nothing)."""

    folding: RewardFolding
    deadline: Deadline
    fallback: float | None


async def _score_options(
    limits: LimitsPart,
    fold: Annotated[
        Fold, Query(description="How an episode's step rewards become one number.")
    ] = "sum",
    gamma: Annotated[
        float, Query(ge=0.0, le=1.0, description="The discount of `fold=discounted`.")
    ] = 1.0,
    min_known: Annotated[
        float,
        Query(
            ge=0.0,
            le=1.0,
            description="The share of known steps below which `fold=known` knows no reward.",
        ),
    ] = MIN_KNOWN,
    wait_ms: WaitMs = WAIT_MS,
    fallback: Annotated[
        float | None,
        Query(ge=-1e6, le=1e6, description="Paid where nothing is known, instead of a 503."),
    ] = None,
) -> ScoreOptions:
    """Read what every adapter of a trainer that takes one number has in its address."""
    deadline = Deadline(whole("wait_ms", str(wait_ms), limits.wait_ms))
    return ScoreOptions(RewardFolding(fold, gamma, min_known), deadline, fallback)


ScoreOptionsPart = Annotated[ScoreOptions, Depends(_score_options)]


def sample_of(label: object, text: str) -> ScoredSample:
    """The sample that a label names, with what the model wrote. Raises `InvalidError`."""
    return ScoredSample(reference_of(label), clean(text))


def clean(text: str) -> str:
    """What the model wrote without the special tokens around it, which tokenizers keep."""
    return _SPECIAL.sub("", text).strip()


def value_of(found: SampleScore | ProblemError, asked: ScoreOptions) -> float:
    """A finite number, always: what is not known is the configured fall-back, else 503.

    Raises `ProblemError`: a 503 is tried again by every trainer, and is what it takes for an
    outage.
    """
    if isinstance(found, ProblemError):
        raise found
    if found.reward is not None:
        return found.reward
    if asked.fallback is not None:
        return asked.fallback
    raise UnavailableError(f"reward: not known ({found.failure_kind}): {found.failure_reason}")
