"""What the adapters of URL-only trainers share: settings in the address, and one number or none."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from fastapi import Request
from pydantic import BaseModel

from api.core.errors import InvalidError, ProblemError, UnavailableError
from api.core.notify import Deadline
from api.http.describe import takes
from api.http.support import parts_of, whole_query
from api.scoring.fold import FOLDS, MIN_KNOWN, Folding
from api.scoring.reference import reference_of
from api.scoring.score import Score
from api.scoring.scorer import Sample

WAIT_MS = 10_000
"""How long a sample may settle by default: well below trainers' own limits (slime's: 15 s)."""

_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?(?:s|eos|bos|pad|eot|end_of_turn|start_of_turn)>")


def _setting(name: str, says: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": says, "schema": schema}


SETTINGS: tuple[dict[str, Any], ...] = (
    _setting(
        "fold",
        "How an episode's step rewards become one number.",
        {"enum": list(FOLDS), "default": "sum"},
    ),
    _setting(
        "gamma",
        "The discount of `fold=discounted`.",
        {"type": "number", "minimum": 0, "maximum": 1},
    ),
    _setting(
        "min_known",
        "The share of known steps below which `fold=known` knows no reward.",
        {"type": "number", "minimum": 0, "maximum": 1, "default": MIN_KNOWN},
    ),
    _setting(
        "wait_ms",
        "Milliseconds to wait at most.",
        {"type": "integer", "minimum": 0, "maximum": 50_000, "default": WAIT_MS},
    ),
    _setting("fallback", "Paid where nothing is known, instead of a 503.", {"type": "number"}),
)
"""What every adapter of a trainer that takes one number reads from its address, for OpenAPI."""


def described(model: type[BaseModel], *more: dict[str, Any]) -> dict[str, Any]:
    """A body of ``model`` and the settings, for OpenAPI."""
    return {**takes(model, keyed=False), "parameters": [*SETTINGS, *more]}


class ScoreOptions(NamedTuple):
    """What the address says: how to fold, how long to wait, what to pay where nothing is known
    (None: nothing)."""

    folding: Folding
    deadline: Deadline
    fallback: float | None


def asked_of(request: Request) -> ScoreOptions:
    """The settings in the query, those of `SETTINGS`. Raises `InvalidError`."""
    most = parts_of(request).settings.limits.wait_ms
    how = request.query_params.get("fold", "sum")
    if how not in FOLDS:
        raise InvalidError(f"fold: got {how[:40]!r}, wanted one of {', '.join(FOLDS)}")
    gamma, min_known = _number(request, "gamma", 0.0, 1.0), _number(request, "min_known", 0.0, 1.0)
    return ScoreOptions(
        Folding(
            how, 1.0 if gamma is None else gamma, MIN_KNOWN if min_known is None else min_known
        ),
        Deadline(whole_query(request, "wait_ms", WAIT_MS, most)),
        _number(request, "fallback", -1e6, 1e6),
    )


def _number(request: Request, name: str, least: float, most: float) -> float | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise InvalidError(f"{name}: got {text[:40]!r}, wanted a number from {least:g} to {most:g}")
    return value


def sample_of(label: object, text: str) -> Sample:
    """The sample that a label names, with what the model wrote. Raises `InvalidError`."""
    return Sample(reference_of(label), clean(text))


def clean(text: str) -> str:
    """What the model wrote without the special tokens around it, which tokenizers keep."""
    return _SPECIAL.sub("", text).strip()


def value_of(found: Score | ProblemError, asked: ScoreOptions) -> float:
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
